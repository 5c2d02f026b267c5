"""Arms held against each other, sample by sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from pydantic import BaseModel

from benchmarks.effect.differences import Difference, Pair, difference_of_shares
from benchmarks.effect.lines import StepLine
from benchmarks.effect.measures import MEASURES

__all__ = ["AGAINST", "Comparison", "Verdict", "arms_to_compare", "pairs_of", "step_comparisons", "verdict"]

#: What the arms are held against.
AGAINST: Final = ("none", "guard")

Verdict: TypeAlias = Literal["better", "worse", "no difference shown"]


class Comparison(BaseModel, frozen=True):
    """Two arms, and how they differ in one measure.

    Attributes:
        count: How many identical calls there were; or which runs it is about.
        measure: The measure.
        arm: The arm.
        against: The arm that it is held against.
        difference: How much more often it is so, or how much more it is.
        interval: The 95 % interval; None where there is too little to tell.
        pairs: How many pairs it is from.
        verdict: What may be said of it: nothing, if the interval includes none.
    """

    count: str
    measure: str
    arm: str
    against: str
    difference: float
    interval: tuple[float, float] | None
    pairs: int
    verdict: Verdict

    @property
    def is_shown(self) -> bool:
        """Whether there is a difference to speak of."""
        return self.verdict != "no difference shown"


def verdict(difference: Difference, *, is_more_better: bool) -> Verdict:
    """Say what a difference allows to say.

    Args:
        difference: The difference.
        is_more_better: Whether more is better.
    """
    if not difference.is_shown:
        return "no difference shown"
    return "better" if (difference.value > 0) == is_more_better else "worse"


def arms_to_compare(arms: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Give each arm with what it is held against, as far as that is there."""
    known = list(dict.fromkeys(arms))
    for index, against in enumerate(AGAINST):
        for arm in known:
            if against in known and arm not in AGAINST[: index + 1]:
                yield arm, against


def pairs_of(
    here: Mapping[tuple[object, ...], tuple[str, float]], there: Mapping[tuple[object, ...], tuple[str, float]]
) -> list[Pair]:
    """Put the values together that are of the same sample in two arms.

    Args:
        here: For each sample the scenario and the value, in one arm.
        there: The same in the other arm.
    """
    return [Pair(scenario, value, there[sample][1]) for sample, (scenario, value) in here.items() if sample in there]


def step_comparisons(lines: Sequence[StepLine]) -> Iterator[Comparison]:
    """Compare the arms of the steps.

    Args:
        lines: The lines.
    """
    for k in sorted({line.k for line in lines}):
        of_count = [line for line in lines if line.k == k]
        for arm, against in arms_to_compare(line.arm for line in of_count):
            for name, measure in MEASURES.items():
                pairs = pairs_of(_values(of_count, arm, name), _values(of_count, against, name))
                if pairs:
                    difference = difference_of_shares(pairs)
                    yield compared(str(k), name, arm, against, difference, measure.is_more_better)


def compared(  # noqa: PLR0913, PLR0917 - it is what a comparison consists of
    count: str,
    measure: str,
    arm: str,
    against: str,
    difference: Difference,
    is_more_better: bool,  # noqa: FBT001
) -> Comparison:
    """Write a comparison down."""
    return Comparison(
        count=count,
        measure=measure,
        arm=arm,
        against=against,
        difference=difference.value,
        interval=difference.interval,
        pairs=difference.pairs,
        verdict=verdict(difference, is_more_better=is_more_better),
    )


def _values(lines: Iterable[StepLine], arm: str, name: str) -> dict[tuple[object, ...], tuple[str, float]]:
    measure = MEASURES[name]
    return {
        (line.scenario, line.results, line.k, line.repetition, line.seed): (line.scenario, float(measure.is_so(line)))
        for line in lines
        if line.arm == arm and measure.is_about(line)
    }
