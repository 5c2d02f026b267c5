"""What happens at which count: the thresholds, what comes after the last of them, and the end."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Ladder"]


@dataclass(frozen=True, slots=True)
class Ladder:
    """The counts at which something is due.

    Attributes:
        thresholds: Where a reminder is due, in ascending order.
        remind_every: After the highest threshold a reminder is due again each time that the count
            has gone up by this; None for silence.
        stop_after: Where the run ends; None for never.

    Fulfils D10, X4 and X5.
    """

    thresholds: tuple[int, ...]
    remind_every: int | None = None
    stop_after: int | None = None

    @property
    def reminds_again(self) -> bool:
        """Whether the first reminder is not the last."""
        return len(self.thresholds) > 1 or self.remind_every is not None

    @property
    def top(self) -> int | None:
        """The count beyond which nothing is ever due; None if there is no such count."""
        return self.thresholds[-1] if self.remind_every is None and self.stop_after is None else None

    def threshold_at(self, count: int) -> int | None:
        """Give the threshold to name in the reminder that is due at a count; None if none is due.

        Of those that come after the highest threshold it is the highest one.
        """
        if count in self.thresholds:
            return count
        highest = self.thresholds[-1]
        is_again = self.remind_every is not None and count > highest and (count - highest) % self.remind_every == 0
        return highest if is_again else None

    def stops_at(self, count: int) -> bool:
        """Tell whether a run ends at a count. If it is made to go on, it ends again at the next."""
        return self.stop_after is not None and count >= self.stop_after

    def fault(self) -> str | None:
        """Say what about it can never act, or None."""
        highest = self.thresholds[-1]
        if self.stop_after is None:
            return None
        if self.stop_after <= highest:
            return (
                f"stop_after must be above the highest threshold, and {self.stop_after} is not above {highest} "
                f"(thresholds are {self.thresholds}); raise it, or set lower thresholds"
            )
        if self.remind_every is not None and highest + self.remind_every >= self.stop_after:
            return (
                f"remind_every={self.remind_every} would never act: the run ends at stop_after={self.stop_after}, "
                f"and the first further reminder is due at {highest + self.remind_every}; lower it, or raise stop_after"
            )
        return None
