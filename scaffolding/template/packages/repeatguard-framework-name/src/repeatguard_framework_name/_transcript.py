"""How the framework's messages read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from repeatguard_core import ToolCall, is_reminder
from repeatguard_core.adapters import Item, Kind, Transcript

__all__ = ["FrameworkTranscript", "Message"]

Message: TypeAlias = "dict[str, Any]"


class FrameworkTranscript(Transcript[Message]):
    """Messages of Chat Completions. The list keeps what the guard adds."""

    keeps_reminders = True

    def read(self, index: int) -> Iterator[Item]:
        """Read a message."""
        message = self.messages[index]
        if message["role"] == "tool":
            yield Item(Kind.RESULT, call_id=message["tool_call_id"], result=message["content"])
        elif message["role"] == "assistant":
            yield Item(Kind.RESPONSE)
            for call in message.get("tool_calls", ()):
                function = call["function"]
                yield Item(Kind.CALL, ToolCall(function["name"], function["arguments"]), call["id"], awaits_result=True)
        elif message["role"] == "user":
            yield Item(Kind.REMINDER if is_reminder(message["content"]) else Kind.INPUT)
        else:
            yield Item(Kind.ASIDE)
