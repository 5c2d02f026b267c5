"""X5: how a run ends, by an exception or by a team's condition, and how it goes on."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import re
from typing import Any

import autogen_agentchat.teams as autogen_teams
import pytest
import repeatguard_core
from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import TerminatedException
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.messages import StopMessage, TextMessage
from autogen_agentchat.teams import MagenticOneGroupChat, RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_core import AgentId, SingleThreadedAgentRuntime
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)
from autogen_core.tool_agent import ToolAgent, tool_agent_caller_loop
from autogen_core.tools import FunctionTool
from repeatguard_autogen import (
    RepeatGuardConfig,
    RepeatGuardHandler,
    RepeatLoopError,
    RepeatTermination,
    ToolSettings,
)

from tests.autogen.scripted_client import ScriptedClient, both_ways, call, counts, repeating, words
from tests.autogen.teams import agent_with, get_status, run_team, wire, wirings
from tests.autogen.test_teams import chatting, has_graph, is_nested, ledger

pytestmark = pytest.mark.rules("X5")

ENDING = RepeatGuardConfig(thresholds=(2,), stop_after=3)
ARGUMENTS = '{"job":"7"}'
WHY = "get_status called 3 times in a row with the same arguments (stop_after=3)"


def ending_guard() -> RepeatGuardHandler:
    """Make a guard that ends a run at the third call."""
    return RepeatGuardHandler(ENDING)


def same_call() -> Any:
    """Make the call that comes again and again."""
    return call("get_status", '{"job": "7"}')


def at_once() -> ScriptedClient:
    """Make a client whose model makes three calls at once, and then would be asked what to make of them."""
    return ScriptedClient([[same_call() for _ in range(3)], "done", "done"])


def ends(caplog: pytest.LogCaptureFixture) -> list[str]:
    """List the ends that were logged."""
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def check(error: RepeatLoopError | None, *, count: int = 3) -> None:
    """Check that an end says what it is about."""
    assert error is not None
    assert (error.tool_name, error.count, error.arguments) == ("get_status", count, ARGUMENTS)
    assert "job" not in str(error)


# --- agents ----------------------------------------------------------------------------------


@both_ways
async def test_an_agent_across_turns(streamed: bool, caplog: pytest.LogCaptureFixture) -> None:  # noqa: FBT001
    """It raises before the fourth request; all is in its context; new words are heard, and the old end is over."""
    client = ScriptedClient([*([same_call()] for _ in range(4)), "done"])
    agent = agent_with(client, model_client_stream=streamed)
    ending_guard().attach(agent)
    await agent.run(task="go")
    await agent.run()
    await agent.run()
    with pytest.raises(RepeatLoopError) as caught:
        await agent.run()
    check(caught.value)
    assert isinstance(caught.value, repeatguard_core.RepeatLoopError)
    assert caught.value.messages == ()
    assert len(client.requests) == 3
    assert ends(caplog) == ["ended the run: get_status called 3 times in a row with the same arguments (stop_after=3)"]
    kept = await agent.model_context.get_messages()
    assert words(kept) == ["user", "call", "result", "call", "result", "reminder", "call", "result"]
    await agent.run(task="look elsewhere")
    await agent.run()
    assert len(client.requests) == 5


async def test_an_agent_that_is_made_to_go_on() -> None:
    """Without new words it ends again at the next call."""
    client = repeating(6)
    agent = agent_with(client)
    ending_guard().attach(agent)
    await agent.run(task="go")
    await agent.run()
    await agent.run()
    for count in (3, 4):
        with pytest.raises(RepeatLoopError) as caught:
            await agent.run()
        check(caught.value, count=count)
        await agent.run()


async def test_an_agent_within_its_turn() -> None:
    """All calls of the response are made, and their results are in the context."""
    client = at_once()
    agent = agent_with(client, model_context=ending_guard().context(), reflect_on_tool_use=True)
    with pytest.raises(RepeatLoopError) as caught:
        await agent.run(task="go")
    check(caught.value)
    assert len(client.requests) == 1
    assert words(await agent.model_context.get_messages()) == ["user", *["call"] * 3, *["result"] * 3]


async def test_an_end_is_stored_with_the_conversation() -> None:
    """An agent that is loaded ends as it would have; words that come first are heard."""
    agent = agent_with(repeating(3))
    ending_guard().attach(agent)
    for task in ("go", None, None):
        await agent.run(task=task)
    state = json.loads(json.dumps(await agent.save_state()))
    for task in (None, "go on"):
        loaded = agent_with(repeating(1))
        ending_guard().attach(loaded)
        await loaded.load_state(state)
        if task is None:
            with pytest.raises(RepeatLoopError):
                await loaded.run()
        else:
            await loaded.run(task=task)


def test_the_exception_is_copied_and_pickled() -> None:
    """With all it says."""
    chain = repeatguard_core.RepeatChain(ENDING)
    reminder = chain.observe([repeatguard_core.ToolCall("get_status", {"job": "7"})] * 3)
    assert isinstance(reminder, repeatguard_core.Stop)
    error = RepeatLoopError(reminder, [UserMessage(content="go", source="user")])
    for other in (copy.copy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301 - its own data
        check(other)
        assert str(other) == str(error) == WHY
        assert other.messages == error.messages


async def test_what_a_context_has_lost_is_not_put_back() -> None:
    """After a fault it works out anew what is due."""
    chain = repeatguard_core.RepeatChain(ENDING)
    reminder = chain.observe([repeatguard_core.ToolCall("get_status")] * 3)
    assert isinstance(reminder, repeatguard_core.Stop)
    context: Any = ending_guard().context()
    context.restore_stop(reminder)
    assert context.pop_stop(set()) is None
    assert await context.get_messages() == []


# --- clients ---------------------------------------------------------------------------------


async def test_the_cores_loop() -> None:
    """What the loop kept to itself is in the exception, and can be carried on with."""
    guard = ending_guard()
    client = ScriptedClient([*([same_call()] for _ in range(3)), "done"])
    tools: Any = [FunctionTool(get_status, "Look a job up.")]
    runtime = SingleThreadedAgentRuntime()
    await ToolAgent.register(runtime, "tools", lambda: ToolAgent("Runs tools.", tools))
    runtime.start()
    messages: list[LLMMessage] = [UserMessage(content="go", source="user")]
    with pytest.raises(RepeatLoopError) as caught:
        await tool_agent_caller_loop(runtime, AgentId("tools", "default"), guard.client(client), messages, tools)
    check(caught.value)
    assert len(client.requests) == 3
    messages = [*caught.value.messages, UserMessage(content="look elsewhere", source="user")]
    assert words(messages) == ["user", *["call", "result"] * 3, "user"]
    await tool_agent_caller_loop(runtime, AgentId("tools", "default"), guard.client(client), messages, tools)
    await runtime.stop_when_idle()
    assert words(client.requests[-1]) == ["user", *["call", "result"] * 2, "reminder", "call", "result", "user"]


async def test_a_stream_of_a_client() -> None:
    """It is refused as a whole response is."""
    guard = ending_guard()
    agent = agent_with(at_once(), reflect_on_tool_use=True, model_client_stream=True)
    agent._model_client = guard.client(agent._model_client)
    with pytest.raises(RepeatLoopError) as caught:
        _ = [message async for message in agent.run_stream(task="go")]
    check(caught.value)
    assert words(caught.value.messages) == ["user", *["call"] * 3, *["result"] * 3]


# --- teams with the condition ----------------------------------------------------------------


def round_robin(worker: Any, **settings: Any) -> Any:
    """Let a worker and a critic take turns."""
    return RoundRobinGroupChat([worker, agent_with(chatting(), "critic", tools=[])], **settings)


def selector(worker: Any, **settings: Any) -> Any:
    """Let a model choose who speaks, which is always the worker."""
    chooser = ScriptedClient(["worker"] * 20)
    members: list[Any] = [worker, agent_with(chatting(), "critic", tools=[])]
    return SelectorGroupChat(members, chooser, allow_repeated_speaker=True, **settings)


def swarm(worker: Any, **settings: Any) -> Any:
    """Let the worker speak until it hands over, which it does not."""
    return Swarm([worker, agent_with(chatting(), "critic")], **settings)


def magentic_one(worker: Any, **settings: Any) -> Any:
    """Let an orchestrator ask the worker."""
    orchestrator = ScriptedClient(["facts", "a plan", *[ledger("worker")] * 20])
    return MagenticOneGroupChat([worker], orchestrator, **settings)


def graph(worker: Any, **settings: Any) -> Any:
    """Let the worker follow upon itself by way of a critic."""
    critic = agent_with(chatting(), "critic", tools=[])
    closer = agent_with(chatting(), "closer", tools=[])
    builder = autogen_teams.DiGraphBuilder()
    builder.add_node(worker, activation="any").add_node(critic).add_node(closer)
    builder.add_edge(worker, critic)
    builder.add_edge(critic, worker, condition="go on").add_edge(critic, closer, condition="the end")
    builder.set_entry_point(worker)
    return autogen_teams.GraphFlow([worker, critic, closer], builder.build(), **settings)


kinds = pytest.mark.parametrize(
    "kind", [round_robin, selector, swarm, magentic_one, pytest.param(graph, marks=has_graph)]
)


@kinds
@wirings
async def test_a_team_ends(kind: Any, wiring: str, caplog: pytest.LogCaptureFixture) -> None:
    """By the condition, before anybody speaks again; a new task starts anew, and may end again."""
    guard, client = ending_guard(), repeating(20)
    condition = guard.termination()

    def make(runtime: Any) -> Any:
        handoffs = ["critic"] if kind is swarm else []  # without one, early releases make no swarm
        worker = agent_with(client, handoffs=handoffs)
        return kind(worker, runtime=runtime, termination_condition=condition | MaxMessageTermination(90))

    team, runtime = wire(guard, wiring, make)
    result = await run_team(team, runtime)
    assert result.stop_reason == WHY
    check(condition.last_stop)
    assert len(client.requests) == 3
    assert len(ends(caplog)) == 1
    result = await run_team(team, runtime, "look elsewhere")
    assert result.stop_reason == WHY
    assert len(client.requests) == 6
    anew = [0, 0, 1] if kind is magentic_one else [1, 1, 2]  # which starts every task with an empty context
    assert counts(client) == [0, 0, 1, *anew]


@wirings
@both_ways
async def test_a_team_ends_within_a_turn(wiring: str, streamed: bool, caplog: pytest.LogCaptureFixture) -> None:  # noqa: FBT001
    """The agent's turn ends with a message that says so, and the team as between two turns."""
    guard, client = ending_guard(), at_once()
    condition = guard.termination()

    def make(runtime: Any) -> Any:
        worker = agent_with(client, reflect_on_tool_use=True, model_client_stream=streamed)
        return round_robin(worker, runtime=runtime, termination_condition=condition, max_turns=2)

    team, runtime = wire(guard, wiring, make)
    result = await run_team(team, runtime, streamed=streamed)
    assert result.stop_reason == WHY
    check(condition.last_stop)
    assert len(client.requests) == 1
    assert len(ends(caplog)) == 1
    kinds_of_messages = [type(message).__name__ for message in result.messages]
    assert kinds_of_messages == ["TextMessage", "ToolCallRequestEvent", "ToolCallExecutionEvent", "StopMessage"]
    last = result.messages[-1]
    assert isinstance(last, StopMessage)
    assert (last.content, last.source) == (WHY, "worker")
    result = await run_team(team, runtime, TextMessage(content="look elsewhere", source="user"))
    assert words(client.requests[-1])[-2:] == ["user", "critic"]
    assert result.stop_reason == "Maximum number of turns 2 reached."
    assert condition.last_stop is None


