"""The figures in short."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.costs.requests import SHORT
from benchmarks.costs.results import Costs
from benchmarks.costs.tables import percent, table, times

__all__ = ["summary"]


def summary(costs: Costs) -> str:
    """Write the short table."""
    longest = max(each.messages for each in costs.requests)
    at_the_end = [each for each in costs.requests if each.messages == longest]
    judged = [each for each in costs.calls if each.goal is not None]
    new = [each.ratio.median for each in judged if each.kind.startswith("new")]
    same = [each.ratio.median for each in judged if not each.kind.startswith("new")]
    flat = [each.of_short.median for each in at_the_end if each.short_goal is not None]
    rows = [
        ["A call with new arguments, from 1 kB on", f"{_from_to(new, times)} parsing and writing them"],
        ["The same call again, from 1 kB on", f"{_from_to(same, times)} parsing and writing them"],
        [
            f"A request after {longest:,} messages: Pydantic AI, AutoGen",
            f"{_from_to(flat, times)} one after {SHORT}",
        ],
        *(
            [
                f"A request after {longest:,} messages: {each.framework}, {each.way.partition(', ')[2]}",
                f"{times(each.of_writing.median)} one `json.dumps` of them",
            ]
            for each in at_the_end
            if each.writing_goal is not None
        ),
        # Of a run's time the page says how far it can be told from noise, for which a short table has no room.
        *(
            [
                f"A run of {costs.runs[0].turns} turns with {some or 'no'} reminders: peak of memory",
                f"{_from_to([each.memory.median - 1 for each in costs.runs if each.reminders == some], percent)} more",
            ]
            for some in dict.fromkeys(each.reminders for each in costs.runs)
        ),
        [
            f"{max(costs.scale[0].memory):,} runs on one guard, {costs.scale[0].at_once:,} at once",
            f"{_from_to([each.bytes_a_run for each in costs.scale], lambda value: f'{value:.1f} bytes')} left by each",
        ],
    ]
    return table(["", "Costs"], rows)


def _from_to(values: Sequence[float], write: Callable[[float], str]) -> str:
    low, high = write(min(values)), write(max(values))
    return high if low == high else f"{low} to {high}"
