"""Plays the contract's scripts in the OpenAI Agents SDK."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Sequence
from contextvars import ContextVar
from typing import Any, cast

from agents import Agent, Model, ModelResponse, RunConfig, RunHooks, Runner, RunState, Usage, function_tool
from agents.items import TResponseOutputItem, TResponseStreamEvent
from agents.run_config import CallModelData, ModelInputData
from repeatguard_openai_agents import RepeatGuardConfig, RepeatGuardHooks, RepeatLoopError
from repeatguard_testing import (
    RETURNING_TOOLS,
    Called,
    Driver,
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

from tests.openai_agents.scripted_model import as_stream, call, say

Items = list[Any]


class Part:
    """What a model plays: turns, and the one that it has come to."""

    def __init__(self, player: Player, turns: Sequence[Turn] = ()) -> None:
        self.player = player
        self.now = Turn()
        self.take(turns)

    def take(self, turns: Sequence[Turn]) -> None:
        """Play these turns next."""
        self._turns = iter(turns)

    def next(self) -> Turn:
        """Come to the next turn."""
        self.now = next(self._turns)
        return self.now


#: The part that is being played. Tools ask for it, so that they are made once: making them takes longer than a run.
PART: ContextVar[Part] = ContextVar("PART")


async def is_stored_here(*_: Any) -> bool:
    """Stop a run where it is to be stored: at the approval of its calls."""
    return PART.get().now.resumes


def tool(function: Any, name: str, needs_approval: Any = is_stored_here) -> Any:
    """Make a tool that may be called with anything."""
    return function_tool(function, name_override=name, strict_mode=False, needs_approval=needs_approval)


def returning(name: str) -> Any:
    """Make a tool that answers as the script says."""

    def answer(q: Any = None) -> str:
        """Answer."""
        return PART.get().now.result_of(name, q)

    return tool(answer, name)


def fail(q: Any = None) -> str:
    """Fail."""
    msg = "it failed"
    raise RuntimeError(msg)


async def delegate(q: Any = None) -> str:
    """Run another agent."""
    return await PART.get().player.delegate()


TOOLS: list[Any] = [
    *map(returning, RETURNING_TOOLS),
    tool(fail, "failing"),
    tool(delegate, "delegate"),
    tool(fail, "forbidden", needs_approval=True),
]


class OpenAIAgentsDriver(Driver):
    """Wires run hooks, and agent hooks beside them where the guard is wired twice."""

    name = "openai_agents"
    by_agent_hooks = False

    def guard(self, config: RepeatGuardConfig, **options: Any) -> RepeatGuardHooks:
        return RepeatGuardHooks(config, **options)

    async def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        player = Player(script, make_guard, options, by_agent_hooks=self.by_agent_hooks)
        items: Items = []
        for run in script.runs:
            if run.from_storage:
                items = json.loads(json.dumps(items))
                player.start_process()
            items = await player.run([*items, {"role": "user", "content": run.prompt}], run.turns)
        return player.requests


class Player:
    """Plays one script."""

    def __init__(self, script: Script, make_guard: MakeGuard | None, options: Options, *, by_agent_hooks: bool) -> None:
        self.requests: list[Request] = []
        self.options = options
        self._script = script
        self._make_guard = make_guard
        self._by_agent_hooks = by_agent_hooks
        self._part = Part(self)
        PART.set(self._part)
        self._numbers = itertools.count(1)
        self._steers: list[tuple[int, str]] = []
        self.start_process()

    def start_process(self) -> None:
        """Make everything anew that a process would make."""
        self._guard: RepeatGuardHooks | None = self._make_guard() if self._make_guard else None
        self._user_hooks = UserHooks(self.options) if self.options.user_hook else None
        self._run_hooks: RunHooks[Any] | None = self._user_hooks
        if self._guard is not None and not self._by_agent_hooks:
            self._guard._inner = self._user_hooks or self._guard._inner
            self._run_hooks = self._guard
        self._agent = self._make_agent("main", self._part, [self._make_agent("second", self._part)])

    def _make_agent(self, name: str, part: Part, handoffs: Sequence[Agent[Any]] = ()) -> Agent[Any]:
        wants_agent_hooks = self._by_agent_hooks or self.options.wired_twice
        agent_hooks = self._guard.agent_hooks() if self._guard and wants_agent_hooks else None
        model = PlayedModel(self, name, part)
        return Agent(name=name, model=model, tools=list(TOOLS), handoffs=list(handoffs), hooks=agent_hooks)

    async def delegate(self) -> str:
        """Run the other agent, to its end."""
        part = Part(self, self._script.delegated)
        PART.set(part)  # in the context of the tool that runs it, which ends with it
        inner = self._make_agent(f"inner-{next(self._numbers)}", part)
        hooks = None if self._by_agent_hooks else self._guard
        result = await Runner.run(inner, "a task", hooks=hooks, run_config=self._config())
        return str(result.final_output)

    async def run(self, input_items: Items, turns: Sequence[Turn]) -> Items:
        """Run the agent up to its answer or to where the guard ends the run, through all approvals."""
        self._part.take(turns)
        current: Any = input_items
        while True:
            try:
                result = await self._run_once(current)
            except RepeatLoopError as end:
                self.options.on_stop(end.tool_name, end.count, end.arguments)
                return cast("Items", end.input_items())
            if not result.interruptions:
                return cast("Items", result.to_input_list())
            state = result.to_state()
            if self._part.now.resumes:
                self.start_process()
                state = await RunState.from_json(self._agent, json.loads(json.dumps(state.to_json())))
            for item in state.get_interruptions():
                (state.reject if item.name == "forbidden" else state.approve)(item)
            current = state

    async def _run_once(self, current: Any) -> Any:
        config = self._config(self._with_steers)
        arguments: dict[str, Any] = {"hooks": self._run_hooks, "max_turns": 1000, "run_config": config}
        if not self.options.streamed:
            return await Runner.run(self._agent, current, **arguments)
        result = Runner.run_streamed(self._agent, current, **arguments)
        async for _ in result.stream_events():
            pass
        return result

    @staticmethod
    def _config(call_model_input_filter: Any = None) -> RunConfig:
        return RunConfig(
            tracing_disabled=True,
            tool_not_found_behavior="return_error_to_model",
            call_model_input_filter=call_model_input_filter,
        )

    def _with_steers(self, data: CallModelData[Any]) -> ModelInputData:
        """Put the user's words from between two requests where they were said, as an input filter may."""
        items = list(data.model_data.input)
        if self._part.now.steer is not None:
            self._steers.append((len(items), self._part.now.steer))
        for place, text in reversed(self._steers):
            items.insert(place, {"role": "user", "content": text})
        return ModelInputData(input=items, instructions=data.model_data.instructions)


