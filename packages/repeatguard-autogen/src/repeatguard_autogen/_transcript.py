"""How AutoGen's messages read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
)
from repeatguard_core import Reminder, RepeatChain, Stop, ToolCall, canonical_arguments, is_reminder
from repeatguard_core.adapters import AgentChains, Item, Kind, Scanner, Transcript

__all__ = ["LLMTranscript", "MessageReader", "StoredConversation"]

#: How AutoGen names the tool of a handoff that has no name of its own.
_HANDOFF_PREFIX: Final = "transfer_to_"
_NO_ARGUMENTS: Final = canonical_arguments(None)


class MessageReader:
    """Reads the messages of a conversation, in order.

    Args:
        agents: Names of agents, whose words are not new input.
        handoffs: Names of the handoff tools; None to recognize them by AutoGen's default names.
    """

    def __init__(self, agents: AbstractSet[str] = frozenset(), handoffs: AbstractSet[str] | None = None) -> None:
        self._agents = agents
        self._handoffs = handoffs
        self._caller: str | None = None  # whose calls and results are at the end
        self._unanswered: dict[str, list[FunctionCall]] = {}
        # What memories have added since the last response, and before it.
        self._instructions: set[str] = set()
        self._earlier_instructions: set[str] = set()

    def read(self, message: LLMMessage) -> Iterator[Item]:
        """Read the next message."""
        if isinstance(message, FunctionExecutionResultMessage):
            yield from map(self._read_result, message.content)
            return
        caller, self._caller = self._caller, None
        if isinstance(message, AssistantMessage):
            yield Item(Kind.RESPONSE, agent=message.source)
            yield from self._read_response(message)
        elif isinstance(message, SystemMessage):
            # A memory adds what it knows at every turn, which is new only if it knows something else.
            self._instructions.add(message.content)
            yield Item(Kind.ASIDE if message.content in self._earlier_instructions else Kind.INPUT)
        elif isinstance(message.content, str) and is_reminder(message.content):
            yield Item(Kind.REMINDER)
        elif message.source == caller:
            # An agent's own words never come back to it as a user's: this one hands over, with a copy of its calls.
            yield Item(Kind.TAKEOVER)
        else:
            yield Item(Kind.ASIDE if message.source in self._agents else Kind.INPUT)

    def _read_response(self, message: AssistantMessage) -> Iterator[Item]:
        if self._instructions:
            self._earlier_instructions, self._instructions = self._instructions, set()
        if isinstance(message.content, str):
            return
        self._caller = message.source
        self._unanswered = {}
        for call in message.content:
            self._unanswered.setdefault(call.id, []).append(call)
            tool_call = ToolCall(call.name, call.arguments)
            yield Item(Kind.CALL, tool_call, call.id, awaits_result=True, agent=message.source)

    def _read_result(self, result: FunctionExecutionResult) -> Item:
        calls = self._unanswered.get(result.call_id)
        hands_off = calls and self._is_handoff(calls.pop(0)) and not result.is_error
        # Of two results with the same words one may be an error.
        content = ("error", result.content) if result.is_error else result.content
        return Item(Kind.RESULT, call_id=result.call_id, result=content, hands_off_to="" if hands_off else None)

    def _is_handoff(self, call: FunctionCall) -> bool:
        if self._handoffs is not None:
            return call.name in self._handoffs
        return call.name.startswith(_HANDOFF_PREFIX) and canonical_arguments(call.arguments) == _NO_ARGUMENTS


class LLMTranscript(Transcript[LLMMessage]):
    """A request, from a loop that keeps its messages to itself."""

    def __init__(self, messages: Sequence[LLMMessage]) -> None:
        super().__init__(messages)
        self._reader = MessageReader()

    def read(self, index: int) -> Iterator[Item]:
        """Read a message. The messages are read in order."""
        return self._reader.read(self.messages[index])


class StoredConversation:
    """A conversation that keeps its reminders, and of which each message is read once, when it is added.

    What it knows depends on nothing but the messages, so it can be dropped at any time and made again.

    Args:
        new_chain: Makes a chain with a count of zero.
        reader: Reads the messages.
    """

    def __init__(self, new_chain: Callable[[], RepeatChain], reader: MessageReader) -> None:
        self._reader = reader
        self._scanner = Scanner(AgentChains(new_chain))
        self._length = 0

    def add(self, message: LLMMessage) -> Reminder | None:
        """Read the next message.

        Returns:
            The reminder that is missing before it, unless it is too late for that.
        """
        for item in self._reader.read(message):
            self._scanner.add(item, self._length)
        self._length += 1
        reminder = self._pop_reminder()
        # A response answers a request that has been sent: what was not in that one must not be put before it now.
        is_late = reminder and isinstance(message, AssistantMessage) and message.source == reminder.agent_name
        return None if is_late else reminder

    def pop_due(self) -> Reminder | Stop | None:
        """Return what is due at the end, because a request follows. It is then no longer due."""
        self._scanner.finish(self._length)
        stop, self._scanner.stop = self._scanner.stop, None
        return stop or self._pop_reminder()

    def pop_stop(self) -> Stop | None:
        """Return the end of the run if it is due, though no request follows. It is then no longer due."""
        if not self._scanner.batch.is_waiting:
            self._scanner.close(self._length)
        stop, self._scanner.stop = self._scanner.stop, None
        return stop

    def restore_stop(self, stop: Stop) -> None:
        """Make a stop due again that was returned last."""
        self._scanner.stop = stop

    def _pop_reminder(self) -> Reminder | None:
        missing = [each.decision for each in self._scanner.take_placements() if not each.is_there]
        return next((decision for decision in reversed(missing) if isinstance(decision, Reminder)), None)
