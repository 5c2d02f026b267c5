"""Replaying trajectories through the chain, and holding what it says against the labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import NormalDist
from typing import Final

from repeatguard_core import Reminder, RepeatChain, RepeatGuardConfig

from benchmarks.trajectories import CYCLE, Trajectory

__all__ = ["DEFINITIONS", "GROUPS", "Chain", "Given", "Proportion", "Score", "Verdict", "labelled", "replay", "score"]

_Z: Final = NormalDist().inv_cdf(0.975)


class Verdict(Enum):
    """What a reminder is, by the chain that it falls into."""

    RIGHT = "right"
    WRONG = "wrong"
    UNLABELLED = "unlabelled"


#: What a reminder is in a chain with a certain label; with any other it is unlabelled.
VERDICTS: Final = {
    "loop": Verdict.RIGHT,
    CYCLE: Verdict.RIGHT,
    "redundant": Verdict.RIGHT,
    "legit": Verdict.WRONG,
    "legitimate": Verdict.WRONG,
    "poll": Verdict.WRONG,
    "polling": Verdict.WRONG,
    "retry": Verdict.WRONG,
    "transient": Verdict.WRONG,
}


@dataclass(frozen=True, slots=True, order=True)
class Chain:
    """A labelled chain.

    Attributes:
        source: The collection of its trajectory.
        line: The line of its trajectory.
        number: Its number among the labels of the trajectory.
        label: What it was.
        calls: How many calls it has.
        rounds: How often the call, or the cycle, came in a row.
    """

    source: str
    line: int
    number: int
    label: str
    calls: int
    rounds: int

    @property
    def verdict(self) -> Verdict:
        """What a reminder in it is."""
        return VERDICTS.get(self.label, Verdict.UNLABELLED)


@dataclass(frozen=True, slots=True)
class Given:
    """A reminder that the chain gave.

    Attributes:
        source: The collection of its trajectory.
        line: The line of its trajectory.
        segment: The segment of the call that it is about.
        call: The number of that call in the segment.
        tool: The name of that call's tool.
        threshold: The threshold that was reached.
        count: How often the call, or the cycle, had come in a row.
        chain: The labelled chain that the call belongs to, if any.
    """

    source: str
    line: int
    segment: int
    call: int
    tool: str
    threshold: int
    count: int
    chain: Chain | None

    @property
    def verdict(self) -> Verdict:
        """What it is by the labels."""
        return Verdict.UNLABELLED if self.chain is None else self.chain.verdict


@dataclass(frozen=True, slots=True)
class Proportion:
    """So many of so many."""

    part: int
    whole: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % Wilson interval; None for none of none."""
        if not self.whole:
            return None
        share, spread = self.part / self.whole, _Z**2 / self.whole
        middle = (share + spread / 2) / (1 + spread)
        half = _Z / (1 + spread) * math.sqrt(share * (1 - share) / self.whole + spread / (4 * self.whole))
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        if (interval := self.interval) is None:
            return "0/0"
        low, high = interval
        return f"{self.part}/{self.whole} {self.part / self.whole:.0%} ({low:.0%} to {high:.0%})"


@dataclass(frozen=True, slots=True)
class _Group:
    """Chains that a proportion is about."""

    means: str
    has: Callable[[Chain, int], bool]


def _is_right(chain: Chain, threshold: int) -> bool:
    return chain.verdict is Verdict.RIGHT and chain.calls >= threshold


#: The proportions of labelled chains that a reminder falls into.
GROUPS: Final = {
    "recall": _Group("those for which a reminder is right, of at least t calls", _is_right),
    "recall loop": _Group(
        "label loop, of at least t calls",
        lambda chain, threshold: chain.label == "loop" and chain.calls >= threshold,
    ),
    "recall redundant": _Group(
        "label redundant, of at least t calls",
        lambda chain, threshold: chain.label == "redundant" and chain.calls >= threshold,
    ),
    "recall loop-cycle": _Group(
        "label loop-cycle, of at least t calls",
        lambda chain, threshold: chain.label == CYCLE and chain.calls >= threshold,
    ),
    "recall rounds": _Group(
        "label loop-cycle, of at least t full rounds, which is what the chain counts",
        lambda chain, threshold: chain.label == CYCLE and chain.rounds >= threshold,
    ),
    "false alarms": _Group(
        "those for which a reminder is wrong, of at least t calls; the fewer the better",
        lambda chain, threshold: chain.verdict is Verdict.WRONG and chain.calls >= threshold,
    ),
}


