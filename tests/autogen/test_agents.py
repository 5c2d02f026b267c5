"""One agent and all that it can do: reflection, handoffs, agents as tools, refusals, cancellation."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

import autogen_agentchat.agents as autogen_agents
import autogen_core.tools as autogen_tools
import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.tools import FunctionTool
from repeatguard_autogen import Reminder, RepeatGuardHandler

from tests.autogen.driver import LOOPS_WITHIN_A_TURN
from tests.autogen.scripted_client import (
    ScriptedClient,
    assert_append_only,
    both_ways,
    call,
    counts,
    repeating,
    words,
)
from tests.autogen.teams import agent_with, get_status, run_team, started, wire, wirings

HAS_WORKBENCHES = "workbench" in inspect.signature(AssistantAgent).parameters
loops_within_a_turn = pytest.mark.skipif(not LOOPS_WITHIN_A_TURN, reason="it came with release 0.6.2")


async def run(agent: AssistantAgent, task: str | None, *, streamed: bool = False) -> None:
    """Run an agent for a turn."""
    if not streamed:
        await agent.run(task=task)
        return
    async for _ in agent.run_stream(task=task):
        pass


@pytest.mark.rules("D1", "M1", "M5")
@both_ways
async def test_reflection(streamed: bool) -> None:  # noqa: FBT001
    """The request to reflect on the results comes right behind the reminder, and offers no tools."""
    turns: list[Any] = [turn for _ in range(4) for turn in ([call()], "let me see")]
    client = ScriptedClient(turns)
    context = RepeatGuardHandler().context()
    agent = agent_with(client, reflect_on_tool_use=True, model_client_stream=streamed, model_context=context)
    for number in range(4):
        await run(agent, None if number else "go", streamed=streamed)
    turn = ["call", "result", "answer"]
    assert words(client.requests[5]) == ["user", *turn, *turn, "call", "result", "reminder"]
    assert counts(client) == [0, 0, 0, 0, 0, 1, 1, 1]
    assert_append_only(client.requests)
    assert "tools" not in client.options[5]


@pytest.mark.rules("D1", "M1", "M5", "M6")
@loops_within_a_turn
@both_ways
@pytest.mark.parametrize("buffer", [None, 7], ids=["everything in sight", "buffered"])
async def test_every_way_at_once(buffer: int | None, streamed: bool) -> None:  # noqa: FBT001
    """Context, attached, and client: each reminder is given and announced once."""
    seen: list[Reminder] = []
    guard = RepeatGuardHandler(on_reminder=seen.append)
    client = repeating(9)
    agent = agent_with(
        guard.client(client),
        max_tool_iterations=20,
        model_client_stream=streamed,
        model_context=guard.context(BufferedChatCompletionContext(buffer) if buffer else None),
    )
    guard.attach(agent)
    await run(agent, "go", streamed=streamed)
    assert [reminder.count for reminder in seen] == [3, 5, 8]
    assert [number for number, request in enumerate(client.requests) if words(request)[-1] == "reminder"] == [3, 5, 8]


@pytest.mark.rules("M6", "D11")
async def test_a_client_leaves_to_the_context_what_is_the_contexts() -> None:
    """It sees the same messages, and knows less of who is who in them."""
    guard = RepeatGuardHandler()
    client = repeating(5)
    critic = agent_with(ScriptedClient(["go on"] * 9), "critic", tools=[])
    members: list[Any] = [agent_with(guard.client(client)), critic]
    team = RoundRobinGroupChat(members, termination_condition=TextMentionTermination("done"))
    guard.attach(team)
    await team.run(task="go")
    assert counts(client) == [0, 0, 0, 1, 1, 2]


@pytest.mark.rules("M6", "S5")
async def test_two_guards_on_one_agent() -> None:
    """The one that was wired last reminds, and the other sees that it has."""
    seen: list[str] = []
    guards = [RepeatGuardHandler(on_reminder=lambda _, name=name: seen.append(name)) for name in "ab"]  # type: ignore[misc]
    client = repeating(5)
    agent = agent_with(client, model_context=guards[0].context())
    guards[1].attach(agent)
    for number in range(6):
        await agent.run(task=None if number else "go")
    assert counts(client) == [0, 0, 0, 1, 1, 2]
    assert seen == ["b", "b"]


@pytest.mark.rules("D8", "D9", "M1")
@loops_within_a_turn
@both_ways
async def test_calls_that_come_to_nothing(streamed: bool) -> None:  # noqa: FBT001
    """Unknown tools, tools that raise and arguments that are not JSON count, each once, also side by side."""
    broken = ("get_status", '{"job": ')
    batches = [[("nothing", "{}")] * 3, [("fail", "{}")] * 3, [broken] * 3, [("nothing", "{}"), ("fail", "{}"), broken]]
    client = ScriptedClient([*([call(*each) for each in batch] for batch in batches), "done"])
    seen: list[Reminder] = []
    context = RepeatGuardHandler(on_reminder=seen.append).context()
    agent = agent_with(client, max_tool_iterations=9, model_client_stream=streamed, model_context=context)
    await run(agent, "go", streamed=streamed)
    assert [reminder.tool_name for reminder in seen] == ["nothing", "fail", "get_status"]
    batch = ["call"] * 3 + ["result"] * 3
    assert words(client.requests[-1]) == ["user", *[*batch, "reminder"] * 3, *batch]
    assert_append_only(client.requests)


@pytest.mark.rules("D8", "M1", "S1")
@pytest.mark.skipif(not HAS_WORKBENCHES, reason="workbenches came with release 0.5.5")
async def test_a_call_that_a_workbench_refuses() -> None:
    """It counts like any other, and is refused as without the guard."""

    class Refusing(autogen_tools.StaticWorkbench):
        async def call_tool(self, name: str, *args: Any, **kwargs: Any) -> Any:
            parts: list[Any] = [autogen_tools.TextResultContent(content="this is not allowed")]
            return autogen_tools.ToolResult(name=name, result=parts, is_error=True)

    client = repeating(3)
    workbench = Refusing([FunctionTool(get_status, "Look a job up.")])
    context = RepeatGuardHandler().context()
    agent = AssistantAgent("worker", client, workbench=workbench, model_context=context)
    for number in range(4):
        await agent.run(task=None if number else "go")
    assert counts(client) == [0, 0, 0, 1]
    assert "this is not allowed" in str(client.requests[-1])


has_agent_tools = pytest.mark.skipif(not hasattr(autogen_tools, "BaseStreamTool"), reason="release 0.6.2 has them")


@pytest.mark.rules("D12", "M1")
@has_agent_tools
@wirings
@pytest.mark.parametrize("kind", ["agent", "team"])
async def test_an_agent_that_is_a_tool(wiring: str, kind: str) -> None:
    """It is guarded with the agent that it works for, and counts its own; its events are nobody else's."""
    from autogen_agentchat.tools import AgentTool, TeamTool  # noqa: PLC0415 - earlier releases have none

    inner_client = ScriptedClient([*([call()] for _ in range(4)), "found it", "nothing new", "still nothing"])
    outer_client = repeating(3, ("helper", '{"task": "look it up"}'))

    def make(runtime: Any) -> Any:
        inner = agent_with(inner_client, "helper", max_tool_iterations=9)
        team = RoundRobinGroupChat([inner], max_turns=1)
        tool: Any = AgentTool(inner) if kind == "agent" else TeamTool(team, "helper", "Helps.")
        outer = agent_with(outer_client, tools=[tool])
        return RoundRobinGroupChat([outer], runtime=runtime, termination_condition=TextMentionTermination("done"))

    team, runtime = wire(RepeatGuardHandler(), wiring, make)
    await run_team(team, runtime)
    assert counts(inner_client)[:5] == [0, 0, 0, 1, 1]
    assert counts(outer_client) == [0, 0, 0, 1]