class UserHooks(RunHooks[Any]):
    """Hooks of the user's."""

    def __init__(self, options: Options) -> None:
        self._options = options

    async def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
        assert self._options.user_hook is not None
        self._options.user_hook()


class PlayedModel(Model):
    """Records a request and plays the next turn."""

    def __init__(self, player: Player, agent: str, part: Part) -> None:
        self._player = player
        self._agent = agent
        self._part = part

    async def _play(self, items: Any) -> list[TResponseOutputItem]:
        self._player.requests.append(Request(entries(items), self._agent))
        await self._player.options.pause()
        turn = self._part.next()
        words = [say(turn.text)] if turn.text else []
        handoff = [call("transfer_to_second")] if turn.hands_over else []
        return [*words, *(call(each.tool, each.arguments) for each in turn.calls), *handoff]

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002
        return ModelResponse(output=await self._play(input), usage=Usage(), response_id=None)

    async def stream_response(
        self,
        system_instructions: Any,
        input: Any,  # noqa: A002
        *args: Any,
        **kwargs: Any,
    ) -> AsyncIterator[TResponseStreamEvent]:
        yield as_stream(await self._play(input))


def entries(items: Items) -> tuple[Entry, ...]:
    """Write a request down in the contract's terms."""
    names = {item["call_id"]: item["name"] for item in items if item.get("type") == "function_call"}
    return tuple(_entry(item, names) for item in items)


def _entry(item: dict[str, Any], names: dict[str, str]) -> Entry:
    kind = item.get("type", "message")
    if kind == "function_call":
        return Called(_tool_name(item["name"]), item["arguments"])
    if kind == "function_call_output":
        return Returned(_tool_name(names[item["call_id"]]), str(item["output"]))
    content = item.get("content")
    text = content if isinstance(content, str) else "".join(part["text"] for part in content or ())
    kinds: dict[str, type[Said | Wrote]] = {"user": Said, "assistant": Wrote}
    return kinds.get(item.get("role", ""), Other)(text)


def _tool_name(name: str) -> str:
    return "handoff" if name.startswith("transfer_to_") else name
