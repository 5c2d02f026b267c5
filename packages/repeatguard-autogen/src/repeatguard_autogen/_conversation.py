"""Reading a conversation, message by message: where does a reminder belong?

What a `Conversation` knows is a pure function of the messages that it has read. It may be dropped
at any time and made anew from the same messages.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from repeatguard_core import Reminder, RepeatChain, Stop, ToolCall, canonical_arguments, is_reminder

__all__ = ["Conversation"]

#: How AutoGen names the tool of a handoff that has no name of its own.
_HANDOFF_PREFIX: Final = "transfer_to_"
_NO_ARGUMENTS: Final = canonical_arguments(None)


class Batch:
    """The calls of one response, and what has been answered to them so far."""

    def __init__(self, caller: str, calls: list[FunctionCall]) -> None:
        self.caller = caller
        self._calls = calls
        self._results: dict[str, list[FunctionExecutionResult]] = {}

    @property
    def is_answered(self) -> bool:
        """Whether every call has its result."""
        return all(result is not None for _, result in self.with_results())

    def answer(self, results: list[FunctionExecutionResult]) -> None:
        """Take in results."""
        for result in results:
            self._results.setdefault(result.call_id, []).append(result)

    def with_results(self) -> list[tuple[FunctionCall, FunctionExecutionResult | None]]:
        """List the calls, each with its result; None where there is none yet.

        Some models give all calls of a response one id, or none. Such calls take the results with
        that id in order.
        """
        results = {call_id: iter(results) for call_id, results in self._results.items()}
        return [(call, next(results.get(call.id, iter(())), None)) for call in self._calls]


class Conversation:
    """What has been read of a conversation: enough to tell whether a reminder belongs at its end.

    Each agent whose calls are in it has a chain of its own: agents may share a context, and with a
    handoff AutoGen copies the calls of the agent that hands over.

    Args:
        new_chain: Makes a chain.
        agents: Names of agents, whose words are no new material.
        handoffs: Names of the handoff tools; None to go by AutoGen's own way of naming them.

    Attributes:
        caller: Whose calls and results stand at the end; None if there are none.

    Fulfils D1, D6, D8 to D12, M1, M6, S4, X2 and X5.
    """

    def __init__(
        self, new_chain: Callable[[], RepeatChain], agents: AbstractSet[str], handoffs: AbstractSet[str] | None
    ) -> None:
        self._agents = agents
        self._handoffs = handoffs
        self._new_chain = new_chain
        self._chains: dict[str, RepeatChain] = {}
        self._batch: Batch | None = None
        self._due: Reminder | Stop | None = None
        self.caller: str | None = None
        # What memories have added since the last response, and before it.
        self._instructions: set[str] = set()
        self._earlier_instructions: set[str] = set()

    def take_due(self) -> Reminder | Stop | None:
        """Hand over the reminder that belongs at the end, or the end of the run in its place, as a request follows.

        Returns:
            What is due, the first time; None if nothing is, or results are still missing.
        """
        due, self._due = self._due, None
        return due

    def take_stop(self) -> Stop | None:
        """Hand over the end of the run, though no request follows.

        Returns:
            What is due, the first time; None if the run is to go on.
        """
        stop = self._due if isinstance(self._due, Stop) else None
        if stop is not None:
            self._due = None
        return stop

    def put_back(self, stop: Stop) -> None:
        """Have the end of the run due again, because the run goes on all the same.

        Args:
            stop: What has been handed over last.
        """
        self._due = stop

    def read(self, message: LLMMessage) -> Reminder | None:
        """Read the next message.

        Args:
            message: It follows the messages that were read before.

        Returns:
            The reminder that belongs before it and is not there, or None.

        Raises:
            Exception: Whatever the configuration raises. What was read is then of no use any more.
        """
        if isinstance(message, FunctionExecutionResultMessage):
            self._read_results(message)
            return None
        self._close()
        due = self.take_due()
        stop, reminder = (due, None) if isinstance(due, Stop) else (None, due)
        caller, self.caller = self.caller, None
        if isinstance(message, AssistantMessage):
            if self._instructions:
                self._earlier_instructions, self._instructions = self._instructions, set()
            if isinstance(message.content, list):
                self._batch = Batch(message.source, message.content)
            return reminder
        if _is_ours(message):
            self._due = stop
            return None
        # An agent's own words never come back to it as a user's: what it would follow is a handoff's copy.
        if isinstance(message, UserMessage) and message.source == caller:
            return None
        if self._is_material(message):
            self._chains.clear()
        else:
            self._due = stop
        return reminder

    def _read_results(self, message: FunctionExecutionResultMessage) -> None:
        if self._batch is not None:
            self._batch.answer(message.content)
            if self._batch.is_answered:
                self._close()

    def _close(self) -> None:
        """Count the calls of the last batch. What has no results is never reminded of."""
        batch, self._batch = self._batch, None
        if batch is None:
            return
        answered = batch.with_results()
        handoffs = [self._hands_over(call, result) for call, result in answered]
        calls = [
            ToolCall(call.name, call.arguments, None if result is None else _content_of(result))
            for (call, result), is_handoff in zip(answered, handoffs, strict=True)
            if not is_handoff
        ]
        reminder = self._chains.setdefault(batch.caller, self._new_chain()).observe(calls)
        if reminder is not None and batch.is_answered and not any(handoffs):
            self._due = replace(reminder, agent_name=batch.caller)
        else:
            self._due = None
        self.caller = batch.caller

    def _hands_over(self, call: FunctionCall, result: FunctionExecutionResult | None) -> bool:
        if result is None or result.is_error:
            return False
        if self._handoffs is not None:
            return call.name in self._handoffs
        return call.name.startswith(_HANDOFF_PREFIX) and canonical_arguments(call.arguments) == _NO_ARGUMENTS

    def _is_material(self, message: UserMessage | SystemMessage) -> bool:
        if isinstance(message, UserMessage):
            return message.source not in self._agents
        # A memory adds what it knows at every turn, and is news only when it knows something else.
        self._instructions.add(message.content)
        return message.content not in self._earlier_instructions


def _is_ours(message: LLMMessage) -> bool:
    return isinstance(message, UserMessage) and isinstance(message.content, str) and is_reminder(message.content)


def _content_of(result: FunctionExecutionResult) -> object:
    """Give what the model is told that came of a call; of two with the same words one may be an error."""
    return ("error", result.content) if result.is_error else result.content
