"""Asking a guard about one request, without a run."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from repeatguard_pydantic_ai import RepeatGuard, RepeatGuardConfig, RepeatGuardProcessor

from tests.pydantic_ai.agents import marks_in

MODEL = TestModel()
T = TypeVar("T")


@dataclass(frozen=True)
class Added:
    """A reminder that a guard has added to a request."""

    index: int
    message: ModelRequest
    count: int


def sent(guard: Any, messages: list[ModelMessage], ctx: Any = None) -> Sequence[ModelMessage]:
    """Return what the model is sent when a request is made with these messages."""
    ctx = context(messages) if ctx is None else ctx
    if isinstance(guard, RepeatGuardProcessor):
        return _result_of(guard(ctx, messages))
    request_context: ModelRequestContext = _result_of(guard.before_model_request(ctx, request(messages)))
    return request_context.messages


def added(guard: Any, messages: Sequence[ModelMessage], run: str = "run") -> Added | None:
    """Return what a guard adds to a request."""
    complete = sent(guard, list(messages), context(list(messages), run))
    new = [(i, each) for i, each in enumerate(complete) if all(each is not message for message in messages)]
    if not new:
        return None
    ((index, message),) = new
    assert isinstance(message, ModelRequest)
    (mark,) = marks_in([message])
    return Added(index, message, mark["count"])


def find(*messages: ModelMessage, **settings: Any) -> Added | None:
    """Return what both forms of the guard add to a request of which nothing is known but its messages."""
    config = RepeatGuardConfig(**settings)
    one, other = [added(form(config), messages) for form in (RepeatGuardProcessor, RepeatGuard)]
    assert (one and (one.index, one.count)) == (other and (other.index, other.count))
    return one


def note(guard: RepeatGuard[Any], response: ModelMessage, run: str = "run") -> None:
    """Let a guard know of a response."""
    assert isinstance(response, ModelResponse)
    _result_of(guard.after_model_request(context([], run), request_context=request([]), response=response))


def context(messages: list[ModelMessage], run: str = "run") -> RunContext[None]:
    """Make a run's context."""
    return RunContext(deps=None, model=MODEL, usage=RunUsage(), messages=messages, run_id=run)


def request(messages: list[ModelMessage]) -> ModelRequestContext:
    """Make a request."""
    parameters = ModelRequestParameters()
    return ModelRequestContext(model=MODEL, messages=messages, model_settings=None, model_request_parameters=parameters)


def _result_of(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run what waits for nothing, inside a loop or outside."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise NotImplementedError
