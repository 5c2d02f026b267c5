"""What the guard adds to a whole run."""

from __future__ import annotations

import asyncio
import gc
import itertools
import tracemalloc
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Final

from pydantic import BaseModel

from benchmarks.costs.frameworks import FRAMEWORKS
from benchmarks.costs.histories import Turn, turn
from benchmarks.costs.rounds import Pace, Ratio, Subject, measure
from benchmarks.costs.scripts import Script

__all__ = ["RunCost", "runs"]

#: At most what a run with the guard is to take of one without.
GOAL: Final = 1.02
_MEMORY_ROUNDS: Final = 2


class RunCost(BaseModel, frozen=True):
    """What a run with the guard takes, as a multiple of the same run without it.

    Attributes:
        framework: The framework.
        turns: How many calls the run has, each in a response of its own.
        reminders: How many reminders it was given.
        time: The multiple of the processor's time.
        memory: The multiple of the peak of memory.
        goal: At most how much both are to be.
    """

    framework: str
    turns: int
    reminders: int
    time: Ratio
    memory: Ratio
    goal: float = GOAL

    @property
    def is_met(self) -> bool:
        """Whether the goal is met."""
        return max(self.time.median, self.memory.median) <= self.goal


def runs(turns: int, rounds: int) -> Iterator[RunCost]:
    """Measure runs in each framework, with the guard and without it by turns: runs without loops, and with many.

    Args:
        turns: How many calls a run has.
        rounds: How many rounds there are.
    """
    both = (True, False)
    for framework, loops in itertools.product(FRAMEWORKS, (False, True)):
        script = [turn(number, loops=loops) for number in range(turns)]
        seconds = measure({each: _running(framework, script, guarded=each) for each in both}, Pace(rounds, 0))
        peaks = {each: [_peak(framework, script, guarded=each) for _ in range(_MEMORY_ROUNDS)] for each in both}
        yield RunCost(
            framework=framework.NAME,
            turns=turns,
            reminders=len(_run(framework, script, guarded=True).reminders),
            time=Ratio.of(seconds[True], seconds[False]),
            memory=Ratio.of(peaks[True], peaks[False]),
        )


def _run(framework: ModuleType, script: Sequence[Turn], *, guarded: bool) -> Script:
    played = Script(script)
    asyncio.run(framework.run(played, framework.new_guard() if guarded else None))
    return played


def _running(framework: ModuleType, script: Sequence[Turn], *, guarded: bool) -> Subject[None]:
    def act(_: None) -> None:
        gc.enable()  # it is a part of every run, and the measuring has switched it off
        _run(framework, script, guarded=guarded)

    return Subject(lambda count: [None] * count, act, most=1)


def _peak(framework: ModuleType, script: Sequence[Turn], *, guarded: bool) -> float:
    gc.collect()
    tracemalloc.start()
    try:
        _run(framework, script, guarded=guarded)
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
