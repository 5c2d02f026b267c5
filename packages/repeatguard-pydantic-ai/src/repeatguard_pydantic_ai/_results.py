"""The results of calls, in a form in which equal results are equal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from pydantic_ai.messages import (
    BaseToolReturnPart,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextContent,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

__all__ = ["is_result", "result_of"]

#: What of an error's details is the error. The rest echoes the arguments, in the model's spelling.
_OF_AN_ERROR: Final = ("type", "loc", "msg")


def is_result(part: ModelRequestPart | ModelResponsePart) -> bool:
    """Return whether a part is the result of a tool, or what the framework says instead of one."""
    return isinstance(part, BaseToolReturnPart) or (part.part_kind == "retry-prompt" and part.tool_name is not None)


def result_of(part: Any, words: Sequence[UserContent]) -> object:
    """Return what the model is told about a call, in a form in which equal results are equal.

    A result is its outcome and its content. Ids, times and what only the application can see are
    left out. The same comes out of a history that has been stored as JSON.

    Args:
        part: The result.
        words: What tools returned for the model beside their results.

    Returns:
        The result; None if it is not known.
    """
    # What cannot be stored cannot be compared either; a serializer of the application's may raise anything.
    with suppress(Exception):
        return _result(part, [_as_stored(_without_metadata(words))] if words else [])
    return None


def _result(part: Any, beside: Sequence[object]) -> object:
    outcome = getattr(part, "outcome", "retried")  # a prompt to retry has none
    if outcome == "interrupted":
        return None
    content = part.content
    if outcome == "retried" and _are_errors(content):
        content = sorted(map(_error, content), key=repr)
    elif type(content) is not str:
        content = _as_stored(part)
    is_plain = outcome == "success" and isinstance(content, str) and not beside
    return content if is_plain else [outcome, content, *beside]


def _are_errors(content: object) -> bool:
    """Return whether a content is the details of errors in arguments."""
    return isinstance(content, list) and all(
        isinstance(each, Mapping) and all(name in each for name in _OF_AN_ERROR) for each in content
    )


def _error(details: Mapping[str, Any]) -> list[object]:
    # Where text is not JSON, the message says at which of its characters, white space included.
    message = None if details["type"] == "json_invalid" else details["msg"]
    return [details["type"], list(details["loc"]), message]


def _as_stored(part: Any) -> Any:
    """Return a part's content as the framework stores it."""
    holder: Any = ModelRequest if isinstance(part, ToolReturnPart | UserPromptPart) else ModelResponse
    (message,) = json.loads(ModelMessagesTypeAdapter.dump_json([holder([part])], warnings=False))
    return message["parts"][0]["content"]


def _without_metadata(words: Sequence[UserContent]) -> UserPromptPart:
    """Leave out what the model is not sent."""
    return UserPromptPart([item.content if isinstance(item, TextContent) else item for item in words])