has_filter = pytest.mark.skipif(not hasattr(autogen_agents, "MessageFilterAgent"), reason="release 0.6 has it")


@pytest.mark.rules("D1", "M1")
@has_filter
@wirings
async def test_an_agent_inside_a_message_filter(wiring: str) -> None:
    """It is guarded with what is round it."""
    client = repeating(4)

    def make(runtime: Any) -> Any:
        config = autogen_agents.MessageFilterConfig(per_source=[])
        wrapped: Any = autogen_agents.MessageFilterAgent("worker", agent_with(client, "inner"), config)
        return RoundRobinGroupChat([wrapped], runtime=runtime, termination_condition=TextMentionTermination("done"))

    team, runtime = wire(RepeatGuardHandler(), wiring, make)
    await run_team(team, runtime)
    assert counts(client) == [0, 0, 0, 1, 1]


@pytest.mark.rules("D12", "D8")
@pytest.mark.parametrize("is_known", [False, True], ids=["made", "attached"])
async def test_a_tool_that_is_called_like_a_handoff(is_known: bool) -> None:  # noqa: FBT001
    """With arguments, without success, or where the agent's handoffs are known, it is a tool like others."""
    client = ScriptedClient(
        [
            *([call("transfer_to_savings", '{"amount": 5}')] for _ in range(3)),
            *([call("transfer_to_nobody")] for _ in range(3)),
            *([call("transfer_to_basics")] for _ in range(3)),
            "done",
        ]
    )
    tools: list[Any] = [FunctionTool(move, "Move money.", name="transfer_to_savings")]
    tools.append(FunctionTool(reset, "Start over.", name="transfer_to_basics"))
    guard = RepeatGuardHandler()
    agent = agent_with(client, tools=tools, model_context=guard.context())
    if is_known:
        guard.attach(agent)
    for number in range(10):
        await agent.run(task=None if number else "go")
    assert counts(client) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3 if is_known else 2]


