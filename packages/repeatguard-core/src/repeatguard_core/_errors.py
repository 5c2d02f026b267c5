"""The error that ends a run, and how logs and errors say what happened."""

from __future__ import annotations

from typing import Any

from repeatguard_core._reminder import Decision, Stop, display_name

__all__ = ["RepeatLoopError", "describe"]


class RepeatLoopError(Exception):
    """A run has ended because the same calls came ``stop_after`` times in a row.

    All calls were made, and their results are in the conversation.

    Args:
        stop: What it is about.

    Attributes:
        stop: What it is about.
        tool_name: The tool's name; of a cycle, that of its last call.
        count: How often the call, or the cycle, came in a row.
        arguments: The preview of the arguments, as in a reminder. The error's text does not have it.
    """

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.tool_name = stop.tool_name
        self.count = stop.count
        self.arguments = stop.arguments
        super().__init__(f"{describe(stop)} (stop_after={stop.stop_after})")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy it by what it is about."""
        return type(self), (self.stop,)


def describe(decision: Decision) -> str:
    """Say in a log or an error what a decision is about, without arguments.

    Args:
        decision: The reminder, or the end of the run.
    """
    names = decision.tool_names or (decision.tool_name,)
    what = ", ".join(map(display_name, names))
    if len(names) > 1:
        what = f"a cycle of {what}"
    return f"{what} called {decision.count} times in a row with the same arguments"
