"""S2, S5, D11 and M6: odd contexts, odd members, teams within teams, and guards that meet."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent, BaseChatAgent, UserProxyAgent
from autogen_agentchat.base import Response
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_core.model_context import ChatCompletionContext, UnboundedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)
from repeatguard_autogen import GuardedContext, RepeatGuardConfig, RepeatGuardHandler

from tests.autogen.scripted_client import ScriptedClient, call, counts, repeating, words
from tests.autogen.teams import agent_with, started, wirings
from tests.autogen.test_handler import RELEASE

pytestmark = pytest.mark.filterwarnings("ignore:Intervention handler on_response returned None:RuntimeWarning")


# --- contexts of the user's ------------------------------------------------------------------


class KeepsElsewhere(ChatCompletionContext):
    """Keeps its messages where several objects find them, and inherits everything else."""

    def __init__(self, kept: list[LLMMessage]) -> None:
        super().__init__()
        self._kept = kept

    async def add_message(self, message: LLMMessage) -> None:
        self._kept.append(message)

    async def get_messages(self) -> list[LLMMessage]:
        return list(self._kept)

    async def clear(self) -> None:
        self._kept.clear()


class HasNoState(KeepsElsewhere):
    """And cannot be saved."""

    async def save_state(self) -> Mapping[str, Any]:
        raise NotImplementedError


class HasNothingForAState(KeepsElsewhere):
    """And says so in the wrong way."""

    async def save_state(self) -> Any:
        return None


@pytest.mark.rules("D11", "S2", "S5")
@pytest.mark.parametrize("kind", [KeepsElsewhere, HasNoState, HasNothingForAState])
async def test_a_context_that_keeps_its_messages_elsewhere(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    """An agent that is made anew for every turn counts on, from what the context shows."""
    kept: list[LLMMessage] = []
    client = repeating(4)
    for _ in range(5):
        agent = agent_with(client, model_context=RepeatGuardHandler().context(kind(kept)))
        await agent.run(task="go" if not kept else None)
    assert counts(client) == [0, 0, 0, 1, 1]
    assert len([record for record in caplog.records if record.levelno == logging.ERROR]) <= 5


@pytest.mark.rules("S2")
async def test_a_cancelled_addition_is_not_counted() -> None:
    """What the context inside has not taken in has not happened."""

    class Cancelled(UnboundedChatCompletionContext):
        is_cancelled = False

        async def add_message(self, message: LLMMessage) -> None:
            if self.is_cancelled:
                raise asyncio.CancelledError
            await super().add_message(message)

    inner = Cancelled()
    context = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,))).context(inner)
    for is_cancelled in (False, True, False):
        inner.is_cancelled = is_cancelled
        for message in turn("worker"):
            with contextlib.suppress(asyncio.CancelledError):
                await context.add_message(message)
        shown = words(await context.get_messages()) if not is_cancelled else []
    assert shown == ["call", "result", "call", "result", "reminder"]


def turn(source: str) -> list[LLMMessage]:
    """Make a response with a call, and its result."""
    made = call()
    result = FunctionExecutionResult(content="pending", name="get_status", call_id=made.id, is_error=False)
    return [AssistantMessage(content=[made], source=source), FunctionExecutionResultMessage(content=[result])]


@pytest.mark.rules("M1")
async def test_a_reminder_comes_before_what_another_agent_says_in_a_shared_context() -> None:
    """And not before a response that was asked for without it."""
    guard = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,)))
    for speaker, expected in (("other", ["reminder", "answer"]), ("worker", ["answer"])):
        context = guard.context()
        for message in [*turn("worker"), *turn("worker"), AssistantMessage(content="well", source=speaker)]:
            await context.add_message(message)
        assert words(await context.get_messages())[4:] == expected


@pytest.mark.rules("S2")
async def test_an_empty_context_leaves_no_trace(caplog: pytest.LogCaptureFixture) -> None:
    """Neither in the log, nor for a client that is asked for something else in the same task."""
    guard = RepeatGuardHandler()
    assert await guard.context().get_messages() == []
    context = guard.context()
    await context.add_message(UserMessage(content="go", source="user"))
    await context.get_messages()
    await guard.client(ScriptedClient(["done"])).create([])
    assert not caplog.records


# --- memories --------------------------------------------------------------------------------


async def knows(*facts: str) -> list[ListMemory]:
    """Make memories with a fact each."""
    memories = [ListMemory() for _ in facts]
    for memory, fact in zip(memories, facts, strict=True):
        await memory.add(MemoryContent(content=fact, mime_type=MemoryMimeType.TEXT))
    return memories


@pytest.mark.rules("D11")
@pytest.mark.parametrize("facts", [("one",), ("one", "two"), ("one", "two", "three")])
async def test_what_memories_add_again_is_no_news(facts: tuple[str, ...]) -> None:
    """However many there are."""
    client = repeating(5)
    agent = agent_with(client, memory=await knows(*facts))
    RepeatGuardHandler().attach(agent)
    await agent.run(task="go")
    for _ in range(5):
        await agent.run()
    assert counts(client) == [0, 0, 0, 1, 1, 2]


@pytest.mark.rules("D11")
async def test_what_a_memory_learns_is_news() -> None:
    """A fact more starts a new chain."""
    client = repeating(5)
    memories = await knows("one", "two")
    agent = agent_with(client, memory=memories)
    RepeatGuardHandler().attach(agent)
    await agent.run(task="go")
    await agent.run()
    await memories[1].add(MemoryContent(content="three", mime_type=MemoryMimeType.TEXT))
    for _ in range(4):
        await agent.run()
    assert counts(client) == [0, 0, 0, 0, 0, 1]


# --- who is who ------------------------------------------------------------------------------


async def ask(prompt: str, token: Any = None) -> str:
    """Answer as a human does."""
    return "please check again"


@pytest.mark.rules("D11")
@wirings
async def test_a_proxy_is_a_human_after_a_resume_as_well(wiring: str) -> None:
    """What it said is in the state, and the new process has not asked it yet."""

    def make_team(client: ScriptedClient) -> tuple[Any, Any]:
        guard = RepeatGuardHandler()
        runtime = guard.runtime() if wiring in {"runtime", "every way"} else None
        if wiring in {"user's runtime", "attached on a runtime"}:
            runtime = runtime_with(guard if wiring == "user's runtime" else None)
        members: list[Any] = [agent_with(client), UserProxyAgent("ann", input_func=ask)]
        team = RoundRobinGroupChat(members, runtime=runtime, max_turns=2)
        if wiring not in {"runtime", "user's runtime"}:
            guard.attach(team)
        return team, runtime

    team, runtime = make_team(repeating(2))
    async with started(runtime):
        await team.run(task="go")
        await team.run()
        state = json.loads(json.dumps(await team.save_state(), default=str))
    client = ScriptedClient([[call("get_status", '{"job": "7"}')], "done"])
    team, runtime = make_team(client)
    async with started(runtime):
        await team.load_state(state)
        await team.run()
    assert counts(client) == [0]


def runtime_with(guard: RepeatGuardHandler | None) -> Any:
    """Make a runtime of the user's."""
    from autogen_core import SingleThreadedAgentRuntime  # noqa: PLC0415

    return SingleThreadedAgentRuntime(intervention_handlers=[guard] if guard else None)


