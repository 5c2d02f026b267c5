"""The state machine: how often the latest calls have come in a row, for every length of a cycle at once.

The plain chain of identical calls is the cycle of length 1. What can happen is one table,
`TRANSITIONS`. Nothing here knows a framework, a file, a clock, a threshold or a word of what the
model reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from repeatguard_core._calls import PastCall, TrackedCall
from repeatguard_core._policy import EXTRA_REPEATS

__all__ = ["TRANSITIONS", "CycleCount", "Event", "Lookback", "Repetition", "State", "completed", "event_of"]

#: What can happen. A tracked call is compared, for each length of a cycle, with the call that many
#: calls before it: "same call" is identical and not known to have another result, "other result"
#: is identical with another result, "other call" is not identical. The other events concern all
#: lengths: "changed result" is a call with another result than last time that starts a new chain.
Event: TypeAlias = Literal["same call", "other result", "other call", "changed result", "untracked call", "new input"]
Effect: TypeAlias = Literal["keep", "add one", "one", "zero"]


class Transition(NamedTuple):
    """What an event does to the counts.

    Attributes:
        same_calls: To the number of latest calls that are identical to the call one cycle before.
        same_results: To the number of those whose results are the same too.
        chain_length: To the number of calls in the chain. The call is remembered if there are more
            of them than before, and all are forgotten if there are none.
    """

    same_calls: Effect
    same_results: Effect
    chain_length: Effect


TRANSITIONS: Final[dict[Event, Transition]] = {
    # event                       same_calls  same_results  chain_length
    "same call": Transition("add one", "add one", "add one"),
    "other result": Transition("add one", "zero", "add one"),
    "other call": Transition("zero", "zero", "add one"),
    "changed result": Transition("zero", "zero", "one"),
    "untracked call": Transition("keep", "keep", "keep"),
    "new input": Transition("zero", "zero", "zero"),
}

_EFFECTS: Final[dict[Effect, Callable[[int], int]]] = {
    "keep": lambda number: number,
    "add one": lambda number: number + 1,
    "one": lambda _: 1,
    "zero": lambda _: 0,
}


class CycleCount(NamedTuple):
    """What is known of one length.

    Attributes:
        same_calls: How many of the latest calls are each identical to the call that many before them.
        same_results: How many of these also have the result of that call.
        level: How far up the thresholds they have come, which only rises until the cycle ends.
    """

    same_calls: int = 0
    same_results: int = 0
    level: int = 1


_NO_COUNT: Final = CycleCount()


class State(NamedTuple):
    """All that a chain is.

    Attributes:
        max_cycle_length: The length of the longest cycle that is looked for.
        counts: What is known of each length at which the latest call repeats an earlier one, the
            shortest first. Lengths that fit into a run of identical calls are left out: they can
            only end together with it.
        calls: The latest tracked calls, the newest first, as many as the longest cycle has.
        chain_length: How many of these belong to the chain that is being counted.
    """

    max_cycle_length: int
    counts: Mapping[int, CycleCount] = {}
    calls: tuple[PastCall, ...] = ()
    chain_length: int = 0

    def after(self, event: Event, call: TrackedCall | None = None) -> State:
        """Return the state after an event.

        Args:
            event: What happened; for a tracked call what `event_of` says.
            call: The call, if it is tracked.
        """
        effect = TRANSITIONS[event].chain_length
        if effect == "keep":
            return self
        if call is None:
            return State(self.max_cycle_length)
        longest = self.max_cycle_length
        counts = self._counts_after(call) if effect == "add one" else {}
        kept = self.recorded_calls() if longest > 1 else ()
        return State(longest, counts, (call, *kept)[:longest], min(_EFFECTS[effect](self.chain_length), longest))

    def recorded_calls(self) -> tuple[PastCall, ...]:
        """Return the latest calls with no more of them than has to be kept."""
        if not self.calls or not isinstance(newest := self.calls[0], TrackedCall):
            return self.calls
        # Only a cycle is quoted, and each of its calls has come before.
        return newest.record(with_preview=bool(self.counts)), *self.calls[1:]

    def _counts_after(self, call: TrackedCall) -> dict[int, CycleCount]:
        counts: dict[int, CycleCount] = {}
        identical_run = 0
        digest = call.digest
        for length, other in enumerate(self.calls[: self.chain_length], 1):
            if length > identical_run and digest == other.digest:
                counts[length] = _counted(self.counts.get(length, _NO_COUNT), length, _comparison(call, other))
                if length == 1:
                    identical_run = counts[1].same_calls + 1
        return counts


def event_of(call: TrackedCall, earlier: Sequence[PastCall]) -> Event:
    """Return what a tracked call is to the chain.

    Args:
        call: The call.
        earlier: The tracked calls before it since there was new input, the newest first, as
            many as the longest cycle has.
    """
    if call.result is not None:
        last_time = next((each for each in earlier if each.digest == call.digest), None)
        if last_time is not None and call.starts_chain_after(last_time):
            return "changed result"
    return _comparison(call, earlier[0]) if earlier else "other call"


def _comparison(call: TrackedCall, other: PastCall) -> Event:
    if call.digest != other.digest:
        return "other call"
    is_deferred = call.policy.on_changed_result == "defer" and call.result_differs_from(other)
    return "other result" if is_deferred else "same call"


def _counted(count: CycleCount, length: int, event: Event) -> CycleCount:
    transition = TRANSITIONS[event]
    same_calls = _EFFECTS[transition.same_calls](count.same_calls)
    same_results = _EFFECTS[transition.same_results](count.same_results)
    level = count.level
    if same_results % length == 0:
        level = max(level, same_results // length + 1)
    if same_results != same_calls and same_calls % length == 0:
        level = max(level, same_calls // length + 1 - EXTRA_REPEATS)
    return CycleCount(same_calls, same_results, level)


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


def completed(before: State, after: State) -> list[Repetition]:
    """Return the cycles that a call has completed once more, the one with the longest run first.

    A run is all calls that a cycle takes up: its first round, which need not be whole, and the
    calls that repeat it. A length counts only if its run is longer than that of every shorter one.
    So four identical calls are never a cycle of two, and a cycle whose rounds end in a pair of
    identical calls is one all the same, whichever of its calls came first.

    Where results are compared, a run is still a matter of calls and arguments alone, and so is which
    length counts; results only decide how far up the thresholds a cycle has come. A cycle whose
    results change is told of later, as a chain is, and does not make way for another one meanwhile.

    Args:
        before: The state before a call.
        after: The state after it.
    """
    repetitions: list[Repetition] = []
    longest_run = 0
    for length, count in after.counts.items():
        if count.same_calls + length > longest_run:
            longest_run = count.same_calls + length
            if count.level > before.counts.get(length, _NO_COUNT).level:
                times = count.same_calls // length + 1
                repetitions.insert(0, Repetition(after.calls[length - 1 :: -1], times, count.level))
    return repetitions


class Lookback:
    """Finds out how far back a conversation has to be read until nothing before that matters.

    Args:
        max_cycle_length: The length of the longest cycle that is looked for.
        enough: The number of repetitions beyond which nothing is due; None if there is not one.

    Attributes:
        calls: The calls that have been read, the newest first.
    """

    def __init__(self, max_cycle_length: int, enough: int | None) -> None:
        self.calls: list[TrackedCall] = []
        self._longest = max_cycle_length
        self._enough = enough
        self._open = set(range(1, max_cycle_length + 1))
        self._settled = 0

    @property
    def is_complete(self) -> bool:
        """Whether it is known of each length how many calls are identical, or that they are too many to matter."""
        return not self._open

    def read(self, call: TrackedCall) -> None:
        """Take in the call before those that have been read."""
        self.calls.append(call)
        if len(self.calls) > self._longest:
            self._settle(self.calls[self._settled], self.calls[self._settled + 1 :][: self._longest])
            self._settled += 1

    def _settle(self, call: TrackedCall, earlier: Sequence[TrackedCall]) -> None:
        if event_of(call, earlier) == "changed result":
            self._open.clear()
        for length in sorted(self._open):
            if call.digest != earlier[length - 1].digest:
                self._open.discard(length)
            elif self._enough is not None and self._settled + 1 >= length * self._enough:
                self._open -= set(range(length, self._longest + 1, length))  # longer ones end together with it