async def test_a_team_that_is_made_to_go_on() -> None:
    """An end that was told is over; without new words the team ends again at the next call."""
    guard, client = ending_guard(), repeating(6)
    condition = guard.termination()
    team = RoundRobinGroupChat([agent_with(client)], termination_condition=condition)
    guard.attach(team)
    for count, task in ((3, "go"), (4, None), (5, None)):
        result = await run_team(team, None, task)
        assert str(result.stop_reason).startswith(f"get_status called {count} times in a row")
        check(condition.last_stop, count=count)
        assert len(client.requests) == count


async def test_an_agents_own_end_does_not_end_a_team_with_a_new_task() -> None:
    """A task is new material, though the agent has not read it yet when the condition is asked first."""
    guard, client = ending_guard(), repeating(4)
    condition = guard.termination()
    agent = agent_with(client)
    team = RoundRobinGroupChat([agent], termination_condition=condition, max_turns=2)
    guard.attach(team)
    for task in ("go", None, None):
        await agent.run(task=task)
    result = await run_team(team, None, "go on")
    assert condition.last_stop is None
    assert "done" in str(result.messages[-1])


async def test_an_agent_of_the_team_that_is_run_by_itself_raises() -> None:
    """Its caller has no condition."""
    guard = ending_guard()
    agent = agent_with(at_once(), reflect_on_tool_use=True)
    guard.attach(RoundRobinGroupChat([agent], termination_condition=guard.termination()))
    with pytest.raises(RepeatLoopError):
        await agent.run(task="go")


