"""Measure what repeatguard costs: ``python -m benchmarks.costs``; README.md says how."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.costs.calls import calls
from benchmarks.costs.profiles import profiles
from benchmarks.costs.report import page
from benchmarks.costs.requests import requests
from benchmarks.costs.results import Costs, Environment
from benchmarks.costs.rounds import Pace
from benchmarks.costs.runs import runs
from benchmarks.costs.scale import scale
from benchmarks.costs.summary import summary
from benchmarks.documents import put_between

__all__ = ["DOCUMENTS", "RESULTS", "main"]

_ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = _ROOT / "benchmarks/results/costs.json"
#: The documents that show the figures, and how.
DOCUMENTS: Final[dict[Path, Callable[[Costs], str]]] = {_ROOT / "docs/costs.md": page, _ROOT / "README.md": summary}

_WHOLE: Final[dict[str, Callable[[], Iterator[Any]]]] = {
    "calls": lambda: calls(Pace(25, 0.005)),
    "requests": lambda: requests(Pace(15, 0.005)),
    "profiles": lambda: profiles(calls=20_000, messages=10_000),
    "runs": lambda: runs(turns=200, rounds=9),
    "scale": lambda: scale(looks=(1_000, 5_000, 10_000), at_once=1_000),
}
_QUICK: Final[dict[str, Callable[[], Iterator[Any]]]] = {
    "calls": lambda: calls(Pace(2, 0), shapes=("100 B", "1 kB")),
    "requests": lambda: requests(Pace(2, 0), sizes=(10, 100, 200)),
    "profiles": lambda: profiles(calls=100, messages=100),
    "runs": lambda: runs(turns=15, rounds=2),
    "scale": lambda: scale(looks=(20, 40), at_once=20),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, measure, print, and write.

    Args:
        arguments: The command line without the program's name; None for the process's own.

    Raises:
        SystemExit: The command line is wrong, or what is not measured was measured elsewhere.
        CrossTalkError: A run had other reminders than its own.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(_WHOLE)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="see that it works; the figures mean nothing")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write to this file, and to no document")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(_WHOLE):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(_WHOLE)}")
    if options.quick and options.json is None:
        parser.error("--quick needs --json, for its figures belong into no document")
    measured: dict[str, Any] = {"environment": Environment.this()}
    if options.parts:
        earlier = Costs.model_validate_json(RESULTS.read_bytes())
        if earlier.environment != measured["environment"]:
            parser.error("the other parts were measured elsewhere, so all are to be measured anew")
        measured = {**dict(earlier), **measured}
    for part, measure in (_QUICK if options.quick else _WHOLE).items():
        if not options.parts or part in options.parts:
            measured[part] = tuple(measure())
    costs = Costs(**measured)
    print(page(costs))
    file: Path = options.json or RESULTS
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{costs.model_dump_json(indent=1)}\n", encoding="utf-8")
    if options.json is None:
        for document, write in DOCUMENTS.items():
            text = document.read_text(encoding="utf-8")
            document.write_text(put_between(text, "costs", write(costs)), encoding="utf-8")


if __name__ == "__main__":
    main()
