"""X5: an end beside other conditions, beside words that are on their way, and beside agents inside others."""

from __future__ import annotations

from typing import Any

import autogen_agentchat.agents as autogen_agents
import pytest
from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from repeatguard_autogen import RepeatGuardConfig, RepeatGuardHandler

from tests.autogen.scripted_client import ScriptedClient, call, counts, repeating
from tests.autogen.teams import agent_with, run_team, wire, wirings
from tests.autogen.test_agents import has_filter
from tests.autogen.test_stops import WHY, at_once, check, ending_guard
from tests.autogen.test_teams import chatting, is_nested

pytestmark = pytest.mark.rules("X5")


def critic() -> Any:
    """Make an agent that has nothing but words."""
    return agent_with(chatting(), "critic", tools=[])


def filtered(agent: Any, *sources: str) -> Any:
    """Wrap an agent in one of another name, which lets through what some have said."""
    per_source: Any = [autogen_agents.PerSourceFilter(source=source) for source in sources]
    config = autogen_agents.MessageFilterConfig(per_source=per_source)
    return autogen_agents.MessageFilterAgent("filtered", agent, config)


async def with_an_end_that_nobody_knows(guard: RepeatGuardHandler, *, is_filtered: bool = False) -> Any:
    """Make a team whose second agent was run into a loop by itself, and the client of that one."""
    client = repeating(4)
    worker = agent_with(client)
    condition = guard.termination()
    members: list[Any] = [critic(), filtered(worker, "critic") if is_filtered else worker]
    team = RoundRobinGroupChat(members, termination_condition=condition, max_turns=2)
    guard.attach(team)
    for task in ("go", None, None):
        await worker.run(task=task)
    return team, client, condition


# --- other conditions ------------------------------------------------------------------------


@pytest.mark.parametrize("within", [False, True], ids=["between turns", "within a turn"])
@wirings
async def test_a_condition_that_another_has_to_agree_with(wiring: str, within: bool) -> None:  # noqa: FBT001
    """The team goes on until it does, and each further end is only that of a turn. A new task starts anew."""
    guard = ending_guard()
    client = ScriptedClient([[call("get_status", '{"job": "7"}')] * (3 if within else 1) for _ in range(20)])
    condition = guard.termination()

    def make(runtime: Any) -> Any:
        members: list[Any] = [agent_with(client, reflect_on_tool_use=within), critic()]
        both = condition & MaxMessageTermination(11)
        return RoundRobinGroupChat(members, termination_condition=both, runtime=runtime)

    team, runtime = wire(guard, wiring, make)
    for task in ("go", "look elsewhere"):
        result = await run_team(team, runtime, task)
        assert str(result.stop_reason).startswith(f"{WHY}, Maximum number of messages 11 reached")
        check(condition.last_stop)


# --- words -----------------------------------------------------------------------------------


@pytest.mark.rules("D11")
@pytest.mark.parametrize("speakers", [["user"], ["user", "critic"]])
async def test_new_words_come_before_an_end_that_nobody_knows(speakers: list[str]) -> None:
    """Though another agent speaks before the one that they are to reach."""
    team, client, condition = await with_an_end_that_nobody_knows(ending_guard())
    await run_team(team, None, [TextMessage(content="look elsewhere", source=speaker) for speaker in speakers])
    assert condition.last_stop is None
    assert len(client.requests) == 4


async def test_an_end_that_nobody_knows() -> None:
    """Without new words it ends the team."""
    team, client, condition = await with_an_end_that_nobody_knows(ending_guard())
    result = await run_team(team, None, None)
    check(condition.last_stop)
    assert result.messages[-1].source == "critic"
    assert len(client.requests) == 3


@has_filter
async def test_new_words_that_never_reach_the_agent() -> None:
    """They are no reason to go on: the team ends at the agent's turn, without a request."""
    team, client, condition = await with_an_end_that_nobody_knows(ending_guard(), is_filtered=True)
    result = await run_team(team, None, "look elsewhere")
    check(condition.last_stop)
    assert result.messages[-1].source == "worker"
    assert len(client.requests) == 3


async def test_words_that_are_none_of_the_teams() -> None:
    """What an agent tells another that is its tool is no new material for the team."""
    tools = pytest.importorskip("autogen_agentchat.tools")
    guard = ending_guard()
    condition = guard.termination()
    helper = agent_with(chatting(), "helper", description="Helps.", tools=[])
    client = repeating(9, ("helper", '{"task": "help"}'))
    worker = agent_with(client, tools=[tools.AgentTool(helper)])
    team = RoundRobinGroupChat([worker], termination_condition=condition, max_turns=9)
    guard.attach(team)
    result = await run_team(team, None)
    assert condition.last_stop is not None
    assert type(result.messages[-1]).__name__ == "ToolCallSummaryMessage"
    assert len(client.requests) == 3


# --- agents inside others --------------------------------------------------------------------


@has_filter
@wirings
@pytest.mark.parametrize("within", [False, True], ids=["between turns", "within a turn"])
async def test_an_agent_inside_one_of_another_name(wiring: str, within: bool) -> None:  # noqa: FBT001
    """What it says ends the team that the outer one is in."""
    guard = ending_guard()
    client = at_once() if within else repeating(9)
    condition = guard.termination()

    def make(runtime: Any) -> Any:
        member = filtered(agent_with(client, reflect_on_tool_use=within), "user")
        return RoundRobinGroupChat([member], termination_condition=condition, max_turns=9, runtime=runtime)

    team, runtime = wire(guard, wiring, make)
    result = await run_team(team, runtime)
    assert result.stop_reason == WHY
    assert type(result.messages[-1]).__name__ == ("StopMessage" if within else "ToolCallSummaryMessage")
    assert len(client.requests) == (1 if within else 3)


async def beside_an_inner_team(wiring: str, member: Any) -> list[int]:
    """Run an agent in a loop beside a team of one, and count the reminders in its requests."""
    if not await is_nested():
        pytest.skip("a team cannot be a member of another in this release")
    client = repeating(5)

    def make(runtime: Any) -> Any:
        inner: Any = RoundRobinGroupChat([member], name="inner", max_turns=1)
        members: list[Any] = [agent_with(client), inner]
        return RoundRobinGroupChat(members, max_turns=10, runtime=runtime)

    team, runtime = wire(RepeatGuardHandler(RepeatGuardConfig(thresholds=(3,))), wiring, make)
    await run_team(team, runtime)
    return counts(client)


@pytest.mark.rules("D11")
@wirings
async def test_what_an_inner_team_says(wiring: str) -> None:
    """The words of its agents are an agent's, outside as well, and a human's are a human's."""
    assert await beside_an_inner_team(wiring, critic()) == [0, 0, 0, 1, 1]
    assert await beside_an_inner_team(wiring, UserProxyAgent("ann", input_func=lambda _: "go on")) == [0] * 5
