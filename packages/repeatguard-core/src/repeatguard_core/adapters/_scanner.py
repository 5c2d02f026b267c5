"""Where reminders belong in a conversation.

What is found is a function of the items and of the chains to start with: the same conversation
always has the same reminders at the same places.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from repeatguard_core._chain import RepeatChain
from repeatguard_core._reminder import Decision, Stop
from repeatguard_core.adapters._agents import AgentChains
from repeatguard_core.adapters._batch import Batch
from repeatguard_core.adapters._items import Item, Kind
from repeatguard_core.adapters._transcript import AnyTranscript

__all__ = ["Placement", "Scanner"]


class Placement(NamedTuple):
    """A decision and its place.

    Attributes:
        place: The reminder belongs before the message at this index, or at the end.
        decision: What is due there.
        checkpoint: Writes down the chain as it stands there; see `RepeatChain.checkpoint`.
        is_there: Whether a reminder is there already.
        is_given: Whether it was given in an earlier request, and has to be put back.
    """

    place: int
    decision: Decision
    checkpoint: Callable[[], str]
    is_there: bool = False
    is_given: bool = False


class Scanner:
    """Goes through a conversation, item by item, and notes where reminders belong.

    The calls of a batch end with the results that the application gave them, and the reminder
    belongs right after these. Nothing that follows has a say in it, so a reminder keeps its place
    while the conversation grows. Where nothing shows where a response ends, and the provider runs
    all calls of it, what the model calls next belongs to the same batch.

    Args:
        chains: The chains as they are where it starts.
        batch: Calls that were made before, and what has been answered to them.

    Attributes:
        placements: What is due, in the order of the conversation.
        batch: The calls that are not counted yet.
        has_input: Whether there was new input after the last call.
        stop: The end of the run, if that is due instead of a request that follows now.
        knows_past: Whether the chains include everything that matters of what came before.
    """

    def __init__(self, chains: AgentChains, batch: Batch | None = None) -> None:
        self.placements: list[Placement] = []
        self.batch = Batch() if batch is None else batch
        self.has_input = False
        self.stop: Stop | None = None
        self.knows_past = True
        self._chains = chains
        self._before_input = chains
        self._is_told = True
        self._marks_responses = False

    @property
    def counted(self) -> AgentChains:
        """The chains after the last batch that was counted, whatever input came after it."""
        return self._before_input if self.has_input else self._chains

    def resumed(self, has_input: bool) -> Scanner:  # noqa: FBT001 - the one thing that a caller says
        """Return a scanner that goes on after the last batch that was counted, with what has come since out of sight.

        Args:
            has_input: Whether there was new input since.
        """
        chains = copy.copy(self.counted)
        if has_input:
            chains.reset()
            return Scanner(chains)
        return Scanner(chains, copy.copy(self.batch))

    def scan(self, transcript: AnyTranscript, start: int = 0) -> None:
        """Go through the messages of a request that is about to be sent.

        Args:
            transcript: The messages.
            start: The first message to look at.
        """
        for index in range(start, len(transcript)):
            for item in transcript[index]:
                self.add(item, index)
        self.finish(len(transcript))

    def add(self, item: Item, index: int) -> None:
        """Go on by one item.

        Args:
            item: The item.
            index: The index of its message.
        """
        kind = item.kind
        if kind is Kind.RESULT:
            self.batch.add_result(item, index)
        elif kind is Kind.ATTACHMENT:
            self.batch.last_result = index
        else:
            self._close_before(kind, index)
            if kind is Kind.INPUT:
                self._note_input()
            elif kind is Kind.REMINDER:
                self._note_reminder()
            else:
                self._is_told = True
                if kind is Kind.CALL:
                    self.batch.add_call(item, index)
                    self.has_input = False
                elif kind is Kind.RESPONSE:
                    self._marks_responses = True
                    self._give_held(item.agent, index)
        if self.stop is not None and kind is not Kind.REMINDER and kind is not Kind.ASIDE:
            self.stop = None

    def finish(self, end: int) -> None:
        """Count the last batch, if it is complete, because a request follows.

        Args:
            end: The number of messages.
        """
        if self._is_complete():
            self.close(end)
            self._give_held(self._chains.agent, end)

    def take_placements(self) -> list[Placement]:
        """Return what has been found since the last time, and keep it no longer.

        For an adapter that reads each message once, when it is added, to a framework that keeps reminders.
        """
        placements, self.placements = self.placements, []
        self._is_told = True
        return placements

    def _close_before(self, kind: Kind, index: int) -> None:
        """Count the calls of the batch, if an item of this kind is not one of it."""
        is_over = self._is_complete() and index > self.batch.last_call
        if kind is Kind.TAKEOVER:
            self.close(index, is_complete=False)
        elif is_over or kind is Kind.INPUT or kind is Kind.RESPONSE:
            self.close(index)

    def _is_complete(self) -> bool:
        """Return whether no more calls or results can follow before the next request."""
        return not self.batch.is_waiting and (self.batch.has_answers or self._marks_responses)

    def close(self, index: int, *, is_complete: bool | None = None) -> None:
        """Count the calls of the batch.

        Args:
            index: The place after its results.
            is_complete: Whether all its results are known to be there; left out, as far as can be seen.
        """
        if not self.batch:
            return
        is_complete = self._is_complete() if is_complete is None else is_complete
        batch, self.batch = self.batch, Batch()
        agent = batch.agent or self._chains.agent
        chain = self._chains.chain_of(agent)
        due = chain.observe(batch.calls(chain))
        self.has_input = False
        if due is not None and agent is not None:
            due = replace(due, agent_name=agent)
        if batch.hands_off_to is not None:
            self._chains.agent = agent
            due = self._chains.hand_over(batch.hands_off_to, due if is_complete else None)
        if due is not None and is_complete and index > batch.last_result:
            self._place(index, due, chain)

    def hand_over(self, target: str, end: int) -> None:
        """Let another agent take over, if the conversation does not show that it has.

        Args:
            target: Its name.
            end: The number of messages.
        """
        if self._chains.agent == target:
            return
        last = self.placements[-1:]
        due = [placement for placement in last if placement.place == end]
        self.placements = self.placements[: len(self.placements) - len(due)]
        self.stop = None
        held = self._chains.hand_over(target, due[0].decision if due else None)
        if held is not None:
            self._place(end, held, self._chains.chain_of(target))

    def _give_held(self, agent: str | None, index: int) -> None:
        """Place what is held for an agent before its request, unless something else is due there."""
        if self.placements and self.placements[-1].place == index:
            return
        held = self._chains.release(agent)
        if held is not None:
            self._place(index, held, self._chains.chain_of(agent))

    def _place(self, index: int, decision: Decision, chain: RepeatChain) -> None:
        self.placements.append(Placement(index, decision, copy.copy(chain).checkpoint))
        self.stop = decision if isinstance(decision, Stop) else None
        self._is_told = False

    def _note_input(self) -> None:
        if not self.has_input:
            self._before_input = copy.copy(self._chains)
            self.has_input = True
        self._chains.reset()

    def _note_reminder(self) -> None:
        if self._is_told:  # then it is the one that was held
            self._chains.release(self._chains.agent)
        else:
            self.placements[-1] = self.placements[-1]._replace(is_there=True)
            self._is_told = True