@pytest.mark.rules("D12", "D11")
async def test_a_handoff_to_an_agent_that_knows_nobody() -> None:
    """With a context alone: what is copied into it is not held against it, and starts no count anew."""
    guard = RepeatGuardHandler()
    first = agent_with(ScriptedClient([[call(), call(), call(), call("transfer_to_second")]]), handoffs=["second"])
    client = repeating(4)
    second = agent_with(client, "second", model_context=guard.context())
    task: Any = (await first.run(task="go")).messages[-1]
    for _ in range(4):
        await second.run(task=task)
        task = None
    assert words(client.requests[0]) == ["call", "call", "call", "result", "result", "result", "worker"]
    assert counts(client) == [0, 0, 0, 1]


async def move(amount: int) -> str:
    """Move money."""
    return "moved"


async def reset() -> str:
    """Start over."""
    return "started over"


@pytest.mark.rules("D8", "M1", "S1")
async def test_a_turn_that_is_cancelled_in_the_middle_of_a_call() -> None:
    """AutoGen leaves the call without a result; it counts once, and nothing stands in between."""

    async def get_status(job: str = "") -> str:
        if len(client.requests) == 2:
            turn.cancel()
            await asyncio.Event().wait()
        return "pending"

    client = repeating(4)
    agent = agent_with(client, tools=[get_status], model_context=RepeatGuardHandler().context())
    await agent.run(task="go")
    turn = asyncio.create_task(agent.run())
    with pytest.raises(asyncio.CancelledError):
        await turn
    await agent.run()
    await agent.run()
    assert words(client.requests[-1]) == ["user", "call", "result", "call", "call", "result", "reminder"]


@pytest.mark.rules("S1", "S2", "D11")
@wirings
async def test_a_team_that_is_cancelled(wiring: str) -> None:
    """It ends as without the guard, the runtime gets idle, and its agents go on in another team.

    The team itself does not, with or without a guard: AutoGen's manager goes on waiting for the turn.
    """
    token = CancellationToken()

    def cancel(_: Any) -> str:
        token.cancel()
        raise asyncio.CancelledError

    client = ScriptedClient([[call()], [call()], cancel, *([call()] for _ in range(3)), "done"])
    agent = agent_with(client)

    def make(runtime: Any) -> Any:
        stop = TextMentionTermination("done")
        return RoundRobinGroupChat([agent], runtime=runtime, termination_condition=stop)

    team, runtime = wire(RepeatGuardHandler(), wiring, make)
    async with started(runtime):
        with pytest.raises(asyncio.CancelledError):
            await team.run(task="go", cancellation_token=token)
    await run_team(make(runtime), runtime, "again")
    assert counts(client) == [0, 0, 0, 0, 0, 0, 1]
    assert words(client.requests[-1])[-1] == "reminder"


@pytest.mark.rules("S1")
@both_ways
async def test_an_error_of_the_models_ends_the_turn_as_ever(streamed: bool) -> None:  # noqa: FBT001
    """And the agent can be asked again, with what is due in its place, once."""
    client = repeating(3)
    failures = iter([False, False, False, True, False])
    client.fails = lambda: next(failures)
    seen: list[Reminder] = []
    context = RepeatGuardHandler(on_reminder=seen.append).context()
    agent = agent_with(client, model_client_stream=streamed, model_context=context)
    for number in range(3):
        await run(agent, None if number else "go", streamed=streamed)
    with pytest.raises(ConnectionError, match="the model is away"):
        await run(agent, None, streamed=streamed)
    await run(agent, None, streamed=streamed)
    assert client.requests[3] == client.requests[4]
    assert counts(client) == [0, 0, 0, 1, 1]
    assert len(seen) == 1


@pytest.mark.rules("D12")
async def test_many_runs_at_once() -> None:
    """A hundred agents on one guard: each is reminded as if it were alone."""
    guard = RepeatGuardHandler()
    clients = [repeating(3) for _ in range(100)]

    async def converse(client: ScriptedClient) -> None:
        agent = agent_with(client, model_context=guard.context())
        for number in range(4):
            await agent.run(task=None if number else "go")

    await asyncio.gather(*map(converse, clients))
    assert all(counts(client) == [0, 0, 0, 1] for client in clients)


@pytest.mark.rules("S5", "D11")
async def test_an_agent_of_the_users_own_kind() -> None:
    """A class that inherits from AutoGen's is attached like it; one that keeps its context elsewhere is refused."""

    class Special(AssistantAgent):
        async def save_state(self) -> Mapping[str, Any]:
            return {"special": await super().save_state()}

    client = repeating(3)
    agent = Special("worker", client, tools=[reset])
    RepeatGuardHandler().attach(agent)
    for number in range(4):
        await agent.run(task=None if number else "go")
    assert counts(client) == [0, 0, 0, 1]
    assert "repeatguard" in str(await agent.save_state())
