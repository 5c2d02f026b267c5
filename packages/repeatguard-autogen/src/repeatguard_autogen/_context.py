"""The guard round an agent's model context."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from autogen_core import Component
from autogen_core.model_context import ChatCompletionContext, ChatCompletionContextState
from autogen_core.models import AssistantMessage, LLMMessage
from pydantic import ValidationError
from repeatguard_core import Reminder, Stop

from repeatguard_autogen._conversation import Conversation
from repeatguard_autogen._errors import RepeatLoopError
from repeatguard_autogen._guard import Guard, GuardedConfig, as_message
from repeatguard_autogen._requests import take_care_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from repeatguard_autogen._termination import RepeatTermination

__all__ = ["GuardedContext"]


class GuardedContext(ChatCompletionContext, Component[GuardedConfig]):
    """A model context that tells the model when it repeats the same tool call.

    It is made by `RepeatGuardHandler.context` and `RepeatGuardHandler.attach`. All messages are
    kept by the context that it wraps, reminders included. What it knows beside them is worked out
    from them, and only a short cut: it spares reading them all at every request, and goes on
    counting where the wrapped context no longer has them.

    Args:
        inner: The context that it wraps.
        guard: What is common to all wirings of one guard.

    Fulfils D11, D12, M1, M5, M6, S2, S4, S5, S6 and X5.
    """

    component_config_schema = GuardedConfig
    component_provider_override = "repeatguard_autogen.GuardedContext"

    def __init__(self, inner: ChatCompletionContext, guard: Guard) -> None:
        # The base class would keep messages of its own.
        self._inner = inner
        self._guard = guard
        self._agents: frozenset[str] = frozenset()
        self._humans: frozenset[str] = frozenset()
        self._handoffs: frozenset[str] | None = None
        self._conditions: frozenset[RepeatTermination] = frozenset()
        self._conversation: Conversation | None = None
        self._expects_material = False
        self._announced_stop: Stop | None = None

    def __getattr__(self, name: str) -> Any:
        # Only called for what this class does not have: a context of the user's may have more methods.
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    @property
    def guard(self) -> Guard:
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
            agents: Names of the agents that it may hear from, whose words are no new material.
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
                condition.ignore(self)
            for condition in conditions:
                condition.ask(self)
            self._conditions = frozenset(conditions)

    @property
    def has_condition(self) -> bool:
        """Whether a condition of the agent's team asks this context when the team is to end."""
        return bool(self._conditions)

    def take_stop(self, speakers: AbstractSet[str]) -> Stop | None:
        """Say whether the team is to end, because the agent has made the same calls too often.

        Args:
            speakers: Who has spoken in the team since the last time.

        Returns:
            What it is about, once; None if the team is to go on, or if the agent has new material
            to read first, which it is given at its next turn.
        """
        self._expects_material |= not speakers <= self._peers
        if self._conversation is None or self._expects_material:
            return None
        stop = self._conversation.take_stop()
        if stop is not None:
            self._announce(stop)
        return stop

    def put_back(self, stop: Stop) -> None:
        """Have a stop due again that `get_messages` has raised, for the team's condition to find.

        Args:
            stop: What was raised. It is dropped where a condition has told the team of an end
                already: that one goes on until another condition agrees, and asks no more.
        """
        is_told = any(condition.terminated for condition in self._conditions)
        if self._conversation is not None and not is_told:
            self._conversation.put_back(stop)

    async def add_message(self, message: LLMMessage) -> None:
        """Add a message, after the reminder that belongs before it.

        Args:
            message: The message.

        Raises:
            Exception: What the wrapped context raises.
        """
        with self._guard.support.failing_open("a reminder"):
            await self._read(message)
        try:
            await self._inner.add_message(message)
        except BaseException:
            self._conversation = None
            raise

    async def get_messages(self) -> list[LLMMessage]:
        """Give the messages for the next request, with the reminder that is due.

        Returns:
            The messages, as the wrapped context gives them.

        Raises:
            RepeatLoopError: The same calls have come ``stop_after`` times in a row. It is raised
                once; who asks again is given the messages.
            Exception: What the wrapped context raises.
        """
        stop: Stop | None = None
        with self._guard.support.failing_open("a reminder"):
            stop = await self._read(None)
        if stop is not None:
            raise RepeatLoopError(stop)
        messages = await self._inner.get_messages()
        with self._guard.support.failing_open("a mark"):
            take_care_of(messages, self._guard)
        return messages

    async def clear(self) -> None:
        """Clear the context; counting starts anew."""
        self._conversation = None
        await self._inner.clear()

    async def save_state(self) -> Mapping[str, Any]:
        """Give the wrapped context's state, which has everything."""
        return await self._inner.save_state()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load a state, saved with a guard or without one.

        Args:
            state: What `save_state` has given.
        """
        self._conversation = None
        await self._inner.load_state(state)

    @property
    def _peers(self) -> frozenset[str]:
        return self._agents - self._humans - self._guard.human_sources

    async def _read(self, message: LLMMessage | None) -> Stop | None:
        """Read the next message, or that a request follows, and add the reminder that belongs before it.

        Returns:
            The end of the run, if that is due before the request.
        """
        conversation = self._conversation or await self._derived()
        self._conversation = None  # in case of a fault it is made anew, next time
        self._expects_material = False
        due = conversation.take_due() if message is None else _before(message, conversation)
        if isinstance(due, Reminder):
            await self._inner.add_message(as_message(due))
        if due is not None:
            self._announce(due)
        self._conversation = conversation
        return due if isinstance(due, Stop) else None

    def _announce(self, due: Reminder | Stop) -> None:
        if due is not self._announced_stop:
            self._announced_stop = due if isinstance(due, Stop) else None
            self._guard.support.announce(due)

    async def _derived(self) -> Conversation:
        """Read the whole conversation, as the wrapped context has it."""
        conversation = self._guard.new_conversation(agents=self._peers, handoffs=self._handoffs)
        for message in await self._stored():
            conversation.read(message)
        return conversation

    async def _stored(self) -> Sequence[LLMMessage]:
        """Give all messages that the wrapped context has, also those that it no longer shows."""
        # A context of the user's may have a state of its own kind, or none, or keep its messages elsewhere.
        with self._guard.support.failing_open("the state of a context"), suppress(ValidationError):
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
        return cls(ChatCompletionContext.load_component(config.inner), Guard.from_config(config))


def _before(message: LLMMessage, conversation: Conversation) -> Reminder | None:
    """Read the next message, and give the reminder that belongs before it, unless it is too late for that."""
    caller = conversation.caller
    reminder = conversation.read(message)
    # A response answers a request that has been sent: what was not in that one must not be put before it now.
    is_response = isinstance(message, AssistantMessage) and message.source == caller
    return None if is_response else reminder
