"""Requests and runs in Pydantic AI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from repeatguard_pydantic_ai import RepeatGuard, RepeatGuardProcessor

from benchmarks.costs.histories import LAST, Answer, Call, Result, Step, User, conversation, turn
from benchmarks.costs.rounds import Subject, at_once

__all__ = ["NAME", "dumping", "requesting"]

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


def _new_guard() -> RepeatGuard[None]:
    guard: RepeatGuard[None] = RepeatGuard()
    return _for_run(guard)


def _for_run(guard: RepeatGuard[None]) -> RepeatGuard[None]:
    return at_once(guard.for_run(_request([])[0]))


def _history(steps: Sequence[Step]) -> list[ModelMessage]:
    """Let a guard see a conversation grow, so that its reminders stand where the framework keeps them."""
    messages: list[ModelMessage] = []
    guard = _new_guard()
    for step in steps:
        messages.append(_message(step))
        if isinstance(step, Result):
            at_once(guard.before_model_request(*_request(messages)))
    return messages


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
        return [(_new_guard(), *_request(list(history))) for _ in range(count)]

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