def _labels(verdict: Verdict) -> str:
    *labels, last = [label for label, of_label in VERDICTS.items() if of_label is verdict]
    return f"{', '.join(labels)} or {last}"


DEFINITIONS: Final = "\n".join(
    [
        "Definitions, for a threshold t:",
        "  reminder: one that the chain gives at t. Messages of the user's begin a new chain. Results are compared by",
        "    their hashes where they have one, by their text otherwise.",
        "  It falls into a labelled chain if the call that it is about does: the last one of its response that is of",
        "    the reminder's tool.",
        f"  right: it falls into a chain with the label {_labels(Verdict.RIGHT)}.",
        f"  wrong: it falls into a chain with the label {_labels(Verdict.WRONG)}.",
        "  unlabelled: it falls into no labelled chain, or into one with another label.",
        "  precision: the right ones of right and wrong reminders; the unlabelled are counted beside it.",
        "  The other lines are about labelled chains, and count those that a reminder at t falls into:",
        *(f"  {name}: {group.means}." for name, group in GROUPS.items()),
        "  Shares stand with their counts and the 95 % Wilson interval.",
    ]
)


@dataclass(frozen=True, slots=True)
class Score:
    """How the reminders at one threshold fare.

    Attributes:
        threshold: The threshold.
        given: The reminders.
        found: The chains for which a reminder is right and that one falls into, if they have as many calls.
        missed: Those that none falls into.
        precision: Right ones of right and wrong reminders.
        groups: For each of `GROUPS`, the chains that a reminder falls into, of all.
    """

    threshold: int
    given: tuple[Given, ...]
    found: tuple[Chain, ...]
    missed: tuple[Chain, ...]
    precision: Proportion
    groups: dict[str, Proportion]

    def of(self, verdict: Verdict) -> list[Given]:
        """Give the reminders of one verdict."""
        return [given for given in self.given if given.verdict is verdict]


def labelled(line: int, trajectory: Trajectory) -> list[Chain]:
    """Give the labelled chains of a trajectory.

    Args:
        line: The trajectory's line.
        trajectory: The trajectory.
    """
    return [
        Chain(trajectory.source, line, number, label.label, label.length, label.rounds)
        for number, label in enumerate(trajectory.labels)
    ]


def replay(line: int, trajectory: Trajectory, config: RepeatGuardConfig) -> list[Given]:
    """Play a trajectory, and note the reminders that would have been given.

    Args:
        line: The trajectory's line.
        trajectory: The trajectory.
        config: What the chain goes by.
    """
    chain = RepeatChain(config)
    labels = list(zip(trajectory.labels, labelled(line, trajectory), strict=True))
    noted: list[Given] = []
    for segment, batches in enumerate(trajectory.segments()):
        chain.reset()  # the user has said something
        seen = 0
        for batch in batches:
            reminder = chain.observe(batch)
            if isinstance(reminder, Reminder):
                call = seen + max(index for index, each in enumerate(batch) if each.name == reminder.tool_name)
                falls_into = next((known for label, known in labels if label.holds(segment, call)), None)
                tool, threshold, count = reminder.tool_name, reminder.threshold, reminder.count
                noted.append(Given(trajectory.source, line, segment, call, tool, threshold, count, falls_into))
            seen += len(batch)
    return noted


def score(threshold: int, given: Iterable[Given], chains: Sequence[Chain]) -> Score:
    """Hold the reminders at one threshold against the labels.

    Args:
        threshold: The threshold.
        given: The reminders, at any threshold.
        chains: All labelled chains.
    """
    at = tuple(each for each in given if each.threshold == threshold)
    right, wrong = (sum(each.verdict is verdict for each in at) for verdict in (Verdict.RIGHT, Verdict.WRONG))
    reached = {each.chain for each in at}
    loops = sorted(chain for chain in chains if _is_right(chain, threshold))
    groups: dict[str, Proportion] = {}
    for name, group in GROUPS.items():
        members = [chain in reached for chain in chains if group.has(chain, threshold)]
        groups[name] = Proportion(sum(members), len(members))
    return Score(
        threshold,
        at,
        tuple(chain for chain in loops if chain in reached),
        tuple(chain for chain in loops if chain not in reached),
        Proportion(right, right + wrong),
        groups,
    )
