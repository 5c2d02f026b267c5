"""Plays the contract's scripts in Pydantic AI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from pydantic_ai import Agent, ApprovalRequired, ModelRetry, RunContext, Tool
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
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
    Role,
    Said,
    Script,
    ScriptPlayer,
    Wrote,
)

from tests.pydantic_ai.scripted_model import call, model_that, text_of
from tests.pydantic_ai.wiring import in_front, wired

MANY = 1_000


def answer(ctx: RunContext[Role], q: Any = None) -> str:
    """Answer."""
    _stop_where_it_is_stored(ctx)
    assert ctx.tool_name is not None
    return ctx.deps.turn.result_of(ctx.tool_name, q)


def fail(ctx: RunContext[Role], q: Any = None) -> str:
    """Fail."""
    _stop_where_it_is_stored(ctx)
    msg = "it failed"
    raise ModelRetry(msg)


async def delegate(ctx: RunContext[Role], q: Any = None) -> str:
    """Run another agent."""
    _stop_where_it_is_stored(ctx)
    return await cast("Player", ScriptPlayer.current()).delegate()


def _stop_where_it_is_stored(ctx: RunContext[Role]) -> None:
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

    lacks: Mapping[Capability, str] = MappingProxyType(
        {
            Capability.HANDOFF: "a run is one agent's; another one takes over only where the application runs it",
            Capability.KEPT_ELSEWHERE: "what a provider keeps is left out by the model's class, after the guard",
            Capability.OTHER_AGENTS_WORDS: "a history has one agent, whose words are responses",
        }
    )

    def wiring(self, guard: Any, options: Options) -> list[Any]:
        """List what is wired."""
        return [guard, guard] if options.wired_twice else [guard]

    async def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        player = Player(self, script, make_guard, options)
        history: list[ModelMessage] = []
        for run in script.runs:
            if run.from_storage:
                history = stored(history)
                player.start_process()
            player.start(run)
            try:
                history = await player.run(run.prompt, history)
            except RepeatLoopError as end:
                options.on_stop(end.tool_name, end.count, end.arguments)
                history = end.messages
        return player.requests


class ProcessorDriver(PydanticAIDriver):
    """Wires the history processor."""

    name = "pydantic_ai, processor"
    lacks = {  # noqa: RUF012 - it is never changed
        **PydanticAIDriver.lacks,
        Capability.CUT_HISTORY: "a processor keeps nothing between two requests",
        Capability.SUMMED_UP_HISTORY: "a processor keeps nothing between two requests",
    }

    def guard(self, config: RepeatGuardConfig, **options: Any) -> Any:
        return RepeatGuardProcessor(config, **options)


class Player(ScriptPlayer):
    """Plays one script."""

    def __init__(
        self, driver: PydanticAIDriver, script: Script, make_guard: MakeGuard | None, options: Options
    ) -> None:
        super().__init__(script, options)
        self._driver = driver
        self._make_guard = make_guard
        self._steer: str | None = None
        self.start_process()

    def start_process(self) -> None:
        """Make everything again that a process would make."""
        guard = self._make_guard() if self._make_guard else None
        self._guards = [] if guard is None else self._driver.wiring(guard, self.options)
        hooks = [self._user_hook] if self.options.user_hook else []
        steers = [] if hasattr(AgentRun, "enqueue") else [in_front(self._steer_by_processor)]
        shortens = any(turn.keeps is not None or turn.sums_up for turn in self.script.turns)
        shorteners = [in_front(self._shorten)] if shortens else []
        self._agent = self._make_agent([*steers, *shorteners, *self._guards, *hooks])

    def _make_agent(self, wiring: Sequence[Any], role: Role | None = None) -> Agent[Role, Any]:
        async def respond(messages: list[ModelMessage]) -> list[ModelResponsePart]:
            turn = await self.respond(entries(messages), role)
            if role is None:
                self._steer = turn.steer
            words = [TextPart(turn.text)] if turn.text else []
            calls = [call(each.tool, each.arguments) for each in turn.calls]
            return [*words, *(replace(each, tool_call_id=i) for each, i in zip(calls, self.call_ids(), strict=False))]

        output = [str, DeferredToolRequests]
        made = Agent(
            model_that(respond), tools=TOOLS, deps_type=Role, output_type=output, retries=MANY, **wired(*wiring)
        )
        return cast("Agent[Role, Any]", made)

    async def delegate(self) -> str:
        """Run the other agent, to its end."""
        with self.delegation() as role:
            inner = self._make_agent(self._guards, role)
            limits = UsageLimits(request_limit=None)
            return str((await inner.run("a task", deps=role, usage_limits=limits)).output)

    async def run(self, prompt: str | None, history: list[ModelMessage]) -> list[ModelMessage]:
        """Run the agent up to its answer, through all approvals."""
        approvals: DeferredToolResults | None = None
        while True:
            result = await self._run_once(prompt, history, approvals)
            history, prompt = result.all_messages(), None
            if not isinstance(result.output, DeferredToolRequests):
                return history
            if self.turn.resumes:
                history = stored(history)
                self.start_process()
            approvals = DeferredToolResults()
            for each in result.output.approvals:
                approvals.approvals[each.tool_call_id] = each.tool_name != "forbidden" or ToolDenied("no")

    async def _run_once(self, prompt: str | None, history: Any, approvals: Any) -> Any:
        limits = UsageLimits(request_limit=None)
        async with self._agent.iter(
            prompt, message_history=history, deferred_tool_results=approvals, usage_limits=limits, deps=self.main
        ) as run:
            node: Any = run.next_node
            while not isinstance(node, End):
                if Agent.is_model_request_node(node):
                    if self._steer is not None and hasattr(run, "enqueue"):
                        run.enqueue(self._steer)
                        self._steer = None
                    if self.options.streamed:
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

    async def _shorten(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Cut the history, or sum it up, as a user's processor may."""
        return self.in_sight(
            messages,
            is_models=lambda message: isinstance(message, ModelResponse),
            say=lambda text: ModelRequest([UserPromptPart(text)]),
        )

    async def _user_hook(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        assert self.options.user_hook is not None
        self.options.user_hook()
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