teams_within_teams = pytest.mark.skipif(
    not hasattr(RoundRobinGroupChat, "name"), reason="this release has no teams within teams"
)


@teams_within_teams
@pytest.mark.rules("D11")
async def test_an_outer_teams_human_is_one_in_the_inner_team() -> None:
    """And the inner team's name is an agent's in the outer one."""
    client = repeating(4)
    inner = RoundRobinGroupChat([agent_with(client)], max_turns=1)
    guard = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,)))
    outer = RoundRobinGroupChat([inner, UserProxyAgent("ann", input_func=ask)], max_turns=4)
    guard.attach(outer)
    await outer.run(task="go")
    assert counts(client) == [0, 0]
    client = repeating(4)
    chat = ScriptedClient(["go on"] * 9)
    inner = RoundRobinGroupChat([agent_with(client)], max_turns=1)
    outer = RoundRobinGroupChat([agent_with(chat, "critic", tools=[]), inner], max_turns=6)
    guard.attach(outer)
    await outer.run(task="go")
    assert counts(client)[-1] == 1


@teams_within_teams
@pytest.mark.rules("D11")
async def test_an_agent_in_two_teams_hears_from_both() -> None:
    """It is guarded once, and knows the names of either team."""
    client = repeating(6)
    agent = agent_with(client)
    critics = [agent_with(ScriptedClient(["go on"] * 9), name, tools=[]) for name in ("ann", "bob")]
    teams = [RoundRobinGroupChat([agent, critic], max_turns=2) for critic in critics]
    for index, team in enumerate(teams):
        team._name = f"team_{index}"
    RepeatGuardHandler().attach(RoundRobinGroupChat(list(teams), max_turns=2))
    for team in (*teams, *teams):
        await team.run()
    assert counts(client) == [0, 0, 0, 1]


