"""A model that gives the responses it was told, and keeps what it was sent."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any

from pydantic_ai.messages import (
    BaseToolReturnPart,
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from repeatguard_core import is_reminder

_NUMBERS = itertools.count(1)


def call(tool: str, arguments: str | dict[str, Any] | None = '{"q": 1}') -> ToolCallPart:
    """Make a call."""
    return ToolCallPart(tool, arguments, tool_call_id=f"call_{next(_NUMBERS)}")


Responds = Callable[[list[ModelMessage]], Awaitable[Sequence[ModelResponsePart]]]


def model_that(responds: Responds) -> FunctionModel:
    """Make a model from a function, for plain and for streamed responses."""

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=list(await responds(messages)))

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        for number, part in enumerate(await responds(messages)):
            if isinstance(part, TextPart):
                yield part.content
            elif isinstance(part, ToolCallPart):
                arguments = part.args_as_json_str() if isinstance(part.args, dict) else part.args
                yield {number: DeltaToolCall(part.tool_name, arguments, tool_call_id=part.tool_call_id)}

    return FunctionModel(respond, stream_function=stream)


class ScriptedModel:
    """Gives its responses one by one, and says "done" when there are none left.

    Args:
        responses: Each a text, a call, or several of them.
        fails_at: The number of the request that is not answered.
    """

    def __init__(self, *responses: Any, fails_at: int | None = None) -> None:
        self.requests: list[list[str]] = []
        self._responses = iter(responses)
        self._fails_at = fails_at
        self.model = model_that(self._respond)

    async def _respond(self, messages: list[ModelMessage]) -> Sequence[ModelResponsePart]:
        self.requests.append(lines(messages))
        if len(self.requests) == self._fails_at:
            raise ConnectionError
        response = next(self._responses, "done")
        parts: Iterable[Any] = response if isinstance(response, list) else [response]
        return [TextPart(part) if isinstance(part, str) else part for part in parts]

    @property
    def reminders(self) -> list[list[int]]:
        """For each request, where in it reminders stand."""
        return [[i for i, line in enumerate(request) if is_reminder(line)] for request in self.requests]


def lines(messages: Sequence[ModelMessage]) -> list[str]:
    """Write messages down, a line for each part: a result, a call, or the text itself."""
    return [_line(part) for message in messages for part in message.parts]


def _line(part: Any) -> str:
    if isinstance(part, UserPromptPart):
        return text_of(part)
    if isinstance(part, BaseToolReturnPart) or part.part_kind == "retry-prompt":
        return f"result: {part.content}"
    if isinstance(part, ToolCallPart):
        return f"call: {part.tool_name} {part.args}"
    return str(getattr(part, "content", part))


def text_of(part: UserPromptPart) -> str:
    """Give the text of what a user said, or a reminder said."""
    content = [part.content] if isinstance(part.content, str) else part.content
    return "\n".join(str(getattr(item, "content", item)) for item in content)
