"""The figures: what the lines say, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import TypeVar

from pydantic import BaseModel

from benchmarks.effect.answers import NextStep
from benchmarks.effect.comparisons import Comparison, step_comparisons
from benchmarks.effect.lines import AnyLine, CacheLine, RunLine, StepLine
from benchmarks.effect.measures import MEASURES, Share
from benchmarks.effect.run_figures import RunFigures, run_figures

__all__ = ["CacheFigures", "Figures", "ModelFigures", "StepFigures", "figures"]

_Line = TypeVar("_Line", StepLine, RunLine, CacheLine)


class StepFigures(BaseModel, frozen=True):
    """What came next in one arm, after so many identical calls.

    Attributes:
        count: How many.
        arm: The arm.
        shares: For each of `MEASURES` how often it was so, as far as there are samples.
        stuck: What came next in stuck scenarios, by kind.
        in_text: How often a call had to be read from the text.
        shared: How many requests had been sent for another arm.
    """

    count: str
    arm: str
    shares: dict[str, Share]
    stuck: dict[NextStep, int]
    in_text: int
    shared: int


class CacheFigures(BaseModel, frozen=True):
    """What the cache did in one arm, from the second request of each conversation on.

    Attributes:
        arm: The arm.
        conversations: How many conversations.
        prompt: The mean tokens of a request's prompt.
        anew: The mean tokens of it that were evaluated anew; None if the server does not say.
        most: The most that were evaluated anew for one request.
    """

    arm: str
    conversations: int
    prompt: float
    anew: float | None
    most: int | None


class ModelFigures(BaseModel, frozen=True):
    """All figures of one model at one temperature.

    Attributes:
        model: The model's name.
        temperature: The temperature.
        servers: What the servers said about themselves.
        versions: The packages that made the lines, with their versions.
        lines: How many lines there are.
        steps: What came next.
        comparisons: The arms of the steps, held against each other.
        runs: Whole runs.
        cache: The cache.
    """

    model: str
    temperature: float
    servers: tuple[str, ...]
    versions: tuple[str, ...]
    lines: int
    steps: tuple[StepFigures, ...]
    comparisons: tuple[Comparison, ...]
    runs: RunFigures
    cache: tuple[CacheFigures, ...]


class Figures(BaseModel, frozen=True):
    """All figures.

    Attributes:
        models: Those of each model and temperature.
    """

    models: tuple[ModelFigures, ...]


def figures(lines: Iterable[AnyLine]) -> Figures:
    """Work out the figures.

    Args:
        lines: The lines. Of several about the same sample the last one counts.
    """
    by_model: dict[tuple[str, float], dict[tuple[object, ...], AnyLine]] = {}
    for line in lines:
        by_model.setdefault((line.model, line.temperature), {})[_sample_of(line)] = line
    return Figures(models=tuple(_of_model(list(each.values())) for each in by_model.values()))


def _sample_of(line: AnyLine) -> tuple[object, ...]:
    common = (line.part, line.scenario, line.arm, line.repetition, line.seed)
    if isinstance(line, StepLine):
        return (*common, line.results, line.k)
    return (*common, line.results) if isinstance(line, RunLine) else common


def _of_model(lines: Sequence[AnyLine]) -> ModelFigures:
    steps = _of_kind(lines, StepLine)
    return ModelFigures(
        model=lines[0].model,
        temperature=lines[0].temperature,
        servers=tuple(sorted({line.server for line in lines})),
        versions=tuple(sorted({f"{name} {version}" for line in lines for name, version in line.versions.items()})),
        lines=len(lines),
        steps=tuple(_steps(steps)),
        comparisons=tuple(step_comparisons(steps)),
        runs=run_figures(_of_kind(lines, RunLine)),
        cache=tuple(_cache(_of_kind(lines, CacheLine))),
    )


def _of_kind(lines: Iterable[AnyLine], kind: type[_Line]) -> list[_Line]:
    return [line for line in lines if isinstance(line, kind)]


def _steps(lines: Sequence[StepLine]) -> Iterable[StepFigures]:
    for k in sorted({line.k for line in lines}):
        for arm, of_arm in _by_arm([line for line in lines if line.k == k], lambda line: line.arm):
            shares = {name: share for name, measure in MEASURES.items() if (share := measure.share(of_arm)).whole}
            yield StepFigures(
                count=str(k),
                arm=arm,
                shares=shares,
                stuck=dict(Counter(line.step for line in of_arm if line.part == "stuck")),
                in_text=sum(line.is_in_text for line in of_arm),
                shared=sum(line.is_shared for line in of_arm),
            )


def _cache(lines: Sequence[CacheLine]) -> Iterable[CacheFigures]:
    for arm, of_arm in _by_arm(lines, lambda line: line.arm):
        requests = [request for line in of_arm for request in line.requests[1:]]
        anew = [request.anew for request in requests if request.anew is not None]
        yield CacheFigures(
            arm=arm,
            conversations=len(of_arm),
            prompt=fmean(request.prompt for request in requests) if requests else 0.0,
            anew=fmean(anew) if anew else None,
            most=max(anew, default=None),
        )


def _by_arm(lines: Sequence[_Line], arm_of: Callable[[_Line], str]) -> Iterable[tuple[str, list[_Line]]]:
    for arm in dict.fromkeys(map(arm_of, lines)):
        yield arm, [line for line in lines if arm_of(line) == arm]
