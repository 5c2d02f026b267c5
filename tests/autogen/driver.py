"""Plays the contract's scripts in AutoGen: a standalone agent, a team, and the core's loop."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TerminatedException, TerminationCondition
from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    HandoffMessage,
    StopMessage,
    TextMessage,
    ToolCallExecutionEvent,
)
from autogen_agentchat.teams import Swarm
from autogen_core import AgentId, DefaultInterventionHandler, FunctionCall, MessageContext, SingleThreadedAgentRuntime
from autogen_core.model_context import ChatCompletionContextState
from autogen_core.models import ChatCompletionClient, LLMMessage, UserMessage
from autogen_core.tool_agent import ToolAgent, ToolException, tool_agent_caller_loop
from repeatguard_autogen import RepeatGuardConfig, RepeatGuardHandler, RepeatLoopError
from repeatguard_testing import Capability, Driver, MakeGuard, Options, Request, Role, Script

from tests.autogen.playing import TOOLS, AgentPlayer, PlayedClient, Player

#: It came with release 0.6.2; before, an agent always ends its turn after its calls.
LOOPS_WITHIN_A_TURN = "max_tool_iterations" in inspect.signature(AssistantAgent).parameters
NOBODY_IS_ASKED = "an agent asks nobody before it runs a tool"
NEVER = {Capability.KEPT_ELSEWHERE: "a context holds the whole conversation"}


class _AutoGenDriver(Driver):
    player: type[Any]

    def guard(self, config: RepeatGuardConfig, **options: Any) -> RepeatGuardHandler:
        return RepeatGuardHandler(config, **options)

    async def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        player = self.player(script, make_guard, options)
        for run in script.runs:
            if run.from_storage:
                await player.resume()
            player.start(run)
            await player.run(run.prompt)
        requests: list[Request] = player.requests
        return requests


class _AcrossTurns(AgentPlayer):
    """Runs an agent again and again, as its caller does, until it answers. The agent is attached."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.start_process()

    def start_process(self) -> None:
        """Make everything anew that a process would make."""
        guard = self.new_guard()
        self.agents = self.make_agents(**self.settings)
        if guard is not None:
            for agent in self.agents.values():
                self.wire(guard, agent)

    settings: dict[str, Any] = {}  # noqa: RUF012 - it is never changed

    def wire(self, guard: RepeatGuardHandler, agent: AssistantAgent) -> None:
        """Guard an agent."""
        guard.attach(agent)
        if self.options.wired_twice:
            guard.attach(agent)
            agent._model_context = guard.context(agent.model_context)
            agent._model_client = guard.client(agent._model_client)

    async def resume(self) -> None:
        """Store everything, and load it in another process."""
        states = json.dumps({name: await agent.save_state() for name, agent in self.agents.items()})
        self.start_process()
        for name, state in json.loads(states).items():
            await self.agents[name].load_state(state)

    async def run(self, prompt: str) -> None:
        """Run the agents up to an answer."""
        task: str | BaseChatMessage | None = prompt
        name = "main"
        while True:
            try:
                last = await self.run_once(self.agents[name], task)
            except RepeatLoopError as end:
                self.options.on_stop(end.tool_name, end.count, end.arguments)
                return
            if isinstance(last, TextMessage):
                return
            task = None
            if isinstance(last, HandoffMessage):
                name, task = last.target, last
            await self.happens(self.agents[name])
            if self.turn.resumes:
                await self.resume()

    async def run_once(self, agent: AssistantAgent, task: str | BaseChatMessage | None) -> Any:
        """Run an agent for a turn, and give back its last message."""
        if not self.options.streamed:
            return (await agent.run(task=task)).messages[-1]
        *_, last = [message async for message in agent.run_stream(task=task)]
        return last.messages[-1]  # type: ignore[union-attr]


class AcrossTurnsDriver(_AutoGenDriver):
    """A standalone agent that ends its turn after its calls, and is run again."""

    name = "autogen, agent across turns"
    player = _AcrossTurns
    lacks = {Capability.DENIED_CALL: NOBODY_IS_ASKED, **NEVER}  # noqa: RUF012 - it is never changed


