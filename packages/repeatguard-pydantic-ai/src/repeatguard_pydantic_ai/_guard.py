"""What the guard's two forms have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage
from repeatguard_core.adapters import Guard, Insertion, RunMemory

from repeatguard_pydantic_ai._errors import RepeatLoopError
from repeatguard_pydantic_ai._transcript import History

__all__ = ["RunGuard"]


class RunGuard(Guard):
    """A guard for the requests of runs."""

    def remind(
        self,
        ctx: RunContext[Any],
        messages: Sequence[ModelMessage],
        deliver: Callable[[Sequence[Insertion]], None],
        memory: RunMemory | None = None,
    ) -> None:
        """Have the missing reminder put into a request that is about to be sent.

        Args:
            ctx: The run.
            messages: The messages of the request.
            deliver: Puts reminders into it.
            memory: What is remembered of the run, if anything.

        Raises:
            RepeatLoopError: The run is to end instead.
        """
        stop = self.before_request(History(messages), deliver, memory=memory, agent_name=_agent_name(ctx))
        if stop is not None:
            raise RepeatLoopError(stop, ctx.messages)


def _agent_name(ctx: RunContext[Any]) -> str | None:
    """Return the name of a run's agent; None if it has none, or if the framework does not say."""
    with suppress(Exception):  # a durable engine's context refuses to give what it does not carry
        agent = ctx.agent
        return agent.name if agent else None
    return None
