"""What the Messages API wants of a conversation beyond the shapes of its messages.

Consecutive messages of one role are allowed, since the API joins them. Results have to be in one
message all the same: whether the API joins before it looks for them is not documented. Of what
depends on the model, the strictest is imitated: no system message among the others, and no
beginning of the answer at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from tests.wire.shapes import Refusal

__all__ = ["check_messages", "check_texts"]

#: Whose blocks of a certain kind are; there are others, and those are anybody's.
_ROLE_OF: Final[Mapping[str, str]] = {
    "tool_use": "assistant",
    "server_tool_use": "assistant",
    "tool_result": "user",
}


def check_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    """Check the `messages` of a request.

    Raises:
        Refusal: The user does not begin or does not end it; a message is empty, or has an empty text
            or a block of the other role; a tool's call and its result are not in two messages
            one behind the other, or anything stands before the results.
    """
    if not messages:
        _refuse("There has to be a message.", "messages")
    asked: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        place = f"messages[{index}]"
        blocks = _blocks_of(message["content"])
        _check_message(message["role"], blocks, place)
        if index == 0 and message["role"] != "user":
            _refuse("The first message has to be the user's.", place)
        _check_results(asked, blocks, place)
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for each in asked:
            if each in seen:
                _refuse(f"Two `tool_use` blocks have the same id: {each}.", place)
            seen.add(each)
    _check_results(asked, (), "messages")
    if messages[-1]["role"] != "user":
        _refuse("The last message has to be the user's.", "messages")


def check_texts(blocks: Iterable[Mapping[str, Any]], place: str) -> None:
    """Check that no text block is empty, also within other blocks.

    Raises:
        Refusal: One is.
    """
    for index, block in enumerate(blocks):
        where = f"{place}[{index}]"
        if block["type"] == "text" and not block["text"].strip():
            _refuse("A text block must not be empty.", where)
        if block["type"] == "tool_result" and isinstance(block.get("content"), list):
            check_texts(block["content"], f"{where}.content")


def _blocks_of(content: str | list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _check_message(role: str, blocks: Sequence[Mapping[str, Any]], place: str) -> None:
    if role == "system":
        _refuse("There is no role 'system' among the messages.", f"{place}.role")
    if not blocks:
        _refuse("A message must not be empty.", f"{place}.content")
    check_texts(blocks, f"{place}.content")
    for block in blocks:
        kind = block["type"]
        if _ROLE_OF.get(kind, role) != role:
            _refuse(f"A `{kind}` block is no block of the role '{role}'.", f"{place}.content")


def _check_results(asked: Sequence[str], blocks: Sequence[Mapping[str, Any]], place: str) -> None:
    """Hold a message to the calls of the message before it."""
    at_the_start = [block["tool_use_id"] for block in takewhile(_is_result, blocks)]
    if missing := [each for each in asked if each not in at_the_start]:
        message = "The next message does not begin with a `tool_result` block for each `tool_use` block"
        _refuse(f"{message}; there is none for: {', '.join(missing)}.", place)
    open_calls = set(asked)
    for block in filter(_is_result, blocks):
        if block["tool_use_id"] not in open_calls:
            message = "No `tool_use` block of the message before is waiting for this `tool_result` block"
            _refuse(f"{message}: {block['tool_use_id']}.", place)
        open_calls.remove(block["tool_use_id"])


def _is_result(block: Mapping[str, Any]) -> bool:
    return bool(block["type"] == "tool_result")


def _refuse(message: str, place: str) -> None:
    raise Refusal(message, place)
