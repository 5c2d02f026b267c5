"""Finding the places for reminders in a conversation.

A `Walk` is a pure function of the items that it goes through and the chain that it starts with:
the same conversation always gets the same reminders at the same places.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from repeatguard_core import Reminder, RepeatChain, Stop, ToolCall

from repeatguard_openai_agents._conversation import Conversation
from repeatguard_openai_agents._items import Item, Kind

__all__ = ["Anchor", "Batch", "Mark", "Placement", "Walk", "anchor_at", "end_of_model", "end_of_run"]


class Anchor(NamedTuple):
    """What tells a result from all others: a reminder is found again by the result before it."""

    kind: Kind
    identity: str | None


@dataclass(frozen=True, slots=True)
class Placement:
    """A reminder and its place, or the end of a run and the place where it was due.

    Attributes:
        index: The reminder belongs before the item at this index, or at the end.
        reminder: What is due there. If it stops the run, the place is past, unless `end_of_run` has it.
        is_there: Whether it stands there already.
    """

    index: int
    reminder: Reminder | Stop
    is_there: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a conversation has been counted.

    Attributes:
        anchor: The last item of the last batch that was counted.
        chain: The chain as it was behind that batch. It is never changed, only copied.
        has_material: Whether new material stood behind that batch.
    """

    anchor: Anchor
    chain: RepeatChain
    has_material: bool


class Batch:
    """The calls of one response, and what has been answered to them so far."""

    def __init__(self, response: Iterable[Item] = ()) -> None:
        self.hands_off = False
        self._calls: list[Item] = []
        self._results: dict[str | None, object] = {}
        self._has_results = False
        self._waiting: set[str | None] = set()
        for item in response:
            self.add(item)

    @property
    def is_answered(self) -> bool:
        """Whether the application has answered, and has answered everything."""
        return self._has_results and not self._waiting

    @property
    def is_the_providers(self) -> bool:
        """Whether there is nothing that the application has to answer."""
        return not self._has_results and not self._waiting

    @property
    def calls(self) -> Iterator[ToolCall]:
        """The calls, with their results as far as these are known."""
        for item in self._calls:
            assert item.call is not None
            result = self._results.get(item.call_id)
            yield item.call if result is None else ToolCall(item.call.name, item.call.arguments, result)

    def add(self, item: Item) -> None:
        """Take in the next item of the conversation."""
        if item.call is not None:
            self._calls.append(item)
        if item.kind is Kind.RESULT:
            # A result that nothing waits for came with the response, from a tool that the provider hosts.
            self._has_results |= item.call_id in self._waiting
            self._waiting.discard(item.call_id)
            self._results[item.call_id] = item.result
            self.hands_off |= item.hands_off
        elif item.is_ours:
            self._waiting.add(item.call_id)


class Walk:
    """Goes through a conversation, batch by batch, and notes where reminders belong.

    The calls of a batch end with the results that the application gave them, and the reminder
    belongs right behind these. Nothing that follows has a say in it, so a reminder keeps its
    place while the conversation grows. Where the provider runs all calls of a response, what the
    model calls next belongs to the same batch: nothing in a conversation tells the two apart.

    Args:
        chain: The chain as it is where the walk starts.
        mark: How far was counted before.

    Attributes:
        placements: The reminders, in the order of the conversation.
        mark: How far has been counted; None if there was no batch.

    Fulfils D1, D8 to D12, M1, M5, M6, X2 and X5.
    """

    def __init__(self, chain: RepeatChain, mark: Mark | None = None) -> None:
        self.placements: list[Placement] = []
        self.mark = mark
        self._chain = chain

    def go(self, conversation: Conversation, start: int, batch: Batch) -> None:
        """Go to the end of a conversation, which is about to be sent.

        Args:
            conversation: The whole of it.
            start: The first item to look at.
            batch: Calls that were made before that item and are waiting for their results.
        """
        for index in range(start, len(conversation)):
            item = conversation[index]
            if item.kind is Kind.MATERIAL:
                self._close(batch, conversation, index)
                self._note_material()
                batch = Batch()
            elif batch.is_answered and item.kind is not Kind.RESULT:
                self._close(batch, conversation, index)
                batch = Batch()
            batch.add(item)
        if batch.is_answered:
            self._close(batch, conversation, len(conversation))

    def _close(self, batch: Batch, conversation: Conversation, index: int) -> None:
        reminder = self._chain.observe(batch.calls)
        if batch.hands_off:
            self._chain.reset()
        elif reminder and batch.is_answered:
            is_there = index < len(conversation) and conversation[index].kind is Kind.REMINDER
            self.placements.append(Placement(index, reminder, is_there))
        if batch.is_answered:
            self.mark = Mark(anchor_at(conversation, index), copy.copy(self._chain), has_material=False)

    def _note_material(self) -> None:
        self._chain.reset()
        if self.mark is not None:
            self.mark = Mark(self.mark.anchor, self.mark.chain, has_material=True)


_BESIDE_THE_MODEL: Final = frozenset({Kind.MATERIAL, Kind.REMINDER})


def anchor_at(conversation: Conversation, index: int) -> Anchor:
    """Name the item that stands before a place.

    Args:
        conversation: The conversation.
        index: The place; it is not the beginning.

    Returns:
        The anchor of the item before it.
    """
    item = conversation[index - 1]
    return Anchor(item.kind, item.identity)


def end_of_model(conversation: Conversation) -> int:
    """Find the place behind the last item that the model has made or has been answered.

    Args:
        conversation: The conversation.

    Returns:
        The place. A reminder there, or behind it, is one that the model has not seen yet.
    """
    places = range(len(conversation), 0, -1)
    return next((place for place in places if conversation[place - 1].kind not in _BESIDE_THE_MODEL), 0)


def end_of_run(conversation: Conversation, placements: Sequence[Placement]) -> Placement | None:
    """Find out whether the run ends, in place of the request.

    Args:
        conversation: The conversation that is about to be sent.
        placements: What is due in it, in order.

    Returns:
        The end, if it is due behind the newest batch and nothing new has come since; None to go on.

    Fulfils X5.
    """
    for last in placements[-1:]:
        behind = range(last.index, len(conversation))
        if isinstance(last.reminder, Stop) and all(conversation[index].kind is Kind.REMINDER for index in behind):
            return last
    return None
