"""Plays the contract's scripts in Pydantic AI."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, cast

from pydantic_ai import Agent, ApprovalRequired, ModelRetry, RunContext, Tool
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.run import AgentRun
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.usage import UsageLimits
from pydantic_graph import End
from repeatguard_pydantic_ai import RepeatGuardConfig, RepeatGuardProcessor, RepeatLoopError
from repeatguard_testing import (
    RETURNING_TOOLS,
    Called,
    Capability,
    Driver,
    Entry,
    MakeGuard,
    Options,
    Other,
    Request,
    Returned,
    Run,
    Said,
    Script,
    Turn,
    Wrote,
)

from tests.pydantic_ai.scripted_model import call, model_that, text_of
from tests.pydantic_ai.wiring import in_front, wired

MANY = 1_000


class Actor:
    """An agent's part in a script: its turns, and the one that it is at.

    Args:
        name: The agent's name.
        turns: What its model does.
    """

    def __init__(self, name: str, turns: Sequence[Turn] = ()) -> None:
        self.name = name
        self.turns = iter(turns)
        self.turn = Turn()


PLAYER: ContextVar[Player] = ContextVar("PLAYER")


def answer(ctx: RunContext[Actor], q: Any = None) -> str:
    """Answer."""
    _stop_where_it_is_stored(ctx)
    assert ctx.tool_name is not None
    return ctx.deps.turn.result_of(ctx.tool_name, q)


def fail(ctx: RunContext[Actor], q: Any = None) -> str:
    """Fail."""
    _stop_where_it_is_stored(ctx)
    msg = "it failed"
    raise ModelRetry(msg)


async def delegate(ctx: RunContext[Actor], q: Any = None) -> str:
    """Run another agent."""
    _stop_where_it_is_stored(ctx)
    return await PLAYER.get().delegate()


def _stop_where_it_is_stored(ctx: RunContext[Actor]) -> None:
    if ctx.deps.turn.resumes and not ctx.tool_call_approved:
        raise ApprovalRequired


TOOLS: list[Any] = [
    *(Tool(answer, name=name, max_retries=MANY) for name in RETURNING_TOOLS),
    Tool(fail, name="failing", max_retries=MANY),
    Tool(delegate, name="delegate", max_retries=MANY),
    Tool(fail, name="forbidden", max_retries=MANY, requires_approval=True),
]


class PydanticAIDriver(Driver):
    """Wires a guard into agents: once, or twice."""

    lacks = MappingProxyType(
        {
            Capability.HANDOFF: "a run is one agent's; another one takes over only where the application runs it",
            Capability.KEPT_ELSEWHERE: "what a provider keeps is left out by the model's class, after the guard",
            Capability.OTHER_AGENTS_WORDS: "a history has one agent, whose words are responses",
            Capability.CUT_HISTORY: "not yet: the driver",
            Capability.SUMMED_UP_HISTORY: "not yet: the driver",
            Capability.REUSED_CALL_IDS: "not yet: the driver",
            Capability.REUSED_CALL_IDS_OF_OTHERS: "not yet: the driver",
        }
    )

    def wiring(self, guard: Any, options: Options) -> list[Any]:
        """List what is wired."""
        return [guard, guard] if options.wired_twice else [guard]

    async def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        player = Player(self, script, make_guard, options)
        PLAYER.set(player)
        history: list[ModelMessage] = []
        for run in script.runs:
            if run.from_storage:
                history = stored(history)
                player.start_process()
            try:
                history = await player.run(run, history)
            except RepeatLoopError as end:
                options.on_stop(end.tool_name, end.count, end.arguments)
                history = end.messages
        return player.requests


class ProcessorDriver(PydanticAIDriver):
    """Wires the history processor."""

    name = "pydantic_ai, processor"

    def guard(self, config: RepeatGuardConfig, **options: Any) -> Any:
        return RepeatGuardProcessor(config, **options)


class Player:
    """Plays one script."""

    def __init__(
        self, driver: PydanticAIDriver, script: Script, make_guard: MakeGuard | None, options: Options
    ) -> None:
        self.requests: list[Request] = []
        self._main = Actor("main")
        self._driver = driver
        self._script = script
        self._make_guard = make_guard
        self._options = options
        self._numbers = itertools.count(1)
        self._steer: str | None = None
        self.start_process()

    def start_process(self) -> None:
        """Make everything anew that a process would make."""
        guard = self._make_guard() if self._make_guard else None
        self._guards = [] if guard is None else self._driver.wiring(guard, self._options)
        hooks = [self._user_hook] if self._options.user_hook else []
        steers = [] if hasattr(AgentRun, "enqueue") else [in_front(self._steer_by_processor)]
        self._agent = self._make_agent(self._main, [*steers, *self._guards, *hooks])

    def _make_agent(self, actor: Actor, wiring: Sequence[Any]) -> Agent[Actor, Any]:
        async def respond(messages: list[ModelMessage]) -> list[ModelResponsePart]:
            self.requests.append(Request(entries(messages), actor.name))
            await self._options.pause()
            turn = actor.turn = next(actor.turns)
            if actor is self._main:
                self._steer = turn.steer
            words = [TextPart(turn.text)] if turn.text else []
            return [*words, *(call(each.tool, each.arguments) for each in turn.calls)]

        output = [str, DeferredToolRequests]
        made = Agent(
            model_that(respond), tools=TOOLS, deps_type=Actor, output_type=output, retries=MANY, **wired(*wiring)
        )
        return cast("Agent[Actor, Any]", made)

    async def delegate(self) -> str:
        """Run the other agent, to its end."""
        actor = Actor(f"inner-{next(self._numbers)}", self._script.delegated)
        inner = self._make_agent(actor, self._guards)
        limits = UsageLimits(request_limit=None)
        return str((await inner.run("a task", deps=actor, usage_limits=limits)).output)

    async def run(self, run: Run, history: list[ModelMessage]) -> list[ModelMessage]:
        """Run the agent up to its answer, through all approvals."""
        self._main.turns = iter(run.turns)
        prompt: str | None = run.prompt
        approvals: DeferredToolResults | None = None
        while True:
            result = await self._run_once(prompt, history, approvals)
            history, prompt = result.all_messages(), None
            if not isinstance(result.output, DeferredToolRequests):
                return history
            if self._main.turn.resumes:
                history = stored(history)
                self.start_process()
            approvals = DeferredToolResults()
            for each in result.output.approvals:
                approvals.approvals[each.tool_call_id] = each.tool_name != "forbidden" or ToolDenied("no")

    async def _run_once(self, prompt: str | None, history: Any, approvals: Any) -> Any:
        limits = UsageLimits(request_limit=None)
        async with self._agent.iter(
            prompt, message_history=history, deferred_tool_results=approvals, usage_limits=limits, deps=self._main
        ) as run:
            node: Any = run.next_node
            while not isinstance(node, End):
                if Agent.is_model_request_node(node):
                    if self._steer is not None and hasattr(run, "enqueue"):
                        run.enqueue(self._steer)
                        self._steer = None
                    if self._options.streamed:
                        events: Any
                        async with node.stream(run.ctx) as events:
                            async for _ in events:
                                pass
                node = await run.next(node)
        return run.result

    async def _steer_by_processor(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Add the user's words from between two requests, where a run cannot be told them."""
        steer, self._steer = self._steer, None
        return messages if steer is None else [*messages, ModelRequest([UserPromptPart(steer)])]

    async def _user_hook(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        assert self._options.user_hook is not None
        self._options.user_hook()
        return messages


def stored(history: list[ModelMessage]) -> list[ModelMessage]:
    """Store a history and load it."""
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(history))


def entries(messages: Sequence[ModelMessage]) -> tuple[Entry, ...]:
    """Write a request down in the contract's terms."""
    return tuple(_entry(part) for message in messages for part in message.parts)


def _entry(part: Any) -> Entry:
    if isinstance(part, UserPromptPart):
        return Said(text_of(part))
    if isinstance(part, TextPart):
        return Wrote(part.content)
    if isinstance(part, ToolCallPart):
        return Called(part.tool_name, part.args if isinstance(part.args, str) else part.args_as_json_str())
    if part.part_kind in {"tool-return", "retry-prompt"} and part.tool_name is not None:
        return Returned(part.tool_name, str(part.content))
    return Other(str(part))
