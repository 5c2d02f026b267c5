"""An adapter for `tiny_loop`: a hook that puts the missing reminders into the conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from repeatguard_core import AdapterSupport, Reminder, RepeatGuardConfig, ToolCall, is_reminder


class TinyGuard:
    """A hook for ``before_request``. One object serves any number of runs."""

    def __init__(
        self,
        config: RepeatGuardConfig | None = None,
        *,
        untracked: Callable[[str], bool] | None = None,
        on_reminder: Callable[[Reminder], None] | None = None,
    ) -> None:
        self._support = AdapterSupport(config, untracked=untracked, on_reminder=on_reminder)

    def __call__(self, messages: list[dict[str, Any]]) -> None:
        """Insert what is missing; the framework keeps it, so each reminder is inserted once."""
        with self._support.failing_open("a reminder"):
            for index, reminder in reversed(list(self._missing(messages))):
                messages.insert(index, {"role": "user", "content": reminder.text})
                self._support.announce(reminder)

    def _missing(self, messages: Sequence[dict[str, Any]]) -> Iterator[tuple[int, Reminder]]:
        """Read the conversation from its start, and find the places where a reminder belongs and is not."""
        chain = self._support.new_chain()
        due: Reminder | None = None
        for index, message in enumerate(messages):
            if message["role"] == "tool":
                continue
            is_ours = message["role"] == "user" and is_reminder(str(message["content"]))
            if due and not is_ours:
                yield index, due
            due = None
            if message["role"] == "assistant":
                calls = [ToolCall(call["name"], call["arguments"]) for call in message.get("tool_calls", ())]
                due = chain.observe(calls)
            elif not is_ours:
                chain.reset()
        if due:
            yield len(messages), due
