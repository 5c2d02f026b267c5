"""The guard as the framework's hook."""

from __future__ import annotations

from functools import partial

from repeatguard_core import RepeatLoopError
from repeatguard_core.adapters import Guard, Insertion, insert

from repeatguard_framework_name._transcript import FrameworkTranscript, Message

__all__ = ["RepeatGuard"]


class RepeatGuard(Guard):
    """Tells the model when it repeats the same tool call. Call it with the messages before each request.

    One object can serve any number of runs and threads.

    Args:
        config: Thresholds and tools; left out, the defaults.
        untracked: Tells from a tool's name whether the tool is mere bookkeeping, to be passed over like an
            excluded one. It must always answer the same for the same name.
        on_reminder: Called with each new reminder, before the model gets it.

    Raises:
        TypeError: ``config`` is not a configuration, or one of the functions cannot be called or is async.
    """

    def __repr__(self) -> str:
        return f"RepeatGuard(config={self.config!r})"

    def __call__(self, messages: list[Message]) -> None:
        """Add the reminder that is due, or end the run.

        Args:
            messages: The messages of the request, changed in place.

        Raises:
            RepeatLoopError: The run is to end instead of the request.
        """
        stop = self.before_request(FrameworkTranscript(messages), partial(insert, messages, write=_message))
        if stop is not None:
            raise RepeatLoopError(stop)


def _message(insertion: Insertion) -> Message:
    return {"role": "user", "content": insertion.reminder.text}