@has_graph
async def test_two_agents_at_once() -> None:
    """Though the condition is shown what the one said that finished last, and that one is in no loop."""
    guard = ending_guard()
    condition = guard.termination()
    clients = [at_once(), at_once(), ScriptedClient([[call()], "done"])]
    members: list[Any] = [agent_with(client, name) for client, name in zip(clients, "abc", strict=True)]
    starter, closer = (agent_with(chatting(), name, tools=[]) for name in ("starter", "closer"))
    builder = autogen_teams.DiGraphBuilder()
    for member in (starter, *members, closer):
        builder.add_node(member)
    for member in members:
        builder.add_edge(starter, member).add_edge(member, closer)
    team = autogen_teams.GraphFlow(builder.get_participants(), builder.build(), termination_condition=condition)
    guard.attach(team)
    result = await run_team(team, None)
    assert result.stop_reason == WHY
    check(condition.last_stop)
    for member in members:
        assert member.model_context.pop_stop(set()) is None


async def test_an_end_in_an_inner_team() -> None:
    """It is the inner team's, which ends for its own condition; the outer one goes on."""
    if not await is_nested():
        pytest.skip("a team cannot be a member of another in this release")
    guard, client = ending_guard(), repeating(9)
    inner_condition, outer_condition = guard.termination(), guard.termination()
    inner: Any = RoundRobinGroupChat([agent_with(client)], name="inner", termination_condition=inner_condition)
    members: list[Any] = [inner, agent_with(chatting(), "critic", tools=[])]
    outer = RoundRobinGroupChat(members, max_turns=2, termination_condition=outer_condition)
    guard.attach(outer)
    result = await run_team(outer, None)
    check(inner_condition.last_stop)
    assert outer_condition.last_stop is None
    assert "Maximum number of turns" in str(result.stop_reason)
    assert result.messages[-1].source == "critic"


