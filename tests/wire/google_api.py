"""Google's generateContent and streamGenerateContent, as Gemini's API has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from google.genai import types
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from tests.wire.api import Api
from tests.wire.google_answers import answer_chunks, generated_answer
from tests.wire.google_order import check_contents
from tests.wire.shapes import Refusal
from tests.wire.turns import JsonObject

__all__ = ["GENERATE", "STREAM_GENERATE"]


class _Request(BaseModel):
    """The body of a request; the client declares a type for everything in it, and none for the whole."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    contents: list[types.Content]
    system_instruction: types.Content | None = None
    tools: list[types.Tool] | None = None
    tool_config: types.ToolConfig | None = None
    safety_settings: list[types.SafetySetting] | None = None
    generation_config: types.GenerationConfig | None = None
    cached_content: str | None = None


def _check(body: JsonObject) -> None:
    try:
        request = _Request.model_validate(body)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise Refusal(_words(wrong["type"], wrong["msg"], wrong["loc"]), _place(wrong["loc"])) from error
    check_contents(request.contents)


def _words(kind: str, message: str, path: tuple[int | str, ...]) -> str:
    if kind == "extra_forbidden":
        return f"Unknown name '{path[-1]}' at '{_place(path[:-1])}'."
    return f"Invalid value at '{_place(path)}': {message}."


def _place(path: tuple[int | str, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _stream(whole: JsonObject, _: JsonObject) -> Iterator[str]:
    for chunk in answer_chunks(whole):
        yield f"data: {json.dumps(chunk)}\r\n\r\n"


def _error(status: int, message: str, param: str) -> JsonObject:
    error: dict[str, Any] = {"code": status, "message": message}
    error["status"] = "INVALID_ARGUMENT" if status < 500 else "INTERNAL"
    if param:
        violations = [{"field": param, "description": message}]
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]
    return {"error": error}


GENERATE = Api(_check, generated_answer, _stream, _error)
STREAM_GENERATE = GENERATE._replace(always_streams=True)
