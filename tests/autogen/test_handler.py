"""The handler itself: what it takes, what it refuses, and that no fault of its own comes out of it."""

from __future__ import annotations

import gc
import importlib.metadata
import warnings
import weakref
from typing import Any

import pytest
import repeatguard_autogen._handler as handler_module
from autogen_agentchat.agents import AssistantAgent, SocietyOfMindAgent, UserProxyAgent
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import MagenticOneGroupChat, RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_core import (
    AgentId,
    CancellationToken,
    DefaultInterventionHandler,
    DefaultTopicId,
    DropMessage,
    MessageContext,
    SingleThreadedAgentRuntime,
)
from autogen_core.model_context import UnboundedChatCompletionContext
from repeatguard_autogen import GuardedContext, RepeatGuardHandler
from repeatguard_autogen._internals import PRIVATE_NAMES, calling_runtime, resolve_turn

from tests.autogen.scripted_client import ScriptedClient, counts, repeating
from tests.autogen.teams import agent_with, run_team

#: As a caller has it who does not check types.
HANDLER: Any = RepeatGuardHandler
RELEASE = importlib.metadata.version("autogen-agentchat")


def team_of(client: ScriptedClient, runtime: Any = None) -> RoundRobinGroupChat:
    """Make a team of one."""
    stop = TextMentionTermination("done")
    return RoundRobinGroupChat([agent_with(client)], runtime=runtime, termination_condition=stop)


@pytest.mark.rules("C2", "S2")
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: HANDLER({"thresholds": [3]}), "config must be a RepeatGuardConfig"),
        (lambda: HANDLER(untracked="plan"), "untracked must be a function"),
        (lambda: HANDLER(human_sources="user"), "human_sources must be a collection of names"),
        (lambda: HANDLER(human_sources=None), "human_sources must be a collection of names"),
        (lambda: HANDLER(human_sources=(1,)), "human_sources must be a collection of names"),
        (lambda: HANDLER().context(ScriptedClient()), "takes a model context, not a ScriptedClient; "),
        (
            lambda: HANDLER().client(UnboundedChatCompletionContext()),
            "takes a model client, not a Unb",
        ),
        (lambda: HANDLER().attach(UnboundedChatCompletionContext()), "takes an agent or a team.*model_context="),
        (lambda: HANDLER().attach(HANDLER().runtime()), r"intervention_handlers=\[guard\]"),
        (lambda: HANDLER().context(UnboundedChatCompletionContext), "not the class UnboundedChatCompletionContext"),
        (lambda: HANDLER().attach(UserProxyAgent("ann")), "there is no model context in ann"),
    ],
)
def test_what_is_wrong_is_refused_at_once(wrong: Any, says: str) -> None:
    """With a sentence that says what is wanted."""
    with pytest.raises(TypeError, match=says):
        wrong()


def test_a_guard_says_what_it_is() -> None:
    """Its representation shows the settings."""
    assert repr(RepeatGuardHandler()) == "RepeatGuardHandler(config=RepeatGuardConfig())"


@pytest.mark.rules("M6")
def test_what_is_guarded_is_not_guarded_again() -> None:
    """The same object comes back."""
    guard = RepeatGuardHandler()
    context = guard.context()
    client = guard.client(ScriptedClient())
    assert guard.context(context) is context
    assert guard.client(client) is client
    assert RepeatGuardHandler().context(context) is not context
    assert RepeatGuardHandler().client(client) is not client
    agent = agent_with(client)
    guard.attach(agent)
    attached = agent.model_context
    guard.attach(agent)
    assert agent.model_context is attached
    assert isinstance(attached, GuardedContext)


@pytest.mark.rules("M6", "S4")
async def test_two_guards_on_one_runtime() -> None:
    """Each goes round an agent's context once, however often the agent speaks."""
    guards = [RepeatGuardHandler(), RepeatGuardHandler()]
    runtime = SingleThreadedAgentRuntime(intervention_handlers=list(guards))
    client = repeating(5)
    agent = agent_with(client)
    stop = TextMentionTermination("done")
    await run_team(RoundRobinGroupChat([agent], runtime=runtime, termination_condition=stop), runtime)
    context: Any = agent.model_context
    assert isinstance(context, GuardedContext)
    assert isinstance(context.inner, GuardedContext)
    assert isinstance(context.inner.inner, UnboundedChatCompletionContext)
    assert guards[0].context(context) is context
    assert counts(client) == [0, 0, 0, 1, 1, 2]