async def test_an_end_of_an_agent_that_is_a_tool() -> None:
    """AutoGen tells the outer model of it as of any tool that fails, and the outer team goes on."""
    tools = pytest.importorskip("autogen_agentchat.tools")
    guard = ending_guard()
    condition = guard.termination()
    inner = agent_with(at_once(), "inner", description="Helps.", reflect_on_tool_use=True)
    outer = ScriptedClient([[call("inner", '{"task": "help"}')], "done"])
    worker = agent_with(outer, tools=[tools.AgentTool(inner)])
    stop = condition | TextMentionTermination("done")
    team = RoundRobinGroupChat([worker], termination_condition=stop, max_turns=3)
    guard.attach(team)
    result = await run_team(team, None)
    assert condition.last_stop is None
    assert "done" in str(result.stop_reason)
    told: Any = outer.requests[-1][-1]
    assert told.content[0].is_error
    assert WHY in told.content[0].content


async def test_a_humans_words_come_before_the_end() -> None:
    """Where a proxy spoke, its words are new material, and the agent is to hear them; if it does not, it ends."""
    guard, client = ending_guard(), repeating(3)
    condition = guard.termination()
    worker = agent_with(client)
    proxy: Any = UserProxyAgent("ann")
    guard.attach(RoundRobinGroupChat([worker, proxy], termination_condition=condition))
    for task in ("go", None, None):
        await worker.run(task=task)
    assert await condition([TextMessage(content="hm", source="ann")]) is None
    assert await condition([TextMessage(content="hm", source="worker")]) is None
    with pytest.raises(RepeatLoopError):
        await worker.run()


