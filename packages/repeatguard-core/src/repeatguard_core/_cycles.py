"""How often the latest calls have been repeated, for every length of a cycle at once.

The plain chain of identical calls is the cycle of length 1. What can happen stands in two tables:
`TABLE` for the conversation, and `STEPS` for one length. Nothing in here knows a framework, a
file, a clock, a threshold or a word of what the model reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce
from typing import Final

from repeatguard_core._calls import ComparedCall, PastCall
from repeatguard_core._rules import PATIENCE

__all__ = ["STEPS", "TABLE", "Depth", "Event", "Repetition", "Row", "State", "Step", "completed", "event_of"]


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of one length.

    Attributes:
        identical: How many of the latest calls are each identical to the call that many before
            them: the L of rule X1.
        alike: How many of these also have the result of that call.
        level: How far up the thresholds they have come, which only rises until the row is broken.
    """

    identical: int = 0
    alike: int = 0
    level: int = 1


class Step(Enum):
    """What a call is to a row, seen against the call that the row compares it with."""

    SAME = "identical, and its result is not known to be another"
    OTHER_RESULT = "identical, with another result"
    DIFFERENT = "not identical, or the chain has no call to compare it with"


#: For each step, how many calls are identical, and how many alike.
STEPS: Final[dict[Step, Callable[[Row], tuple[int, int]]]] = {
    Step.SAME: lambda row: (row.identical + 1, row.alike + 1),  # D1, X1
    Step.OTHER_RESULT: lambda row: (row.identical + 1, 0),  # X2
    Step.DIFFERENT: lambda _: (0, 0),  # D1, D10, X1
}


@dataclass(frozen=True, slots=True)
class State:
    """All that a chain is.

    Attributes:
        longest: The length of the longest cycle that is looked for.
        quotable: How many characters of arguments a reminder may quote.
        rows: What is known of each length, from 1 on.
        calls: The latest tracked calls, the newest first, as many as the longest cycle has.
        age: How many of these belong to the chain that is being counted.
    """

    longest: int
    quotable: int
    rows: tuple[Row, ...]
    calls: tuple[PastCall, ...] = ()
    age: int = 0

    @classmethod
    def empty(cls, longest: int, quotable: int) -> State:
        """Make the state of a chain that has seen nothing."""
        return cls(longest, quotable, (Row(),) * longest)

    def with_call(self, call: ComparedCall) -> State:
        """Give the state behind one more call of the chain."""
        chain = self.calls[: self.age]
        rows = [
            _row_with(row, length, _step(call, chain[length - 1] if length <= self.age else None))
            for length, row in enumerate(self.rows, 1)
        ]
        latest = self.calls[:1]
        if self.longest > 1:  # of all but the newest no more is kept than has to be
            latest = tuple(each.noted(self.quotable) if isinstance(each, ComparedCall) else each for each in latest)
        calls = (call, *latest, *self.calls[1:])[: self.longest]
        return replace(self, rows=tuple(rows), calls=calls, age=min(self.age + 1, self.longest))


class Event(Enum):
    """What can happen to a conversation."""

    UNTRACKED = "a call that is not tracked"
    CALL = "a tracked call"
    NEWS = "a tracked call with another result than last time, where that begins a new chain"
    NEW_MATERIAL = "something new came into the conversation"


#: For each event the state after it, from the state before it and the call, if it is one.
TABLE: Final[dict[Event, Callable[[State, Sequence[ComparedCall]], State]]] = {
    Event.UNTRACKED: lambda state, _: state,  # D6
    Event.CALL: lambda state, calls: reduce(State.with_call, calls, state),  # D1, D9, X1
    Event.NEWS: lambda state, calls: reduce(State.with_call, calls, replace(state, age=0)),  # X2
    Event.NEW_MATERIAL: lambda state, _: State.empty(state.longest, state.quotable),  # D11
}


def event_of(call: ComparedCall, earlier: Sequence[PastCall]) -> Event:
    """Tell what a tracked call is.

    Args:
        call: The call.
        earlier: The tracked calls before it since there was new material, the newest first, as
            many as the longest cycle has.
    """
    if call.begins_anew_with_another_result:
        last_time = next((each for each in earlier if call.is_identical_to(each)), None)
        if last_time is not None and call.has_another_result_than(last_time):
            return Event.NEWS
    return Event.CALL


def _step(call: ComparedCall, other: PastCall | None) -> Step:
    if other is None or not call.is_identical_to(other):
        return Step.DIFFERENT
    is_deferred = call.rules.on_changed_result == "defer"
    return Step.OTHER_RESULT if is_deferred and call.has_another_result_than(other) else Step.SAME


def _row_with(row: Row, length: int, step: Step) -> Row:
    identical, alike = STEPS[step](row)
    if not identical:
        return Row()
    level = row.level
    if alike % length == 0:
        level = max(level, alike // length + 1)
    if identical % length == 0:
        level = max(level, identical // length + 1 - PATIENCE)
    return Row(identical, alike, level)


@dataclass(frozen=True, slots=True)
class Repetition:
    """A cycle that has been completed once more.

    Attributes:
        calls: Its calls, in order; a single one, if it is the same call each time.
        count: How often it came in a row.
        level: How far up the thresholds that is.
    """

    calls: tuple[PastCall, ...]
    count: int
    level: int


def completed(before: State, after: State) -> Repetition | None:
    """Tell whether the shortest cycle at the end of a conversation has risen by a repetition (X1).

    Args:
        before: The state before a call.
        after: The state after it.
    """
    for length, (row, row_before) in enumerate(zip(after.rows, before.rows, strict=True), 1):
        if row.identical >= length:
            rises = row.level > row_before.level
            calls = tuple(reversed(after.calls[:length]))
            return Repetition(calls, row.identical // length + 1, row.level) if rises else None
    return None


class Depth:
    """Finds out how far back a conversation has to be read until nothing before that matters.

    Args:
        longest: The length of the longest cycle that is looked for.
        enough: The number of repetitions beyond which nothing is due; None if there is no such number.
    """

    def __init__(self, longest: int, enough: int | None) -> None:
        self.calls: list[ComparedCall] = []
        self._longest = longest
        self._enough = enough
        self._open = set(range(1, longest + 1))
        self._settled = 0

    @property
    def is_enough(self) -> bool:
        """Whether it is known of each length how many calls are identical, or that they are too many to matter."""
        return not self._open

    def read(self, call: ComparedCall) -> None:
        """Take in the call before those that have been read.

        Args:
            call: The call.
        """
        self.calls.append(call)
        if len(self.calls) > self._longest:
            self._settle(self.calls[self._settled], self.calls[self._settled + 1 :][: self._longest])
            self._settled += 1

    def _settle(self, call: ComparedCall, earlier: Sequence[ComparedCall]) -> None:
        if event_of(call, earlier) is Event.NEWS:
            self._open.clear()
        for length in sorted(self._open):
            if not call.is_identical_to(earlier[length - 1]):
                self._open.discard(length)
            elif self._enough is not None and self._settled + 1 >= length * self._enough:
                self._open -= set(range(length, self._longest + 1, length))  # longer ones end together with it
