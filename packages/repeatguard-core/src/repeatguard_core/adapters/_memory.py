"""What is remembered of a run: enough to go on counting when earlier calls can no longer be seen.

A conversation that the server keeps shows only what is new in a request, and something can cut the
history, or put a summary in its place, while a run is on. As long as everything is in sight, all of
this could be dropped at any moment without changing a request.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from repeatguard_core.adapters._agents import NewChain
from repeatguard_core.adapters._derivation import derive
from repeatguard_core.adapters._items import Item, Kind
from repeatguard_core.adapters._scanner import Placement, Scanner
from repeatguard_core.adapters._transcript import AnyTranscript

__all__ = ["RunMemory"]


class _Given(NamedTuple):
    """A reminder that was given, and how its place is found again.

    Attributes:
        placement: The reminder.
        answers: The id of the call that the message before it is the result of; None if it is not a result.
        before: The message before it, if that is not a result.
    """

    placement: Placement
    answers: str | None
    before: object

    def at(self, place: int, transcript: AnyTranscript) -> _Given | None:
        """Return it at a place; None if the message before that is not the one that it was given after."""
        placement = self.placement
        if self.answers is None:
            is_before = transcript.messages[place - 1] == self.before if 0 < place <= len(transcript) else place == 0
        else:
            is_before = 0 < place <= len(transcript) and transcript.answers(place - 1) == self.answers
        if not is_before:
            return None
        is_there = transcript.is_reminder(place)
        if place == placement.place and is_there == placement.is_there:
            return self
        return self._replace(placement=placement._replace(place=place, is_there=is_there))


class RunMemory:
    """One run's memory: the chains before the latest response, its calls, and the reminders still in sight.

    Calls are counted by the responses that the framework tells of, and not by what is in sight.
    Each request works out again what the latest response makes due, and the next response settles
    it. So a request that is sent again, or a guard that is wired twice, changes nothing.

    Args:
        is_one_run: Whether the framework makes sure that all requests belong to one run, so that a
            request with only unknown calls is not another conversation. Its history was replaced.

    Attributes:
        is_announced: Whether what the latest response makes due has been announced.
    """

    def __init__(self, *, is_one_run: bool = False) -> None:
        self.is_announced = False
        self._is_one_run = is_one_run
        self._before: Scanner | None = None  # as the last request before the latest response has left it
        self._response: AnyTranscript | None = None
        self._scanner: Scanner | None = None  # as the last request since then has left it
        self._is_answered = False
        self._target: str | None = None
        self._length = self._next_length = 0
        self._given: list[_Given] = []
        self._placed: list[_Given] = []

    def __copy__(self) -> RunMemory:
        """Return a memory of the same; each then goes its own way."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, _: object) -> RunMemory:
        """Return a copy. Nothing that it holds is ever changed."""
        return copy.copy(self)

    def __reduce__(self) -> tuple[Callable[[], RunMemory], tuple[()]]:
        """Pickle it as an empty one, so that what a framework keeps it in can be pickled as without it."""
        return partial(RunMemory, is_one_run=self._is_one_run), ()

    def note_response(self, response: AnyTranscript) -> None:
        """Note what the model has responded. To be called after each response.

        A response that comes without a request in between replaces the one before.

        Args:
            response: The messages of the response.
        """
        self.is_announced = False
        if self._scanner is None:
            self._response = response
        elif _calls_in(response):
            self._before, self._scanner, self._response = self._scanner, None, response
            self._given, self._length = self._placed, self._next_length
            self._target, self._is_answered = None, False

    def note_handoff(self, target: str) -> None:
        """Note that the next request goes to another agent.

        Args:
            target: The agent's name.
        """
        self._target = target

    def scan(self, transcript: AnyTranscript, new_chain: NewChain) -> Scanner:
        """Find where reminders belong in a request that is about to be sent.

        Args:
            transcript: What is in sight of the conversation.
            new_chain: Makes a chain.

        Returns:
            The scanner at the end of the conversation. Its placements include the reminders that
            have to be put back.
        """
        given: list[_Given] = []
        resumed = self._resume(transcript)
        if resumed is None:
            scanner = derive(transcript, new_chain)
        else:
            scanner, start, shift = resumed
            given = list(self._put_back(transcript, shift))
            if start is None:
                start = _end_before_reminders(transcript)
                scanner.close(start, is_complete=True)
            scanner.scan(transcript, start)
        if self._target is not None:
            scanner.hand_over(self._target, len(transcript))
        if not transcript.keeps_reminders:
            self._placed = [*given, *(_given(each, transcript) for each in scanner.placements)]
            scanner.placements = [*(each.placement for each in given), *scanner.placements]
        if self._scanner is None:
            self._next_length = len(transcript)
        self._scanner = scanner
        if not scanner.knows_past:  # the next request has to look further back
            self._before = self._scanner = None
        return scanner

    def _resume(self, transcript: AnyTranscript) -> tuple[Scanner, int | None, int] | None:
        """Find where counting goes on.

        Returns:
            A scanner as it stands there, the first message to scan (None if a summary stands for all
            of them), and by how much the messages before have moved since the last request; None if
            nothing in sight is known.
        """
        if self._before is None or self._response is None:
            return None
        calls = _calls_in(self._response)
        block = _find([item for item, _ in calls], transcript)
        if block is None and not self._is_one_run:
            return None
        start, hidden = block or (None, len(calls))
        if start is not None:
            had_input = _has_input_before(start, transcript)
            scanner = self._before.resumed(self._before.has_input if had_input is None else had_input)
            self._add_hidden(scanner, hidden, transcript)
            self._is_answered = True
            return scanner, start, start - self._length - calls[hidden][1]
        scanner = self._before.resumed(self._before.has_input)
        results = self._results_in_sight(transcript)
        if not results and self._is_answered and self._scanner is not None:
            return self._scanner.resumed(self._scanner.has_input), 0, 0
        self._add_hidden(scanner, hidden, transcript)
        if results:
            self._is_answered = True
            return scanner, results[0], 0
        is_summed_up = any(item.awaits_result for item, _ in calls)
        return scanner, None if is_summed_up else 0, 0

    def _results_in_sight(self, transcript: AnyTranscript) -> list[int]:
        """Return the indexes of the messages that answer the latest response."""
        assert self._response is not None
        awaited = {item.call_id for item, _ in _calls_in(self._response) if item.awaits_result}
        return [
            index
            for index in range(len(transcript))
            if any(item.kind is Kind.RESULT and item.call_id in awaited for item in transcript[index])
        ]

    def _add_hidden(self, scanner: Scanner, hidden: int, transcript: AnyTranscript) -> None:
        """Add what is not in sight of the latest response. Only results that are in sight can be waited for."""
        if not hidden:
            return
        assert self._response is not None
        answered = {item.call_id for each in range(len(transcript)) for item in transcript[each] if _is_result(item)}
        for index in range(len(self._response)):
            for item in self._response[index]:
                if item.kind is Kind.CALL and hidden:
                    hidden -= 1
                    scanner.add(item._replace(awaits_result=item.awaits_result and item.call_id in answered), -1)
                elif item.kind is Kind.RESPONSE or (_is_result(item) and item.call_id not in answered):
                    scanner.add(item, -1)

    def _put_back(self, transcript: AnyTranscript, shift: int) -> Iterator[_Given]:
        """Find the places of the reminders that were given earlier and whose place is still in sight."""
        moved: list[_Given] = []
        for given in self._given:  # as long as only the end changes, each is where it was
            found = given.at(given.placement.place + shift, transcript)
            if found is None:
                moved.append(given)
            else:
                yield found
        if moved:
            places = {transcript.answers(index): index + 1 for index in range(len(transcript))}
            for given in moved:
                found = given.at(places.get(given.answers, 0), transcript) if given.answers is not None else None
                if found is not None:
                    yield found


