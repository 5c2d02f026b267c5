"""Anthropic's Messages, as it is and in beta."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from anthropic.types.beta.message_create_params import MessageCreateParams as BetaMessageCreateParams
from anthropic.types.message_create_params import MessageCreateParams

from tests.wire.anthropic_answers import message, message_events
from tests.wire.anthropic_order import check_messages, check_texts
from tests.wire.api import Api
from tests.wire.shapes import check_shape
from tests.wire.turns import JsonObject, new_id

__all__ = ["BETA_MESSAGES", "MESSAGES"]


def _check(expected: Any, body: JsonObject) -> None:
    check_shape(body, expected)
    system = body.get("system", ())
    if not isinstance(system, str):
        check_texts(system, "system")
    check_messages(body["messages"])


def _stream(whole: JsonObject, _: JsonObject) -> Iterator[str]:
    for event in message_events(whole):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _error(status: int, message: str, param: str) -> JsonObject:
    kind = "invalid_request_error" if status < 500 else "api_error"
    said = f"{param}: {message}" if param else message
    return {"type": "error", "error": {"type": kind, "message": said}, "request_id": new_id("req_")}


MESSAGES = Api(partial(_check, MessageCreateParams), message, _stream, _error)
BETA_MESSAGES = MESSAGES._replace(check=partial(_check, BetaMessageCreateParams))