@pytest.mark.rules("S2")
async def test_agents_that_are_each_others_tools() -> None:
    """Attaching comes to an end."""
    if RELEASE.startswith(("0.5", "0.6")):
        pytest.skip("this release has no agents as tools, or none that can be added later")
    from autogen_agentchat.tools import AgentTool  # noqa: PLC0415

    first, second = agent_with(ScriptedClient(), "first"), agent_with(ScriptedClient(), "second")
    for agent, other in ((first, second), (second, first)):
        workbench: Any = agent._workbench
        workbench[0]._tools.append(AgentTool(other))
    RepeatGuardHandler().attach(first)
    assert isinstance(first.model_context, GuardedContext)
    assert isinstance(second.model_context, GuardedContext)


# --- odd members -----------------------------------------------------------------------------


class Odd(BaseChatAgent):
    """Has a model context that cannot be looked at."""

    @property
    def _model_context(self) -> Any:
        msg = "not yours"
        raise RuntimeError(msg)

    @property
    def produced_message_types(self) -> Sequence[Any]:
        return (TextMessage,)

    async def on_messages(self, messages: Any, cancellation_token: Any) -> Response:
        return Response(chat_message=TextMessage(content="hm", source=self.name))

    async def on_reset(self, cancellation_token: Any) -> None:
        """Have nothing to forget."""


@pytest.mark.rules("S2")
async def test_an_odd_member_does_not_cost_the_others_their_guard(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and all others are guarded."""
    client = repeating(4)
    team = RoundRobinGroupChat([Odd("odd", "Odd."), agent_with(client)], max_turns=8)
    RepeatGuardHandler().attach(team)
    await team.run(task="go")
    assert counts(client) == [0, 0, 0, 1]
    assert "a fault in the guard of an agent: RuntimeError('not yours')" in caplog.text


@pytest.mark.rules("S1")
def test_what_a_team_selects_by_is_left_alone() -> None:
    """A selector's own context makes no calls, so a team of nothing but humans is refused."""
    settings: dict[str, Any] = {"model_client": ScriptedClient()}
    if not RELEASE.startswith("0.5"):
        settings["model_context"] = UnboundedChatCompletionContext()
    members: list[Any] = [UserProxyAgent("ann"), UserProxyAgent("bob")]
    team = SelectorGroupChat(members, termination_condition=MaxMessageTermination(2), **settings)
    with pytest.raises(TypeError, match="there is no model context in"):
        RepeatGuardHandler().attach(team)
    assert not isinstance(getattr(team, "_model_context", None), GuardedContext)


# --- guards that meet ------------------------------------------------------------------------


@pytest.mark.rules("M6", "C3")
async def test_a_guard_takes_the_place_of_one_that_was_loaded() -> None:
    """What was dumped has no functions; whoever attaches the loaded agent brings them back."""
    if RELEASE.startswith("0.5"):
        pytest.skip("this release loses an agent's context when it loads the agent")
    agent = agent_with(repeating(1), tools=[])
    RepeatGuardHandler(untracked="update_plan".__eq__).attach(agent)
    loaded = AssistantAgent.load_component(json.loads(agent.dump_component().model_dump_json()))
    assert isinstance(loaded.model_context, GuardedContext)
    told: list[int] = []
    guard = RepeatGuardHandler(untracked="update_plan".__eq__, on_reminder=lambda reminder: told.append(reminder.count))
    guard.attach(loaded)
    context: Any = loaded.model_context
    assert not isinstance(context.inner, GuardedContext)
    client = repeating(4, ("update_plan", "{}"))
    loaded._model_client = client
    for _ in range(5):
        await loaded.run(task="go" if not client.requests else None)
    assert counts(client) == [0] * 5
    assert told == []


@pytest.mark.rules("C3")
async def test_a_client_of_another_guard_minds_its_own_settings() -> None:
    """That a context of one guard has put the request together says nothing for the other."""
    mine = RepeatGuardHandler(RepeatGuardConfig(exclude=("get_status",)))
    client = repeating(4)
    agent = agent_with(RepeatGuardHandler().client(client), model_context=mine.context())
    for number in range(5):
        await agent.run(task=None if number else "go")
    assert counts(client) == [0, 0, 0, 1, 1]


@pytest.mark.rules("D11", "D12")
@pytest.mark.parametrize("is_in_a_team", [False, True])
async def test_whoever_is_handed_over_to_is_an_agent_unless_a_team_says_otherwise(is_in_a_team: bool) -> None:  # noqa: FBT001
    """A team knows its members, so words of anybody else are new input there."""
    guard = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,)))
    client = repeating(3)
    agent = agent_with(client, handoffs=["customer"])
    guard.attach(RoundRobinGroupChat([agent]) if is_in_a_team else agent)
    await agent.run(task="go")
    await agent.model_context.add_message(UserMessage(content="look again", source="customer"))
    await agent.run()
    await agent.run()
    assert counts(client) == [0, 0, 0 if is_in_a_team else 1]
