"""Measure the guards whose packages are installed here.

``python -m benchmarks.peers --json OUT`` writes the figures to a file, and leaves there what it knows
of others: two of the packages share an import name, so each is measured in an environment of its own.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.peers.costs import measure
from benchmarks.peers.driver import Driver
from benchmarks.peers.drivers import GUARDS, OURS, SET_UP, Ours
from benchmarks.peers.playing import play
from benchmarks.peers.results import Guard, Results
from benchmarks.peers.scenarios import SCENARIOS

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, measure, and write.

    Args:
        arguments: The command line without the program's name; None for the process's own.

    Raises:
        SystemExit: The command line or the file is wrong.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="OUT", required=True, help="the file to write the figures to")
    parser.add_argument(
        "--behaviour", action="store_true", help="measure what guards do, and leave what the file knows of their costs"
    )
    options = parser.parse_args(arguments)
    file: Path = options.json
    try:
        before = Results.read(file) if file.exists() else Results(python="")
        guards = dict(before.guards)
        for driver in GUARDS:
            installed = _version(driver.package)
            if installed is None:
                print(f"missing: {driver.guard} (the package {driver.package} is not installed)")
                continue
            print(f"measuring: {driver.guard} {installed}", flush=True)
            guard = _measured(driver, installed)
            if options.behaviour:
                known = guards.get(driver.guard)
                costs = known.costs if known is not None and known.version == installed else None
            else:
                costs = measure(OURS, driver)
            guards[driver.guard] = guard.model_copy(update={"costs": costs})
        set_up = {
            scenario.name: play(partial(Ours, SET_UP[scenario.name]), scenario)
            for scenario in SCENARIOS
            if scenario.name in SET_UP
        }
        in_order = {name: guards[name] for name in sorted(guards, key=_place)}
        Results(python=platform.python_version(), guards=in_order, ours_set_up=set_up).write(file)
    except (OSError, ValueError) as error:
        parser.error(str(error))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _measured(driver: type[Driver], installed: str) -> Guard:
    behaviour = {scenario.name: play(driver, scenario) for scenario in SCENARIOS}
    return Guard(package=driver.package, version=installed, behaviour=behaviour)


def _place(guard: str) -> int:
    return [driver.guard for driver in GUARDS].index(guard)


if __name__ == "__main__":
    main()
