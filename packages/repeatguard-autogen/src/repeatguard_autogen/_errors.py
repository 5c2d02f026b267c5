"""What ends a run that no condition of AutoGen's can end."""

from __future__ import annotations

from collections.abc import Sequence

from autogen_core.models import LLMMessage
from repeatguard_core import RepeatLoopError as CoreRepeatLoopError
from repeatguard_core import Stop

__all__ = ["RepeatLoopError"]


class RepeatLoopError(CoreRepeatLoopError):
    """A run has ended because the same calls came ``stop_after`` times in a row.

    All calls were made, and their results are in the agent's context, or in ``messages``.

    Args:
        stop: What it is about.
        messages: The request that was not made, from a loop that keeps its messages to itself.

    Attributes:
        messages: As above; empty where an agent's context has the messages.
    """

    def __init__(self, stop: Stop, messages: Sequence[LLMMessage] = ()) -> None:
        super().__init__(stop)
        self.messages = tuple(messages)

    def __reduce__(self) -> tuple[type[RepeatLoopError], tuple[Stop, tuple[LLMMessage, ...]]]:
        """Pickle and copy it with the messages."""
        return type(self), (self.stop, self.messages)
