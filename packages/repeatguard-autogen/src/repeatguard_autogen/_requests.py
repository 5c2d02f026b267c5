"""Whose requests are whose: a client leaves alone what a context of the same guard has put together."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from autogen_core.models import LLMMessage

from repeatguard_autogen._guard import Guard

__all__ = ["is_taken_care_of", "take_care_of"]

#: The last message of the request that a guarded context has put together last, in this task, and whose it is.
_LAST_OF_REQUEST: ContextVar[tuple[Guard, weakref.ref[Any]] | None] = ContextVar("_LAST_OF_REQUEST", default=None)


def take_care_of(messages: Sequence[LLMMessage], guard: Guard) -> None:
    """Note that a request was put together by a context of a guard's.

    Args:
        messages: The request.
        guard: The guard.
    """
    _LAST_OF_REQUEST.set((guard, weakref.ref(messages[-1])) if messages else None)


def is_taken_care_of(messages: Sequence[LLMMessage], guard: Guard) -> bool:
    """Tell whether a request was put together by a context of a guard's.

    Args:
        messages: The request.
        guard: The guard.

    Returns:
        True if it ends with the message that such a context has given last, in this task.
    """
    by, last = _LAST_OF_REQUEST.get() or (None, None)
    return by is guard and last is not None and bool(messages) and messages[-1] is last()
