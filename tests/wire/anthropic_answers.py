"""The turns of a script in the words of Anthropic's Messages, whole and in events."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.wire.turns import JsonObject, Turn, new_id, pieces

__all__ = ["message", "message_events"]


def message(turn: Turn, model: str) -> JsonObject:
    """Make a message; a call's arguments have to be those of an object, or nothing."""
    is_text = isinstance(turn, str)
    return {
        "id": new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [_text(turn)] if isinstance(turn, str) else [_call(name, arguments) for name, arguments in turn],
        "stop_reason": "end_turn" if is_text else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def message_events(whole: JsonObject) -> Iterator[JsonObject]:
    """Take a message apart into the events that a stream of it has."""
    begun = {**whole, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(whole["content"]):
        begun_block, deltas = _apart(block)
        yield {"type": "content_block_start", "index": index, "content_block": begun_block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": whole["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def _apart(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    given = json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
    # The first piece is an empty one, and the only one of a call without arguments.
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(given))]
    return {**block, "input": {}}, deltas


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text, "citations": None}


def _call(name: str, arguments: str) -> JsonObject:
    return {"type": "tool_use", "id": new_id("toolu_"), "name": name, "input": json.loads(arguments or "{}")}
