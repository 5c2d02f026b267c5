"""S6: what OpenTelemetry is shown of a run, and whose calls a reminder is about."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai import capabilities as capabilities_module
from pydantic_ai.models.instrumented import InstrumentationSettings
from repeatguard_pydantic_ai import Reminder, RepeatGuardConfig, RepeatLoopError

from tests.pydantic_ai.agents import agent, loop
from tests.pydantic_ai.asking import sent
from tests.pydantic_ai.scripted_model import ScriptedModel
from tests.pydantic_ai.test_places import PROMPT, turn
from tests.telemetry import Telemetry

CONFIG = RepeatGuardConfig(thresholds=(2,), stop_after=4)
#: Early releases do not tell a guard which agent it is.
KNOWS_ITS_AGENT = "agent" in {each.name for each in dataclasses.fields(RunContext)}


def instrumented(telemetry: Telemetry, *guards: Any) -> Any:
    """Make an agent that repeats itself, with the framework's own tracing."""
    settings = InstrumentationSettings(tracer_provider=telemetry.provider)
    instrumentation = getattr(capabilities_module, "Instrumentation", None)
    model = ScriptedModel(*loop(4))
    if instrumentation is None:
        return agent(model, *guards, instrument=settings, name="clerk")
    return agent(model, *guards, instrumentation(settings), name="clerk")


async def run(guarded: Any, *, streamed: bool) -> None:
    """Run an agent."""
    if not streamed:
        await guarded.run("go")
        return
    async with guarded.run_stream("go"):
        pass


@pytest.mark.rules("S6", "X5")
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_reminder_and_an_end_are_events_of_the_frameworks_span(
    telemetry: Telemetry,
    form: Any,
    streamed: bool,  # noqa: FBT001
) -> None:
    """Of the run's, or of that of the request that it comes with, by the release."""
    seen: list[Reminder] = []
    guarded = instrumented(telemetry, form(CONFIG, on_reminder=seen.append))
    with telemetry.span("mine"), pytest.raises(RepeatLoopError) as end:
        await run(guarded, streamed=streamed)
    name = "clerk" if KNOWS_ITS_AGENT else None
    assert [*(each.agent_name for each in seen), end.value.stop.agent_name] == [name, name]
    assert [(event.name, event.attributes["repeatguard.count"]) for event in telemetry.events] == [
        ("repeatguard.reminder", 2),
        ("repeatguard.stop", 4),
    ]
    spans = {span.name for span in telemetry.spans if (span.attributes or {}).get("gen_ai.agent.name") == "clerk"}
    assert {event.span for event in telemetry.events} <= spans
    assert sorted(telemetry.counts()) == ["repeatguard.reminders", "repeatguard.stops"]


@pytest.mark.rules("S6")
async def test_without_the_frameworks_tracing_it_is_the_programs_span(telemetry: Telemetry, form: Any) -> None:
    """Whatever is current where the run is started."""
    with telemetry.span("mine"):
        await agent(ScriptedModel(*loop(2)), form(CONFIG), name="clerk").run("go")
    (event,) = telemetry.events
    assert (event.span, event.name) == ("mine", "repeatguard.reminder")
    assert event.attributes.get("gen_ai.agent.name") == ("clerk" if KNOWS_ITS_AGENT else None)


@pytest.mark.rules("S6")
async def test_the_log_names_the_agent(form: Any, caplog: pytest.LogCaptureFixture) -> None:
    """If it has a name, and if the release tells."""
    with caplog.at_level(logging.INFO, logger="repeatguard"):
        await agent(ScriptedModel(*loop(2)), form(CONFIG), name="clerk").run("go")
    (record,) = [record for record in caplog.records if record.name == "repeatguard"]
    assert record.__dict__["agent"] == ("clerk" if KNOWS_ITS_AGENT else None)


class Early:
    """A context of a release that does not know its agent."""

    run_id = "run"
    messages = ()


class Refusing(Early):
    """A context that has been carried to another process without its agent."""

    @property
    def agent(self) -> Any:
        msg = "it was not carried over"
        raise RuntimeError(msg)


class Unknown(Early):
    """A context without an agent."""

    agent = None


@pytest.mark.rules("S2")
@pytest.mark.parametrize("agentless", [Refusing(), Early(), Unknown()])
def test_a_context_without_its_agent(form: Any, agentless: Any) -> None:
    """A reminder does not say whose calls they are, and that is not an error."""
    seen: list[Reminder] = []
    agentless.messages = [PROMPT, *turn(), *turn()]
    sent(form(CONFIG, on_reminder=seen.append), list(agentless.messages), agentless)
    assert [each.agent_name for each in seen] == [None]
