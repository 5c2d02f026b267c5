"""Which reminder the end of a history is missing, and where.

The framework keeps every reminder at its place, so at a request only the newest batch is open.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from repeatguard_core import Reminder, RepeatChain, Stop

from repeatguard_pydantic_ai._messages import (
    awaits_a_result_of_the_provider,
    brings_new_material,
    holds_reminder,
    holds_results,
    past,
    read,
    reminder_message,
    tool_calls,
)

__all__ = ["Missing", "RunMemory", "newest_response", "place_behind"]

#: How far back the response of the last request is looked for; more than a few stand between only by accident.
_NEAR: Final = 16


@dataclass(frozen=True, slots=True)
class Missing:
    """A reminder that belongs into a history and is not there, or the end of the run in its place.

    Attributes:
        index: Where its message belongs.
        message: The message; None if the run is to end.
        reminder: What it says.
    """

    index: int
    message: ModelRequest | None
    reminder: Reminder | Stop


def newest_response(messages: Sequence[ModelMessage]) -> int | None:
    """Find the response that a request about to be sent answers; None if there is none, or nothing to send."""
    if not messages or not isinstance(messages[-1], ModelRequest):
        return None
    return next(
        (index for index in range(len(messages) - 1, -1, -1) if isinstance(messages[index], ModelResponse)), None
    )


class RunMemory:
    """What is known of a run when its history has been cut: the chain at the response of the last request.

    As long as everything is in sight it is a short cut, and a new one in its place changes no request.

    Fulfils D11, D12 and S4.
    """

    def __init__(self) -> None:
        self._run_id: str | None = None
        self._response: ModelMessage | None = None
        self._before: RepeatChain | None = None
        self._after: RepeatChain | None = None

    def missing(
        self, messages: Sequence[ModelMessage], run_id: str | None, new_chain: Callable[[], RepeatChain]
    ) -> Missing | None:
        """Find what is missing at the end of a history: a reminder, or the end of the run.

        The run is to end only if there is nothing new for the model. So the end of an earlier run,
        which leaves nothing in a history, does not end a later one, and a run that is taken up
        with nothing new ends again.

        Args:
            messages: The history, the request that is about to be sent included.
            run_id: The run that it is sent for.
            new_chain: Makes a chain.
        """
        if run_id != self._run_id:  # the framework asks for a guard a run, but other code may use the one that it has
            self._run_id, self._response, self._before, self._after = run_id, None, None, None
        newest = newest_response(messages)
        if newest is None:
            return None
        response = messages[newest]
        assert isinstance(response, ModelResponse)
        recalled = self._recall(messages, newest)
        chain = new_chain() if recalled is None else recalled
        calls = tool_calls(messages, newest, chain)
        if recalled is None:
            if not any(chain.tracks(call.name) for call in calls):
                return None  # nothing can be due, so the way back through such responses can wait
            chain.catch_up(past(messages, newest, chain))
        self._before = copy.copy(chain)
        reminder = chain.observe(calls)
        self._response, self._after = response, copy.copy(chain)
        new_material = [i for i in range(newest + 1, len(messages)) if brings_new_material(messages, i)]
        if new_material:
            self._after.reset()
        if reminder is None or awaits_a_result_of_the_provider(response):  # the provider's own order would be broken
            return None
        place = place_behind(messages, newest)
        if isinstance(reminder, Stop):
            return None if new_material else Missing(place, None, reminder)
        if (
            any(i < place for i in new_material)  # words that are new already answer the batch
            or holds_reminder(messages[newest + 1 :])
            or any(messages[i].run_id == run_id != messages[i - 1].run_id for i in new_material)  # a new run's prompt
        ):
            return None
        return Missing(place, reminder_message(reminder, chain, messages[place - 1], run_id), reminder)

    def _recall(self, messages: Sequence[ModelMessage], newest: int) -> RepeatChain | None:
        """Give the chain as it stands before the newest response, if the run is known."""
        if self._before is None or self._after is None:
            return None
        for index in range(newest, max(-1, newest - _NEAR), -1):
            if messages[index] is self._response or messages[index] == self._response:
                if index == newest:  # the same request once more
                    return copy.copy(self._before)
                # What was counted is not read again: something may have rewritten its results since.
                chain = copy.copy(self._after)
                for each in range(index + 1, newest):
                    for event in read(messages, each, chain):
                        if event is None:
                            chain.reset()
                        elif not isinstance(event, str):
                            chain.observe(event)
                return chain
        return copy.copy(self._after)


def place_behind(messages: Sequence[ModelMessage], newest: int) -> int:
    """Find the place behind all results, and before any words that came after them."""
    place = newest + 1
    is_before_new_material = True
    for index in range(place, len(messages)):
        request = messages[index]
        assert isinstance(request, ModelRequest)
        is_before_new_material = is_before_new_material and not brings_new_material(messages, index)
        if is_before_new_material or holds_results(request):
            place = index + 1
    return place
