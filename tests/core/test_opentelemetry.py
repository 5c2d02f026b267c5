"""S2 and S6: what OpenTelemetry is shown, where it is installed, and that nothing happens where it is not."""

from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry import trace
from repeatguard_core import Reminder, RepeatGuardConfig, Stop, ToolCall
from repeatguard_core.adapters import Guard, _guard

from tests.telemetry import Telemetry

SUPPORT = Guard()
CALL = ToolCall("run_sql", '{"secret": 1}')
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def reminder_of(*calls: ToolCall, times: int = 3, **settings: Any) -> Reminder | Stop:
    """Let a reminder, or an end, fall due."""
    decision = Guard(RepeatGuardConfig(**settings)).new_chain().observe([*calls] * times)
    assert decision is not None
    return decision


@pytest.mark.rules("S6")
def test_a_reminder_is_an_event_and_is_counted(telemetry: Telemetry) -> None:
    """On the current span; with tool, threshold, count and agent, and without arguments."""
    with telemetry.span("mine"):
        SUPPORT.announce(replace(reminder_of(CALL), agent_name="clerk"))
        SUPPORT.announce(replace(reminder_of(CALL), agent_name="clerk"))
        SUPPORT.announce(replace(reminder_of(CALL, times=5), agent_name="clerk"))
    third, fifth = ({"gen_ai.tool.name": "run_sql", "repeatguard.threshold": count} for count in (3, 5))
    about = {"gen_ai.agent.name": "clerk", "repeatguard.cycle_length": 1}
    assert telemetry.events == [
        ("mine", "repeatguard.reminder", {**about, **counted, "repeatguard.count": count})
        for counted, count in ((third, 3), (third, 3), (fifth, 5))
    ]
    assert telemetry.counts() == {"repeatguard.reminders": [(third, 2), (fifth, 1)]}


@pytest.mark.rules("S3", "S6")
def test_what_is_counted_does_not_grow_with_the_agents(telemetry: Telemetry) -> None:
    """A metric keeps each combination of attributes for good, and a program may name an agent by its work."""
    for number in range(10):
        SUPPORT.announce(replace(reminder_of(CALL), agent_name=f"worker_{number}"))
    counted = {"gen_ai.tool.name": "run_sql", "repeatguard.threshold": 3}
    assert telemetry.counts() == {"repeatguard.reminders": [(counted, 10)]}


@pytest.mark.rules("S6", "X5")
def test_the_end_of_a_run_is_an_event_and_is_counted(telemetry: Telemetry) -> None:
    """By names of their own."""
    with telemetry.span("mine"):
        SUPPORT.announce(reminder_of(CALL, times=4, thresholds=(2,), stop_after=4))
    attributes = {"gen_ai.tool.name": "run_sql", "repeatguard.threshold": 4}
    assert telemetry.events == [
        ("mine", "repeatguard.stop", {**attributes, "repeatguard.count": 4, "repeatguard.cycle_length": 1})
    ]
    assert telemetry.counts() == {"repeatguard.stops": [(attributes, 1)]}


@pytest.mark.rules("S6", "X1")
def test_a_cycle_goes_by_its_last_tool(telemetry: Telemetry) -> None:
    """As everywhere."""
    with telemetry.span("mine"):
        SUPPORT.announce(reminder_of(CALL, ToolCall("fetch")))
    (event,) = telemetry.events
    assert (event.attributes["gen_ai.tool.name"], event.attributes["repeatguard.cycle_length"]) == ("fetch", 2)


@pytest.mark.rules("S6")
def test_without_a_span_it_is_counted_all_the_same(telemetry: Telemetry) -> None:
    """Nobody has to trace."""
    SUPPORT.announce(reminder_of(CALL))
    assert telemetry.events == []
    assert list(telemetry.counts()) == ["repeatguard.reminders"]