def _given(placement: Placement, transcript: AnyTranscript) -> _Given:
    before = placement.place - 1
    answers = transcript.answers(before) if before >= 0 else None
    message = transcript.messages[before] if before >= 0 and answers is None else None
    return _Given(placement._replace(is_given=True), answers, message)


def _is_result(item: Item) -> bool:
    return item.kind is Kind.RESULT


def _calls_in(response: AnyTranscript) -> list[tuple[Item, int]]:
    """List the calls of a response, each with the index of its message."""
    return [(item, index) for index in range(len(response)) for item in response[index] if item.kind is Kind.CALL]


def _find(calls: Sequence[Item], transcript: AnyTranscript) -> tuple[int | None, int] | None:
    """Find the newest calls in a request.

    Returns:
        The index of the message with the first of them that is in sight, and how many are not; None
        for the index if no call at all is in sight; None if there are only other calls.
    """
    start: int | None = None
    left = len(calls)
    has_others = False
    for index in range(len(transcript) - 1, -1, -1):
        for item in reversed(transcript[index]):
            if item.kind is not Kind.CALL:
                continue
            if left and _is_same(item, calls[left - 1]):
                start, left = index, left - 1
            elif start is not None:
                return start, left
            has_others = start is None
        if start is not None and not left:
            return start, 0
    return None if has_others else (start, left)


def _is_same(one: Item, other: Item) -> bool:
    """Return whether a call in sight can be one that the model made. Equal ids prove nothing, other ids do."""
    if one.call is None or other.call is None or one.call.name != other.call.name:
        return False
    if one.call_id is not None and other.call_id is not None and one.call_id != other.call_id:
        return False
    are_texts = isinstance(one.call.arguments, str) and isinstance(other.call.arguments, str)
    return not are_texts or one.call.arguments == other.call.arguments


def _has_input_before(start: int, transcript: AnyTranscript) -> bool | None:
    """Return whether there is new input between a response and what came before; None if that is not in sight."""
    has_input = False
    for index in range(start - 1, -1, -1):
        for item in reversed(transcript[index]):
            if item.kind in {Kind.CALL, Kind.RESULT}:
                return has_input
            has_input |= item.kind is Kind.INPUT
    return None


def _end_before_reminders(transcript: AnyTranscript) -> int:
    end = len(transcript)
    while end and transcript.is_reminder(end - 1):
        end -= 1
    return end
