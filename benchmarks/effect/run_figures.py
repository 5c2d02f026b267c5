"""The figures of whole runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from pydantic import BaseModel

from benchmarks.effect.comparisons import Comparison, arms_to_compare, compared, pairs_of
from benchmarks.effect.differences import Difference, Pair, difference_of_means, difference_of_shares
from benchmarks.effect.lines import RunLine
from benchmarks.effect.measures import Share

__all__ = ["RUN_MEASURES", "ArmOfRuns", "RunFigures", "RunMeasure", "run_figures"]


@dataclass(frozen=True, slots=True)
class RunMeasure:
    """An amount, or something that is so, of a run.

    Attributes:
        title: What the report calls it.
        is_more_better: Whether more is better.
        is_share: Whether it is so or not, in place of an amount.
        value: Reads it from a line.
    """

    title: str
    is_more_better: bool
    is_share: bool
    value: Callable[[RunLine], float]

    def difference(self, pairs: Sequence[Pair]) -> Difference:
        """Compare two arms."""
        return difference_of_shares(pairs) if self.is_share else difference_of_means(pairs)


RUN_MEASURES: Final = {
    "right": RunMeasure("right ending", is_more_better=True, is_share=True, value=lambda line: float(line.is_right)),
    "requests": RunMeasure("requests", is_more_better=False, is_share=False, value=lambda line: float(line.requests)),
    "input_tokens": RunMeasure(
        "tokens in", is_more_better=False, is_share=False, value=lambda line: float(line.input_tokens)
    ),
    "output_tokens": RunMeasure(
        "tokens out", is_more_better=False, is_share=False, value=lambda line: float(line.output_tokens)
    ),
}


class ArmOfRuns(BaseModel, frozen=True):
    """The runs of one arm.

    Attributes:
        kind: Which runs: stuck, or polls with either kind of results.
        arm: The arm.
        runs: How many.
        requests: The mean of requests.
        input_tokens: The mean of tokens in.
        output_tokens: The mean of tokens out.
        reminders: The mean of reminders.
        in_a_loop: How many entered a loop at least once.
        loops_left: How many of all loops were left.
        at_the_limit: How many came to the limit of turns.
        right: How many had a right ending.
    """

    kind: str
    arm: str
    runs: int
    requests: float
    input_tokens: float
    output_tokens: float
    reminders: float
    in_a_loop: Share
    loops_left: Share
    at_the_limit: Share
    right: Share


class RunFigures(BaseModel, frozen=True):
    """The runs of all arms, and how they compare.

    Attributes:
        arms: The arms.
        comparisons: How they compare.
    """

    arms: tuple[ArmOfRuns, ...]
    comparisons: tuple[Comparison, ...]


def run_figures(lines: Sequence[RunLine]) -> RunFigures:
    """Work out the figures of whole runs.

    Args:
        lines: The lines.
    """
    arms: list[ArmOfRuns] = []
    comparisons: list[Comparison] = []
    for kind in dict.fromkeys(map(_kind, lines)):
        of_kind = [line for line in lines if _kind(line) == kind]
        arms += _arms(kind, of_kind)
        comparisons += _comparisons(kind, of_kind)
    return RunFigures(arms=tuple(arms), comparisons=tuple(comparisons))


def _kind(line: RunLine) -> str:
    return "stuck" if line.kind == "stuck" else f"poll, results {'the same' if line.results == 'same' else 'changing'}"


def _arms(kind: str, lines: Sequence[RunLine]) -> Iterator[ArmOfRuns]:
    for arm in dict.fromkeys(line.arm for line in lines):
        runs = [line for line in lines if line.arm == arm]
        yield ArmOfRuns(
            kind=kind,
            arm=arm,
            runs=len(runs),
            requests=fmean(run.requests for run in runs),
            input_tokens=fmean(run.input_tokens for run in runs),
            output_tokens=fmean(run.output_tokens for run in runs),
            reminders=fmean(run.reminders for run in runs),
            in_a_loop=Share.of(run.loops_entered > 0 for run in runs),
            loops_left=Share.of(index < run.loops_left for run in runs for index in range(run.loops_entered)),
            at_the_limit=Share.of(run.ending == "limit" for run in runs),
            right=Share.of(run.is_right for run in runs),
        )


def _comparisons(kind: str, lines: Sequence[RunLine]) -> Iterator[Comparison]:
    for arm, against in arms_to_compare(line.arm for line in lines):
        for name, measure in RUN_MEASURES.items():
            pairs = pairs_of(_values(lines, arm, measure), _values(lines, against, measure))
            if pairs:
                yield compared(kind, name, arm, against, measure.difference(pairs), measure.is_more_better)


def _values(lines: Iterable[RunLine], arm: str, measure: RunMeasure) -> dict[tuple[object, ...], tuple[str, float]]:
    return {
        (line.scenario, line.results, line.repetition, line.seed, line.max_turns): (line.scenario, measure.value(line))
        for line in lines
        if line.arm == arm
    }
