"""S6: what OpenTelemetry is shown of a run, and whose calls a reminder is about."""

from __future__ import annotations

import logging

import pytest
from agents import Agent, handoff
from repeatguard_openai_agents import Reminder, RepeatGuardConfig, RepeatGuardHooks, RepeatLoopError

from tests.openai_agents.scripted_model import ScriptedModel, both_ways, call, run_to_the_end, say
from tests.openai_agents.tools import get_status
from tests.telemetry import Telemetry


def looping(times: int = 4) -> ScriptedModel:
    """Make the same call again and again."""
    return ScriptedModel([*([call("get_status", '{"job": "secret"}')] for _ in range(times)), [say("done")]])


@pytest.mark.rules("S6", "X5")
@both_ways
async def test_a_reminder_and_an_end_are_events_of_the_programs_span(telemetry: Telemetry, streamed: bool) -> None:  # noqa: FBT001
    """The span that is current where the run is started, since the SDK has none of OpenTelemetry's."""
    agent = Agent(name="clerk", model=looping(), tools=[get_status])
    seen: list[Reminder] = []
    guard = RepeatGuardHooks(RepeatGuardConfig(thresholds=(2,), stop_after=4), on_reminder=seen.append)
    with telemetry.span("request"), pytest.raises(RepeatLoopError) as end:
        await run_to_the_end(agent, "go", guard, streamed=streamed)
    assert [*(each.agent_name for each in seen), end.value.stop.agent_name] == ["clerk", "clerk"]
    assert [(event.span, event.name, event.attributes["repeatguard.count"]) for event in telemetry.events] == [
        ("request", "repeatguard.reminder", 2),
        ("request", "repeatguard.stop", 4),
    ]
    assert {event.attributes["gen_ai.agent.name"] for event in telemetry.events} == {"clerk"}
    assert "secret" not in str(telemetry.events)
    assert sorted(telemetry.counts()) == ["repeatguard.reminders", "repeatguard.stops"]


@pytest.mark.rules("S6", "D12")
async def test_the_agent_that_repeats_itself_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """Of those that hand over to each other, and with hooks of its own: in the log and to the callback."""
    seen: list[Reminder] = []
    guard = RepeatGuardHooks(RepeatGuardConfig(thresholds=(2,)), on_reminder=seen.append)
    second = Agent(name="second", model=looping(2), tools=[get_status], hooks=guard.agent_hooks())
    turns = [[call("get_status")], [call("get_status")], [call("transfer_to_second")]]
    first = Agent(name="first", model=ScriptedModel(turns), tools=[get_status], handoffs=[handoff(second)])
    with caplog.at_level(logging.INFO, logger="repeatguard"):
        await run_to_the_end(first, "go", guard)
    assert [record.__dict__["agent"] for record in caplog.records] == ["first", "second"]
    assert [reminder.agent_name for reminder in seen] == ["first", "second"]
