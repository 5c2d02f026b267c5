"""A model that plays a script and records what it was sent, request by request."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import count
from typing import Any, TypeAlias, cast

from agents import Model, ModelResponse, Usage
from agents.items import TResponseInputItem, TResponseOutputItem, TResponseStreamEvent
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

Request: TypeAlias = "list[dict[str, Any]]"
Turn: TypeAlias = "list[TResponseOutputItem] | Callable[[Request], list[TResponseOutputItem]]"

_numbers = count(1)


def call(name: str, arguments: str = "{}") -> TResponseOutputItem:
    """Make a function call with an id of its own."""
    number = next(_numbers)
    return ResponseFunctionToolCall(
        type="function_call", id=f"fc_{number}", call_id=f"call_{number}", name=name, arguments=arguments
    )


def say(text: str) -> TResponseOutputItem:
    """Make a message."""
    return ResponseOutputMessage(
        id=f"msg_{next(_numbers)}",
        type="message",
        role="assistant",
        status="completed",
        content=[ResponseOutputText(type="output_text", text=text, annotations=[])],
    )


def as_stream(output: list[TResponseOutputItem]) -> TResponseStreamEvent:
    """Put a response into the event that ends its stream."""
    response = Response(
        id="resp",
        created_at=0,
        model="scripted",
        object="response",
        output=output,
        tool_choice="auto",
        tools=[],
        parallel_tool_calls=True,
    )
    return ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


class ScriptedModel(Model):
    """Answers each request with the next turn of a script."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self._turns = iter(turns)
        self.requests: list[Request] = []

    def _play(self, items: str | list[TResponseInputItem]) -> list[TResponseOutputItem]:
        assert isinstance(items, list)
        request = cast("Request", copy.deepcopy(items))
        self.requests.append(request)
        turn = next(self._turns)
        return turn(request) if callable(turn) else turn

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002
        return ModelResponse(output=self._play(input), usage=Usage(), response_id=None)

    async def stream_response(
        self,
        system_instructions: Any,
        input: Any,  # noqa: A002
        *args: Any,
        **kwargs: Any,
    ) -> AsyncIterator[TResponseStreamEvent]:
        yield as_stream(self._play(input))
