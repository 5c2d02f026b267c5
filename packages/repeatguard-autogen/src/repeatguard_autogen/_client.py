"""The guard around a model client, for loops that keep their messages to themselves."""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from autogen_core import Component
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelInfo,
    RequestUsage,
)
from repeatguard_core.adapters import insert

from repeatguard_autogen._errors import RepeatLoopError
from repeatguard_autogen._guard import AutoGenGuard, GuardedConfig, as_message
from repeatguard_autogen._transcript import LLMTranscript

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["GuardedClient", "mark_guarded"]

#: The last message of the latest request that a guarded context has put together in this task, and its guard.
_LAST_GUARDED: Final[ContextVar[tuple[AutoGenGuard, weakref.ref[Any]] | None]] = ContextVar(
    "_LAST_GUARDED", default=None
)


def mark_guarded(messages: Sequence[LLMMessage], guard: AutoGenGuard) -> None:
    """Note that a guarded context has put a request together, so that a client of the same guard leaves it alone.

    Args:
        messages: The request.
        guard: The context's guard.
    """
    _LAST_GUARDED.set((guard, weakref.ref(messages[-1])) if messages else None)


def _is_guarded(messages: Sequence[LLMMessage], guard: AutoGenGuard) -> bool:
    by, last = _LAST_GUARDED.get() or (None, None)
    return by is guard and last is not None and bool(messages) and messages[-1] is last()


class GuardedClient(ChatCompletionClient, Component[GuardedConfig]):
    """A model client that tells the model when it repeats the same tool call.

    It is made by `RepeatGuardHandler.client`. Nobody keeps what it adds to a request, so it works
    out the places of all reminders again each time, and puts them back. A request that a guarded
    context has put together goes through unchanged.

    Args:
        inner: The client that it wraps.
        guard: The guard that it belongs to.
    """

    component_type = "model"
    component_config_schema = GuardedConfig
    component_provider_override = "repeatguard_autogen.GuardedClient"

    def __init__(self, inner: ChatCompletionClient, guard: AutoGenGuard) -> None:
        self._inner = inner
        self._guard = guard

    def __getattr__(self, name: str) -> Any:
        # Only called for what this class does not have: a client may have more methods.
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    @property
    def guard(self) -> AutoGenGuard:
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
        """Return the wrapped client's usage."""
        return self._inner.actual_usage()

    def total_usage(self) -> RequestUsage:
        """Return the wrapped client's usage."""
        return self._inner.total_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        """Let the wrapped client count."""
        return self._inner.count_tokens(messages, **options)

    def remaining_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        """Let the wrapped client count."""
        return self._inner.remaining_tokens(messages, **options)

    @property
    def capabilities(self) -> Any:
        """What the wrapped client's model can do, in AutoGen's older terms."""
        return self._inner.capabilities

    @property
    def model_info(self) -> ModelInfo:
        """What the wrapped client's model can do."""
        return self._inner.model_info

    def _with_reminders(self, messages: Sequence[LLMMessage]) -> Sequence[LLMMessage]:
        if _is_guarded(messages, self._guard):
            return messages
        complete = list(messages)
        deliver = partial(insert, complete, write=lambda insertion: as_message(insertion.reminder))
        stop = self._guard.before_request(LLMTranscript(messages), deliver)
        if stop is not None:
            raise RepeatLoopError(stop, messages)
        return complete

    def _to_config(self) -> GuardedConfig:
        return self._guard.to_config(self._inner.dump_component())

    @classmethod
    def _from_config(cls, config: GuardedConfig) -> Self:
        return cls(ChatCompletionClient.load_component(config.inner), AutoGenGuard.from_config(config))
