"""What a model of a benchmark's plays in a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from repeatguard_core import is_reminder

from benchmarks.costs.histories import Call, Turn

__all__ = ["Script"]


class Script:
    """Turns that are played one by one, and then an answer.

    Args:
        turns: The turns.

    Attributes:
        reminders: Those in the last request, once the model has answered.
    """

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns
        self._played = 0
        self.reminders: list[str] = []

    @property
    def requests(self) -> int:
        """How many requests the run takes."""
        return len(self._turns) + 1

    def next(self) -> Call | None:
        """Give the next call; None if it is time to answer."""
        if self._played == len(self._turns):
            return None
        call, _ = self._turns[self._played]
        self._played += 1
        return call

    def result(self) -> str:
        """Give the result of the latest call."""
        _, result = self._turns[self._played - 1]
        return result.text

    def answer(self, texts: Iterable[str]) -> str:
        """Give the answer.

        Args:
            texts: What the last request has with the user's role.
        """
        self.reminders = [text for text in texts if is_reminder(text)]
        return "In src/shapes/area.py."
