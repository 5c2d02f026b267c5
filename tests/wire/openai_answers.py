"""The turns of a script in the words of the Responses API and of Chat Completions, whole and in events."""

from __future__ import annotations

from collections.abc import Iterator

from tests.wire.turns import JsonObject, Turn, new_id, pieces

__all__ = ["chat_chunks", "chat_completion", "response", "response_events"]


def response(turn: Turn, model: str) -> JsonObject:
    """Make a response of the Responses API."""
    output = [_message(turn)] if isinstance(turn, str) else [_call(name, arguments) for name, arguments in turn]
    return {
        "id": new_id("resp_"),
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }


def response_events(whole: JsonObject) -> Iterator[JsonObject]:
    """Take a response apart into the events that a stream of it has."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[JsonObject] = [{"type": f"response.{step}", "response": begun} for step in ("created", "in_progress")]
    for index, item in enumerate(whole["output"]):
        parts = _message_events(item) if item["type"] == "message" else _call_events(item)
        events.extend({**event, "output_index": index} for event in parts)
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


def chat_completion(turn: Turn, model: str) -> JsonObject:
    """Make a completion of Chat Completions."""
    message: JsonObject = {"role": "assistant", "content": None, "refusal": None}
    if isinstance(turn, str):
        message["content"] = turn
    else:
        message["tool_calls"] = [
            {"id": new_id("call_"), "type": "function", "function": {"name": name, "arguments": arguments}}
            for name, arguments in turn
        ]
    reason = "stop" if isinstance(turn, str) else "tool_calls"
    return {
        "id": new_id("chatcmpl-"),
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def chat_chunks(whole: JsonObject, *, with_usage: bool) -> Iterator[JsonObject]:
    """Take a completion apart into the chunks that a stream of it has."""
    (choice,) = whole["choices"]
    frame = {**whole, "object": "chat.completion.chunk"}
    del frame["usage"]
    for delta in _deltas(choice["message"]):
        yield {**frame, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}]}
    yield {**frame, "choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": choice["finish_reason"]}]}
    if with_usage:
        yield {**frame, "choices": [], "usage": whole["usage"]}


def _deltas(message: JsonObject) -> Iterator[JsonObject]:
    yield {"role": "assistant", "content": None, "refusal": None}
    for piece in pieces(message["content"] or ""):
        yield {"content": piece}
    for index, call in enumerate(message.get("tool_calls", ())):
        begun = {**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
        yield {"tool_calls": [begun]}
        for piece in pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _call(name: str, arguments: str) -> JsonObject:
    ids = {"id": new_id("fc_"), "call_id": new_id("call_")}
    return {"type": "function_call", **ids, "name": name, "arguments": arguments, "status": "completed"}


def _message(text: str) -> JsonObject:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    return {
        "type": "message",
        "id": new_id("msg_"),
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def _call_events(item: JsonObject) -> Iterator[JsonObject]:
    begun = {**item, "arguments": "", "status": "in_progress"}
    at: JsonObject = {"item_id": item["id"]}
    yield {"type": "response.output_item.added", "item": begun}
    for piece in pieces(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", "delta": piece, **at}
    done = {"name": item["name"], "arguments": item["arguments"]}
    yield {"type": "response.function_call_arguments.done", **done, **at}
    yield {"type": "response.output_item.done", "item": item}


def _message_events(item: JsonObject) -> Iterator[JsonObject]:
    (part,) = item["content"]
    at: JsonObject = {"item_id": item["id"], "content_index": 0}
    yield {"type": "response.output_item.added", "item": {**item, "status": "in_progress", "content": []}}
    yield {"type": "response.content_part.added", "part": {**part, "text": ""}, **at}
    for piece in pieces(part["text"]):
        yield {"type": "response.output_text.delta", "delta": piece, "logprobs": [], **at}
    yield {"type": "response.output_text.done", "text": part["text"], "logprobs": [], **at}
    yield {"type": "response.content_part.done", "part": part, **at}
    yield {"type": "response.output_item.done", "item": item}
