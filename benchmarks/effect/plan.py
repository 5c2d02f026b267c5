"""The plan: all samples that the command line asks for, in the order in which they are taken."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from benchmarks.effect.arms import ARMS, Arm
from benchmarks.effect.cache import CACHE_ARMS, CacheSample
from benchmarks.effect.runs import RunSample
from benchmarks.effect.samples import Sample
from benchmarks.effect.scenarios import Poll, Results, Scenario, Scenarios, Stuck
from benchmarks.effect.steps import StepSample

__all__ = ["PARTS", "Plan"]

PARTS: Final = ("stuck", "poll", "run", "cache")


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Attributes:
        scenarios: All scenarios.
        parts: The parts to measure, of `PARTS`.
        arms: The arms of the steps; whole runs are made in those of them that are the guard's own.
        counts: How many identical calls there are before a step.
        repetitions: How often a step and a run are sampled.
        first_seed: Where the seeds come from. Each step and run has its own, and all arms share it.
        max_turns: The limit of turns of a whole run.
        cache_turns: How many calls a conversation comes to that is for the cache.
        only: The ids of the scenarios to use; empty for all. The cache uses the first one.
    """

    scenarios: Scenarios
    parts: Collection[str] = PARTS
    arms: Sequence[Arm] = ARMS
    counts: Sequence[int] = (2, 3, 5, 8)
    repetitions: int = 1
    first_seed: int = 1
    max_turns: int = 15
    cache_turns: int = 10
    only: Collection[str] = ()

    def samples(self) -> Iterator[Sample]:
        """Give the samples, a whole repetition after another, so that half of them are still of all scenarios."""
        for repetition in range(self.repetitions):
            for part, make in (("stuck", self._steps), ("poll", self._steps), ("run", self._runs)):
                if part in self.parts:
                    yield from make(part, repetition)
            if "cache" in self.parts:
                yield from self._caches(repetition)

    def _steps(self, part: str, repetition: int) -> Iterator[Sample]:
        for scenario in self._used(self.scenarios.stuck if part == "stuck" else self.scenarios.poll):
            tools = self.scenarios.schemas_of(scenario)
            for results in _results_of(scenario):
                for k in self.counts:
                    seed = self._seed(repetition, part, scenario.id, results, k)
                    for arm in self.arms:
                        yield StepSample(scenario, tools, arm, repetition, seed, k, results)

    def _runs(self, _part: str, repetition: int) -> Iterator[Sample]:
        for scenario in self._used([*self.scenarios.stuck, *self.scenarios.poll]):
            tools = self.scenarios.schemas_of(scenario)
            for results in _results_of(scenario):
                seed = self._seed(repetition, "run", scenario.id, results)
                for arm in self.arms:
                    if arm.place == "behind":
                        yield RunSample(scenario, tools, arm, repetition, seed, self.max_turns, results)

    def _caches(self, repetition: int) -> Iterator[Sample]:
        scenario: Scenario
        for scenario in self._used(self.scenarios.stuck)[:1]:
            tools = self.scenarios.schemas_of(scenario)
            seed = self._seed(repetition, "cache", scenario.id)
            for arm in CACHE_ARMS:
                yield CacheSample(scenario, tools, arm, repetition, seed, self.cache_turns)

    def _seed(self, repetition: int, *what: object) -> int:
        """Give a seed of its own to each thing: with one for all, luck would be the same everywhere."""
        # Servers take seeds of 31 bits.
        return zlib.crc32(repr((self.first_seed + repetition, *what)).encode()) >> 1

    def _used(self, scenarios: Sequence[Scenario]) -> list[Scenario]:
        return [each for each in scenarios if not self.only or each.id in self.only]


def _results_of(scenario: Scenario) -> Sequence[Results]:
    assert isinstance(scenario, Stuck | Poll)
    return get_args(Results) if isinstance(scenario, Poll) else ("same",)
