"""The figures as Markdown: a page with all of them, and a short table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tabulate import tabulate

from benchmarks.costs.calls import CallCost
from benchmarks.costs.requests import SHORT, RequestCost
from benchmarks.costs.results import Costs, Environment
from benchmarks.costs.rounds import Ratio

__all__ = ["page", "put_between", "summary"]

_BEGIN: Final = "<!-- costs:begin -->"
_END: Final = "<!-- costs:end -->"

_A_CALL: Final = """\
`RepeatChain.observe` with the default settings, as a multiple of `json.dumps(json.loads(text), sort_keys=True)` of
the same arguments. The columns say how the arguments relate to those of the call before."""

_A_REQUEST: Final = """\
What the guard does before a request, as a share of one `json.dumps` of the conversation, by its number of messages;
then how many times of its time at 100 messages it takes at the largest number. Where the share falls as the
conversation grows, the guard's part stays the same. A *first request* is the first that the guard sees of a
conversation; a *next* one comes a call and its result later. AutoGen's client is handed a bare list each time and reads
all of it, by design."""

_A_RUN: Final = """\
A run of a scripted model in the real framework, by turns with the guard and without it: what it takes more with the
guard, and in brackets where the median is (95 %). Reminders are messages, which the framework carries along in every
later request like any other; that is part of it. With a real model, nearly all of a run's time is waiting for it."""

_VERY_MANY_RUNS: Final = """\
Short runs with a loop in each, on one guard object, as the guard sees them. Each was given its own reminders and no
other's, or there would be no table. The memory in use is looked at between runs. A run that adds less than the smallest
object of Python's has left none behind."""


def put_between(document: str, part: str) -> str:
    """Replace what a document has between its two markers.

    Args:
        document: The document.
        part: What is to stand there.

    Returns:
        The document with it.

    Raises:
        ValueError: The markers are not there.
    """
    before, begin, rest = document.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        msg = f"there is no {_BEGIN} with {_END} behind it"
        raise ValueError(msg)
    return f"{before}{begin}\n{part}\n{end}{after}"


def page(costs: Costs) -> str:
    """Write all figures, each table with how to read it."""
    parts = [
        _environment(costs.environment),
        f"## A call\n\n{_A_CALL}",
        _calls(costs),
        f"## A request\n\n{_A_REQUEST}",
        _requests(costs),
        f"## A run\n\n{_A_RUN}",
        _runs(costs),
        f"## Very many runs\n\n{_VERY_MANY_RUNS}",
        _scale(costs),
    ]
    return "\n\n".join(parts)


def summary(costs: Costs) -> str:
    """Write the short table: each goal, and the figures that are held against it."""
    longest = max(each.messages for each in costs.requests)
    flat = [each for each in costs.requests if each.short_goal is not None and each.messages == longest]
    rows = [
        _row(
            "A call with new arguments, from 1 kB on",
            [(each.ratio.median, each.goal) for each in costs.calls if each.kind.startswith("new")],
            lambda value: f"{value:.2g} times",
            " parsing and writing them",
        ),
        _row(
            "The same call again, from 1 kB on",
            [(each.ratio.median, each.goal) for each in costs.calls if each.kind == "the same text"],
            lambda value: f"{value:.2g} times",
            " parsing and writing them",
        ),
        _row(
            f"A request after {longest:,} messages: Pydantic AI, AutoGen",
            [(each.of_short.median, each.short_goal) for each in flat],
            lambda value: f"{value:.2g} times",
            f" one after {SHORT}",
        ),
        *(
            _row(
                f"A request after {longest:,} messages: {each.framework}, {each.way.partition(', ')[2]}",
                [(each.of_writing.median, each.writing_goal)],
                lambda value: f"{value:.2g} times",
                " one `json.dumps` of them",
            )
            for each in costs.requests
            if each.writing_goal is not None and each.messages == longest
        ),
        *(
            _row(
                f"A run of {costs.runs[0].turns} turns, {name}",
                [(ratio - 1, each.goal - 1) for each, ratio in zip(costs.runs, ratios, strict=True)],
                _percent,
                "",
            )
            for name, ratios in (
                ("time", [each.time.median for each in costs.runs]),
                ("memory", [each.memory.median for each in costs.runs]),
            )
        ),
        _row(
            f"{max(costs.scale[0].memory):,} runs on one guard, {costs.scale[0].at_once:,} at once",
            [(each.bytes_a_run, each.bound) for each in costs.scale],
            lambda value: f"{value:.2g} bytes",
            " left by each",
        ),
    ]
    return _table(["", "Measured", "Goal, at most", "Met"], rows)


def _row(
    what: str, measured: Iterable[tuple[float, float | None]], write: Callable[[float], str], of: str
) -> list[str]:
    judged = [(value, goal) for value, goal in measured if goal is not None]
    low, high = min(value for value, _ in judged), max(value for value, _ in judged)
    shown = write(high) if write(low) == write(high) else f"{write(low)} to {write(high)}"
    return [what, shown + of, write(judged[0][1]), _yes(all(value <= goal for value, goal in judged))]


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
    return _table(["Arguments", *kinds], rows)


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
    return _table(headers, rows)


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


def _runs(costs: Costs) -> str:
    rows = [
        [
            each.framework,
            each.turns,
            each.reminders,
            _more(each.time),
            _more(each.memory),
            f"≤ {_percent(each.goal - 1)}",
            _yes(each.is_met),
        ]
        for each in costs.runs
    ]
    return _table(["Framework", "Turns", "Reminders", "Time", "Peak of memory", "Goal, each", "Met"], rows)


def _scale(costs: Costs) -> str:
    looks = sorted(costs.scale[0].memory)
    rows = [
        [
            each.framework,
            f"{each.at_once:,}",
            *(f"{each.memory[look] / 1000:,.0f} kB" for look in looks),
            f"{each.bytes_a_run:.1f} bytes",
            f"< {each.bound} bytes",
            _yes(each.is_met),
        ]
        for each in costs.scale
    ]
    after = [f"After {look:,} runs" for look in looks]
    return _table(["Framework", "At once", *after, "Added by a run", "Goal", "Met"], rows)


def _table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return tabulate(list(rows), headers=list(headers), tablefmt="github", disable_numparse=True)


def _judged(cost: CallCost) -> str:
    return f"{cost.ratio.median:.2f}{', missed' if cost.is_met is False else ''}"


def _yes(is_met: bool) -> str:  # noqa: FBT001 - it is the value that is written
    return "yes" if is_met else "no"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _share(share: float) -> str:
    return f"{100 * share:.3g} %" if share < 10 else f"{100 * share:.0f} %"  # noqa: PLR2004 - enough digits


def _more(ratio: Ratio) -> str:
    return f"{_percent(ratio.median - 1)} ({_percent(ratio.lower - 1)} to {_percent(ratio.upper - 1)})"
