"""The report: the figures as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.costs.tables import table
from benchmarks.effect.comparisons import Comparison
from benchmarks.effect.figures import CacheFigures, Figures, ModelFigures, StepFigures
from benchmarks.effect.measures import MEASURES
from benchmarks.effect.run_figures import RUN_MEASURES, ArmOfRuns

__all__ = ["body", "page"]

_DEFINITIONS: Final = """\
- k: how many identical calls the conversation holds when the model is asked. At two nothing is due by default, so such
  requests are the same in all arms that go by the defaults.
- Arms: `none` has no guard. `guard` has the reminders as they are by default. `in_result` has the same words inside the
  last result. `guard_defer` and `guard_reset` are the guard with that value of `on_changed_result`. Any other arm is a
  configuration from a file.
- Stuck: to call again is of no use. A right next step is one that the scenario names.
- Poll: the matter is under way, and to look again is right. Given up: anything but the same call.
- Shares stand with their counts and the 95 % Wilson interval, as if all samples were independent.
- Differences are between samples of the same scenario, k and seed. Their 95 % interval spans two: one takes pairs as
  independent, one draws whole scenarios anew. An arm is called better or worse only if the interval leaves out zero.
  Of twenty such intervals one can be expected to be wrong."""


def page(figures: Figures) -> str:
    """Write the report.

    Args:
        figures: The figures.
    """
    return f"# What a reminder changes\n\n{body(figures)}\n"


def body(figures: Figures) -> str:
    """Write the report without its title, for a page that has one.

    Args:
        figures: The figures.
    """
    sections = [section for model in figures.models for section in _model(model)]
    return "\n\n".join([_DEFINITIONS, *sections])


def _model(model: ModelFigures) -> Iterator[str]:
    yield f"## {model.model} at temperature {model.temperature:g}"
    yield f"{model.lines} lines, from {', '.join(model.servers)}; with {', '.join(model.versions)}."
    if model.steps:
        yield "### The next step"
        yield _steps(model.steps)
        yield "What came next in stuck scenarios; calls in text and shared requests are counted in polls too."
        yield _details(model.steps)
    if model.comparisons:
        yield "### Differences in the next step"
        titles = {name: each.title for name, each in MEASURES.items()}
        yield from _comparisons("k", model.comparisons, titles, set(MEASURES))
    if model.runs.arms:
        yield "### Whole runs"
        yield _runs(model.runs.arms)
    if model.runs.comparisons:
        shares = {name for name, each in RUN_MEASURES.items() if each.is_share}
        yield from _comparisons(
            "runs", model.runs.comparisons, {name: each.title for name, each in RUN_MEASURES.items()}, shares
        )
    if model.cache:
        yield "### The cache"
        yield (
            "Each request after the first one of a conversation that grows by one identical call. In `once` a reminder "
            "is in no later request; in `last` the latest one is after the newest result of each request. Messages "
            "are prescribed, so what the model itself wrote is never in the cache."
        )
        yield _cache(model.cache)


def _steps(steps: Sequence[StepFigures]) -> str:
    headers = ["k", "arm", *(measure.title for measure in MEASURES.values())]
    rows = [[each.count, each.arm, *(str(each.shares.get(name, "")) for name in MEASURES)] for each in steps]
    return table(headers, rows)


def _details(steps: Sequence[StepFigures]) -> str:
    headers = ["k", "arm", "same call", "another call", "answer", "nothing", "calls in text", "shared requests"]
    rows = [
        [
            *(each.count, each.arm, each.stuck.get("same_call", 0), each.stuck.get("another_call", 0)),
            *(each.stuck.get("answer", 0), each.stuck.get("nothing", 0), each.in_text, each.shared),
        ]
        for each in steps
    ]
    return table(headers, rows)


def _comparisons(of: str, comparisons: Sequence[Comparison], titles: dict[str, str], shares: set[str]) -> Iterator[str]:
    shown = [each for each in comparisons if each.is_shown]
    yield f"Of {len(comparisons)} comparisons {len(shown)} show a difference."
    if not shown:
        return
    headers = [of, "arm", "against", "measure", "difference (95 % interval)", "pairs", "the arm is"]
    rows = [
        [
            *(each.count, each.arm, each.against, titles[each.measure]),
            *(_difference(each, is_share=each.measure in shares), each.pairs, each.verdict),
        ]
        for each in shown
    ]
    yield table(headers, rows)


def _difference(comparison: Comparison, *, is_share: bool) -> str:
    factor, spec = (100, "+.0f") if is_share else (1, "+,.1f")
    assert comparison.interval is not None  # a difference that is shown has one
    value, *ends = [format(factor * each + 0.0, spec) for each in (comparison.difference, *comparison.interval)]
    unit = " points" if is_share else ""
    return f"{value}{unit} ({' to '.join(ends)})"


def _runs(arms: Sequence[ArmOfRuns]) -> str:
    headers = ["runs of", "arm", "runs", "requests", "tokens in", "tokens out", "reminders"]
    headers += ["entered a loop", "loops left", "came to the limit", "right ending"]
    rows = [
        [
            *(each.kind, each.arm, each.runs, f"{each.requests:.1f}", f"{each.input_tokens:,.0f}"),
            *(f"{each.output_tokens:,.0f}", f"{each.reminders:.1f}", each.in_a_loop, each.loops_left),
            *(each.at_the_limit, each.right),
        ]
        for each in arms
    ]
    return table(headers, rows)


def _cache(cache: Sequence[CacheFigures]) -> str:
    headers = ["arm", "conversations", "tokens of a prompt", "evaluated anew", "at most"]
    rows = [
        [
            *(each.arm, each.conversations, f"{each.prompt:,.0f}"),
            *(("not reported", "") if each.anew is None else (f"{each.anew:,.1f}", each.most)),
        ]
        for each in cache
    ]
    return table(headers, rows)
