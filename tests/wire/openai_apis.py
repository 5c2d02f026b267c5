"""OpenAI's Responses and Chat Completions."""

from __future__ import annotations

import json
from collections.abc import Iterator

from openai.types.chat.completion_create_params import CompletionCreateParams
from openai.types.responses.response_create_params import ResponseCreateParams

from tests.wire.api import Api
from tests.wire.openai_answers import chat_chunks, chat_completion, response, response_events
from tests.wire.openai_order import check_items, check_messages
from tests.wire.shapes import Refusal, check_shape
from tests.wire.turns import JsonObject

__all__ = ["CHAT", "RESPONSES"]


def _check_responses(body: JsonObject) -> None:
    check_shape(body, ResponseCreateParams)
    if body.get("conversation") or body.get("previous_response_id"):
        message = "Nothing is kept here: there is no earlier response or conversation."
        raise Refusal(message, "previous_response_id")
    if not isinstance(body.get("input"), str):
        check_items(body.get("input", ()))


def _stream_responses(whole: JsonObject, _: JsonObject) -> Iterator[str]:
    for event in response_events(whole):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _check_chat(body: JsonObject) -> None:
    check_shape(body, CompletionCreateParams)
    check_messages(body["messages"])


def _stream_chat(whole: JsonObject, body: JsonObject) -> Iterator[str]:
    options = body.get("stream_options") or {}
    for chunk in chat_chunks(whole, with_usage=bool(options.get("include_usage"))):
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"


def _error(status: int, message: str, param: str) -> JsonObject:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": param or None, "code": None}}


RESPONSES = Api(_check_responses, response, _stream_responses, _error)
CHAT = Api(_check_chat, chat_completion, _stream_chat, _error)