class _WithinATurn(_AcrossTurns):
    """Lets the agent loop within its turn. It is made with a guarded context."""

    settings = {"max_tool_iterations": 1000}  # noqa: RUF012 - it is never changed

    def start_process(self) -> None:
        guard = self.new_guard()
        self.agents = self.make_agents(guard, **self.settings)
        if guard is not None and self.options.wired_twice:
            for agent in self.agents.values():
                self.wire(guard, agent)

    async def run_once(self, agent: AssistantAgent, task: str | BaseChatMessage | None) -> Any:
        stream = agent.run_stream(task=task)
        last: Any = None
        async for message in stream:
            if isinstance(message, ToolCallExecutionEvent):
                await self.happens(agent)
                if self.turn.resumes:
                    await stream.aclose()
                    return message
            last = message
        return last.messages[-1]

    async def run(self, prompt: str) -> None:
        task: str | BaseChatMessage | None = prompt
        name = "main"
        while True:
            try:
                last = await self.run_once(self.agents[name], task)
            except RepeatLoopError as end:
                self.options.on_stop(end.tool_name, end.count, end.arguments)
                return
            task = None
            if isinstance(last, TextMessage):
                return
            if isinstance(last, HandoffMessage):
                name, task = last.target, last
            else:
                await self.resume()


class WithinATurnDriver(_AutoGenDriver):
    """A standalone agent that goes on calling tools within its turn."""

    name = "autogen, agent within a turn"
    player = _WithinATurn
    lacks = {  # noqa: RUF012 - it is never changed
        **NEVER,
        Capability.DENIED_CALL: NOBODY_IS_ASKED,
        Capability.HANDOFF: "a context that is made before its agent cannot know which names are agents'",
        Capability.OTHER_AGENTS_WORDS: "a context that is made before its agent cannot know which names are agents'",
    }


