"""What a request costs, by the length of the conversation."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from pydantic import BaseModel

from benchmarks.costs.frameworks import FRAMEWORKS
from benchmarks.costs.rounds import Pace, Ratio, Subject, measure

__all__ = ["SIZES", "RequestCost", "requests"]

SIZES: Final = (10, 100, 1_000, 10_000)
#: The size that others are held against.
SHORT: Final = 100
_WRITING: Final = "writing"

#: At most how much of writing the conversation as JSON a request is to cost.
OF_WRITING: Final = {"`RepeatGuardHooks`, first request": 0.1, "`RepeatGuardHooks`, next request": 0.03}
#: At most how many times of a short conversation's a long one's request is to cost.
OF_SHORT: Final = {
    "`RepeatGuard`, first request": 1.5,
    "`RepeatGuard`, next request": 1.5,
    "`RepeatGuardProcessor`": 1.5,
    "`guard.context()`, next request": 1.5,
}


class RequestCost(BaseModel, frozen=True):
    """What the guard's part in a request costs.

    Attributes:
        framework: The framework.
        way: How the guard is wired, and which request it is.
        messages: How many messages the conversation has.
        of_writing: Its share of writing the conversation as JSON, once.
        of_short: How many times it costs that of a conversation of 100 messages.
        writing_goal: At most how much ``of_writing`` is to be; None if there is no goal.
        short_goal: At most how much ``of_short`` is to be; None if there is no goal.
    """

    framework: str
    way: str
    messages: int
    of_writing: Ratio
    of_short: Ratio
    writing_goal: float | None
    short_goal: float | None

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is met; None if there is none."""
        if self.writing_goal is not None:
            return self.of_writing.median <= self.writing_goal
        return None if self.short_goal is None else self.of_short.median <= self.short_goal


def requests(pace: Pace, sizes: Collection[int] = SIZES) -> Iterator[RequestCost]:
    """Measure requests in each framework.

    Args:
        pace: How long to measure each framework.
        sizes: Lengths of conversations, 100 among them.
    """
    for framework in FRAMEWORKS:
        subjects: dict[tuple[str, int], Subject[Any]] = {}
        for size in sizes:
            subjects |= {(way, size): subject for way, subject in framework.requesting(size).items()}
            subjects[_WRITING, size] = framework.dumping(size)
        seconds = measure(subjects, pace)
        for way, size in subjects:
            if way != _WRITING:
                yield RequestCost(
                    framework=framework.NAME,
                    way=way,
                    messages=size,
                    of_writing=Ratio.of(seconds[way, size], seconds[_WRITING, size]),
                    of_short=Ratio.of(seconds[way, size], seconds[way, SHORT]),
                    writing_goal=OF_WRITING.get(way),
                    short_goal=OF_SHORT.get(way) if size > SHORT else None,
                )
