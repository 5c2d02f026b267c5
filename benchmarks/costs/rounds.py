"""Measuring in rounds: in each round every subject gets its turn, so what slows the machine slows them all."""

from __future__ import annotations

import itertools
import statistics
import time
import timeit
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, sqrt
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel

__all__ = ["Pace", "Ratio", "Subject", "at_once", "measure"]

_Name = TypeVar("_Name", bound=Hashable)
_Input = TypeVar("_Input")
_Output = TypeVar("_Output")

#: So many standard errors to each side hold the median of 95 of 100 samples.
_CONFIDENCE: Final = statistics.NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to measure.

    Attributes:
        rounds: How many rounds there are.
        seconds: About how long a subject's turn is; never less than one act.
    """

    rounds: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Subject(Generic[_Input]):
    """What is measured.

    Attributes:
        prepare: Makes so many inputs; that is not measured.
        act: What is measured, for one input.
        most: How many acts a turn may have, so that the inputs fit in memory.
    """

    prepare: Callable[[int], Sequence[_Input]]
    act: Callable[[_Input], object]
    most: int = 1_000

    def take_turn(self, acts: int) -> float:
        """Act so many times, and give the seconds that one act takes."""
        inputs = self.prepare(acts)

        def act_on_all() -> None:
            for each in inputs:
                self.act(each)

        # The processor's time, since what is measured waits for nothing: others on the machine count less.
        return timeit.timeit(act_on_all, number=1, timer=time.process_time) / acts

    def acts_in(self, seconds: float) -> int:
        """Find out how many acts fit in a turn."""
        acts = 1
        while (needed := self.take_turn(acts) * acts) < seconds and acts < self.most:
            acts = min(self.most, max(2 * acts, int(acts * 0.8 * seconds / max(needed, 1e-6))))
        return acts


class Ratio(BaseModel, frozen=True):
    """How one subject's measure relates to another's.

    Attributes:
        median: The median of the rounds' ratios.
        lower: Where the median's interval begins (95 %, from the ranks alone).
        upper: Where it ends.
        rounds: How many rounds there were.
    """

    median: float
    lower: float
    upper: float
    rounds: int

    @classmethod
    def of(cls, measured: Sequence[float], baseline: Sequence[float]) -> Ratio:
        """Relate two subjects' measures, round by round."""
        ratios = sorted(one / other for one, other in zip(measured, baseline, strict=True))
        count = len(ratios)
        rank = max(0, floor((count - _CONFIDENCE * sqrt(count)) / 2))
        return cls(median=statistics.median(ratios), lower=ratios[rank], upper=ratios[-1 - rank], rounds=count)


def measure(subjects: Mapping[_Name, Subject[Any]], pace: Pace) -> dict[_Name, list[float]]:
    """Measure some subjects together.

    Args:
        subjects: By name.
        pace: How long to measure.

    Returns:
        For each subject the seconds that an act took, round by round. Every second round goes
        through the subjects the other way, so that none always follows the same one.
    """
    acts = {name: subject.acts_in(pace.seconds) for name, subject in subjects.items()}
    seconds: dict[_Name, list[float]] = {name: [] for name in subjects}
    orders: list[list[_Name]] = [list(subjects), list(reversed(list(subjects)))]
    for order in itertools.islice(itertools.cycle(orders), pace.rounds):
        for name in order:
            seconds[name].append(subjects[name].take_turn(acts[name]))
    return seconds


def at_once(coroutine: Coroutine[Any, Any, _Output]) -> _Output:
    """Run a coroutine that waits for nothing, without the cost of an event loop.

    Args:
        coroutine: The coroutine.

    Returns:
        What it returns.

    Raises:
        RuntimeError: It waits for something.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        output: _Output = end.value
        return output
    coroutine.close()
    msg = "it waits for something"
    raise RuntimeError(msg)
