"""The guard as users wire it: one object for every way of running agents."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final
from weakref import WeakKeyDictionary

from autogen_agentchat.base import ChatAgent, Team
from autogen_agentchat.messages import UserInputRequestedEvent
from autogen_core import AgentRuntime, DefaultInterventionHandler, MessageContext, SingleThreadedAgentRuntime
from autogen_core.model_context import ChatCompletionContext, UnboundedChatCompletionContext
from autogen_core.models import ChatCompletionClient
from repeatguard_core import Reminder, RepeatGuardConfig

from repeatguard_autogen._attach import TeamContext, attach_recursively, find_guarded, repeat_terminations
from repeatguard_autogen._client import GuardedClient
from repeatguard_autogen._context import GuardedContext
from repeatguard_autogen._guard import AutoGenGuard
from repeatguard_autogen._internals import calling_runtime, is_request_to_speak, resolve_turn
from repeatguard_autogen._termination import RepeatTermination

__all__ = ["RepeatGuardHandler"]

_WHAT_GOES_WHERE: Final = (
    "attach() is for agents and teams, context() and client() are for what an agent is made from "
    "(model_context=, model_client=), and a runtime is given intervention_handlers=[guard]"
)


class RepeatGuardHandler(DefaultInterventionHandler):
    """Tells the model when it repeats the same tool call, whichever way the agents are run.

    One object may serve any number of agents, teams, runtimes and threads. It can be wired in
    several ways at once; each reminder is still given once.

    - `runtime` for teams; the object is also an intervention handler for a runtime of your own.
    - `context` for an agent that is about to be made.
    - `attach` for agents and teams that exist already.
    - `client` for loops that keep their messages to themselves, such as ``tool_agent_caller_loop``.

    With ``stop_after`` an agent that is run by itself, and a loop over a client, end with
    `RepeatLoopError`, and a team ends by the condition that `termination` makes.

    Args:
        config: Thresholds and tools; left out, the defaults.
        untracked: Tells from a tool's name whether the tool is mere bookkeeping, to be passed
            over like an excluded one. It must always answer the same for the same name.
        on_reminder: Called with each new reminder, when it is put before the model.
        human_sources: The sources of a human's messages, which are always new input. Those of user
            proxies are found out.

    Raises:
        TypeError: ``config`` is not a configuration, a function cannot be called or is async, or
            ``human_sources`` is not a collection of names.
    """

    def __init__(
        self,
        config: RepeatGuardConfig | None = None,
        *,
        untracked: Callable[[str], bool] | None = None,
        on_reminder: Callable[[Reminder], None] | None = None,
        human_sources: Collection[str] = ("user",),
    ) -> None:
        self._guard = AutoGenGuard(config, untracked=untracked, on_reminder=on_reminder, human_sources=human_sources)
        # Who has asked for a human's words, to tell these from an agent's.
        self._proxies: WeakKeyDictionary[AgentRuntime, set[str]] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"RepeatGuardHandler(config={self._guard.config!r})"

    def runtime(self) -> SingleThreadedAgentRuntime:
        """Make a runtime for teams. Whoever speaks on it is guarded before its turn.

        Returns:
            A runtime to pass to a team as ``runtime=``. As with every such runtime, start it
            before the team runs, and stop it afterwards.
        """
        return SingleThreadedAgentRuntime(intervention_handlers=[self])

    def context(self, inner: ChatCompletionContext | None = None) -> ChatCompletionContext:
        """Make a guarded model context, for an agent's ``model_context=``.

        Args:
            inner: The context to wrap; left out, one that keeps and shows everything.

        Returns:
            The guarded context. One that this guard has made already is returned as it is.

        Raises:
            TypeError: ``inner`` is not a model context.
        """
        inner = UnboundedChatCompletionContext() if inner is None else inner
        if not isinstance(inner, ChatCompletionContext):
            msg = f"context() takes a model context, not {_kind_of(inner)}; {_WHAT_GOES_WHERE}"
            raise TypeError(msg)
        return GuardedContext(inner, self._guard) if find_guarded(inner, self._guard) is None else inner

    def attach(self, agent_or_team: ChatAgent | Team) -> None:
        """Guard an agent, or all agents of a team, from their next turn on.

        Teams and agents inside are guarded as well: nested teams, wrapped agents, and agents that
        are used as tools. Doing it again changes nothing.

        Args:
            agent_or_team: What exists already.

        Raises:
            TypeError: It is neither an agent nor a team, or there is no model context in it.
        """
        if not isinstance(agent_or_team, ChatAgent | Team):
            msg = f"attach() takes an agent or a team, not {_kind_of(agent_or_team)}; {_WHAT_GOES_WHERE}"
            raise TypeError(msg)
        if not attach_recursively(agent_or_team, self._guard, TeamContext()):
            name = getattr(agent_or_team, "name", type(agent_or_team).__name__)  # teams of early releases have none
            msg = (
                f"there is no model context in {name} (agents keep one as _model_context, a ChatCompletionContext); "
                "an agent that has a model client may be given guard.client(client)"
            )
            raise TypeError(msg)

    def client(self, inner: ChatCompletionClient) -> ChatCompletionClient:
        """Make a guarded model client, for loops that keep their messages to themselves.

        Args:
            inner: The client to wrap.

        Returns:
            The guarded client. One that this guard has made already is returned as it is.

        Raises:
            TypeError: ``inner`` is not a model client.
        """
        if not isinstance(inner, ChatCompletionClient):
            msg = f"client() takes a model client, not {_kind_of(inner)}; {_WHAT_GOES_WHERE}"
            raise TypeError(msg)
        if isinstance(inner, GuardedClient) and inner.guard is self._guard:
            return inner
        return GuardedClient(inner, self._guard)

    @staticmethod
    def termination() -> RepeatTermination:
        """Make a condition for a team's ``termination_condition=``, alone or combined with others.

        It ends the team when the same calls have come ``stop_after`` times in a row. The team has
        to be guarded, with `attach` or by its runtime.

        Returns:
            The condition, which tells afterwards why it has ended the team.
        """
        return RepeatTermination()

    async def on_publish(self, message: Any, *, message_context: MessageContext) -> Any:
        """Guard an agent before its turn.

        Args:
            message: What is about to be delivered.
            message_context: What came with it.

        Returns:
            The message as it was.
        """
        with self._guard.failing_open("the guard of an agent on a runtime"):
            event = getattr(message, "message", None)
            if isinstance(event, UserInputRequestedEvent):
                self._proxies.setdefault(_calling_runtime(), set()).add(event.source)
            elif is_request_to_speak(message):
                runtime = _calling_runtime()
                turn = await resolve_turn(runtime, message_context)
                humans = turn.proxies | self._proxies.get(runtime, set())
                where = TeamContext(turn.names, humans, repeat_terminations(turn.conditions))
                attach_recursively(turn.speaker, self._guard, where)
        return message


def _calling_runtime() -> AgentRuntime:
    runtime = calling_runtime()
    if runtime is None:
        msg = "it cannot be found out which runtime this is; use guard.runtime() or guard.attach(team)"
        raise LookupError(msg)
    return runtime


def _kind_of(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
