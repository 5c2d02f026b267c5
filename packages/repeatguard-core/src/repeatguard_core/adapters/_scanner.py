"""Where reminders belong in a conversation.

What is found is a function of the items and of the chains to start with: the same conversation
always has the same reminders at the same places.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from repeatguard_core._calls import ToolCall
from repeatguard_core._chain import RepeatChain
from repeatguard_core._reminder import Decision, Stop
from repeatguard_core.adapters._items import Item, Kind
from repeatguard_core.adapters._transcript import AnyTranscript

__all__ = ["AgentChains", "Batch", "NewChain", "Placement", "Scanner", "calls_with_results"]

NewChain: TypeAlias = Callable[[], RepeatChain]


class AgentChains:
    """A chain for each agent of a conversation, and what is held for an agent until it gets control back.

    Calls belong to the agent that the conversation names, or else to the target of the last handoff
    since new input. Before the first handoff they belong to nobody's name.

    Args:
        new_chain: Makes a chain with a count of zero.
        first: The name of an agent, and its chain.

    Attributes:
        agent: The agent that the calls belong to now; None if the conversation does not name it.
    """

    def __init__(self, new_chain: NewChain, first: tuple[str | None, RepeatChain] | None = None) -> None:
        self._new_chain = new_chain
        self._chains: dict[str | None, RepeatChain] = {} if first is None else dict([first])
        self._held: dict[str | None, Decision] = {}
        self.agent: str | None = None

    def __copy__(self) -> AgentChains:
        """Return chains that stand where these do; each then goes its own way."""
        other = AgentChains(self._new_chain)
        other._chains = {agent: copy.copy(chain) for agent, chain in self._chains.items()}
        other._held = dict(self._held)
        other.agent = self.agent
        return other

    def chain_of(self, agent: str | None) -> RepeatChain:
        """Return an agent's chain."""
        chain = self._chains.get(agent)
        if chain is None:
            chain = self._chains[agent] = self._new_chain()
        return chain

    def reset(self) -> None:
        """Start again, because there is new input."""
        self._chains.clear()
        self._held.clear()
        self.agent = None

    def hand_over(self, target: str, due: Decision | None) -> Decision | None:
        """Let another agent take over.

        Args:
            target: Its name. If it is empty, the conversation still belongs to the agent before.
            due: What has fallen due for the agent before. It is held for that agent.

        Returns:
            What was held for the agent that takes over.
        """
        if due is not None:
            self._held[self.agent] = due
        if not target:
            return None
        self.agent = target
        return self.release(target)

    def release(self, agent: str | None) -> Decision | None:
        """Return what is held for an agent, and hold it no longer."""
        return self._held.pop(agent, None)


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


class Batch:
    """The calls of one response, and what has been answered to them so far.

    Attributes:
        agent: The name of the agent that made the calls, if the conversation names it.
        hands_off_to: The name of the agent that takes over with its results.
        has_answers: Whether the application has answered one of the calls.
        last_call: The index of the message with the last of its calls that is in sight.
        last_result: The same of its results.
    """

    def __init__(self) -> None:
        self.agent: str | None = None
        self.hands_off_to: str | None = None
        self.has_answers = False
        self.last_call = self.last_result = -1
        self._calls: list[Item] = []
        self._results: list[Item] = []
        self._waiting: dict[str | None, int] = {}  # how many results are missing, by the id of their calls

    def __copy__(self) -> Batch:
        """Return a batch of the same calls and results, which are out of sight now."""
        other = Batch()
        other.agent, other.hands_off_to = self.agent, self.hands_off_to
        other._calls, other._results = list(self._calls), list(self._results)
        other._waiting, other.has_answers = dict(self._waiting), self.has_answers
        return other

    def __bool__(self) -> bool:
        """Return whether there are calls or results in it."""
        return bool(self._calls or self._results)

    @property
    def is_waiting(self) -> bool:
        """Whether a result is still missing."""
        return bool(self._waiting)

    def add_call(self, item: Item, index: int) -> None:
        """Add a call."""
        self.agent = item.agent or self.agent
        self.last_call = index
        self._calls.append(item)
        if item.awaits_result:
            self._waiting[item.call_id] = self._waiting.get(item.call_id, 0) + 1

    def add_result(self, item: Item, index: int) -> None:
        """Add a result. One that nothing waits for came with the response, from a tool that the provider runs."""
        self.last_result = index
        self._results.append(item)
        missing = self._waiting.pop(item.call_id, 0)
        if missing:
            self.has_answers = True
        if missing > 1:
            self._waiting[item.call_id] = missing - 1
        if item.hands_off_to is not None:
            self.hands_off_to = item.hands_off_to

    def calls(self, chain: RepeatChain) -> list[ToolCall]:
        """List the calls, with their results where these are compared. The call that hands over is left out."""
        return calls_with_results(self._calls, self._results, chain)


def calls_with_results(calls: Sequence[Item], results: Sequence[Item], chain: RepeatChain) -> list[ToolCall]:
    """List calls for a chain, with their results where it compares these.

    Calls with one id take the results with that id in order. The call that hands over is left out.

    Args:
        calls: The calls of a response.
        results: What came after them.
        chain: The chain that they are for.
    """
    made = [item.call for item in calls if item.call is not None]
    if not any(chain.compares_results(call.name) for call in made) and not any(map(_hands_off, results)):
        return made
    answered = zip(made, _results_of(calls, results), strict=True)
    return [_with_result(call, answer, chain) for call, answer in answered if not _hands_off(answer)]


def _hands_off(answer: Item | None) -> bool:
    return answer is not None and answer.hands_off_to is not None


def _results_of(calls: Sequence[Item], results: Sequence[Item]) -> list[Item | None]:
    by_id: dict[str | None, list[Item]] = {}
    for result in results:
        by_id.setdefault(result.call_id, []).append(result)
    queues = {call_id: iter(answers) for call_id, answers in by_id.items()}
    return [next(queues.get(call.call_id, iter(())), None) for call in calls]


def _with_result(call: ToolCall, answer: Item | None, chain: RepeatChain) -> ToolCall:
    if answer is None or answer.result is None or not chain.compares_results(call.name):
        return call
    result = answer.result() if callable(answer.result) else answer.result
    return call if result is None else replace(call, result=result)


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
