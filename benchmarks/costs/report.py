"""The figures as a page: all of them, each table with how to read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.costs.calls import CallCost
from benchmarks.costs.requests import SHORT, RequestCost
from benchmarks.costs.results import Costs, Environment
from benchmarks.costs.rounds import Ratio
from benchmarks.costs.tables import percent, table, yes

__all__ = ["page"]


_A_CALL: Final = """\
`RepeatChain.observe` with the default settings, as a multiple of `json.dumps(json.loads(text), sort_keys=True)` of
the same arguments. The columns say how the arguments relate to those of the call before."""

_A_REQUEST: Final = """\
What the guard does before a request, as a share of one `json.dumps` of the conversation, by its number of messages;
then how many times of its time at 100 messages it takes at the largest number. Where the share falls as the
conversation grows, the guard's part stays the same. A *first request* is the first that the guard sees of a
conversation; a *next* one comes a call and its result later. AutoGen's client is handed a bare list each time and reads
all of it, by design."""

_PROFILES: Final = """\
Python's profiler, for what misses its goal; it makes calls of Python functions look slower than they are. No part
stands out: what is left are some dozens of small steps for each call, in Python, against a parser and a writer in C."""

_A_RUN: Final = """\
A run of a scripted model in the real framework, by turns with the guard and without it: what it takes more with the
guard, and in brackets where the median is (95 %). Runs without a reminder make no call twice. In the others, reminders
are messages, which the framework keeps and carries along in every later request like any other; that is part of it.
The model answers at once here: with a real one, nearly all of a run's time is waiting for it."""

_VERY_MANY_RUNS: Final = """\
Short runs with a loop in each, on one guard object, as the guard sees them. Each was given its own reminders and no
other's, or there would be no table. The memory in use is looked at between runs. A run that adds less than the smallest
object of Python's has left none behind."""


def page(costs: Costs) -> str:
    """Write all figures, each table with how to read it."""
    parts = [
        _environment(costs.environment),
        f"## A call\n\n{_A_CALL}",
        _calls(costs),
        f"## A request\n\n{_A_REQUEST}",
        _requests(costs),
        f"## Where the time goes\n\n{_PROFILES}",
        _profiles(costs),
        f"## A run\n\n{_A_RUN}",
        _runs(costs),
        f"## Very many runs\n\n{_VERY_MANY_RUNS}",
        _scale(costs),
    ]
    return "\n\n".join(parts)


def _environment(environment: Environment) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in environment.packages.items())
    machine = f"{environment.processors} processors ({environment.processor})"
    return f"Measured with {environment.python}, {packages}, on {machine}."


def _calls(costs: Costs) -> str:
    kinds = list(dict.fromkeys(each.kind for each in costs.calls))
    goals = {kind: max(each.goal or 0 for each in costs.calls if each.kind == kind) for kind in kinds}
    cells = {(each.arguments, each.kind): each for each in costs.calls}
    rows = [
        [shape, *(_judged(cells[shape, kind]) for kind in kinds)]
        for shape in dict.fromkeys(each.arguments for each in costs.calls)
    ]
    rows.append(["*goal, from 1 kB on*", *(f"*≤ {goals[kind]}*" if goals[kind] else "" for kind in kinds)])
    return table(["Arguments", *kinds], rows)


def _requests(costs: Costs) -> str:
    sizes = sorted({each.messages for each in costs.requests})
    ways: dict[tuple[str, str], list[RequestCost]] = {}
    for each in costs.requests:
        ways.setdefault((each.framework, each.way), []).append(each)
    rows = [
        [
            framework,
            way,
            *(_share(each.of_writing.median) for each in measured),
            f"{measured[-1].of_short.median:.3g} times",
            _goal(measured[-1]),
            _met_by(measured),
        ]
        for (framework, way), measured in ways.items()
    ]
    headers = ["Framework", "Guard", *(f"{size:,}" for size in sizes), f"{sizes[-1]:,} : {SHORT}", "Goal", "Met"]
    return table(headers, rows)


def _goal(cost: RequestCost) -> str:
    if cost.writing_goal is not None:
        return f"≤ {100 * cost.writing_goal:.0f} % of `json.dumps`"
    return "" if cost.short_goal is None else f"≤ {cost.short_goal} times"


def _met_by(measured: Sequence[RequestCost]) -> str:
    judged = [each for each in measured if each.is_met is not None]
    met = [each.messages for each in judged if all(later.is_met for later in judged if later.messages >= each.messages)]
    if not judged or not met:
        return "no" if judged else ""
    return "yes" if len(met) == len(judged) else f"from {min(met):,} on"


def _profiles(costs: Costs) -> str:
    rows = [
        [each.what, ", ".join(f"{part} {_share(share)}" for part, share in each.shares.items())]
        for each in costs.profiles
    ]
    return table(["What", "Where"], rows)


def _runs(costs: Costs) -> str:
    rows = [
        [
            each.framework,
            each.turns,
            each.reminders,
            _more(each.time),
            _more(each.memory),
            f"≤ {percent(each.goal - 1)}",
            yes(each.is_met),
        ]
        for each in costs.runs
    ]
    return table(["Framework", "Turns", "Reminders", "Time", "Peak of memory", "Goal, each", "Met"], rows)


def _scale(costs: Costs) -> str:
    looks = sorted(costs.scale[0].memory)
    rows = [
        [
            each.framework,
            f"{each.at_once:,}",
            *(f"{each.memory[look] / 1000:,.0f} kB" for look in looks),
            f"{each.bytes_a_run:.1f} bytes",
            f"< {each.bound} bytes",
            yes(each.is_met),
        ]
        for each in costs.scale
    ]
    after = [f"After {look:,} runs" for look in looks]
    return table(["Framework", "At once", *after, "Added by a run", "Goal", "Met"], rows)


def _judged(cost: CallCost) -> str:
    return f"{cost.ratio.median:.2f}{', missed' if cost.is_met is False else ''}"


def _share(share: float) -> str:
    return f"{100 * share:.3g} %" if share < 10 else f"{100 * share:.0f} %"  # noqa: PLR2004 - enough digits


def _more(ratio: Ratio) -> str:
    return f"{percent(ratio.median - 1)} ({percent(ratio.lower - 1)} to {percent(ratio.upper - 1)})"
