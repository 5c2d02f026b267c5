"""How often the latest calls have been repeated, for every length of a cycle at once.

The plain chain of identical calls is the cycle of length 1. What can happen stands in two tables:
`TABLE` for the conversation, and `STEPS` for one length. Nothing in here knows a framework, a
file, a clock, a threshold or a word of what the model reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from repeatguard_core._calls import ComparedCall, PastCall
from repeatguard_core._rules import PATIENCE

__all__ = ["STEPS", "TABLE", "Depth", "Event", "Repetition", "Row", "State", "Step", "completed", "event_of"]


class Row(NamedTuple):
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


#: What a call is to a row, seen against the call that the row compares it with: identical, and its
#: result is not known to be another; identical, with another result; or not identical, or the chain
#: has no call to compare it with.
Step: TypeAlias = Literal["same", "other result", "different"]

#: For each step, how many calls are identical, and how many alike.
STEPS: Final[dict[Step, Callable[[Row], tuple[int, int]]]] = {
    "same": lambda row: (row.identical + 1, row.alike + 1),  # D1, X1
    "other result": lambda row: (row.identical + 1, 0),  # X2
    "different": lambda _: (0, 0),  # D1, D10, X1
}


_NO_ROW: Final = Row()


class State(NamedTuple):
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
        return cls(longest, quotable, (_NO_ROW,) * longest)

    def with_call(self, call: ComparedCall) -> State:
        """Give the state behind one more call of the chain."""
        longest, quotable, rows, calls, age = self
        steps: list[Step] = [_step(call, other) for other in calls[:age]]
        if steps.count("different") == age:
            rows = (_NO_ROW,) * longest
        else:
            known = [_row_with(row, n, step) for n, (row, step) in enumerate(zip(rows, steps, strict=False), 1)]
            rows = (*known, *(_NO_ROW,) * (longest - age))
        kept = self._noted_calls() if longest > 1 else ()
        return State(longest, quotable, rows, (call, *kept)[:longest], min(age + 1, longest))

    def _noted_calls(self) -> Sequence[PastCall]:
        """Give the calls with no more than has to be kept of them."""
        if not self.calls or not isinstance(newest := self.calls[0], ComparedCall):
            return self.calls
        # Only a cycle is quoted, and each of its calls has come before.
        is_quotable = self.rows != (_NO_ROW,) * self.longest
        return newest.noted(self.quotable if is_quotable else None), *self.calls[1:]


#: What can happen to a conversation: a call that is not tracked; a tracked call; one with another
#: result than last time, where that begins a new chain; or something new came into it.
Event: TypeAlias = Literal["untracked", "call", "news", "new material"]

#: For each event the state after it, from the state before it and the call, if it is one.
TABLE: Final[dict[Event, Callable[[State, Any], State]]] = {
    "untracked": lambda state, _: state,  # D6
    "call": State.with_call,  # D1, D9, X1
    "news": lambda state, call: state._replace(age=0).with_call(call),  # X2
    "new material": lambda state, _: State.empty(state.longest, state.quotable),  # D11
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
            return "news"
    return "call"


def _step(call: ComparedCall, other: PastCall) -> Step:
    if call.digest != other.digest:
        return "different"
    if call.result is not None and call.rules.on_changed_result == "defer" and call.has_another_result_than(other):
        return "other result"
    return "same"


def _row_with(row: Row, length: int, step: Step) -> Row:
    identical, alike = STEPS[step](row)
    if not identical:
        return _NO_ROW
    level = row.level
    if alike % length == 0:
        level = max(level, alike // length + 1)
    if alike != identical and identical % length == 0:
        level = max(level, identical // length + 1 - PATIENCE)
    return Row(identical, alike, level)


class Repetition(NamedTuple):
    """A cycle that has been completed once more.

    Attributes:
        calls: Its calls, in order; a single one, if it is the same call each time.
        times: How often it came in a row.
        level: How far up the thresholds that is.
    """

    calls: tuple[PastCall, ...]
    times: int
    level: int


def completed(before: State, after: State) -> Repetition | None:
    """Tell whether the shortest cycle at the end of a conversation has risen by a repetition (X1).

    Args:
        before: The state before a call.
        after: The state after it.
    """
    for length, row in enumerate(after.rows, 1):
        if row.identical >= length:
            if row.level == before.rows[length - 1].level:
                return None
            return Repetition(after.calls[length - 1 :: -1], row.identical // length + 1, row.level)
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
        if event_of(call, earlier) == "news":
            self._open.clear()
        for length in sorted(self._open):
            if not call.is_identical_to(earlier[length - 1]):
                self._open.discard(length)
            elif self._enough is not None and self._settled + 1 >= length * self._enough:
                self._open -= set(range(length, self._longest + 1, length))  # longer ones end together with it
