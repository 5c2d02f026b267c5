"""The page that the results are rendered to: ``python -m benchmarks.peers.page RESULTS PAGE``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Final

from tabulate import tabulate

from benchmarks.peers.about import ABOUT, COLUMNS, WORDS
from benchmarks.peers.costs import CALLS_OF_A_RUN, ROUNDS, SIZES, STRETCH, YOUNG
from benchmarks.peers.drivers import OURS
from benchmarks.peers.results import Costs, Outcome, Results
from benchmarks.peers.scenarios import SCENARIOS

__all__ = ["main", "render"]

TEMPLATE: Final = Path(__file__).with_name("page.md")
_BY_NAME: Final = {scenario.name: scenario for scenario in SCENARIOS}
_KILO: Final = 1_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and render.

    Args:
        arguments: The command line without the program's name; None for the process's own.

    Raises:
        SystemExit: The command line or a file is wrong.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.page")
    parser.add_argument("results", type=Path, metavar="RESULTS", help="the file of figures")
    parser.add_argument("page", type=Path, metavar="PAGE", help="the page to write")
    options = parser.parse_args(arguments)
    try:
        options.page.write_text(render(Results.read(options.results)), encoding="utf-8")
    except (OSError, ValueError) as error:
        parser.error(str(error))


def render(results: Results) -> str:
    """Render results.

    Args:
        results: What was measured.

    Returns:
        The page, in Markdown.
    """
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        python=results.python,
        packages=_packages(results),
        words="\n".join(f"- **{word}**: {meaning}." for word, meaning in WORDS.items()),
        behaviour="\n\n".join(_behaviour(results, head, names) for head, names in COLUMNS.items()),
        scenarios="\n".join(f"- **{scenario.title}**: {scenario.shows}." for scenario in SCENARIOS),
        bookkeeping=_cell(results.ours_set_up["bookkeeping"]),
        poll=_cell(results.ours_set_up["poll"]),
        told=_told(results),
        times=_times(results),
        runs=_runs(results),
        rounds=ROUNDS,
        stretch=STRETCH,
        young=YOUNG,
        calls=f"{CALLS_OF_A_RUN:,}",
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return tabulate(rows, head, tablefmt="github", disable_numparse=True)


def _versions(results: Results) -> dict[str, str]:
    return {guard.package: guard.version for guard in results.guards.values()}


def _packages(results: Results) -> str:
    rows = [[package, version, ABOUT[package].purpose] for package, version in _versions(results).items()]
    return _table(["Package", "Version", "What it is for"], rows)


def _told(results: Results) -> str:
    rows = [
        [package, ABOUT[package].user, ABOUT[package].run, ABOUT[package].options] for package in _versions(results)
    ]
    return _table(["Package", "That the user spoke", "That another run begins", "What it can be set to"], rows)


def _behaviour(results: Results, head: str, names: Sequence[str]) -> str:
    rows = [[name, *(_cell(guard.behaviour[each]) for each in names)] for name, guard in results.guards.items()]
    return f"### {head}\n\n{_table(['Guard', *(_BY_NAME[each].title for each in names)], rows)}"


def _cell(outcome: Outcome) -> str:
    if not outcome.is_shown:
        return "never handed over"
    text = "; ".join(f"{word} at {calls}" for word, calls in outcome.said.items()) or "silent"
    return text if outcome.is_told else f"{text} (cannot be told)"


def _times(results: Results) -> str:
    rows = []
    for name, costs in _costs(results):
        if name == OURS.guard:
            rows.append([name, *(f"1 ({time.ours_microseconds:,.0f} µs)" for time in costs.times)])
        else:
            rows.append([name, *(f"{time.ratio:,g} ({time.ratio_prepared:,g})" for time in costs.times)])
    return _table(["Guard", *map(_size, SIZES)], rows)


def _runs(results: Results) -> str:
    rows = [[name, f"{costs.growth:g}", _size(costs.kept_bytes)] for name, costs in _costs(results)]
    return _table(["Guard", "Growth", "Kept"], rows)


def _costs(results: Results) -> list[tuple[str, Costs]]:
    return [(name, guard.costs) for name, guard in results.guards.items() if guard.costs is not None]


def _size(count: int) -> str:
    for unit in ("B", "kB", "MB"):
        if count < _KILO:
            return f"{count:,.0f} {unit}"
        count = round(count / _KILO)
    return f"{count:,} GB"


if __name__ == "__main__":
    main()
