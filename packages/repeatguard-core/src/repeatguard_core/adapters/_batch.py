"""The calls of a response, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from repeatguard_core._calls import ToolCall
from repeatguard_core._chain import RepeatChain
from repeatguard_core.adapters._items import Item

__all__ = ["Batch", "calls_with_results"]


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
