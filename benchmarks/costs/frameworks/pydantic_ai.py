"""Requests and runs in Pydantic AI."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Final

from pydantic_ai import Agent, RunContext, Tool, UsageLimits
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from repeatguard_pydantic_ai import RepeatGuard, RepeatGuardConfig, RepeatGuardProcessor

from benchmarks.costs.histories import LAST, Answer, Call, Result, Step, User, conversation, turn
from benchmarks.costs.rounds import Subject, at_once
from benchmarks.costs.scripts import Script

__all__ = ["NAME", "dumping", "new_guard", "requesting", "run", "sent", "user_texts"]

NAME: Final = "Pydantic AI"
_MODEL: Final = TestModel()
_RUN: Final = "run"
#: How many histories to keep ready at a time.
_MOST: Final = 100


def _message(step: Step) -> ModelMessage:
    if isinstance(step, User):
        return ModelRequest([UserPromptPart(step.text)], run_id=_RUN)
    if isinstance(step, Answer):
        return ModelResponse([TextPart(step.text)], run_id=_RUN)
    if isinstance(step, Call):
        return ModelResponse([ToolCallPart(step.name, step.arguments, step.id)], run_id=_RUN)
    return ModelRequest([ToolReturnPart(step.name, step.text, step.id)], run_id=_RUN)


def _request(messages: list[ModelMessage]) -> tuple[RunContext[None], ModelRequestContext]:
    """Make what the framework hands to a capability."""
    context: RunContext[None] = RunContext(deps=None, model=_MODEL, usage=RunUsage(), messages=messages, run_id=_RUN)
    return context, ModelRequestContext(
        model=_MODEL, messages=list(messages), model_settings=None, model_request_parameters=ModelRequestParameters()
    )


def user_texts(request: Sequence[ModelMessage]) -> Iterator[str]:
    """Give what a request has with the user's role."""
    parts = (part for message in request for part in message.parts if isinstance(part, UserPromptPart))
    for part in parts:
        for item in [part.content] if isinstance(part.content, str) else part.content:
            if isinstance(item, str | TextContent):
                yield item if isinstance(item, str) else item.content


def sent(guard: RepeatGuard[None], steps: Sequence[Step]) -> Iterator[list[ModelMessage]]:
    """Let the guard see a conversation grow, and give each request as the model is sent it.

    Args:
        guard: The guard.
        steps: The conversation.
    """
    messages: list[ModelMessage] = []
    guard = _for_run(guard)
    for step in steps:
        messages.append(_message(step))
        if isinstance(step, Result):
            yield at_once(guard.before_model_request(*_request(messages))).messages


def _for_run(guard: RepeatGuard[None]) -> RepeatGuard[None]:
    return at_once(guard.for_run(_request([])[0]))


def _history(steps: Sequence[Step]) -> list[ModelMessage]:
    """Make a history with the reminders where the framework keeps them."""
    *_, last = sent(new_guard(), steps)
    return last


def dumping(messages: int) -> Subject[Any]:
    """Write the messages as JSON, which is the least that sending them takes."""
    written = ModelMessagesTypeAdapter.dump_python(_history(conversation(messages)), mode="json")
    return Subject(lambda count: [written] * count, json.dumps, max(1, 10_000 // messages))


def requesting(messages: int) -> dict[str, Subject[Any]]:
    """Prepare requests with the guard in both forms.

    Args:
        messages: How many messages the history has, reminders aside.
    """
    history = _history(conversation(messages))
    more = [_message(step) for step in turn(LAST + 1)]
    processor = RepeatGuardProcessor()

    def started(count: int) -> list[Any]:
        return [(_for_run(new_guard()), *_request(list(history))) for _ in range(count)]

    def gone_on(count: int) -> list[Any]:
        inputs: list[Any] = []
        for guard, *earlier in started(count):
            at_once(guard.before_model_request(*earlier))
            inputs.append((guard, *_request([*history, *more])))
        return inputs

    def request(inputs: tuple[RepeatGuard[None], RunContext[None], ModelRequestContext]) -> None:
        guard, context, asked = inputs
        at_once(guard.before_model_request(context, asked))

    def process(inputs: tuple[RunContext[None], ModelRequestContext]) -> None:
        context, asked = inputs
        at_once(processor(context, asked.messages))

    return {
        "`RepeatGuard`, first request": Subject(started, request, _MOST),
        "`RepeatGuard`, next request": Subject(gone_on, request, _MOST),
        "`RepeatGuardProcessor`": Subject(
            lambda count: [_request([*history, *more]) for _ in range(count)], process, _MOST
        ),
    }


async def _respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    await asyncio.sleep(0)  # other runs take their turns while a model is asked
    script = _SCRIPT.get()
    call = script.next()
    if call is None:
        return ModelResponse([TextPart(script.answer(user_texts(messages)))])
    return ModelResponse([ToolCallPart(call.name, call.arguments, call.id)])


async def _search_file(path: str, query: str, start_line: int) -> str:  # noqa: ARG001 - the script knows the result
    """Search a file."""
    return _SCRIPT.get().result()


_SCRIPT: Final[ContextVar[Script]] = ContextVar("_SCRIPT")
_PLAYER: Final[Agent[None]] = Agent(
    FunctionModel(_respond), tools=[Tool(_search_file, name="search_file")], deps_type=type(None)
)


def new_guard(config: RepeatGuardConfig | None = None) -> RepeatGuard[None]:
    """Make the guard."""
    return RepeatGuard(config)


async def run(script: Script, guard: RepeatGuard[None] | None) -> None:
    """Run an agent to its answer.

    Args:
        script: What its model plays.
        guard: The guard; None to run without one.
    """
    _SCRIPT.set(script)
    limits = UsageLimits(request_limit=None)
    await _PLAYER.run("Where is it?", usage_limits=limits, capabilities=None if guard is None else [guard])
