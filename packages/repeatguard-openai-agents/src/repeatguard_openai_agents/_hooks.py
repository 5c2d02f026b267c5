"""The guard as the SDK's hooks."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import uuid4

from agents import Agent, AgentHooks, ModelResponse, RunHooks, Tool
from agents.items import TResponseInputItem
from agents.lifecycle import AgentHooksBase, RunHooksBase
from agents.run_context import AgentHookContext, RunContextWrapper
from agents.tracing import custom_span
from repeatguard_core import Reminder, RepeatGuardConfig, Stop
from repeatguard_core.adapters import Decision, Guard, Insertion, RunMemory, insert

from repeatguard_openai_agents._errors import RepeatLoopError
from repeatguard_openai_agents._transcript import SdkTranscript

__all__ = ["RepeatGuardHooks"]


class _Guard(Guard):
    """What run hooks and agent hooks of one guard have in common."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._attribute = f"_repeatguard_{uuid4().hex}"

    def remind(self, context: RunContextWrapper[Any], agent: Agent[Any], items: list[TResponseInputItem]) -> None:
        """Put the missing reminders into the list, which is the very one that the model is sent.

        Raises:
            RepeatLoopError: The run is to end instead of the request.
        """
        deliver = partial(insert, items, write=_message)
        memory = self.memory(context)
        stop = self.before_request(SdkTranscript(items), deliver, memory=memory, agent_name=agent.name)
        if stop is not None:
            raise RepeatLoopError(stop)

    def after_response(self, context: RunContextWrapper[Any], response: ModelResponse) -> None:
        """Note what the model has called."""
        with self.failing_open("a response"):
            self.memory(context).note_response(SdkTranscript(response.output))

    def memory(self, context: RunContextWrapper[Any]) -> RunMemory:
        """Return what is remembered of a run.

        A run and its handoffs share one context object, and its memory ends with it. A run that is
        resumed from a state has a copy of that object, and goes on with a memory of its own.
        """
        owner, memory = getattr(context, self._attribute, (0, RunMemory()))
        if owner != id(context):
            memory = copy.copy(memory)
            setattr(context, self._attribute, (id(context), memory))
        return memory

    def announce(self, decision: Decision) -> None:
        """Announce a reminder or a stop, and show it in the run's trace, without its arguments."""
        super().announce(decision)
        if isinstance(decision, Stop):
            name, limit = "repeatguard.stop", decision.stop_after
        else:
            name, limit = "repeatguard.reminder", decision.threshold
        with custom_span(name, {"tool": decision.tool_name, "count": decision.count, "threshold": limit}):
            pass


def _message(insertion: Insertion) -> TResponseInputItem:
    return {"role": "user", "content": insertion.reminder.text}


_Hooks = TypeVar("_Hooks", RunHooks[Any], AgentHooks[Any])


class _Guarding(Generic[_Hooks]):
    """The hooks that runs and agents have in common: the guard's own work, and then that of the user's hooks."""

    _guard: _Guard
    _inner: _Hooks

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        """Put the reminders into the list that the model is about to be sent, or end the run in place of that."""
        self._guard.remind(context, agent, input_items)
        await self._inner.on_llm_start(context, agent, system_prompt, input_items)

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        """Note what the model has called."""
        self._guard.after_response(context, response)
        await self._inner.on_llm_end(context, agent, response)

    async def on_tool_start(self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool) -> None:
        """Pass the event on to ``inner``."""
        await self._inner.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: Any) -> None:
        """Pass the event on to ``inner``."""
        await self._inner.on_tool_end(context, agent, tool, result)


class RepeatGuardHooks(_Guarding[RunHooks[Any]], RunHooks[Any]):
    """Run hooks that tell the model when it repeats the same tool call.

    Pass them as ``hooks=`` to any of the `Runner`'s methods, or to ``Agent.as_tool``. One object
    can serve any number of runs, agents and threads. What it remembers of a run is kept in the run
    context, which a result that you keep holds on to.

    Args:
        config: Thresholds and tools; left out, the defaults.
        untracked: Tells from a tool's name whether the tool is mere bookkeeping, to be passed
            over like an excluded one. It must always answer the same for the same name.
        on_reminder: Called with each new reminder, before the model gets it.
        inner: Hooks of yours that are to run as well.

    Raises:
        TypeError: ``config`` is no configuration, one of the functions is none or is async, or
            ``inner`` is no run hooks.

    With ``stop_after`` in the configuration, the `Runner` raises `RepeatLoopError` where the guard
    ends a run.

    """

    def __init__(
        self,
        config: RepeatGuardConfig | None = None,
        *,
        untracked: Callable[[str], bool] | None = None,
        on_reminder: Callable[[Reminder], None] | None = None,
        inner: RunHooks[Any] | None = None,
    ) -> None:
        self._guard = _Guard(config, untracked=untracked, on_reminder=on_reminder)
        self._inner = RunHooks() if inner is None else inner
        if not isinstance(self._inner, RunHooksBase):
            msg = f"inner must be run hooks, not {_kind_of(inner)}; hooks of one agent go to agent_hooks()"
            raise TypeError(msg)

    def __repr__(self) -> str:
        return f"RepeatGuardHooks(config={self._guard.config!r})"

    def agent_hooks(self, inner: AgentHooks[Any] | None = None) -> AgentHooks[Any]:
        """Make hooks for ``Agent(hooks=...)``, where run hooks do not reach.

        Args:
            inner: Hooks of yours for that agent that are to run as well.

        Returns:
            Agent hooks with this guard's settings. Together with the run hooks they still give
            each reminder once.

        Raises:
            TypeError: ``inner`` is no agent hooks.
        """
        inner = AgentHooks() if inner is None else inner
        if not isinstance(inner, AgentHooksBase):
            msg = f"inner must be agent hooks, not {_kind_of(inner)}; hooks of a run go to RepeatGuardHooks(inner=...)"
            raise TypeError(msg)
        return _RepeatGuardAgentHooks(self._guard, inner)

    async def on_agent_start(self, context: AgentHookContext[Any], agent: Agent[Any]) -> None:
        """Pass the event on to ``inner``."""
        await self._inner.on_agent_start(context, agent)

    async def on_agent_end(self, context: AgentHookContext[Any], agent: Agent[Any], output: Any) -> None:
        """Pass the event on to ``inner``."""
        await self._inner.on_agent_end(context, agent, output)

    async def on_handoff(self, context: RunContextWrapper[Any], from_agent: Agent[Any], to_agent: Agent[Any]) -> None:
        """Note that another agent takes over."""
        self._guard.memory(context).note_handoff(to_agent.name)
        await self._inner.on_handoff(context, from_agent=from_agent, to_agent=to_agent)


def _kind_of(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


class _RepeatGuardAgentHooks(_Guarding[AgentHooks[Any]], AgentHooks[Any]):
    """The guard for one agent, with the settings of the run hooks that made it."""

    def __init__(self, guard: _Guard, inner: AgentHooks[Any]) -> None:
        self._guard = guard
        self._inner = inner

    async def on_start(self, context: AgentHookContext[Any], agent: Agent[Any]) -> None:
        await self._inner.on_start(context, agent)

    async def on_end(self, context: AgentHookContext[Any], agent: Agent[Any], output: Any) -> None:
        await self._inner.on_end(context, agent, output)

    async def on_handoff(self, context: RunContextWrapper[Any], agent: Agent[Any], source: Agent[Any]) -> None:
        self._guard.memory(context).note_handoff(agent.name)
        await self._inner.on_handoff(context, agent=agent, source=source)
