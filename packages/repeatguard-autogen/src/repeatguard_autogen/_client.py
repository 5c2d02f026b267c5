"""The guard round a model client, for loops that keep their messages to themselves."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from autogen_core import Component
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelInfo,
    RequestUsage,
)
from repeatguard_core import Reminder, Stop

from repeatguard_autogen._errors import RepeatLoopError
from repeatguard_autogen._guard import Guard, GuardedConfig, as_message
from repeatguard_autogen._requests import is_taken_care_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["GuardedClient"]


class GuardedClient(ChatCompletionClient, Component[GuardedConfig]):
    """A model client that tells the model when it repeats the same tool call.

    It is made by `RepeatGuardHandler.client`. Nobody keeps what it adds to a request, so it works
    out the places of all reminders anew each time, and puts them back. A request that a guarded
    context has put together goes through untouched.

    Args:
        inner: The client that it wraps.
        guard: What is common to all wirings of one guard.

    Fulfils D11, M1, M5, M6, S1, S2, S5, S6 and X5.
    """

    component_type = "model"
    component_config_schema = GuardedConfig
    component_provider_override = "repeatguard_autogen.GuardedClient"

    def __init__(self, inner: ChatCompletionClient, guard: Guard) -> None:
        self._inner = inner
        self._guard = guard

    def __getattr__(self, name: str) -> Any:
        # Only called for what this class does not have: a client may have more methods.
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    @property
    def guard(self) -> Guard:
        """The guard that it belongs to."""
        return self._guard

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        """Ask the model, with the reminders in their places.

        Args:
            messages: The conversation.
            options: Passed on.

        Returns:
            What the wrapped client returns.

        Raises:
            RepeatLoopError: The same calls have come ``stop_after`` times in a row.
            Exception: What the wrapped client raises.
        """
        return await self._inner.create(self._with_reminders(messages), **options)

    def create_stream(self, messages: Sequence[LLMMessage], **options: Any) -> AsyncGenerator[str | CreateResult, None]:
        """Ask the model for a stream, with the reminders in their places.

        Args:
            messages: The conversation.
            options: Passed on.

        Returns:
            What the wrapped client returns.

        Raises:
            RepeatLoopError: The same calls have come ``stop_after`` times in a row.
        """
        return self._inner.create_stream(self._with_reminders(messages), **options)

    async def close(self) -> None:
        """Close the wrapped client."""
        await self._inner.close()

    def actual_usage(self) -> RequestUsage:
        """Give the wrapped client's usage."""
        return self._inner.actual_usage()

    def total_usage(self) -> RequestUsage:
        """Give the wrapped client's usage."""
        return self._inner.total_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        """Let the wrapped client count."""
        return self._inner.count_tokens(messages, **options)

    def remaining_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        """Let the wrapped client count."""
        return self._inner.remaining_tokens(messages, **options)

    @property
    def capabilities(self) -> Any:
        """What the wrapped client's model can do, in AutoGen's older words."""
        return self._inner.capabilities

    @property
    def model_info(self) -> ModelInfo:
        """What the wrapped client's model can do."""
        return self._inner.model_info

    def _with_reminders(self, messages: Sequence[LLMMessage]) -> Sequence[LLMMessage]:
        if is_taken_care_of(messages, self._guard):
            return messages
        complete = list(messages)
        stop: Stop | None = None
        with self._guard.support.failing_open("a reminder"):
            missing = list(self._missing(messages))
            unseen = _end_of_model(messages)
            stop = next((reminder for _, reminder in missing if isinstance(reminder, Stop)), None)
            for index, reminder in reversed(missing):
                if isinstance(reminder, Reminder):
                    complete.insert(index, as_message(reminder))
            for index, reminder in missing:
                if index >= unseen:
                    self._guard.support.announce(reminder)
        if stop is not None:
            raise RepeatLoopError(stop, messages)
        return complete

    def _missing(self, messages: Sequence[LLMMessage]) -> Iterator[tuple[int, Reminder | Stop]]:
        """Read the conversation from its start, and find the places where a reminder belongs and is not.

        The last one may be the end of the run in place of a reminder.
        """
        conversation = self._guard.new_conversation()
        for index, message in enumerate(messages):
            reminder = conversation.read(message)
            if reminder is not None:
                yield index, reminder
        due = conversation.take_due()
        if due is not None:
            yield len(messages), due

    def _to_config(self) -> GuardedConfig:
        return self._guard.to_config(self._inner.dump_component())

    @classmethod
    def _from_config(cls, config: GuardedConfig) -> Self:
        return cls(ChatCompletionClient.load_component(config.inner), Guard.from_config(config))


def _end_of_model(messages: Sequence[LLMMessage]) -> int:
    """Find the place behind the last message that the model has made or has been answered."""
    places = range(len(messages), 0, -1)
    from_the_model = (AssistantMessage, FunctionExecutionResultMessage)
    return next((place for place in places if isinstance(messages[place - 1], from_the_model)), 0)
