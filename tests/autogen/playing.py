"""What the drivers of the contract have in common: a player, its tools, and its model."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

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
    Request,
    Returned,
    Said,
    Script,
    Turn,
    Wrote,
)

from tests.autogen.scripted_client import ScriptedClient, call, result

PLAYER: ContextVar[Player] = ContextVar("PLAYER")


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
        return PLAYER.get().turn.result_of(name, q)

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
    return await PLAYER.get().delegate()


TOOLS: list[Any] = [
    *map(returning, RETURNING_TOOLS),
    PlayedTool(never, "Never answer.", "forbidden"),
    PlayedTool(fail, "Fail.", "failing"),
    PlayedTool(delegate, "Run another agent.", "delegate"),
]


class Player:
    """Plays one script. Those who inherit from it say how the agents are run."""

    def __init__(self, script: Script, make_guard: MakeGuard | None, options: Options) -> None:
        self.requests: list[Request] = []
        self.options = options
        self.turn = Turn()
        self.script = script
        self.turns: Iterator[Turn] = iter(())  # of the run that is being played
        self._make_guard = make_guard
        self._numbers = itertools.count(1)
        PLAYER.set(self)

    def new_guard(self) -> RepeatGuardHandler | None:
        """Make the guard anew, as a process would."""
        return self._make_guard() if self._make_guard else None

    def respond(self, agent: str, inner: Iterator[Turn] | None, messages: Sequence[LLMMessage]) -> CreateResult:
        """Record a request, and make the next response, of the run or of an inner one."""
        self.requests.append(Request(tuple(entries(messages)), agent))
        if inner is None:
            turn = self.turn = next(self.turns)
        else:
            turn = next(inner)
        calls: list[FunctionCall] = [call(each.tool, each.arguments) for each in turn.calls]
        if turn.hands_over:
            calls.append(call("transfer_to_second"))
        return result(calls, turn.text or None) if calls else result(turn.text)

    async def delegate(self) -> str:
        """Run the other agent, to its end."""
        return await self.run_inner(f"inner-{next(self._numbers)}", iter(self.script.delegated))

    async def run_inner(self, name: str, turns: Iterator[Turn]) -> str:
        """Run another agent."""
        raise NotImplementedError


class PlayedClient(ScriptedClient):
    """Records each request with the player, and plays the next turn."""

    def __init__(
        self, player: Player, agent: str, inner: Iterator[Turn] | None = None, *, has_hook: bool = False
    ) -> None:
        super().__init__()
        self._player = player
        self._agent = agent
        self._inner = inner
        self._has_hook = has_hook

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        if self._has_hook and self._player.options.user_hook:
            self._player.options.user_hook()
        response = self._player.respond(self._agent, self._inner, messages)
        await self._player.options.pause()
        return response

    async def create_stream(
        self, messages: Sequence[LLMMessage], **options: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        response = await self.create(messages, **options)
        if isinstance(response.content, str):
            yield response.content
        yield response


class HookedContext(UnboundedChatCompletionContext):
    """A context of the user's."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        self._options = options

    async def get_messages(self) -> list[LLMMessage]:
        if self._options.user_hook is not None:
            self._options.user_hook()
        return await super().get_messages()


class AgentPlayer(Player):
    """A player whose agents are assistants."""

    async def run_inner(self, name: str, turns: Iterator[Turn]) -> str:
        guard = self.new_guard()
        client = PlayedClient(self, name, turns)
        context = guard.context() if guard else None
        inner = AssistantAgent("inner", client, tools=TOOLS, model_context=context)
        task: str | None = "a task"
        while True:
            (*_, last) = (await inner.run(task=task)).messages
            if type(last).__name__ == "TextMessage":
                return last.to_text()
            task = None

    def make_agent(self, name: str, guard: RepeatGuardHandler | None = None, **settings: Any) -> AssistantAgent:
        """Make one of the script's agents, with a context of the user's, guarded if there is a guard."""
        context = HookedContext(self.options)
        return AssistantAgent(
            name,
            PlayedClient(self, name),
            tools=TOOLS,
            handoffs=["second"] if name == "main" else [],
            model_context=guard.context(context) if guard else context,
            model_client_stream=self.options.streamed,
            **settings,
        )


def entries(messages: Sequence[LLMMessage]) -> Iterator[Entry]:
    """Write a request down in the contract's terms."""
    for message in messages:
        if isinstance(message, UserMessage):
            yield Said(str(message.content))
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
