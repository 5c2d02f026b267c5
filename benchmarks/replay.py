"""Replay recorded conversations through the chain, and say how well its reminders hit loops.

``python -m benchmarks.replay PATH`` prints it; README.md says what PATH has to hold.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from repeatguard_core import RepeatGuardConfig

from benchmarks.scoring import DEFINITIONS, GROUPS, Chain, Given, Proportion, Score, Verdict, labelled, replay, score
from benchmarks.trajectories import Trajectory, read

__all__ = ["main"]

Policy: TypeAlias = Literal["count", "reset", "defer"]

POLICIES: Final[tuple[Policy, ...]] = get_args(Policy)
#: Without cycles, and with those that are looked for unless told otherwise.
CYCLE_LENGTHS: Final = (1, RepeatGuardConfig().max_cycle_length)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one configuration fares.

    Attributes:
        policy: What a changed result means.
        max_cycle_length: How long a cycle may be.
        scores: One for each threshold.
    """

    policy: Policy
    max_cycle_length: int
    scores: tuple[Score, ...]

    @property
    def name(self) -> str:
        """What it is called in print."""
        return f'on_changed_result="{self.policy}", max_cycle_length={self.max_cycle_length}'


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, replay, and print.

    Args:
        arguments: The command line without the program's name; None for the process's own.

    Raises:
        SystemExit: The command line, the file or a setting is wrong.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", type=Path, metavar="PATH", help="JSON lines, a trajectory a line")
    parser.add_argument(
        "--policy", action="append", choices=POLICIES, help="on_changed_result; may be repeated (default: each)"
    )
    parser.add_argument(
        "--max-cycle-length",
        action="append",
        type=int,
        metavar="N",
        help=f"may be repeated (default: {' and '.join(map(str, CYCLE_LENGTHS))})",
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything to this file as well")
    options = parser.parse_args(arguments)
    try:
        trajectories = list(read(options.path))
        outcomes = [
            _outcome(trajectories, policy, length)
            for length in dict.fromkeys(options.max_cycle_length or CYCLE_LENGTHS)
            for policy in dict.fromkeys(options.policy or POLICIES)
        ]
        if options.json is not None:
            text = json.dumps(_as_json(trajectories, outcomes), indent=2, ensure_ascii=False)
            options.json.write_text(f"{text}\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        parser.error(str(error))
    for line in _report(trajectories, outcomes):
        print(line)


def _outcome(trajectories: Sequence[tuple[int, Trajectory]], policy: Policy, max_cycle_length: int) -> Outcome:
    config = RepeatGuardConfig(on_changed_result=policy, max_cycle_length=max_cycle_length)
    given = [each for line, trajectory in trajectories for each in replay(line, trajectory, config)]
    chains = _chains(trajectories)
    return Outcome(policy, max_cycle_length, tuple(score(each, given, chains) for each in config.thresholds))


def _chains(trajectories: Sequence[tuple[int, Trajectory]]) -> list[Chain]:
    return [chain for line, trajectory in trajectories for chain in labelled(line, trajectory)]


def _report(trajectories: Sequence[tuple[int, Trajectory]], outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield _contents(trajectories)
    yield ""
    yield DEFINITIONS
    for outcome in outcomes:
        yield ""
        yield outcome.name
        yield from _table(outcome.scores)
    yield ""
    yield "By source: the trajectory's line, the chain's label and number of calls."
    for outcome in outcomes:
        yield ""
        yield outcome.name
        for each in outcome.scores:
            yield f"  t = {each.threshold}"
            yield from _by_source(each)


def _contents(trajectories: Sequence[tuple[int, Trajectory]]) -> str:
    calls = sum(len(batch) for _, each in trajectories for segment in each.segments() for batch in segment)
    chains = _chains(trajectories)
    labels = ", ".join(f"{label} {count}" for label, count in sorted(Counter(each.label for each in chains).items()))
    return f"{len(trajectories)} trajectories, {calls} calls, {len(chains)} labelled chains ({labels or 'none'})"


def _table(scores: Sequence[Score]) -> Iterator[str]:
    rows = [
        ["", *(f"t = {each.threshold}" for each in scores)],
        ["precision", *(str(each.precision) for each in scores)],
        ["unlabelled", *(str(len(each.of(Verdict.UNLABELLED))) for each in scores)],
        *([name, *(str(each.groups[name]) for each in scores)] for name in GROUPS),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()


def _by_source(score: Score) -> Iterator[str]:
    lists: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for title, chains in (("found", score.found), ("missed", score.missed)):
        for chain in chains:
            lists[chain.source].setdefault(title, []).append(_shown(chain))
    for verdict in (Verdict.WRONG, Verdict.UNLABELLED):
        for given in score.of(verdict):
            lists[given.source].setdefault(verdict.value, []).append(_shown_reminder(given))
    for source, by_title in sorted(lists.items()):
        yield f"    {source}"
        for title, entries in by_title.items():
            yield f"      {title} {len(entries)}: {', '.join(entries)}"


def _shown(chain: Chain) -> str:
    rounds = f" in {chain.rounds} rounds" if chain.rounds < chain.calls else ""
    return f"{chain.line} ({chain.label} {chain.calls}{rounds})"


def _shown_reminder(given: Given) -> str:
    if given.chain is not None:
        return _shown(given.chain)
    return f"{given.line} ({given.tool}, call {given.call} of segment {given.segment})"


def _as_json(trajectories: Sequence[tuple[int, Trajectory]], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "contents": _contents(trajectories),
        "definitions": DEFINITIONS.splitlines(),
        "configurations": [
            {
                "on_changed_result": outcome.policy,
                "max_cycle_length": outcome.max_cycle_length,
                "thresholds": [_score_as_json(each) for each in outcome.scores],
            }
            for outcome in outcomes
        ],
    }


def _score_as_json(score: Score) -> dict[str, Any]:
    return {
        "threshold": score.threshold,
        "precision": _proportion_as_json(score.precision),
        **{name: _proportion_as_json(each) for name, each in score.groups.items()},
        "reminders": [{**asdict(given), "verdict": given.verdict.value} for given in score.given],
        "found": [asdict(chain) for chain in score.found],
        "missed": [asdict(chain) for chain in score.missed],
    }


def _proportion_as_json(proportion: Proportion) -> dict[str, Any]:
    return {**asdict(proportion), "interval": proportion.interval}


if __name__ == "__main__":
    main()
