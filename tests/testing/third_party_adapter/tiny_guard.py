"""An adapter for `tiny_loop`: a hook that puts the missing reminders into the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from repeatguard_core import RepeatLoopError, ToolCall, is_reminder
from repeatguard_core.adapters import Guard, Insertion, Item, Kind, Transcript, insert

from tests.testing.third_party_adapter.tiny_loop import Message


class TinyTranscript(Transcript[Message]):
    """How the loop's messages read. It keeps what a hook adds."""

    keeps_reminders = True

    def read(self, index: int) -> Iterator[Item]:
        """Read a message."""
        message = self.messages[index]
        if message["role"] == "tool":
            yield Item(Kind.RESULT, call_id=message["tool_call_id"], result=message["content"])
        elif message["role"] == "assistant":
            yield Item(Kind.RESPONSE)
            for call in message["tool_calls"]:
                tool_call = ToolCall(call["name"], call["arguments"])
                yield Item(Kind.CALL, tool_call, call["id"], awaits_result=True)
        else:
            yield Item(Kind.REMINDER if is_reminder(message["content"]) else Kind.INPUT)


def write(insertion: Insertion) -> Message:
    """Write a reminder as a message."""
    return {"role": "user", "content": insertion.reminder.text}


class TinyGuard(Guard):
    """A hook for ``before_request``. One object serves any number of runs."""

    def __call__(self, messages: list[Message]) -> None:
        """Insert the reminder that is missing, or end the run."""
        stop = self.before_request(TinyTranscript(messages), partial(insert, messages, write=write))
        if stop is not None:
            raise RepeatLoopError(stop)
