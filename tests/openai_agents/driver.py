"""Plays the contract's scripts in the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from agents import Agent, Model, ModelResponse, RunConfig, RunHooks, Runner, RunState, Usage, function_tool
from agents.items import TResponseOutputItem, TResponseStreamEvent
from agents.run_config import CallModelData, ModelInputData
from openai.types.responses import ResponseFunctionToolCall
from repeatguard_openai_agents import RepeatGuardConfig, RepeatGuardHooks, RepeatLoopError
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

from tests.openai_agents.scripted_model import as_stream, call, say

Items = list[Any]


async def is_stored_here(*_: Any) -> bool:
    """Stop a run where it is to be stored: at the approval of its calls."""
    return ScriptPlayer.current().role.turn.resumes


def tool(function: Any, name: str, needs_approval: Any = is_stored_here) -> Any:
    """Make a tool that may be called with anything."""
    return function_tool(function, name_override=name, strict_mode=False, needs_approval=needs_approval)


def returning(name: str) -> Any:
    """Make a tool that answers as the script says."""

    def answer(q: Any = None) -> str:
        """Answer."""
        return ScriptPlayer.current().answer(name, q)

    return tool(answer, name)


def fail(q: Any = None) -> str:
    """Fail."""
    msg = "it failed"
    raise RuntimeError(msg)


async def delegate(q: Any = None) -> str:
    """Run another agent."""
    return await cast("Player", ScriptPlayer.current()).delegate()


#: Made once, since making them takes longer than a run.
TOOLS: list[Any] = [
    *map(returning, RETURNING_TOOLS),
    tool(fail, "failing"),
    tool(delegate, "delegate"),
    tool(fail, "forbidden", needs_approval=True),
]


class OpenAIAgentsDriver(Driver):
    """Wires run hooks, and agent hooks beside them where the guard is wired twice."""

    name = "openai_agents"
    lacks: Mapping[Capability, str] = MappingProxyType(
        {
            Capability.OTHER_AGENTS_WORDS: "agents share one conversation, and none speaks as the user",
            Capability.REUSED_CALL_IDS_OF_OTHERS: "the SDK refuses an id that another call had",
        }
    )
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
            player.start(run)
            before = [] if script.is_kept_elsewhere else items
            items = await player.run([*before, {"role": "user", "content": run.prompt}])
        return player.requests


class Player(ScriptPlayer):
    """Plays one script."""

    def __init__(self, script: Script, make_guard: MakeGuard | None, options: Options, *, by_agent_hooks: bool) -> None:
        super().__init__(script, options)
        self._make_guard = make_guard
        self._by_agent_hooks = by_agent_hooks
        self._steers: list[tuple[int, str]] = []
        self.names: dict[str, str] = {}
        self.start_process()

    def start_process(self) -> None:
        """Make everything again that a process would make."""
        self._guard: RepeatGuardHooks | None = self._make_guard() if self._make_guard else None
        self._user_hooks = UserHooks(self.options) if self.options.user_hook else None
        self._run_hooks: RunHooks[Any] | None = self._user_hooks
        if self._guard is not None and not self._by_agent_hooks:
            self._guard._inner = self._user_hooks or self._guard._inner
            self._run_hooks = self._guard
        self._agent = self._make_agent("main")
        second = self._make_agent("second")
        self._agent.handoffs, second.handoffs = [second], [self._agent]

    def _make_agent(self, name: str, role: Role | None = None) -> Agent[Any]:
        wants_agent_hooks = self._by_agent_hooks or self.options.wired_twice
        agent_hooks = self._guard.agent_hooks() if self._guard and wants_agent_hooks else None
        return Agent(name=name, model=PlayedModel(self, role), tools=list(TOOLS), hooks=agent_hooks)

    async def delegate(self) -> str:
        """Run the other agent, to its end."""
        with self.delegation() as role:
            hooks = None if self._by_agent_hooks else self._guard
            inner = self._make_agent(role.agent, role)
            return str((await Runner.run(inner, "a task", hooks=hooks, run_config=self._config())).final_output)

    async def run(self, current: Any) -> Items:
        """Run the agent up to its answer or to where the guard ends the run, through all approvals."""
        while True:
            try:
                result = await self._run_once(current)
            except RepeatLoopError as end:
                self.options.on_stop(end.tool_name, end.count, end.arguments)
                return cast("Items", end.input_items())
            if not result.interruptions:
                return cast("Items", result.to_input_list())
            state = result.to_state()
            if self.turn.resumes:
                self.start_process()
                state = await RunState.from_json(self._agent, json.loads(json.dumps(state.to_json())))
            for item in state.get_interruptions():
                (state.reject if item.name == "forbidden" else state.approve)(item)
            current = state

    async def _run_once(self, current: Any) -> Any:
        arguments: dict[str, Any] = {"hooks": self._run_hooks, "max_turns": 1000}
        if self.script.is_kept_elsewhere:
            arguments |= {"conversation_id": "conversation", "run_config": self._config()}
        else:
            arguments |= {"run_config": self._config(self._in_between)}
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

    def _in_between(self, data: CallModelData[Any]) -> ModelInputData:
        """Put the user's words from between two requests where they were said, and cut, as an input filter may."""
        items = list(data.model_data.input)
        if self.turn.steer is not None:
            self._steers.append((len(items), self.turn.steer))
        for place, text in reversed(self._steers):
            items.insert(place, _said(text))
        shown = self.in_sight(items, is_models=_is_models, say=_said)
        return ModelInputData(input=shown, instructions=data.model_data.instructions)


def _said(text: str) -> Any:
    return {"role": "user", "content": text}


def _is_models(item: Any) -> bool:
    return bool(item.get("type") == "function_call" or item.get("role") == "assistant")


class UserHooks(RunHooks[Any]):
    """Hooks of the user's."""

    def __init__(self, options: Options) -> None:
        self._options = options

    async def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
        assert self._options.user_hook is not None
        self._options.user_hook()


class PlayedModel(Model):
    """Plays the next turn."""

    def __init__(self, player: Player, role: Role | None) -> None:
        self._player = player
        self._role = role

    async def _play(self, items: Any) -> list[TResponseOutputItem]:
        player = self._player
        turn = await player.respond(entries(items, player.names), self._role)
        words = [say(turn.text)] if turn.text else []
        calls = [call(each.tool, each.arguments) for each in turn.calls]
        calls += [call(f"transfer_to_{player.agent}")] * turn.hands_over
        for each, call_id in zip(calls, player.call_ids(), strict=False):
            assert isinstance(each, ResponseFunctionToolCall)
            each.call_id = call_id
            player.names[call_id] = each.name
        return [*words, *calls]

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002
        return ModelResponse(output=await self._play(input), usage=Usage(), response_id="response")

    async def stream_response(
        self,
        system_instructions: Any,
        input: Any,  # noqa: A002
        *args: Any,
        **kwargs: Any,
    ) -> AsyncIterator[TResponseStreamEvent]:
        yield as_stream(await self._play(input))


def entries(items: Items, names: Mapping[str, str]) -> Iterator[Entry]:
    """Write a request down in the contract's terms.

    Args:
        items: The request.
        names: The names of tools by the ids of calls, for those that the request does not show.
    """
    known = dict(names)
    for item in items:
        if item.get("type") == "function_call":
            known[item["call_id"]] = item["name"]
        yield _entry(item, known)


def _entry(item: dict[str, Any], names: Mapping[str, str]) -> Entry:
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