class _HappensBetweenTurns(TerminationCondition):
    """Has the user say something after a turn, and ends a team's run at an answer and where it is to be stored."""

    def __init__(self, player: _InATeam) -> None:
        self._player = player
        self._terminated = False

    @property
    def terminated(self) -> bool:
        return self._terminated

    async def __call__(self, messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> StopMessage | None:
        if self._terminated:
            raise TerminatedException
        last = messages[-1] if messages else None
        if last is None or last.source == "user":
            return None
        if not isinstance(last, HandoffMessage):
            await self._player.happens(self._player.agents[last.source])
        if isinstance(last, TextMessage) or self._player.turn.resumes:
            self._terminated = True
            return StopMessage(content="stop", source="driver")
        return None

    async def reset(self) -> None:
        self._terminated = False


class _InATeam(AgentPlayer):
    """Runs the agents as a team, on the guard's runtime."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.start_process()

    settings: dict[str, Any] = {}  # noqa: RUF012 - it is never changed

    def start_process(self) -> None:
        """Make everything anew that a process would make."""
        guard = self.new_guard()
        self.runtime = self.make_runtime(guard)
        self.agents = self.make_agents(**self.settings)
        self.condition = guard.termination() if guard else None
        happens: TerminationCondition = _HappensBetweenTurns(self)
        self.team = Swarm(
            list(self.agents.values()),
            runtime=self.runtime,
            termination_condition=happens | self.condition if self.condition else happens,
        )
        if guard is not None:
            self.wire(guard)

    def wire(self, guard: RepeatGuardHandler) -> None:
        """Guard the team, whose runtime is guarded already."""
        if self.options.wired_twice:
            guard.attach(self.team)

    @staticmethod
    def make_runtime(guard: RepeatGuardHandler | None) -> SingleThreadedAgentRuntime:
        """Make a runtime, the guard's if there is one."""
        return guard.runtime() if guard else SingleThreadedAgentRuntime()

    async def resume(self) -> None:
        """Store the team, and load it in another process."""
        state = json.dumps(await self.team.save_state(), default=str)  # in some releases it has dates in it
        self.start_process()
        await self.team.load_state(json.loads(state))

    async def run(self, prompt: str) -> None:
        """Run the team up to an answer."""
        task: str | None = prompt
        while True:
            last = await self._run_once(task)
            end = self.condition.last_stop if self.condition else None
            if end is not None:
                self.options.on_stop(end.tool_name, end.count, end.arguments)
                return
            if isinstance(last, TextMessage):
                return
            task = None
            await self.resume()

    async def _run_once(self, task: str | None) -> Any:
        self.runtime.start()
        try:
            if not self.options.streamed:
                return (await self.team.run(task=task)).messages[-1]
            *_, last = [message async for message in self.team.run_stream(task=task)]
            return last.messages[-1]  # type: ignore[union-attr]
        finally:
            await self.runtime.stop_when_idle()


class TeamDriver(_AutoGenDriver):
    """A team on ``guard.runtime()``."""

    name = "autogen, team"
    player = _InATeam
    lacks = {Capability.DENIED_CALL: NOBODY_IS_ASKED, **NEVER}  # noqa: RUF012 - it is never changed


class _OnTheUsersRuntime(_InATeam):
    @staticmethod
    def make_runtime(guard: RepeatGuardHandler | None) -> SingleThreadedAgentRuntime:
        return SingleThreadedAgentRuntime(intervention_handlers=[guard] if guard else None)


class UsersRuntimeDriver(TeamDriver):
    """A team on a runtime that the user has made with the guard as its handler."""

    name = "autogen, team on the user's runtime"
    player = _OnTheUsersRuntime


class _AttachedWithinATurn(_InATeam):
    settings = {"max_tool_iterations": 1000}  # noqa: RUF012 - it is never changed

    @staticmethod
    def make_runtime(guard: RepeatGuardHandler | None) -> SingleThreadedAgentRuntime:
        return SingleThreadedAgentRuntime()

    def wire(self, guard: RepeatGuardHandler) -> None:
        """Guard the team."""
        for _ in range(1 + self.options.wired_twice):
            guard.attach(self.team)


class TeamWithinATurnDriver(_AutoGenDriver):
    """A team that is attached, of agents that go on calling tools within their turns."""

    name = "autogen, team within a turn"
    player = _AttachedWithinATurn
    lacks = {  # noqa: RUF012 - it is never changed
        **NEVER,
        Capability.DENIED_CALL: NOBODY_IS_ASKED,
        Capability.RESUMED_RUN: "a team is stored between turns",
        Capability.STEERING: "a team takes no words within a turn",
        Capability.OTHER_AGENTS_WORDS: "a team takes no words within a turn",
    }


class Denying(DefaultInterventionHandler):
    """A handler of the user's, which denies what is forbidden."""

    async def on_send(self, message: Any, *, message_context: MessageContext, recipient: AgentId) -> Any:
        if isinstance(message, FunctionCall) and message.name == "forbidden":
            raise ToolException(call_id=message.id, content="denied", name=message.name)
        return message


class _CoreLoop(Player):
    """Plays the core's own loop, with a ``ToolAgent``."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.messages: list[LLMMessage] = []
        self._guard = self.new_guard()

    async def resume(self) -> None:
        """Store the conversation, and load it in another process."""
        state = ChatCompletionContextState(messages=self.messages).model_dump_json()
        self.messages = ChatCompletionContextState.model_validate_json(state).messages
        self._guard = self.new_guard()

    async def run(self, prompt: str) -> None:
        """Run the loop to its end."""
        self.messages = [*self.messages, UserMessage(content=prompt, source="user")]
        client = PlayedClient(self, has_hook=True)
        try:
            self.messages += await self._loop(client, self.messages)
        except RepeatLoopError as end:
            self.messages = list(end.messages)
            self.options.on_stop(end.tool_name, end.count, end.arguments)

    async def run_inner(self, role: Role) -> str:
        task: list[LLMMessage] = [UserMessage(content="a task", source="user")]
        return str((await self._loop(PlayedClient(self, role), task))[-1].content)

    async def _loop(self, client: ChatCompletionClient, messages: list[LLMMessage]) -> list[LLMMessage]:
        guard = self._guard
        handlers: list[Any] = [Denying(), guard] if guard and self.options.wired_twice else [Denying()]
        runtime = SingleThreadedAgentRuntime(intervention_handlers=handlers)
        await ToolAgent.register(runtime, "tools", lambda: ToolAgent("Runs tools.", TOOLS))
        runtime.start()
        try:
            wrapped = guard.client(client) if guard else client
            wrapped = guard.client(wrapped) if guard and self.options.wired_twice else wrapped
            return await tool_agent_caller_loop(runtime, AgentId("tools", "default"), wrapped, messages, TOOLS)
        finally:
            await runtime.stop()


class CoreLoopDriver(_AutoGenDriver):
    """``tool_agent_caller_loop`` with ``guard.client()``."""

    name = "autogen, core loop"
    player = _CoreLoop
    lacks = {  # noqa: RUF012 - it is never changed
        **NEVER,
        Capability.CUT_HISTORY: "the loop sends all its messages",
        Capability.HANDOFF: "the loop has one model",
        Capability.OTHER_AGENTS_WORDS: "the loop takes no words in between",
        Capability.SUMMED_UP_HISTORY: "the loop sends all its messages",
        Capability.RESUMED_RUN: "the loop keeps its messages to itself until it ends",
        Capability.STEERING: "the loop takes no words in between",
        Capability.STREAMING: "the loop waits for whole responses",
        Capability.TEXT_BESIDE_CALLS: "the loop drops the words beside calls",
    }