# --- teams without the condition -------------------------------------------------------------


@pytest.mark.parametrize("within", [False, True], ids=["between turns", "within a turn"])
async def test_a_team_without_the_condition(within: bool) -> None:  # noqa: FBT001
    """AutoGen puts the exception into a RuntimeError; a team that is made anew goes on from the state."""
    guard = ending_guard()

    def make(client: ScriptedClient) -> Any:
        team = round_robin(agent_with(client, reflect_on_tool_use=within), max_turns=20)
        guard.attach(team)
        return team

    team = make(at_once() if within else repeating(9))
    with pytest.raises(RuntimeError, match=re.escape(WHY)) as caught:
        await run_team(team, None)
    assert not isinstance(caught.value, RepeatLoopError)
    state = json.loads(json.dumps(await team.save_state(), default=str))
    client = ScriptedClient(["done"] * 20)
    team = make(client)
    await team.load_state(state)
    await run_team(team, None, "look elsewhere")
    assert words(client.requests[0])[:2] == ["user", "call"]


async def test_an_agent_that_has_left_its_team() -> None:
    """What was known of the old team is forgotten, or found out to be wrong."""
    for is_attached in (True, False):
        guard = ending_guard()
        condition = guard.termination()
        agent = agent_with(at_once(), reflect_on_tool_use=True)
        guard.attach(RoundRobinGroupChat([agent], termination_condition=condition))
        team = RoundRobinGroupChat([agent], max_turns=1 if is_attached else 3)
        if is_attached:
            guard.attach(team)
        with pytest.raises(RuntimeError, match=re.escape(WHY)):
            await run_team(team, None)
        assert await condition([]) is None


async def test_an_agent_that_is_given_another_context() -> None:
    """Attached again, its turn ends for the new one."""
    guard, condition = ending_guard(), ending_guard().termination()
    agent = agent_with(at_once(), reflect_on_tool_use=True)
    team = RoundRobinGroupChat([agent], termination_condition=condition, max_turns=3)
    guard.attach(team)
    agent._model_context = UnboundedChatCompletionContext()
    guard.attach(team)
    assert (await run_team(team, None)).stop_reason == WHY


async def test_an_end_of_an_agent_that_has_left_its_team() -> None:
    """It is not the old team's, and the new one's condition knows of it."""
    guard = ending_guard()
    old, new = guard.termination(), guard.termination()
    agent = agent_with(repeating(3))
    guard.attach(RoundRobinGroupChat([agent], termination_condition=old))
    guard.attach(RoundRobinGroupChat([agent], termination_condition=new))
    for task in ("go", None, None):
        await agent.run(task=task)
    assert await old([]) is None
    assert await new([]) is not None


# --- the condition itself --------------------------------------------------------------------


