"""The guard as a history processor, on every release of the framework."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage
from repeatguard_core import Reminder, RepeatGuardConfig
from repeatguard_core.adapters import Insertion, insert

from repeatguard_pydantic_ai._guard import RunGuard
from repeatguard_pydantic_ai._transcript import reminder_message

__all__ = ["RepeatGuardProcessor"]


class RepeatGuardProcessor:
    """A history processor that tells the model when it repeats the same tool call.

    Pass it as ``Agent(capabilities=[ProcessHistory(guard)])``, and before Pydantic AI 1.87 as
    ``Agent(history_processors=[guard])``. It keeps nothing between two requests, so one
    object may serve any number of agents, runs and threads. Where another processor cuts the
    history to less than it takes to count, `RepeatGuard` is the better choice.

    Args:
        config: Thresholds and tools; left out, the defaults.
        untracked: Returns whether a tool is only bookkeeping, given its name, so that its calls
            neither count nor reset. It must always return the same for the same name.
        on_reminder: Called with each new reminder, before the model gets it.

    Raises:
        TypeError: ``config`` is not a configuration, or one of the functions cannot be called or is async.
    """

    def __init__(
        self,
        config: RepeatGuardConfig | None = None,
        *,
        untracked: Callable[[str], bool] | None = None,
        on_reminder: Callable[[Reminder], None] | None = None,
    ) -> None:
        if isinstance(config, RunContext | list):  # the framework has called the class in place of an object
            msg = "a history processor is a guard, RepeatGuardProcessor(), and not the class RepeatGuardProcessor"
            raise TypeError(msg)
        self._guard = RunGuard(config, untracked=untracked, on_reminder=on_reminder)

    def __repr__(self) -> str:
        return f"RepeatGuardProcessor(config={self._guard.config!r})"

    async def __call__(self, ctx: RunContext[Any], messages: list[ModelMessage] | None = None) -> list[ModelMessage]:
        """Add the reminder that is missing, if one is.

        Args:
            ctx: The run.
            messages: Its history. It is not changed.

        Returns:
            The history with the reminder.

        Raises:
            RepeatLoopError: The run is to end, as ``stop_after`` says.
            TypeError: There are no messages, because the guard was not wrapped in ``ProcessHistory``.
        """
        if messages is None:  # the framework takes it for a function that makes capabilities
            msg = "a history processor goes into capabilities= as ProcessHistory(RepeatGuardProcessor())"
            raise TypeError(msg)
        history, complete = messages, messages

        def deliver(insertions: Sequence[Insertion]) -> None:
            nonlocal complete
            complete = list(history)
            insert(complete, insertions, lambda each: reminder_message(each, history, ctx.run_id))

        self._guard.remind(ctx, history, deliver)
        return complete
