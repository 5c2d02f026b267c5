"""What the model is told that came of a call, in a form in which equal results are equal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any, Final

from pydantic_ai.messages import (
    BaseToolReturnPart,
    ModelMessage,
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

__all__ = ["is_result", "results"]

#: What of an error's details is the error. The rest echoes the arguments, in the model's spelling.
_OF_AN_ERROR: Final = ("type", "loc", "msg")


def is_result(part: ModelRequestPart | ModelResponsePart) -> bool:
    """Tell whether a part is the result of a tool, or what the framework says in its place."""
    return isinstance(part, BaseToolReturnPart) or (part.part_kind == "retry-prompt" and part.tool_name is not None)


def results(
    messages: Iterable[ModelMessage], wanted: AbstractSet[str], words: Sequence[UserContent]
) -> dict[str, object]:
    """Give what came of the calls of a response.

    A result is its outcome and its content; ids, times and what only the application can see are
    left out. The same comes out of a history that has been stored as JSON.

    Args:
        messages: The response, and the requests that answer it.
        wanted: The ids of the calls whose results are to be given.
        words: What tools returned for the model beside their results. Nothing says which of the
            calls it belongs to, so it is taken for a part of each one's result.

    Returns:
        The results by the calls' ids, without those that are not known.
    """
    parts: list[Any] = [part for message in messages for part in message.parts if is_result(part)]
    found: dict[str, Any] = {part.tool_call_id: part for part in parts if part.tool_call_id in wanted}
    known: dict[str, object] = {}
    # What cannot be stored cannot be compared either; a serializer of the application's may raise anything.
    with suppress(Exception):
        beside = [_as_stored(_without_metadata(words))] if words else []
        for call_id, part in found.items():
            with suppress(Exception):
                known[call_id] = _result(part, beside)
    return known


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
    """Tell whether a content is the details of errors in arguments."""
    return isinstance(content, list) and all(
        isinstance(each, Mapping) and all(name in each for name in _OF_AN_ERROR) for each in content
    )


def _error(details: Mapping[str, Any]) -> list[object]:
    # Where text is not JSON, the message says at which of its characters, white space included.
    message = None if details["type"] == "json_invalid" else details["msg"]
    return [details["type"], list(details["loc"]), message]


def _as_stored(part: Any) -> Any:
    """Give a part's content as the framework stores it."""
    holder: Any = ModelRequest if isinstance(part, ToolReturnPart | UserPromptPart) else ModelResponse
    (message,) = json.loads(ModelMessagesTypeAdapter.dump_json([holder([part])], warnings=False))
    return message["parts"][0]["content"]


def _without_metadata(words: Sequence[UserContent]) -> UserPromptPart:
    """Leave out what the model is not sent."""
    return UserPromptPart([item.content if isinstance(item, TextContent) else item for item in words])
