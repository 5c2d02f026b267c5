"""Whose words start the count anew, and whose do not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from autogen_agentchat.agents import BaseChatAgent, UserProxyAgent
from autogen_agentchat.base import Response
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    MultiModalMessage,
    TextMessage,
    UserInputRequestedEvent,
)
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken
from autogen_core.models import UserMessage
from repeatguard_autogen import RepeatGuardConfig, RepeatGuardHandler

from tests.autogen.scripted_client import ScriptedClient, call, counts, repeating
from tests.autogen.teams import agent_with, run_team, wire, wirings

where_somebody_listens = pytest.mark.parametrize("wiring", ["runtime", "user's runtime", "every way"])


class Boss(BaseChatAgent):
    """An agent of the user's that asks a human for words, in its own way."""

    def __init__(self, name: str, *, asks: bool) -> None:
        super().__init__(name, "The boss.")
        self._asks = asks

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        raise NotImplementedError

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        if self._asks:
            yield UserInputRequestedEvent(request_id="1", source=self.name)
        yield Response(chat_message=TextMessage(content="go on", source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        pass


async def counts_beside(other: Any, wiring: str, **settings: Any) -> list[int]:
    """Let an agent make the same call four times, with another's words in between."""
    client = repeating(4)
    guard = RepeatGuardHandler(**settings)
    stop = TextMentionTermination("done", sources=["worker"])
    team, runtime = wire(
        guard,
        wiring,
        lambda runtime: RoundRobinGroupChat([agent_with(client), other], runtime=runtime, termination_condition=stop),
    )
    await run_team(team, runtime)
    return counts(client)


REMINDED, ANEW = [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]


@pytest.mark.rules("D11")
@wirings
async def test_a_user_proxy(wiring: str) -> None:
    """It speaks for a human."""
    assert await counts_beside(UserProxyAgent("ann", input_func=lambda _: "go on"), wiring) == ANEW


@pytest.mark.rules("D11")
@where_somebody_listens
@pytest.mark.parametrize("asks", [False, True])
async def test_an_agent_that_asks_for_a_humans_words(wiring: str, asks: bool) -> None:  # noqa: FBT001
    """What makes it a human's voice is that it asks."""
    assert await counts_beside(Boss("boss", asks=asks), wiring) == (ANEW if asks else REMINDED)


@pytest.mark.rules("D11")
@wirings
async def test_human_sources(wiring: str) -> None:
    """Whom the user names is human, agent or not; to name nobody makes nobody known."""
    other = agent_with(ScriptedClient(["go on"] * 9), "critic", tools=[])
    assert await counts_beside(other, wiring) == REMINDED
    other = agent_with(ScriptedClient(["go on"] * 9), "critic", tools=[])
    assert await counts_beside(other, wiring, human_sources=("user", "critic")) == ANEW


@pytest.mark.rules("D11")
@pytest.mark.parametrize("human_sources", [("user",), (), ("ann",)])
@pytest.mark.parametrize("source", ["user", "ann", "somebody"])
async def test_words_for_a_standalone_agent(human_sources: tuple[str, ...], source: str) -> None:
    """A human's words are new material, and so are those of somebody who is not known."""
    client = repeating(4)
    guard = RepeatGuardHandler(human_sources=human_sources)
    agent = agent_with(client)
    guard.attach(agent)
    for _ in range(4):
        await agent.run(task=TextMessage(content="go on", source=source))
    assert counts(client) == [0, 0, 0, 0]


@pytest.mark.rules("D11")
async def test_words_with_a_picture() -> None:
    """What is not text alone is no reminder, and counts as words."""
    client = repeating(4)
    agent = agent_with(client)
    guard = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,)))
    guard.attach(agent)
    await agent.run(task="go")
    await agent.run(task=MultiModalMessage(content=["look"], source="user"))
    await agent.run()
    assert counts(client) == [0, 0, 0]
    await agent.run()
    assert counts(client) == [0, 0, 0, 1]


@pytest.mark.rules("D11")
async def test_a_source_that_turns_out_to_be_human() -> None:
    """From then on its words are new material."""
    guard = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,)))
    context: Any = guard.context()
    client = ScriptedClient([[call()] for _ in range(9)])
    agent = agent_with(client, model_context=context)

    async def say_and_call(source: str) -> int:
        await context.add_message(UserMessage(content="go on", source=source))
        await agent.run()
        return counts(client)[-1]

    context.learn(agents={"ann", "bob"})
    assert [await say_and_call("ann"), await say_and_call("bob"), await say_and_call("ann")] == [0, 0, 1]
    context.learn(agents={"ann"}, humans={"ann"})
    assert [await say_and_call("ann"), await say_and_call("bob"), await say_and_call("bob")] == [1, 1, 2]
