"""What a run context says of its agent."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pydantic_ai import RunContext

__all__ = ["agent_name"]


def agent_name(ctx: RunContext[Any]) -> str | None:
    """Give the name of the agent that a run is of.

    Args:
        ctx: The run.

    Returns:
        The name; None if the agent has none, or where the framework does not say, as in its early releases.
    """
    with suppress(Exception):  # a durable engine's context refuses to give what it does not carry
        agent = ctx.agent
        return agent.name if agent else None
    return None