@pytest.mark.rules("S1", "S5")
async def test_the_handler_returns_what_it_is_given() -> None:
    """The very message, whatever it is, on each of its three ways."""
    guard = RepeatGuardHandler()
    context = MessageContext(
        sender=None, topic_id=DefaultTopicId(), is_rpc=False, cancellation_token=CancellationToken(), message_id="1"
    )
    for message in ("words", None, object(), {"message": 1}):
        assert await guard.on_publish(message, message_context=context) is message
        assert await guard.on_send(message, message_context=context, recipient=AgentId("a", "b")) is message
        assert await guard.on_response(message, sender=AgentId("a", "b"), recipient=None) is message


class GroupChatRequestPublish:
    """Looks like AutoGen's request to speak."""


@pytest.mark.rules("S2")
async def test_a_request_whose_runtime_is_unknown(caplog: pytest.LogCaptureFixture) -> None:
    """It goes through, and what to do about it is logged, once."""
    guard = RepeatGuardHandler()
    for _ in range(2):
        message = GroupChatRequestPublish()
        assert await guard.on_publish(message, message_context=None) is message  # type: ignore[arg-type]
    (record,) = caplog.records
    assert "use guard.runtime() or guard.attach(team)" in record.getMessage()
    assert calling_runtime() is None


@pytest.mark.rules("S2")
@pytest.mark.parametrize("wiring", ["runtime", "user's runtime"])
async def test_a_fault_inside_the_handler(
    wiring: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged once, the team runs to its end, and the runtime gets idle."""

    async def fail(*_: Any) -> Any:
        raise AttributeError(wiring)

    monkeypatch.setattr(handler_module, "resolve_turn", fail)
    guard = RepeatGuardHandler()
    runtime = guard.runtime() if wiring == "runtime" else SingleThreadedAgentRuntime(intervention_handlers=[guard])
    client = repeating(4)
    result = await run_team(team_of(client, runtime), runtime)
    assert result.messages[-1].to_text() == "done"
    assert counts(client) == [0] * 5
    assert len([record for record in caplog.records if record.name == "repeatguard"]) == 1


class Publishing(DefaultInterventionHandler):
    """A handler of the user's that does something about what is published."""

    def __init__(self, drops: str = "") -> None:
        self.drops = drops
        self.seen: list[str] = []

    async def on_publish(self, message: Any, *, message_context: MessageContext) -> Any:
        self.seen.append(type(message).__name__)
        return DropMessage if type(message).__name__ == self.drops else message


@pytest.mark.rules("S1", "S5")
@pytest.mark.parametrize("order", ["before", "after"])
async def test_another_handler_on_the_same_runtime(order: str) -> None:
    """It sees what it sees without the guard, and the guard works beside it."""
    seen = []
    for guard in (None, RepeatGuardHandler()):
        mine = Publishing()
        handlers: list[Any] = [mine, guard] if order == "before" else [guard, mine]
        runtime = SingleThreadedAgentRuntime(intervention_handlers=[each for each in handlers if each])
        client = repeating(4)
        await run_team(team_of(client, runtime), runtime)
        seen.append(mine.seen)
        assert counts(client) == ([0, 0, 0, 1, 1] if guard else [0] * 5)
    assert seen[0] == seen[1]


class Passing(DefaultInterventionHandler):
    """A handler of the user's that has the guard inside."""

    def __init__(self, guard: RepeatGuardHandler) -> None:
        self._guard = guard

    async def on_publish(self, message: Any, *, message_context: MessageContext) -> Any:
        return await self._guard.on_publish(message, message_context=message_context)


@pytest.mark.rules("S5", "M1")
async def test_a_guard_inside_a_handler_of_the_users() -> None:
    """It finds the runtime all the same."""
    runtime = SingleThreadedAgentRuntime(intervention_handlers=[Passing(RepeatGuardHandler())])
    client = repeating(4)
    await run_team(team_of(client, runtime), runtime)
    assert counts(client) == [0, 0, 0, 1, 1]


@pytest.mark.rules("S5")
async def test_a_handler_that_drops_a_message() -> None:
    """What another handler drops stays dropped. A runtime never gets idle after that, so it is stopped."""
    guard = RepeatGuardHandler()
    mine = Publishing(drops="GroupChatRequestPublish")
    runtime = SingleThreadedAgentRuntime(intervention_handlers=[guard, mine])
    client = repeating(1)
    runtime.start()
    stream = team_of(client, runtime).run_stream(task="go")
    assert (await anext(stream)).source == "user"  # type: ignore[union-attr]
    await runtime.stop()
    assert client.requests == []


async def test_the_known_warning_of_autogens_own() -> None:
    """The documentation says how to silence it; here is where it comes from, with a handler that does nothing."""
    runtime = SingleThreadedAgentRuntime(intervention_handlers=[DefaultInterventionHandler()])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        await run_team(team_of(repeating(1), runtime), runtime)
    about = [warning for warning in caught if "on_response returned None" in str(warning.message)]
    assert {warning.category for warning in about} == {RuntimeWarning}


@pytest.mark.rules("D12", "S3")
def test_a_runtime_is_not_kept_alive() -> None:
    """Neither by the guard, nor by the handler that is bound to it."""
    guard = RepeatGuardHandler()
    runtime = weakref.ref(guard.runtime())
    gc.collect()
    assert runtime() is None


def holders() -> dict[str, list[Any]]:
    """Make one of each thing that has a private name which the adapter uses, and list the names with it."""
    agent = agent_with(ScriptedClient(), "worker", handoffs=["other"])
    team = RoundRobinGroupChat([agent], max_turns=1)
    found: dict[str, list[Any]] = {
        "_model_context": [agent],
        "_handoffs": [agent],
        "_participants": [
            team,
            Swarm([agent_with(ScriptedClient(), handoffs=["x"])]),
            SelectorGroupChat([agent, agent_with(ScriptedClient(), "other")], ScriptedClient()),
            MagenticOneGroupChat([agent], ScriptedClient()),
        ],
        "_team": [SocietyOfMindAgent("mind", team, ScriptedClient())],
        "_tools": [agent],
    }
    found["_group_chat_manager_name"] = found["_termination_condition"] = found["_participants"]
    stop = MaxMessageTermination(1)
    found["_conditions"] = [stop | stop, stop & stop]
    return found


def named(name: str, holder: object) -> str:
    """Say what is wrong when a private name is gone."""
    kind = type(holder).__name__
    return (
        f"autogen-agentchat {RELEASE}: {kind} no longer has {name}, which the adapter needs because "
        f"{PRIVATE_NAMES[name]}. Until it has another way, autogen-agentchat must be required below this release."
    )


@pytest.mark.rules("S2")
async def test_every_private_name_is_still_there() -> None:
    """Each that the adapter uses, on everything that it uses it on."""
    for name, found in holders().items():
        for holder in found:
            assert hasattr(holder, name), named(name, holder)
    runtime = SingleThreadedAgentRuntime(intervention_handlers=[Looking()])
    await run_team(team_of(repeating(1), runtime), runtime)
    assert Looking.found
    for name, holder in Looking.found:
        assert hasattr(holder, name), named(name, holder)


class Looking(DefaultInterventionHandler):
    """Looks at those who are behind a request to speak."""

    found: list[tuple[str, Any]] = []  # noqa: RUF012 - a test fills it, once

    async def on_publish(self, message: Any, *, message_context: MessageContext) -> Any:
        if type(message).__name__ == "GroupChatRequestPublish":
            runtime: Any = calling_runtime()
            topic = message_context.topic_id
            assert topic is not None
            assert message_context.sender is not None
            member = await runtime.try_get_underlying_agent_instance(AgentId(topic.type, topic.source))
            manager = await runtime.try_get_underlying_agent_instance(message_context.sender)
            self.found.extend([("_agent", member), ("_participant_names", manager), ("_name", manager)])
            self.found.append(("_participant_name_to_topic_type", manager))
            self.found.append(("_termination_condition", manager))
            turn = await resolve_turn(runtime, message_context)
            assert isinstance(turn.speaker, AssistantAgent)
            assert turn.names == {"worker", "RoundRobinGroupChatManager"}
        return message
