"""A model that plays a script and records what it was sent, request by request."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import count
from typing import Any, TypeAlias, cast
from uuid import uuid4

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, RunHooks, Runner, Usage
from agents.items import TResponseInputItem, TResponseOutputItem, TResponseStreamEvent
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from repeatguard_core import is_reminder

Request: TypeAlias = "list[dict[str, Any]]"
Turn: TypeAlias = "list[TResponseOutputItem] | Callable[[Request], list[TResponseOutputItem]]"

#: Ids must be unique in a conversation, also where processes take turns.
_PROCESS = uuid4().hex[:8]
_numbers = count(1)

both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["run", "run_streamed"])


def call(name: str, arguments: str = "{}") -> TResponseOutputItem:
    """Make a function call with an id of its own."""
    number = f"{_PROCESS}_{next(_numbers)}"
    return ResponseFunctionToolCall(
        type="function_call", id=f"fc_{number}", call_id=f"call_{number}", name=name, arguments=arguments
    )


def say(text: str) -> TResponseOutputItem:
    """Make a message."""
    return ResponseOutputMessage(
        id=f"msg_{_PROCESS}_{next(_numbers)}",
        type="message",
        role="assistant",
        status="completed",
        content=[ResponseOutputText(type="output_text", text=text, annotations=[])],
    )


def as_stream(output: list[TResponseOutputItem], response_id: str = "resp") -> TResponseStreamEvent:
    """Put a response into the event that ends its stream."""
    response = Response(
        id=response_id,
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
        self.fails: Callable[[], bool] = lambda: False
        self.response_ids: Iterator[str] | None = None

    def _play(self, items: str | list[TResponseInputItem]) -> list[TResponseOutputItem]:
        assert isinstance(items, list)
        request = cast("Request", copy.deepcopy(items))
        self.requests.append(request)
        if self.fails():
            msg = "the model is away"
            raise ConnectionError(msg)
        turn = next(self._turns)
        return turn(request) if callable(turn) else turn

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002
        output = self._play(input)
        return ModelResponse(output=output, usage=Usage(), response_id=self._response_id())

    async def stream_response(
        self,
        system_instructions: Any,
        input: Any,  # noqa: A002
        *args: Any,
        **kwargs: Any,
    ) -> AsyncIterator[TResponseStreamEvent]:
        output = self._play(input)
        yield as_stream(output, self._response_id() or "resp")

    def _response_id(self) -> str | None:
        return next(self.response_ids) if self.response_ids is not None else None


async def run_to_the_end(
    agent: Agent[Any], start: Any, hooks: RunHooks[Any] | None, *, streamed: bool = False, **options: Any
) -> Any:
    """Run an agent to its end, or to where it waits for approvals."""
    options = {"max_turns": 50, "run_config": RunConfig(tracing_disabled=True), **options}
    if not streamed:
        return await Runner.run(agent, start, hooks=hooks, **options)
    result = Runner.run_streamed(agent, start, hooks=hooks, **options)
    async for _ in result.stream_events():
        pass
    return result


def reminders(request: Request) -> list[tuple[int, str]]:
    """List the reminders in a request, with their places."""
    texts = [(index, item.get("content")) for index, item in enumerate(request) if item.get("role") == "user"]
    return [(index, text) for index, text in texts if isinstance(text, str) and is_reminder(text)]
