"""The turns of a script in the words of Google's generateContent, whole and in chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.wire.turns import JsonObject, Turn, new_id, pieces

__all__ = ["answer_chunks", "generated_answer"]


def generated_answer(turn: Turn, model: str) -> JsonObject:
    """Make an answer; a call's arguments have to be those of an object, or nothing."""
    parts = [{"text": turn}] if isinstance(turn, str) else [_call(name, arguments) for name, arguments in turn]
    return {
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": model,
        "responseId": new_id("response-"),
    }


def answer_chunks(whole: JsonObject) -> Iterator[JsonObject]:
    """Take an answer apart into the chunks that a stream of it has: texts in pieces, calls whole."""
    (candidate,) = whole["candidates"]
    (*earlier, last) = [piece for part in candidate["content"]["parts"] for piece in _pieces_of(part)]
    for part in earlier:
        content = {"parts": [part], "role": "model"}
        yield {**whole, "candidates": [{"content": content, "index": 0}]}
    yield {**whole, "candidates": [{**candidate, "content": {"parts": [last], "role": "model"}}]}


def _pieces_of(part: JsonObject) -> list[JsonObject]:
    return [{"text": piece} for piece in pieces(part["text"])] if part.get("text") else [part]


def _call(name: str, arguments: str) -> JsonObject:
    return {"functionCall": {"id": new_id("call-"), "name": name, "args": json.loads(arguments or "{}")}}
