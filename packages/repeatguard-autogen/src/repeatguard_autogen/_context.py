"""The guard around an agent's model context."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from autogen_core import Component
from autogen_core.model_context import ChatCompletionContext, ChatCompletionContextState
from autogen_core.models import LLMMessage
from pydantic import ValidationError
from repeatguard_core import Reminder, Stop

from repeatguard_autogen._client import mark_guarded
from repeatguard_autogen._errors import RepeatLoopError
from repeatguard_autogen._guard import AutoGenGuard, GuardedConfig, as_message
from repeatguard_autogen._transcript import MessageReader, StoredConversation

if TYPE_CHECKING:
    from typing_extensions import Self

    from repeatguard_autogen._termination import RepeatTermination

__all__ = ["GuardedContext"]


class GuardedContext(ChatCompletionContext, Component[GuardedConfig]):
    """A model context that tells the model when it repeats the same tool call.

    It is made by `RepeatGuardHandler.context` and `RepeatGuardHandler.attach`. All messages are
    kept by the context that it wraps, reminders included. What it knows besides is worked out from
    them: it saves reading them all at every request, and goes on counting where the wrapped context
    no longer has them.

    Args:
        inner: The context that it wraps.
        guard: The guard that it belongs to.
    """

    component_config_schema = GuardedConfig
    component_provider_override = "repeatguard_autogen.GuardedContext"

    def __init__(self, inner: ChatCompletionContext, guard: AutoGenGuard) -> None:
        # The base class would keep messages of its own.
        self._inner = inner
        self._guard = guard
        self._agents: frozenset[str] = frozenset()
        self._humans: frozenset[str] = frozenset()
        self._handoffs: frozenset[str] | None = None
        self._conditions: frozenset[RepeatTermination] = frozenset()
        self._conversation: StoredConversation | None = None
        self._expects_input = False
        self._announced_stop: Stop | None = None
        self._newest: LLMMessage | None = None  # the reminder that the request to come has to show

    def __getattr__(self, name: str) -> Any:
        # Only called for what this class does not have: a context of the user's may have more methods.
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    @property
    def guard(self) -> AutoGenGuard:
        """The guard that it belongs to."""
        return self._guard

    @property
    def inner(self) -> ChatCompletionContext:
        """The context that it wraps."""
        return self._inner

    def learn(
        self,
        *,
        agents: Collection[str],
        humans: Collection[str] = (),
        handoffs: Collection[str] | None = None,
        conditions: AbstractSet[RepeatTermination] | None = None,
    ) -> None:
        """Take note of who is who in the agent's conversation, and of what ends its team.

        Args:
            agents: Names of the agents that it may hear from, whose words are not new input.
            humans: Names that speak for a human, even if there are agents of that name.
            handoffs: Names of the agent's handoff tools; None if they are not known.
            conditions: Those of its team that ask this context; None if the team is not known.
        """
        known = (self._peers, self._handoffs)
        self._agents |= frozenset(agents)
        self._humans |= frozenset(humans)
        self._handoffs = self._handoffs if handoffs is None else frozenset(handoffs)
        if known != (self._peers, self._handoffs):
            self._conversation = None
        if conditions is not None:
            for condition in self._conditions - conditions:
                condition.unwatch(self)
            for condition in conditions:
                condition.watch(self)
            self._conditions = frozenset(conditions)

    @property
    def has_condition(self) -> bool:
        """Whether a condition of the agent's team asks this context when the team is to end."""
        return bool(self._conditions)

    def pop_stop(self, speakers: AbstractSet[str]) -> Stop | None:
        """Return the stop that is due, if the team is to end because the agent has repeated its calls too often.

        Args:
            speakers: Who has spoken in the team since the last time.

        Returns:
            The stop, once; None if the team is to go on, or if the agent has new input to read
            first, which it gets at its next turn.
        """
        self._expects_input |= not speakers <= self._peers
        if self._conversation is None or self._expects_input:
            return None
        stop = self._conversation.pop_stop()
        if stop is not None:
            self._announce(stop)
        return stop

    def restore_stop(self, stop: Stop) -> None:
        """Make a stop due again that `get_messages` has raised, for the team's condition to find.

        Args:
            stop: What was raised. It is dropped if a condition has reported a stop to the team
                already: the team then goes on until another condition agrees, and asks no more.
        """
        is_told = any(condition.terminated for condition in self._conditions)
        if self._conversation is not None and not is_told:
            self._conversation.restore_stop(stop)

    async def add_message(self, message: LLMMessage) -> None:
        """Add a message, after the reminder that belongs before it.

        Args:
            message: The message.

        Raises:
            Exception: What the wrapped context raises.
        """
        with self._guard.failing_open("a reminder"):
            await self._read(message)
        try:
            await self._inner.add_message(message)
        except BaseException:
            self._conversation = None
            raise

    async def get_messages(self) -> list[LLMMessage]:
        """Return the messages for the next request, with the reminder that is due.

        Returns:
            The messages, as the wrapped context returns them.

        Raises:
            RepeatLoopError: The same calls have come ``stop_after`` times in a row. It is raised
                once; the next call returns the messages.
            Exception: What the wrapped context raises.
        """
        stop: Stop | None = None
        with self._guard.failing_open("a reminder"):
            stop = await self._read(None)
        if stop is not None:
            raise RepeatLoopError(stop)
        messages = await self._inner.get_messages()
        if self._newest is not None and self._newest not in messages:  # the wrapped context shows a summary
            messages = [*messages, self._newest]
        with self._guard.failing_open("a mark"):
            mark_guarded(messages, self._guard)
        return messages

    async def clear(self) -> None:
        """Clear the context; counting starts again."""
        self._conversation = None
        await self._inner.clear()

    async def save_state(self) -> Mapping[str, Any]:
        """Return the wrapped context's state, which has everything."""
        return await self._inner.save_state()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load a state, saved with a guard or without one.

        Args:
            state: What `save_state` has returned.
        """
        self._conversation = None
        await self._inner.load_state(state)

    @property
    def _peers(self) -> frozenset[str]:
        return self._agents - self._humans - self._guard.human_sources

    async def _read(self, message: LLMMessage | None) -> Stop | None:
        """Read the next message, or note that a request follows, and add the reminder that belongs before it.

        Returns:
            The end of the run, if it is due instead of the request.
        """
        conversation = self._conversation or await self._derived()
        self._conversation = None  # after an error it is derived again
        self._expects_input = False
        self._newest = None
        due = conversation.pop_due() if message is None else conversation.add(message)
        if isinstance(due, Reminder):
            reminder = as_message(due)
            await self._inner.add_message(reminder)
            self._newest = reminder if message is None else None
        if due is not None:
            self._announce(due)
        self._conversation = conversation
        return due if isinstance(due, Stop) else None

    def _announce(self, due: Reminder | Stop) -> None:
        if due is not self._announced_stop:
            self._announced_stop = due if isinstance(due, Stop) else None
            self._guard.announce(due)

    async def _derived(self) -> StoredConversation:
        """Read the whole conversation, as the wrapped context has it."""
        conversation = StoredConversation(self._guard.new_chain, MessageReader(self._peers, self._handoffs))
        for message in await self._stored():
            conversation.add(message)
        return conversation

    async def _stored(self) -> Sequence[LLMMessage]:
        """Return all messages that the wrapped context has, also those that it no longer shows."""
        # A context of the user's may have a state of its own kind, or none, or keep its messages elsewhere.
        with self._guard.failing_open("the state of a context"), suppress(ValidationError):
            state = await self._inner.save_state()
            if "messages" in state:
                messages = ChatCompletionContextState.model_validate(state).messages
                if messages or type(self._inner).add_message is ChatCompletionContext.add_message:
                    return messages
        return await self._inner.get_messages()

    def _to_config(self) -> GuardedConfig:
        return self._guard.to_config(self._inner.dump_component())

    @classmethod
    def _from_config(cls, config: GuardedConfig) -> Self:
        return cls(ChatCompletionContext.load_component(config.inner), AutoGenGuard.from_config(config))
