"""What is remembered of a run: enough to go on counting when earlier calls can no longer be seen.

A conversation that the server keeps shows only what is new in a request, and something may cut the
history while a run is on its way. As long as everything is in sight, all of this could be dropped
at any moment without changing a request: it is then a short cut, and no more.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

from repeatguard_core import RepeatChain

from repeatguard_openai_agents._conversation import Conversation
from repeatguard_openai_agents._items import Item, Kind, read
from repeatguard_openai_agents._placements import Anchor, Batch, Mark, Placement, Walk, anchor_at, end_of_model

__all__ = ["RunMemory"]


class RunMemory:
    """One run's memory. It holds the last call, the last response, and the reminders still in sight.

    Fulfils D11, D12, M5, S4, X2 and X5.
    """

    def __init__(self) -> None:
        self._mark: Mark | None = None
        self._given: dict[Anchor, Placement] = {}
        self._response: tuple[Item, ...] = ()
        self._output: Sequence[object] = ()
        self._is_handed_over = False
        self._end: Anchor | None = None

    def note_response(self, output: Sequence[object]) -> None:
        """Keep the calls of the model's latest response, in case the next request does not show them.

        Args:
            output: The response's items. The same object again is the same response.
        """
        if output is self._output:
            return
        # Where the application had nothing to answer, the next response belongs to the same batch.
        carried = self._response if Batch(self._response).is_the_providers else ()
        self._output = output
        self._response = (*carried, *map(read, output))

    def note_handoff(self) -> None:
        """Note that the next request goes to another agent."""
        self._is_handed_over = True

    def note_end(self, place: Anchor) -> bool:
        """Note that the run ends in place of a request.

        Args:
            place: What it ends behind.

        Returns:
            Whether that is news, and not the same request again.
        """
        is_new = place != self._end
        self._end = place
        return is_new

    def place(self, conversation: Conversation, new_chain: Callable[[], RepeatChain]) -> list[Placement]:
        """Find the places of all reminders in a conversation that is about to be sent.

        Args:
            conversation: What is in sight of it.
            new_chain: Makes a chain.

        Returns:
            The reminders, in the order of the conversation, those that are there already included,
            and so are the ends of runs, past or not.
        """
        if not conversation:
            return []
        resumed = self._resume(conversation, new_chain)
        if resumed is None:
            self._given = {}
        start, walk, batch = resumed or (0, Walk(new_chain()), Batch())
        given = dict(self._given_before(conversation, start))
        walk.go(conversation, start, batch)
        placements = [*sorted(given.values(), key=attrgetter("index")), *walk.placements]
        given |= {anchor_at(conversation, each.index): each for each in walk.placements}
        self._mark = walk.mark
        if any(conversation[index].kind is Kind.MATERIAL for index in range(start, len(conversation))):
            self._response = ()  # it stood before the new material
        if self._is_handed_over:
            unseen = end_of_model(conversation)
            placements = [placement for placement in placements if placement.index < unseen]
            given = {anchor: placement for anchor, placement in given.items() if placement.index < unseen}
            self._mark = replace(walk.mark, chain=new_chain()) if walk.mark else None
            self._is_handed_over = False
        self._given = given
        return placements

    def _resume(
        self, conversation: Conversation, new_chain: Callable[[], RepeatChain]
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
        return start, Walk(chain, mark), Batch(self._out_of_sight(conversation))

    def _out_of_sight(self, conversation: Conversation) -> Iterator[Item]:
        """List what is not in sight of the last response; only results that are can be waited for."""
        calls = {item.identity for item in conversation if item.kind is Kind.CALL}
        results = {item.call_id for item in conversation if item.kind is Kind.RESULT}
        for item in self._response:
            if item.kind is Kind.CALL and item.identity not in calls:
                yield item._replace(is_ours=item.is_ours and item.call_id in results)
            elif item.kind is Kind.RESULT and item.call_id not in results:
                yield item

    def _given_before(self, conversation: Conversation, end: int) -> Iterator[tuple[Anchor, Placement]]:
        """Find the places of the reminders that were given earlier and whose place is still in sight."""
        moved = dict(self._given)
        for anchor, given in self._given.items():  # as long as only the end changes, each is where it was
            if given.index <= end and conversation.is_result_of(given.index - 1, anchor.identity):
                yield anchor, _found(conversation, given.index, moved.pop(anchor))
        for place in range(1, end + 1 if moved else 0):
            anchor = anchor_at(conversation, place)
            if given_elsewhere := moved.pop(anchor, None):
                yield anchor, _found(conversation, place, given_elsewhere)


def _found(conversation: Conversation, place: int, given: Placement) -> Placement:
    """Give the reminder its place of now."""
    is_there = conversation.is_reminder(place)
    if (place, is_there) == (given.index, given.is_there):
        return given
    return Placement(place, given.reminder, is_there)
