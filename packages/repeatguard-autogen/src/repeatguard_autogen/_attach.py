"""Guarding the agents of a team, however deep they are nested."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from autogen_agentchat.base import ChatAgent, Team, TerminationCondition
from autogen_core.model_context import ChatCompletionContext

from repeatguard_autogen._context import GuardedContext
from repeatguard_autogen._guard import AutoGenGuard
from repeatguard_autogen._internals import (
    children,
    conditions_of,
    handoffs_of,
    model_context_of,
    names_of,
    proxies_of,
    replace_model_context,
    speakers,
)
from repeatguard_autogen._stop_turn import stop_turns_of
from repeatguard_autogen._termination import RepeatTermination

__all__ = ["TeamContext", "attach_recursively", "find_guarded", "repeat_terminations"]


def find_guarded(context: ChatCompletionContext, guard: AutoGenGuard) -> GuardedContext | None:
    """Find a guard's own layer around a context, which may be inside another guard's.

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


@dataclass(frozen=True)
class TeamContext:
    """What is known of the team around an agent.

    Attributes:
        agents: Names of agents that are heard there.
        humans: Names that speak for a human.
        conditions: What ends the team there on the guard's behalf; None if the team is not known.
    """

    agents: AbstractSet[str] = frozenset()
    humans: AbstractSet[str] = frozenset()
    conditions: AbstractSet[RepeatTermination] | None = None

    def in_team(self, team: Team) -> TeamContext:
        """Return the context of the members of a team."""
        heard = list(speakers(team))
        return TeamContext(
            self.agents | names_of(heard),
            self.humans | proxies_of(heard),
            repeat_terminations(conditions_of(team)),
        )


def repeat_terminations(conditions: Iterable[TerminationCondition]) -> frozenset[RepeatTermination]:
    """Return the conditions that end a team on a guard's behalf."""
    return frozenset(each for each in conditions if isinstance(each, RepeatTermination))


def attach_recursively(holder: object, guard: AutoGenGuard, where: TeamContext) -> bool:
    """Guard every agent in an agent or a team, however deep.

    Args:
        holder: An agent or a team.
        guard: The guard.
        where: What is known of the team around it.

    Returns:
        Whether there is an agent with a model context.
    """
    found = False
    seen: set[tuple[int, TeamContext]] = set()
    pending = [(holder, where)]
    while pending:
        holder, where = pending.pop()
        visit = (id(holder), where)  # again, if others are heard there
        if visit in seen:
            continue
        seen.add(visit)
        with guard.failing_open("the guard of an agent"):
            if isinstance(holder, Team):  # a context of its own is only what it selects a speaker by
                where = where.in_team(holder)
            else:
                found |= _guard_one(holder, guard, where)
                if not isinstance(holder, ChatAgent):  # an agent that is used as a tool takes no turns in the team
                    where = replace(where, conditions=None)
            pending.extend((each, where) for each in children(holder))
    return found


def _guard_one(holder: object, guard: AutoGenGuard, where: TeamContext) -> bool:
    context = model_context_of(holder)
    if context is None:
        return False
    layer = find_guarded(context, guard)
    if layer is None:
        while isinstance(context, GuardedContext) and context.guard.is_loaded:
            context = context.inner  # the guard that was dumped with it, without its functions
        layer = GuardedContext(context, guard)
        replace_model_context(holder, layer)
    handoffs = handoffs_of(holder)
    # In a team it is known who is an agent. By itself, an agent knows at least those that it can hand over to.
    targets = handoffs.values() if handoffs is not None and where.conditions is None else ()
    agents = {*where.agents, *targets}
    layer.learn(agents=agents, humans=where.humans, handoffs=handoffs, conditions=where.conditions)
    if layer.has_condition and isinstance(holder, ChatAgent):
        stop_turns_of(holder, layer)
    return True
