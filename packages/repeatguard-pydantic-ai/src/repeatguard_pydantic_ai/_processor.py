"""The guard as a history processor, on every release of the framework."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage
from repeatguard_core import Reminder, RepeatGuardConfig, Stop
from repeatguard_core.adapters import Guard as AdapterSupport

from repeatguard_pydantic_ai._agents import agent_name
from repeatguard_pydantic_ai._derivation import RunMemory
from repeatguard_pydantic_ai._errors import RepeatLoopError

__all__ = ["RepeatGuardProcessor"]


class RepeatGuardProcessor:
    """A history processor that tells the model when it repeats the same tool call.

    Pass it as ``Agent(capabilities=[ProcessHistory(guard)])``, and before Pydantic AI 1.87 as
    ``Agent(history_processors=[guard])``. It keeps nothing between two requests, so one
    object may serve any number of agents, runs and threads. Where another processor cuts the
    history to less than it takes to count, `RepeatGuard` is the better choice.

    Args:
        config: Thresholds and tools; left out, the defaults.
        untracked: Tells from a tool's name whether the tool is mere bookkeeping, to be passed
            over like an excluded one. It must always answer the same for the same name.
        on_reminder: Called with each new reminder, before the model gets it.

    Raises:
        TypeError: ``config`` is no configuration, or one of the functions is none or is async.

    Fulfils D12, M1, M5, M6, S1, S2, S3, S5, S6, X2 and X5.
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
        self._support = AdapterSupport(config, untracked=untracked, on_reminder=on_reminder)

    def __repr__(self) -> str:
        return f"RepeatGuardProcessor(config={self._support.config!r})"

    async def __call__(self, ctx: RunContext[Any], messages: list[ModelMessage] | None = None) -> list[ModelMessage]:
        """Add the reminder that is missing at the end, if one is.

        Args:
            ctx: The run.
            messages: Its history. It is not changed.

        Returns:
            The history that the framework is to go on with.

        Raises:
            RepeatLoopError: The run is to end, as ``stop_after`` says.
            TypeError: There are no messages: it has been taken for something else.
        """
        if messages is None:  # the framework takes it for a function that makes capabilities
            msg = "a history processor goes into capabilities= as ProcessHistory(RepeatGuardProcessor())"
            raise TypeError(msg)
        end: RepeatLoopError | None = None
        with self._support.failing_open("a reminder"):
            missing = RunMemory().missing(messages, ctx.run_id, self._support.new_chain)
            if missing is not None:
                reminder = replace(missing.reminder, agent_name=agent_name(ctx))
                if isinstance(reminder, Stop):
                    end = RepeatLoopError(reminder, ctx.messages)
                elif missing.message is not None:
                    messages = [*messages[: missing.index], missing.message, *messages[missing.index :]]
                self._support.announce(reminder)
        if end is not None:
            raise end
        return messages
