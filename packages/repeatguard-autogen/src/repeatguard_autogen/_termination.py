"""The guard's way to end a team."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from autogen_agentchat.base import TerminatedException, TerminationCondition
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, StopMessage
from autogen_core import Component
from pydantic import BaseModel
from repeatguard_core.adapters import Guard

from repeatguard_autogen._context import GuardedContext
from repeatguard_autogen._errors import RepeatLoopError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["RepeatTermination", "RepeatTerminationConfig"]

_SOURCE: Final = "repeatguard"


class RepeatTerminationConfig(BaseModel):
    """What a condition is made from when it is loaded as a component: nothing, for the guard has all settings."""


class RepeatTermination(TerminationCondition, Component[RepeatTerminationConfig]):
    """Ends a team when one of its agents has made the same calls ``stop_after`` times in a row.

    It is made by `RepeatGuardHandler.termination`, and acts in a team that the guard is attached
    to, or that runs on a guarded runtime. It counts nothing: when the team asks whether to end, it
    asks the agents' guarded contexts, which know.

    Attributes:
        last_stop: Why it has ended the team's latest run, or would have, had another condition
            agreed; with tool, count and arguments. None if it has not. AutoGen resets a condition
            at the end of a run, and this stays until the team goes on.
    """

    component_config_schema = RepeatTerminationConfig
    component_provider_override = "repeatguard_autogen.RepeatTermination"

    def __init__(self) -> None:
        self.last_stop: RepeatLoopError | None = None
        self._terminated = False
        self._contexts: WeakKeyDictionary[GuardedContext, None] = WeakKeyDictionary()
        self._guard = Guard()

    def watch(self, context: GuardedContext) -> None:
        """Ask an agent's context from now on, besides the contexts that it asks already.

        Args:
            context: The context of an agent in the team.
        """
        self._contexts[context] = None

    def unwatch(self, context: GuardedContext) -> None:
        """Stop asking a context.

        Args:
            context: The context of an agent that has left the team.
        """
        self._contexts.pop(context, None)

    @property
    def terminated(self) -> bool:
        """Whether it has ended the team, and has not been reset."""
        return self._terminated

    async def __call__(self, messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> StopMessage | None:
        """Return whether the team is to end.

        Args:
            messages: What was said since the last time.

        Returns:
            A message with the tool and the count, and without arguments; None if the team is to go on.

        Raises:
            TerminatedException: It has ended the team, and has not been reset.
        """
        if self._terminated:
            msg = "the team has ended already; reset() the condition before it is asked again"
            raise TerminatedException(msg)
        self.last_stop = None
        with self._guard.failing_open("the end of a team"):
            # What an agent has said to itself, or to a tool, comes before an event of its own.
            heard = takewhile(lambda message: isinstance(message, BaseChatMessage), reversed(messages))
            speakers = {message.source for message in heard}
            # All of them, since what is not taken now would end the next run.
            stops = [context.pop_stop(speakers) for context in list(self._contexts)]
            self.last_stop = next((RepeatLoopError(stop) for stop in stops if stop is not None), None)
        if self.last_stop is None:
            return None
        self._terminated = True
        return StopMessage(content=str(self.last_stop), source=_SOURCE)

    async def reset(self) -> None:
        """Make it ready for another run."""
        self._terminated = False

    def _to_config(self) -> RepeatTerminationConfig:
        return RepeatTerminationConfig()

    @classmethod
    def _from_config(cls, config: RepeatTerminationConfig) -> Self:
        del config
        return cls()
