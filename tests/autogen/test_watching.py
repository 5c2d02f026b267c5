"""S6: what OpenTelemetry is shown of a run, and whose calls a reminder is about."""

from __future__ import annotations

import logging
from typing import Any

import autogen_core
import pytest
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import SingleThreadedAgentRuntime
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)
from repeatguard_autogen import Reminder, RepeatGuardConfig, RepeatGuardHandler, RepeatLoopError

from tests.autogen.scripted_client import call, repeating
from tests.autogen.teams import agent_with, run_team, wire, wirings
from tests.telemetry import Telemetry

CONFIG = RepeatGuardConfig(thresholds=(2,), stop_after=4)
#: Early releases trace the runtime's messages alone.
TRACES_AGENTS = hasattr(autogen_core, "trace_invoke_agent_span")


def agents_in(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    """List whose reminders and ends were logged."""
    records = [record for record in caplog.records if record.name == "repeatguard"]
    return [(record.levelno, record.__dict__["agent"]) for record in records]


@pytest.mark.rules("S6", "X5")
@wirings
async def test_a_team(telemetry: Telemetry, wiring: str) -> None:
    """A reminder is an event of the agent's span, and the end one of the runtime's, where the condition is asked."""
    guard = RepeatGuardHandler(CONFIG)

    def make(runtime: SingleThreadedAgentRuntime | None) -> Any:
        members: list[Any] = [agent_with(repeating(9))]
        return RoundRobinGroupChat(members, max_turns=9, runtime=runtime, termination_condition=guard.termination())

    with telemetry.span("mine"):
        await run_team(*wire(guard, wiring, make))
    reminder, end = telemetry.events
    assert [reminder.name, end.name] == ["repeatguard.reminder", "repeatguard.stop"]
    assert reminder.span.startswith("invoke_agent worker" if TRACES_AGENTS else "autogen process worker")
    assert end.span.startswith("autogen process RoundRobinGroupChatManager")
    for event in (reminder, end):
        assert event.attributes["gen_ai.agent.name"] == "worker"
        assert "repeatguard.arguments" not in event.attributes
    assert sorted(telemetry.counts()) == ["repeatguard.reminders", "repeatguard.stops"]


@pytest.mark.rules("S6", "X5")
@pytest.mark.parametrize("wiring", ["attached", "client"])
async def test_an_agent_that_is_run_by_itself(telemetry: Telemetry, wiring: str) -> None:
    """Both are events of the agent's span; where it has none, of the program's."""
    seen: list[Reminder] = []
    guard = RepeatGuardHandler(CONFIG, on_reminder=seen.append)
    client = repeating(9)
    agent = agent_with(guard.client(client) if wiring == "client" else client)
    if wiring == "attached":
        guard.attach(agent)
    with telemetry.span("mine"):
        for _ in range(4):
            await agent.run()
        with pytest.raises(RepeatLoopError) as end:
            await agent.run()
    assert [*(each.agent_name for each in seen), end.value.stop.agent_name] == ["worker", "worker"]
    span = "invoke_agent worker" if TRACES_AGENTS else "mine"
    assert [(event.span, event.name) for event in telemetry.events] == [
        (span, "repeatguard.reminder"),
        (span, "repeatguard.stop"),
    ]
    assert {event.attributes["gen_ai.agent.name"] for event in telemetry.events} == {"worker"}


@pytest.mark.rules("S6", "D12")
async def test_the_agent_that_repeats_itself_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """Of those in a team: in the log and to the callback."""
    seen: list[Reminder] = []
    guard = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,)), on_reminder=seen.append)
    members: list[Any] = [agent_with(repeating(3), name) for name in ("first", "second")]
    team = RoundRobinGroupChat(members, max_turns=6)
    guard.attach(team)
    with caplog.at_level(logging.INFO, logger="repeatguard"):
        await run_team(team, None)
    assert agents_in(caplog) == [(logging.INFO, "first"), (logging.INFO, "second")]
    assert [reminder.agent_name for reminder in seen] == ["first", "second"]


@pytest.mark.rules("S6", "X5")
async def test_an_end_that_waits_behind_other_words_names_the_agent(caplog: pytest.LogCaptureFixture) -> None:
    """It is about the calls that were counted, though another agent has spoken since."""
    context: Any = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,), stop_after=3)).context()
    context.learn(agents=["critic"])
    messages: list[LLMMessage] = []
    for _ in range(3):
        made = call()
        answer = FunctionExecutionResult(call_id=made.id, content="pending", name=made.name, is_error=False)
        messages += [
            AssistantMessage(content=[made], source="worker"),
            FunctionExecutionResultMessage(content=[answer]),
        ]
    for message in [*messages, UserMessage(content="hm", source="critic")]:
        await context.add_message(message)
    with pytest.raises(RepeatLoopError) as end:
        await context.get_messages()
    assert agents_in(caplog) == [(logging.WARNING, "worker")]
    assert end.value.stop.agent_name == "worker"
