"""A reminder shows in the SDK's own traces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from agents import Agent, RunConfig, set_trace_processors, set_tracing_disabled
from agents.tracing import Span, Trace, TracingProcessor
from repeatguard_openai_agents import RepeatGuardConfig, RepeatGuardHooks, RepeatLoopError

from tests.openai_agents.scripted_model import ScriptedModel, both_ways, call, run_to_the_end, say
from tests.openai_agents.tools import get_status


class Collector(TracingProcessor):
    """Keeps the spans that have ended."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []

    def on_trace_start(self, trace: Trace) -> None:
        """Do nothing."""

    def on_trace_end(self, trace: Trace) -> None:
        """Do nothing."""

    def on_span_start(self, span: Span[Any]) -> None:
        """Do nothing."""

    def on_span_end(self, span: Span[Any]) -> None:
        self.spans.append(span.export() or {})

    def shutdown(self) -> None:
        """Do nothing."""

    def force_flush(self) -> None:
        """Do nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Trace into memory."""
    collector = Collector()
    set_trace_processors([collector])
    set_tracing_disabled(disabled=False)
    yield collector
    set_tracing_disabled(disabled=True)
    set_trace_processors([])


def looping() -> Agent[Any]:
    """Make an agent that makes the same call six times."""
    model = ScriptedModel([*([call("get_status", '{"job": "secret"}')] for _ in range(6)), [say("done")]])
    return Agent(name="agent", model=model, tools=[get_status])


@pytest.mark.rules("S6")
@both_ways
async def test_a_reminder_is_a_span_of_its_own(collector: Collector, streamed: bool) -> None:  # noqa: FBT001
    """It names tool, count and threshold, and no arguments, and lies within the agent's span."""
    config = RunConfig(tracing_disabled=False, trace_include_sensitive_data=False)
    guard = RepeatGuardHooks(RepeatGuardConfig(thresholds=(2, 5)))
    await run_to_the_end(looping(), "go", guard, streamed=streamed, run_config=config)
    spans = {span["id"]: span for span in collector.spans}
    ours = [span for span in collector.spans if span["span_data"].get("name") == "repeatguard.reminder"]
    assert [span["span_data"]["data"] for span in ours] == [
        {"tool": "get_status", "count": 2, "threshold": 2},
        {"tool": "get_status", "count": 5, "threshold": 5},
    ]
    for span in ours:
        ancestors = [span["parent_id"]]
        while (parent := spans[ancestors[-1]]["parent_id"]) in spans:
            ancestors.append(parent)
        assert "agent" in [spans[ancestor]["span_data"]["type"] for ancestor in ancestors]


@pytest.mark.rules("S6", "X5")
@both_ways
async def test_the_end_of_a_run_is_a_span_of_its_own(collector: Collector, streamed: bool) -> None:  # noqa: FBT001
    """Once, without arguments."""
    config = RunConfig(tracing_disabled=False, trace_include_sensitive_data=False)
    guard = RepeatGuardHooks(RepeatGuardConfig(thresholds=(2,), stop_after=3))
    with pytest.raises(RepeatLoopError):
        await run_to_the_end(looping(), "go", guard, streamed=streamed, run_config=config)
    ours = [span["span_data"] for span in collector.spans if span["span_data"].get("name") == "repeatguard.stop"]
    assert [data["data"] for data in ours] == [{"tool": "get_status", "count": 3, "threshold": 3}]
    assert "secret" not in str(collector.spans)


@pytest.mark.rules("S1", "S2")
async def test_without_tracing_there_is_no_span(collector: Collector, caplog: pytest.LogCaptureFixture) -> None:
    """And no complaint of the SDK's about a missing trace."""
    await run_to_the_end(looping(), "go", RepeatGuardHooks(), run_config=RunConfig(tracing_disabled=True))
    assert collector.spans == []
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