async def test_the_condition_keeps_autogens_rules() -> None:
    """Once it has ended a team it must be reset, and what it says stays until the team goes on."""
    guard = ending_guard()
    condition = guard.termination()
    agent = agent_with(repeating(3))
    guard.attach(RoundRobinGroupChat([agent], termination_condition=condition))
    for task in ("go", None, None):
        await agent.run(task=task)
    assert not condition.terminated
    said = await condition([])
    assert said is not None
    assert (said.content, said.source) == (WHY, "repeatguard")
    assert condition.terminated
    with pytest.raises(TerminatedException):
        await condition([])
    await condition.reset()
    check(condition.last_stop)
    assert await condition([]) is None
    assert condition.last_stop is None


@pytest.mark.rules("C3")
async def test_a_team_that_is_loaded() -> None:
    """The condition is dumped with the team, and acts once the loaded team is attached."""
    guard = ending_guard()
    team = RoundRobinGroupChat(
        [agent_with(ScriptedClient(), tools=[])], termination_condition=guard.termination() & guard.termination()
    )
    loaded: Any = RoundRobinGroupChat.load_component(team.dump_component())
    agent = loaded._participants[0]
    agent._tools = []
    guard.attach(loaded)
    first, second = loaded._termination_condition._conditions
    assert isinstance(first, RepeatTermination)
    for message in [UserMessage(content="go", source="user")]:
        await agent.model_context.add_message(message)
    await run_in(agent.model_context, 3)
    assert await first([]) is not None
    assert await second([]) is None


async def run_in(context: Any, times: int) -> None:
    """Have the same call made in a context."""
    from tests.autogen.test_conversation import answered  # noqa: PLC0415 - it is about contexts alone

    for _ in range(times):
        for message in answered(by="worker"):
            await context.add_message(message)


@pytest.mark.rules("D8", "X5")
async def test_a_condition_that_is_asked_while_results_are_missing() -> None:
    """Agents may be at work at once. What is not answered yet counts once it is."""
    context: Any = ending_guard().context()
    await run_in(context, 2)
    made = call("look")
    await context.add_message(AssistantMessage(content=[made], source="worker"))
    assert context.pop_stop(set()) is None
    result = FunctionExecutionResult(content="", name="look", call_id=made.id, is_error=False)
    await context.add_message(FunctionExecutionResultMessage(content=[result]))
    assert context.pop_stop(set()) is not None


@pytest.mark.rules("S2")
async def test_a_fault_in_the_condition_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and the team goes on, also one that has ended before."""
    guard, client = ending_guard(), repeating(9)
    agent = agent_with(client)
    condition = guard.termination()
    team = RoundRobinGroupChat([agent], termination_condition=condition, max_turns=3)
    guard.attach(team)
    assert (await run_team(team, None)).stop_reason == WHY

    def fail(*_: object) -> None:
        msg = "broken"
        raise LookupError(msg)

    monkeypatch.setattr(type(agent.model_context), "pop_stop", fail)
    result = await run_team(team, None, "look elsewhere")
    assert "Maximum number of turns" in str(result.stop_reason)
    assert condition.last_stop is None
    assert "a fault in the end of a team: LookupError('broken')" in caplog.text


@pytest.mark.rules("S2")
async def test_a_condition_of_the_users_that_looks_like_a_combination() -> None:
    """It is taken for what it is."""
    guard, client = ending_guard(), repeating(9)
    odd: Any = MaxMessageTermination(40)
    odd._conditions = {"messages": 40}
    condition = guard.termination()
    team = RoundRobinGroupChat([agent_with(client)], termination_condition=odd | (odd | condition))
    guard.attach(team)
    assert (await run_team(team, None)).stop_reason == WHY


async def test_a_tool_that_may_be_repeated() -> None:
    """The settings of one tool say when a run ends for it, or that it never does."""
    settings = ToolSettings(match="get_*", stop_after="never")
    guard = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,), stop_after=3, tools=(settings,)))
    agent = agent_with(repeating(5))
    guard.attach(agent)
    for task in ("go", *[None] * 5):
        await agent.run(task=task)
