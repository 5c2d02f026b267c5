"""What the drivers of the contract have in common: a player, its tools, and its model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any, cast

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import FunctionTool, ToolSchema
from repeatguard_autogen import RepeatGuardHandler
from repeatguard_testing import (
    RETURNING_TOOLS,
    Called,
    Entry,
    MakeGuard,
    Options,
    Other,
    Returned,
    Role,
    Said,
    Script,
    ScriptPlayer,
    Wrote,
)

from tests.autogen.scripted_client import ScriptedClient, call, result


class PlayedTool(FunctionTool):
    """A tool that works out its schema once; each request asks for it, and would take most of a test's time."""

    def __init__(self, function: Callable[..., Any], description: str, name: str) -> None:
        super().__init__(function, description, name)
        self._worked_out = super().schema

    @property
    def schema(self) -> ToolSchema:
        return self._worked_out


def returning(name: str) -> FunctionTool:
    """Make a tool that answers as the script says."""

    async def answer(q: Any = None) -> str:
        return ScriptPlayer.current().answer(name, q)

    return PlayedTool(answer, "Answer.", name)


async def never(q: Any = None) -> str:
    """Be forbidden, where anybody is asked."""
    raise NotImplementedError


async def fail(q: Any = None) -> str:
    """Fail."""
    msg = "it failed"
    raise RuntimeError(msg)


async def delegate(q: Any = None) -> str:
    """Run another agent."""
    return await cast("Player", ScriptPlayer.current()).delegate()


OTHER_AGENT = {"main": "second", "second": "main"}
TOOLS: list[Any] = [
    *map(returning, RETURNING_TOOLS),
    PlayedTool(never, "Never answer.", "forbidden"),
    PlayedTool(fail, "Fail.", "failing"),
    PlayedTool(delegate, "Run another agent.", "delegate"),
]


class Player(ScriptPlayer):
    """Plays one script. Those who inherit from it say how the agents are run."""

    def __init__(self, script: Script, make_guard: MakeGuard | None, options: Options) -> None:
        super().__init__(script, options)
        self._make_guard = make_guard

    def new_guard(self) -> RepeatGuardHandler | None:
        """Make the guard again, as a process would."""
        return self._make_guard() if self._make_guard else None

    async def played(self, messages: Sequence[LLMMessage], role: Role | None) -> CreateResult:
        """Record a request, and make the next response, of the run or of an inner one."""
        turn = await self.respond(entries(messages), role)
        calls: list[FunctionCall] = [call(each.tool, each.arguments) for each in turn.calls]
        calls += [call(f"transfer_to_{self.agent}")] * turn.hands_over
        for each, call_id in zip(calls, self.call_ids(), strict=False):
            each.id = call_id
        return result(calls, turn.text or None) if calls else result(turn.text)

    def seen(self, messages: Sequence[LLMMessage]) -> list[LLMMessage]:
        """Cut messages, or sum them up, as a context of the user's may."""
        return self.in_sight(
            messages,
            is_models=lambda message: isinstance(message, AssistantMessage),
            say=lambda text: UserMessage(content=text, source="user"),
        )

    async def delegate(self) -> str:
        """Run the other agent, to its end."""
        with self.delegation() as role:
            return await self.run_inner(role)

    async def run_inner(self, role: Role) -> str:
        """Run another agent."""
        raise NotImplementedError


class PlayedClient(ScriptedClient):
    """Records each request with the player, and plays the next turn."""

    def __init__(self, player: Player, role: Role | None = None, *, has_hook: bool = False) -> None:
        super().__init__()
        self._player = player
        self._role = role
        self._has_hook = has_hook

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        if self._has_hook and self._player.options.user_hook:
            self._player.options.user_hook()
        return await self._player.played(messages, self._role)

    async def create_stream(
        self, messages: Sequence[LLMMessage], **options: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        response = await self.create(messages, **options)
        if isinstance(response.content, str):
            yield response.content
        yield response


class HookedContext(UnboundedChatCompletionContext):
    """A context of the user's, which may show a part of what it holds."""

    def __init__(self, player: Player) -> None:
        super().__init__()
        self._player = player

    async def get_messages(self) -> list[LLMMessage]:
        if self._player.options.user_hook is not None:
            self._player.options.user_hook()
        return self._player.seen(await super().get_messages())


class AgentPlayer(Player):
    """A player whose agents are assistants."""

    agents: dict[str, AssistantAgent]

    async def run_inner(self, role: Role) -> str:
        guard = self.new_guard()
        context = guard.context() if guard else None
        inner = AssistantAgent("inner", PlayedClient(self, role), tools=TOOLS, model_context=context)
        task: str | None = "a task"
        while True:
            (*_, last) = (await inner.run(task=task)).messages
            if type(last).__name__ == "TextMessage":
                return last.to_text()
            task = None

    def make_agents(self, guard: RepeatGuardHandler | None = None, **settings: Any) -> dict[str, AssistantAgent]:
        """Make the script's two agents, each with a context of the user's, guarded if there is a guard."""
        agents: dict[str, AssistantAgent] = {}
        for name, other in OTHER_AGENT.items():
            context = HookedContext(self)
            agents[name] = AssistantAgent(
                name,
                PlayedClient(self),
                tools=TOOLS,
                handoffs=[other],
                model_context=guard.context(context) if guard else context,
                model_client_stream=self.options.streamed,
                **settings,
            )
        return agents

    async def happens(self, agent: AssistantAgent) -> None:
        """Say to the agents what the user says between two requests, and to one of them what another says."""
        if self.turn.steer is not None:
            for each in self.agents.values():
                await each.model_context.add_message(UserMessage(content=self.turn.steer, source="user"))
        if self.turn.overheard is not None:
            await agent.model_context.add_message(
                UserMessage(content=self.turn.overheard, source=OTHER_AGENT[agent.name])
            )


def entries(messages: Sequence[LLMMessage]) -> Iterator[Entry]:
    """Write a request down in the contract's terms."""
    for message in messages:
        if isinstance(message, UserMessage):
            yield Said(str(message.content), "" if message.source == "user" else message.source)
        elif isinstance(message, AssistantMessage):
            yield from [Wrote(message.thought)] if message.thought else []
            yield from _written(message)
        elif isinstance(message, FunctionExecutionResultMessage):
            yield from (Returned(_tool(each.name), each.content) for each in message.content)
        elif not isinstance(message, SystemMessage):
            yield Other(str(message))


def _written(message: AssistantMessage) -> Iterator[Entry]:
    if isinstance(message.content, str):
        yield Wrote(message.content)
    else:
        yield from (Called(_tool(each.name), each.arguments) for each in message.content)


def _tool(name: str) -> str:
    return "handoff" if name.startswith("transfer_to_") else name
