"""What a run ends with when reminders have not helped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelMessage
from repeatguard_core import RepeatLoopError as CoreRepeatLoopError
from repeatguard_core import Stop

__all__ = ["RepeatLoopError"]


class RepeatLoopError(CoreRepeatLoopError, AgentRunError):
    """A run has ended because the same calls came ``stop_after`` times in a row.

    It comes out of whatever runs the agent, before the model's next request. If the agent was run
    by another agent's tool, it comes out of that agent's run as well, unless the tool handles it.

    Args:
        stop: What it is about.
        messages: The run's history.

    Attributes:
        messages: The history of the run that has ended, the results of the last calls included;
            a list of its own. It may be given to a further run as it is.
    """

    def __init__(self, stop: Stop, messages: Sequence[ModelMessage] = ()) -> None:
        super().__init__(stop)
        self.messages = list(messages)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy it with its messages."""
        return type(self), (self.stop, self.messages)
