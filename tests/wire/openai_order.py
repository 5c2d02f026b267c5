"""What must stand behind a call before anything else may: its result, and those of the calls beside it.

Chat Completions has this rule at OpenAI. For the Responses API, OpenAI is reported to want no more
than that each call has its output somewhere behind it, while others that serve the same API refuse
any message between the two. A conversation is to be good for all of them, so
the strict ones are imitated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tests.wire.shapes import Refusal

__all__ = ["check_items", "check_messages"]

#: What answers what.
_OUTPUT_OF: Final[Mapping[str, str]] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}
_CALL_OF: Final[Mapping[str, str]] = {output: call for call, output in _OUTPUT_OF.items()}


def check_items(items: Iterable[Mapping[str, Any]]) -> None:
    """Check the `input` of a request to the Responses API.

    Raises:
        Refusal: A call has no output, an output has no call, or something stands between them that
            is neither of the same response nor an output.
    """
    seen: set[str] = set()
    waiting: dict[str, str] = {}
    is_answering = False
    for index, item in enumerate(items):
        kind, call_id = str(item.get("type") or "message"), str(item.get("call_id"))
        place = f"input[{index}]"
        if kind in _CALL_OF:
            if waiting.get(call_id) != _CALL_OF[kind]:
                words = _CALL_OF[kind].replace("_", " ")
                message = f"No {words.replace('function', 'tool')} found for {words} output with call_id {call_id}."
                raise Refusal(message, place)
            del waiting[call_id]
            is_answering = True
            continue
        if waiting and (is_answering or not (kind.endswith("_call") or kind == "reasoning")):
            _refuse_unanswered(waiting, place)
        is_answering = False
        if kind in _OUTPUT_OF:
            if call_id in seen:
                message = f"Duplicate call_id {call_id}."
                raise Refusal(message, place)
            seen.add(call_id)
            waiting[call_id] = kind
    if waiting:
        _refuse_unanswered(waiting, "input")


def _refuse_unanswered(waiting: Mapping[str, str], place: str) -> None:
    call_id, kind = next(iter(waiting.items()))
    message = f"No tool output found for {kind.replace('_', ' ')} {call_id}."
    raise Refusal(message, place)


def check_messages(messages: Iterable[Mapping[str, Any]]) -> None:
    """Check the `messages` of a request to Chat Completions.

    Raises:
        Refusal: Behind a message with tool calls stands not at once one tool message for each, or
            a tool message stands elsewhere.
    """
    waiting: list[str] = []
    for index, message in enumerate(messages):
        place = f"messages.[{index}]"
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                words = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                raise Refusal("Invalid parameter: " + words, f"{place}.role")
            waiting.remove(message["tool_call_id"])
            continue
        _refuse_missing(waiting, f"{place}.role")
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        if len(set(waiting)) < len(waiting):
            words = "Duplicate value for 'tool_call_id'."
            raise Refusal(words, f"{place}.tool_calls")
    _refuse_missing(waiting, "messages")


def _refuse_missing(waiting: list[str], place: str) -> None:
    if waiting:
        message = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}"
        )
        raise Refusal(message, place)
