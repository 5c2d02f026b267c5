"""Requests and runs in the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Final

from agents import Agent, Model, ModelResponse, RunConfig, RunContextWrapper, Runner, Usage, function_tool
from agents.items import MessageOutputItem, ToolCallItem, ToolCallOutputItem, TResponseOutputItem
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from repeatguard_openai_agents import RepeatGuardConfig, RepeatGuardHooks

from benchmarks.costs.histories import LAST, Answer, Call, Result, Step, User, conversation, turn
from benchmarks.costs.rounds import Subject, at_once
from benchmarks.costs.scripts import Script

__all__ = ["NAME", "dumping", "new_guard", "requesting", "run", "sent", "user_texts"]

NAME: Final = "OpenAI Agents SDK"
_AGENT: Final[Agent[Any]] = Agent(name="worker")


def called(call: Call) -> ResponseFunctionToolCall:
    """Make a call as the model's response has it."""
    return ResponseFunctionToolCall(
        type="function_call",
        id=f"fc_{call.id}",
        call_id=call.id,
        name=call.name,
        arguments=call.arguments,
        status="completed",
    )


def said(text: str) -> ResponseOutputMessage:
    """Make an answer as the model's response has it."""
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="msg_1", type="message", role="assistant", status="completed", content=[content])


def response(output: TResponseOutputItem) -> ModelResponse:
    """Make a response."""
    return ModelResponse(output=[output], usage=Usage(), response_id=None)


class _Kept:
    """A conversation as the SDK keeps it, which makes fresh items of it for every request."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._items = [_kept(step) for step in steps]

    def items(self) -> list[Any]:
        return [dict(item) if isinstance(item, dict) else item.to_input_item() for item in self._items]


def _kept(step: Step) -> Any:
    if isinstance(step, User):
        return {"role": "user", "content": step.text}
    if isinstance(step, Answer):
        return MessageOutputItem(_AGENT, said(step.text))
    if isinstance(step, Call):
        return ToolCallItem(_AGENT, called(step))
    output: Any = {"type": "function_call_output", "call_id": step.id, "output": step.text}
    return ToolCallOutputItem(_AGENT, output, step.text)


def user_texts(request: Sequence[Any]) -> Iterator[str]:
    """Give what a request has with the user's role."""
    return (item["content"] for item in request if item.get("role") == "user")


def sent(guard: RepeatGuardHooks, steps: Sequence[Step]) -> Iterator[list[Any]]:
    """Let the guard see a conversation grow, and give each request as the model is sent it.

    Args:
        guard: The guard.
        steps: The conversation.
    """
    context = RunContextWrapper(None)
    for place, step in enumerate(steps, 1):
        if isinstance(step, Call):
            at_once(guard.on_llm_end(context, _AGENT, response(called(step))))
        elif isinstance(step, Result):
            items = _Kept(steps[:place]).items()
            at_once(guard.on_llm_start(context, _AGENT, None, items))
            yield items


def dumping(messages: int) -> Subject[Any]:
    """Write the items as JSON, which is the least that sending them takes."""
    kept = _Kept(conversation(messages))
    return Subject(lambda count: [kept.items() for _ in range(count)], json.dumps, max(1, 10_000 // messages))


def requesting(messages: int) -> dict[str, Subject[Any]]:
    """Prepare requests with the guard's hooks: when nothing is known of the run, and after an earlier request.

    Args:
        messages: How many items the conversation has.
    """
    hooks = RepeatGuardHooks()
    steps = conversation(messages)
    call, result = turn(LAST + 1)
    before, after = _Kept(steps), _Kept([*steps, call, result])

    def started(count: int) -> list[Any]:
        return [(RunContextWrapper(None), before.items()) for _ in range(count)]

    def gone_on(count: int) -> list[Any]:
        inputs: list[Any] = []
        for context, items in started(count):
            request((context, items))
            at_once(hooks.on_llm_end(context, _AGENT, response(called(call))))
            inputs.append((context, after.items()))
        return inputs

    def request(inputs: tuple[RunContextWrapper[Any], list[Any]]) -> None:
        context, items = inputs
        at_once(hooks.on_llm_start(context, _AGENT, None, items))

    most = max(1, 2_000 // messages)
    return {
        "`RepeatGuardHooks`, first request": Subject(started, request, most),
        "`RepeatGuardHooks`, next request": Subject(gone_on, request, most),
    }


class _PlayedModel(Model):
    """Plays the run's script."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002, ARG002 - the SDK's names
        await asyncio.sleep(0)  # other runs take their turns while a model is asked
        script = _SCRIPT.get()
        call = script.next()
        if call is not None:
            return response(called(call))
        return response(said(script.answer(user_texts(input))))

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


@function_tool(name_override="search_file")
async def _search_file(path: str, query: str, start_line: int) -> str:  # noqa: ARG001 - the script knows the result
    """Search a file."""
    return _SCRIPT.get().result()


_SCRIPT: Final[ContextVar[Script]] = ContextVar("_SCRIPT")
_PLAYER: Final[Agent[Any]] = Agent(name="worker", model=_PlayedModel(), tools=[_search_file])


def new_guard(config: RepeatGuardConfig | None = None) -> RepeatGuardHooks:
    """Make the guard."""
    return RepeatGuardHooks(config)


async def run(script: Script, guard: RepeatGuardHooks | None) -> None:
    """Run an agent to its answer.

    Args:
        script: What its model plays.
        guard: The guard; None to run without one.
    """
    _SCRIPT.set(script)
    config = RunConfig(tracing_disabled=True)
    await Runner.run(_PLAYER, "Where is it?", hooks=guard, max_turns=script.requests, run_config=config)
