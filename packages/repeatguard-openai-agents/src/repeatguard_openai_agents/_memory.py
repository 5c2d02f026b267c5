"""What is remembered of a run: enough to go on counting when earlier calls can no longer be seen.

A conversation that the server keeps shows only what is new in a request, and something may cut the
history while a run is on its way. As long as everything is in sight, all of this could be dropped
at any moment without changing a request: it is then a short cut, and no more.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from repeatguard_core import Reminder, RepeatChain

from repeatguard_openai_agents._items import Item, Kind, read
from repeatguard_openai_agents._placements import Anchor, Batch, Mark, Placement, Walk, anchor_at

__all__ = ["RunMemory"]


class RunMemory:
    """One run's memory. It holds the last call, the last response, and the reminders still in sight.

    Fulfils D11, M5 and S4.
    """

    def __init__(self) -> None:
        self._mark: Mark | None = None
        self._given: dict[Anchor, Reminder] = {}
        self._response: tuple[Item, ...] = ()

    def note_response(self, output: Iterable[object]) -> None:
        """Keep the calls of the model's latest response, in case the next request does not show them.

        Args:
            output: The response's items.
        """
        self._response = tuple(map(read, output))

    def place(self, conversation: Sequence[Item], new_chain: Callable[[], RepeatChain]) -> list[Placement]:
        """Find the places of all reminders in a conversation that is about to be sent.

        Args:
            conversation: What is in sight of it.
            new_chain: Makes a chain.

        Returns:
            The reminders, in the order of the conversation, those that are there already included.
        """
        resumed = self._resume(conversation, new_chain)
        start, walk, batch = resumed or (0, Walk(new_chain()), Batch())
        placements = list(self._given_before(conversation, start)) if resumed else []
        walk.go(conversation, start, batch)
        placements += walk.placements
        self._mark = walk.mark
        self._given = {anchor_at(conversation, each.index): each.reminder for each in placements}
        return placements

    def _resume(
        self, conversation: Sequence[Item], new_chain: Callable[[], RepeatChain]
    ) -> tuple[int, Walk, Batch] | None:
        """Find where counting goes on, and with what; None if nothing in sight is known."""
        mark = self._mark
        if mark is not None:
            for place in range(len(conversation), 0, -1):
                if anchor_at(conversation, place) == mark.anchor:
                    return place, Walk(copy.copy(mark.chain), replace(mark, has_material=False)), Batch()
        names = {item.identity for item in self._response} - {None}
        start = next((index for index, item in enumerate(conversation) if item.identity in names), None)
        if start is None:
            return None
        chain = new_chain() if mark is None or mark.has_material else copy.copy(mark.chain)
        calls_are_in_sight = conversation[start].kind is Kind.CALL
        return start, Walk(chain, mark), Batch(() if calls_are_in_sight else self._response)

    def _given_before(self, conversation: Sequence[Item], end: int) -> Iterator[Placement]:
        """Find the places of the reminders that were given earlier and whose place is still in sight."""
        for place in range(1, end + 1):
            reminder = self._given.get(anchor_at(conversation, place))
            if reminder is not None:
                is_there = place < len(conversation) and conversation[place].kind is Kind.REMINDER
                yield Placement(place, reminder, is_there)