@pytest.mark.rules("S6")
@pytest.mark.parametrize(
    ("asked", "is_recorded"),
    [
        ("", False),
        ("false", False),
        ("NO_CONTENT", False),
        ("EVENT_ONLY", False),
        ("yes, please", False),
        ("true", True),
        ("SPAN_ONLY", True),
        ("span_and_event ", True),
    ],
)
def test_arguments_are_recorded_only_if_that_is_asked_for(
    telemetry: Telemetry,
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    is_recorded: bool,  # noqa: FBT001
) -> None:
    """For spans, in the way of the conventions; and never in a metric."""
    monkeypatch.setenv(CAPTURE, asked)
    with telemetry.span("mine"):
        SUPPORT.announce(reminder_of(CALL, arguments_preview_chars=5))
    (event,) = telemetry.events
    expected = '{"sec… (+7 more chars)' if is_recorded else None
    assert event.attributes.get("repeatguard.arguments") == expected
    assert "sec" not in str(telemetry.counts())


@pytest.mark.rules("S6", "M4")
def test_names_can_be_exported(telemetry: Telemetry) -> None:
    """They are the model's to choose: they stand on one line, are not too long and can be encoded."""
    name = "a\nb\ud800" + "c" * 1000
    with telemetry.span("mine"):
        SUPPORT.announce(replace(reminder_of(ToolCall(name)), agent_name="d\ud800"))
    (event,) = telemetry.events
    for attribute, longest in (("gen_ai.tool.name", 100), ("gen_ai.agent.name", 10)):
        shown = event.attributes[attribute]
        assert shown.encode().decode() == shown
        assert "\n" not in shown
        assert len(shown) <= longest


class Failing(trace.NonRecordingSpan):
    """A span of the program's that takes no event."""

    def is_recording(self) -> bool:
        return True

    def add_event(self, *_: Any, **__: Any) -> None:
        msg = "no event"
        raise LookupError(msg)


@pytest.mark.rules("S2")
def test_a_fault_of_opentelemetry_stays_inside(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged once, and the reminder is handed on."""
    seen: list[Reminder] = []
    support = Guard(on_reminder=seen.append)
    with trace.use_span(Failing(trace.INVALID_SPAN_CONTEXT)):
        support.announce(reminder_of(CALL))
        support.announce(reminder_of(CALL))
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "OpenTelemetry" in record.getMessage()
    assert "no event" in record.getMessage()
    assert len(seen) == 2


@pytest.mark.rules("S1", "S6")
def test_the_module_works_without_the_extra(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is loaded a second time, as if nothing of OpenTelemetry could be imported."""
    monkeypatch.delitem(sys.modules, "repeatguard_core._telemetry")
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    spec = importlib.util.spec_from_file_location("guard_without_extra", str(_guard.__file__))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    with telemetry.span("mine"), caplog.at_level(logging.INFO, logger="repeatguard"):
        module.Guard().announce(reminder_of(CALL))
    assert telemetry.events == []
    assert telemetry.counts() == {}
    assert [record.levelno for record in caplog.records] == [logging.INFO]


ALONE = """
import logging, sys
sys.modules[sys.argv[1]] = None
logging.basicConfig(level="INFO", format="%(levelname)s %(name)s", stream=sys.stdout)
from repeatguard_core import ToolCall
from repeatguard_core.adapters import Guard
support = Guard(on_reminder=lambda reminder: print(reminder.count))
support.announce(support.new_chain().observe([ToolCall("run_sql")] * 3))
print(sorted({"opentelemetry.trace", "opentelemetry.sdk.trace"} & set(sys.modules)))
"""


@pytest.mark.rules("S1", "S6")
@pytest.mark.parametrize(("missing", "loaded"), [("opentelemetry", []), ("opentelemetry.sdk", ["opentelemetry.trace"])])
def test_a_program_without_opentelemetry_or_without_its_sdk(missing: str, loaded: list[str]) -> None:
    """It logs its reminder, and says nothing else."""
    command = [sys.executable, "-W", "error", "-c", ALONE, missing]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["INFO repeatguard", "3", str(loaded)]
    assert run.stderr == ""
