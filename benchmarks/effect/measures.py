"""The measures: what is counted in the next steps, and whether more of it is better."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from benchmarks.effect.lines import StepLine
from benchmarks.scoring import Proportion

__all__ = ["MEASURES", "Measure", "Share"]


class Share(BaseModel, frozen=True):
    """So many of so many.

    Attributes:
        part: How many.
        whole: Of how many.
        interval: The 95 % Wilson interval; None for none of none.
    """

    part: int
    whole: int
    interval: tuple[float, float] | None

    @classmethod
    def of(cls, values: Iterable[bool]) -> Share:
        """Count how many are true."""
        counted = list(values)
        proportion = Proportion(sum(counted), len(counted))
        return cls(part=proportion.part, whole=proportion.whole, interval=proportion.interval)

    def __str__(self) -> str:
        return str(Proportion(self.part, self.whole))


@dataclass(frozen=True, slots=True)
class Measure:
    """Something that is so, or is not so, in a step.

    Attributes:
        title: What the report calls it.
        is_more_better: Whether it is better if it is so.
        is_about: Tells which lines it is about.
        is_so: Tells whether it is so.
    """

    title: str
    is_more_better: bool
    is_about: Callable[[StepLine], bool]
    is_so: Callable[[StepLine], bool]

    def share(self, lines: Iterable[StepLine]) -> Share:
        """Count how often it is so."""
        return Share.of(self.is_so(line) for line in lines if self.is_about(line))


MEASURES: Final = {
    "again": Measure(
        "stuck: the same call again",
        is_more_better=False,
        is_about=lambda line: line.part == "stuck",
        is_so=lambda line: line.step == "same_call",
    ),
    "right": Measure(
        "stuck: a right next step",
        is_more_better=True,
        is_about=lambda line: line.is_right is not None,
        is_so=lambda line: bool(line.is_right),
    ),
    "gave_up_same": Measure(
        "poll, results the same: given up",
        is_more_better=False,
        is_about=lambda line: line.part == "poll" and line.results == "same",
        is_so=lambda line: line.step != "same_call",
    ),
    "gave_up_changing": Measure(
        "poll, results changing: given up",
        is_more_better=False,
        is_about=lambda line: line.part == "poll" and line.results == "changing",
        is_so=lambda line: line.step != "same_call",
    ),
}
