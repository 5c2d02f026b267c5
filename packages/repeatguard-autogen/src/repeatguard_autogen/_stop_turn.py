"""Ending an agent's turn, where its team has a condition that ends the team."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias

from autogen_agentchat.base import ChatAgent, Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, ModelClientStreamingChunkEvent, StopMessage
from autogen_core import CancellationToken, MessageHandlerContext
from repeatguard_core import Stop

from repeatguard_autogen._context import GuardedContext
from repeatguard_autogen._errors import RepeatLoopError

__all__ = ["stop_turns_of"]

Said: TypeAlias = BaseAgentEvent | BaseChatMessage | Response


def stop_turns_of(agent: ChatAgent, context: GuardedContext) -> None:
    """Have an agent's turn in a team end with a message where its context raises `RepeatLoopError`.

    An agent may make many requests within its turn, and a team asks its condition only when the
    turn has ended. An exception would end it, too, but a team does not survive one.

    Args:
        agent: The agent. Its method ``on_messages_stream`` is replaced, once, for a team has no
            other place where one could do something at the end of a turn.
        context: Its context.
    """
    turns: Any = agent.on_messages_stream
    if isinstance(turns, _StopTurnOnLoop):
        turns.context = context
    else:
        agent.on_messages_stream = _StopTurnOnLoop(agent, context)  # type: ignore[method-assign]


class _StopTurnOnLoop:
    def __init__(self, agent: ChatAgent, context: GuardedContext) -> None:
        self.context = context
        self._name = agent.name
        self._turn = agent.on_messages_stream
        self._last_reported: Stop | None = None

    async def __call__(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[Said, None]:
        inner: list[BaseAgentEvent | BaseChatMessage] = []
        try:
            async with aclosing(self._turn(messages, cancellation_token)) as stream:
                async for said in stream:
                    if not isinstance(said, Response | ModelClientStreamingChunkEvent):
                        inner.append(said)
                    yield said
        except RepeatLoopError as error:
            # If the last one was not taken, no condition listens, whatever was known of the team.
            if error.stop is self._last_reported or not self.context.has_condition or not _is_in_a_team():
                raise
            self._last_reported = error.stop
            self.context.restore_stop(error.stop)
            yield Response(chat_message=StopMessage(content=str(error), source=self._name), inner_messages=inner)


def _is_in_a_team() -> bool:
    """Return whether a runtime is calling: an agent that is run by itself lets its caller have the exception."""
    try:
        MessageHandlerContext.agent_id()
    except RuntimeError:
        return False
    return True
