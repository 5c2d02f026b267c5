"""The figures in short: each goal, and what is held against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter

from benchmarks.costs.requests import SHORT
from benchmarks.costs.results import Costs
from benchmarks.costs.tables import percent, table, times, yes

__all__ = ["summary"]


def summary(costs: Costs) -> str:
    """Write the short table: each goal, and the figures that are held against it."""
    longest = max(each.messages for each in costs.requests)
    flat = [each for each in costs.requests if each.short_goal is not None and each.messages == longest]
    rows = [
        _row(
            "A call with new arguments, from 1 kB on",
            [(each.ratio.median, each.goal) for each in costs.calls if each.kind.startswith("new")],
            times,
            " parsing and writing them",
        ),
        _row(
            "The same call again, from 1 kB on",
            [(each.ratio.median, each.goal) for each in costs.calls if each.kind == "the same text"],
            times,
            " parsing and writing them",
        ),
        _row(
            f"A request after {longest:,} messages: Pydantic AI, AutoGen",
            [(each.of_short.median, each.short_goal) for each in flat],
            times,
            f" one after {SHORT}",
        ),
        *(
            _row(
                f"A request after {longest:,} messages: {each.framework}, {each.way.partition(', ')[2]}",
                [(each.of_writing.median, each.writing_goal)],
                times,
                " one `json.dumps` of them",
            )
            for each in costs.requests
            if each.writing_goal is not None and each.messages == longest
        ),
        *(
            _row(
                f"A run of {costs.runs[0].turns} turns with {reminders or 'no'} reminders: {name}",
                [(measure(each).median - 1, each.goal - 1) for each in costs.runs if each.reminders == reminders],
                percent,
                " more",
            )
            for reminders in dict.fromkeys(each.reminders for each in costs.runs)
            for name, measure in (("time", attrgetter("time")), ("peak of memory", attrgetter("memory")))
        ),
        _row(
            f"{max(costs.scale[0].memory):,} runs on one guard, {costs.scale[0].at_once:,} at once",
            [(each.bytes_a_run, each.bound) for each in costs.scale],
            lambda value: f"{value:.2g} bytes",
            " left by each",
        ),
    ]
    return table(["", "Measured", "Goal, at most", "Met"], rows)


def _row(
    what: str, measured: Iterable[tuple[float, float | None]], write: Callable[[float], str], of: str
) -> list[str]:
    judged = [(value, goal) for value, goal in measured if goal is not None]
    low, high = min(value for value, _ in judged), max(value for value, _ in judged)
    shown = write(high) if write(low) == write(high) else f"{write(low)} to {write(high)}"
    return [what, shown + of, write(judged[0][1]), yes(all(value <= goal for value, goal in judged))]
