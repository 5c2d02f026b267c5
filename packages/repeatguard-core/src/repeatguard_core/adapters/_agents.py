"""The agents of a conversation: each has a chain of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TypeAlias

from repeatguard_core._chain import RepeatChain
from repeatguard_core._reminder import Decision

__all__ = ["AgentChains", "NewChain"]

NewChain: TypeAlias = Callable[[], RepeatChain]


class AgentChains:
    """A chain for each agent of a conversation, and what is held for an agent until it gets control back.

    Calls belong to the agent that the conversation names, or else to the target of the last handoff
    since new input. Before the first handoff they belong to nobody's name.

    Args:
        new_chain: Makes a chain with a count of zero.
        first: The name of an agent, and its chain.

    Attributes:
        agent: The agent that the calls belong to now; None if the conversation does not name it.
    """

    def __init__(self, new_chain: NewChain, first: tuple[str | None, RepeatChain] | None = None) -> None:
        self._new_chain = new_chain
        self._chains: dict[str | None, RepeatChain] = {} if first is None else dict([first])
        self._held: dict[str | None, Decision] = {}
        self.agent: str | None = None

    def __copy__(self) -> AgentChains:
        """Return chains that stand where these do; each then goes its own way."""
        other = AgentChains(self._new_chain)
        other._chains = {agent: copy.copy(chain) for agent, chain in self._chains.items()}
        other._held = dict(self._held)
        other.agent = self.agent
        return other

    def chain_of(self, agent: str | None) -> RepeatChain:
        """Return an agent's chain."""
        chain = self._chains.get(agent)
        if chain is None:
            chain = self._chains[agent] = self._new_chain()
        return chain

    def reset(self) -> None:
        """Start again, because there is new input."""
        self._chains.clear()
        self._held.clear()
        self.agent = None

    def hand_over(self, target: str, due: Decision | None) -> Decision | None:
        """Let another agent take over.

        Args:
            target: Its name. If it is empty, the conversation still belongs to the agent before.
            due: What has fallen due for the agent before. It is held for that agent.

        Returns:
            What was held for the agent that takes over.
        """
        if due is not None:
            self._held[self.agent] = due
        if not target:
            return None
        self.agent = target
        return self.release(target)

    def release(self, agent: str | None) -> Decision | None:
        """Return what is held for an agent, and hold it no longer."""
        return self._held.pop(agent, None)
