"""An adapter for `tiny_loop`: a hook that puts the missing reminders into the conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from repeatguard_core import AdapterSupport, Reminder, RepeatGuardConfig, RepeatLoopError, Stop, ToolCall, is_reminder

_END: dict[str, Any] = {"role": "end"}


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
        """Insert what is missing, or end the run; the framework keeps it, so each reminder is inserted once."""
        end: Stop | None = None
        with self._support.failing_open("a reminder"):
            for index, reminder in reversed(list(self._missing(messages))):
                if isinstance(reminder, Reminder):
                    messages.insert(index, {"role": "user", "content": reminder.text})
                elif index == len(messages):
                    end = reminder
                else:
                    continue  # the end of an earlier run
                self._support.announce(reminder)
        if end is not None:
            raise RepeatLoopError(end)

    def _missing(self, messages: Sequence[dict[str, Any]]) -> Iterator[tuple[int, Reminder | Stop]]:
        """Read the conversation from its start, and find the places where a reminder belongs and is not."""
        chain = self._support.new_chain()
        calls: list[dict[str, Any]] = []
        results: dict[str, str] = {}
        for index, message in enumerate([*messages, _END]):
            if message["role"] == "tool":
                results[message["tool_call_id"]] = message["content"]
                continue
            is_ours = message["role"] == "user" and is_reminder(str(message["content"]))
            due = chain.observe(ToolCall(call["name"], call["arguments"], results[call["id"]]) for call in calls)
            if due and not is_ours:
                yield index, due
            calls, results = message.get("tool_calls", []), {}
            if message["role"] == "user" and not is_ours:
                chain.reset()
