"""Differences between two arms, with intervals that take into account that samples are paired."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles
from typing import Final, NamedTuple

from benchmarks.scoring import Proportion

__all__ = ["Difference", "Pair", "difference_of_means", "difference_of_shares"]

_DRAWS: Final = 2000
#: With fewer scenarios than this, drawing them anew says nothing.
_FEWEST_SCENARIOS: Final = 5


class Pair(NamedTuple):
    """The same sample in two arms.

    Attributes:
        scenario: The scenario's id.
        here: The value in the arm that is looked at.
        there: The value in the arm that it is held against.
    """

    scenario: str
    here: float
    there: float


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more it is here than there.

    Attributes:
        value: The difference.
        interval: The 95 % interval; None where there is too little to tell.
        pairs: How many pairs it is from.
    """

    value: float
    interval: tuple[float, float] | None
    pairs: int

    @property
    def is_shown(self) -> bool:
        """Whether the interval is without zero."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


def difference_of_shares(pairs: Sequence[Pair]) -> Difference:
    """Compare how often something is so.

    There are two intervals, and the hull of both is taken: Newcombe's for paired shares (his tenth
    method), for which all pairs are independent, and one from drawing whole scenarios anew, since
    samples of one scenario are alike.

    Args:
        pairs: The pairs, at least one; values are 1 where it is so and 0 where it is not.
    """
    value = fmean(pair.here - pair.there for pair in pairs)
    low, high = _newcombe(pairs)
    if (drawn := _by_scenarios(pairs)) is not None:
        low, high = min(low, drawn[0]), max(high, drawn[1])
    return Difference(value, (low, high), len(pairs))


def difference_of_means(pairs: Sequence[Pair]) -> Difference:
    """Compare amounts; the interval is from drawing whole scenarios anew.

    Args:
        pairs: The pairs, at least one.
    """
    return Difference(fmean(pair.here - pair.there for pair in pairs), _by_scenarios(pairs), len(pairs))


def _newcombe(pairs: Sequence[Pair]) -> tuple[float, float]:
    n = len(pairs)
    both = sum(1 for pair in pairs if pair.here and pair.there)
    neither = sum(1 for pair in pairs if not pair.here and not pair.there)
    only_here = sum(1 for pair in pairs if pair.here and not pair.there)
    only_there = n - both - neither - only_here
    here, there = Proportion(both + only_here, n), Proportion(both + only_there, n)
    assert here.interval is not None
    assert there.interval is not None
    share, other = here.part / n, there.part / n
    below, above = share - here.interval[0], here.interval[1] - share
    other_below, other_above = other - there.interval[0], there.interval[1] - other
    product = here.part * (n - here.part) * there.part * (n - there.part)
    excess: float = both * neither - only_here * only_there
    if excess > 0:
        excess = max(excess - n / 2, 0)
    correlation = excess / math.sqrt(product) if product else 0.0
    low = math.sqrt(max(0.0, below**2 - 2 * correlation * below * other_above + other_above**2))
    high = math.sqrt(max(0.0, above**2 - 2 * correlation * above * other_below + other_below**2))
    return share - other - low, share - other + high


def _by_scenarios(pairs: Sequence[Pair]) -> tuple[float, float] | None:
    of_scenario: Mapping[str, list[float]] = defaultdict(list)
    for pair in pairs:
        of_scenario[pair.scenario].append(pair.here - pair.there)
    groups = [(sum(values), len(values)) for values in of_scenario.values()]
    if len(groups) < _FEWEST_SCENARIOS:
        return None
    draw = random.Random(0)  # noqa: S311 - the same lines are to give the same figures
    means: list[float] = []
    for _ in range(_DRAWS):
        drawn = draw.choices(groups, k=len(groups))
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    cuts = quantiles(means, n=40, method="inclusive")
    return cuts[0], cuts[-1]
