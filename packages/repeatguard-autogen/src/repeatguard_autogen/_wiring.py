"""Putting the guard round the agents that are there, wherever they are nested."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import Team
from autogen_core.model_context import ChatCompletionContext

from repeatguard_autogen._context import GuardedContext
from repeatguard_autogen._guard import Guard
from repeatguard_autogen._private import handoffs_of, inside, model_context_of, names_in, replace_model_context

__all__ = ["guard_all_in", "layer_of"]


def layer_of(context: ChatCompletionContext, guard: Guard) -> GuardedContext | None:
    """Find a guard's own layer round a context, which may be inside another guard's.

    Args:
        context: The context.
        guard: The guard.

    Returns:
        The layer; None if there is none.
    """
    while isinstance(context, GuardedContext):
        if context.guard is guard:
            return context
        context = context.inner
    return None


def guard_all_in(
    holder: object, guard: Guard, *, agents: AbstractSet[str] = frozenset(), humans: AbstractSet[str] = frozenset()
) -> bool:
    """Guard every agent in something, however deep.

    Args:
        holder: An agent or a team.
        guard: The guard.
        agents: Names of agents that are heard in there, beside those that are found.
        humans: Names that speak for a human.

    Returns:
        Whether there is an agent with a model context.
    """
    found = False
    seen: set[tuple[int, AbstractSet[str], AbstractSet[str]]] = set()
    pending = [(holder, agents, humans)]
    while pending:
        holder, agents, humans = pending.pop()
        visit = (id(holder), agents, humans)  # again, if others are heard there
        if visit in seen:
            continue
        seen.add(visit)
        with guard.support.failing_open("the guard of an agent"):
            if isinstance(holder, Team):  # a context of its own is only what it selects a speaker by
                agents = agents | names_in(holder)
                humans = humans | {member.name for member in inside(holder) if isinstance(member, UserProxyAgent)}
            else:
                found |= _guard_one(holder, guard, agents, humans)
            pending.extend((each, agents, humans) for each in inside(holder))
    return found


def _guard_one(holder: object, guard: Guard, agents: AbstractSet[str], humans: AbstractSet[str]) -> bool:
    context = model_context_of(holder)
    if context is None:
        return False
    layer = layer_of(context, guard)
    if layer is None:
        while isinstance(context, GuardedContext) and context.guard.is_loaded:
            context = context.inner  # the guard that was dumped with it, without its functions
        layer = GuardedContext(context, guard)
        replace_model_context(holder, layer)
    layer.learn(agents=agents, humans=humans, handoffs=handoffs_of(holder))
    return True
