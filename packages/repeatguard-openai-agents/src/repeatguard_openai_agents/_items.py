"""Reading a conversation as the SDK hands it over, and finding the places for reminders in it.

`find_reminders` is a pure function of the items: the same conversation always gets the same
reminders at the same places, so nothing has to be remembered from one request to the next.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from pydantic import BaseModel
from repeatguard_core import Reminder, RepeatChain, ToolCall, is_reminder

__all__ = ["Placement", "find_reminders"]

#: Each type of call, and the field that holds its arguments.
_ARGUMENTS_OF: Final[Mapping[str, str]] = {
    "apply_patch_call": "operation",
    "code_interpreter_call": "code",
    "computer_call": "action",
    "custom_tool_call": "input",
    "file_search_call": "queries",
    "function_call": "arguments",
    "local_shell_call": "action",
    "mcp_approval_request": "arguments",
    "mcp_call": "arguments",
    "shell_call": "action",
    "web_search_call": "action",
}
_RESULT_SUFFIX: Final = "_output"
_ROLES_BESIDE_THE_MODEL: Final = frozenset({"developer", "system", "user"})


@dataclass(frozen=True, slots=True)
class Placement:
    """A reminder and its place.

    Attributes:
        index: The reminder belongs before the item at this index, or at the end.
        reminder: What is due there.
        is_new: Whether the model has said nothing since, so that it has not seen it yet.
    """

    index: int
    reminder: Reminder
    is_new: bool


class _Kind(Enum):
    CALL = "a call that the model made"
    RESULT = "what the application answered to a call"
    MODEL = "anything else that came from the model"
    MATERIAL = "a message that did not come from the model"
    REMINDER = "a message of ours"


class _Item(NamedTuple):
    kind: _Kind
    call: ToolCall | None = None
    hands_off: bool = False


def find_reminders(items: Sequence[object], chain: RepeatChain) -> list[Placement]:
    """Find the places in a conversation where a reminder belongs and is not there yet.

    The calls of a batch end with the results that the application gave them, and the reminder
    belongs right behind these. Nothing that follows has a say in it, so a reminder keeps its
    place while the conversation grows.

    Args:
        items: The whole conversation, as it is about to be sent.
        chain: A new chain.

    Returns:
        The missing reminders, in the order of the conversation.

    Fulfils D1, D8 to D12, M1, M5 and M6.
    """
    conversation = [_read(item) for item in items]
    beside_the_model = (_Kind.MATERIAL, _Kind.REMINDER)
    end_of_model = max((i for i, item in enumerate(conversation, 1) if item.kind not in beside_the_model), default=0)
    placements: list[Placement] = []
    batch: list[ToolCall] = []
    results: list[_Item] = []
    for index, item in enumerate([*conversation, _Item(_Kind.MATERIAL)]):
        if item.kind is _Kind.RESULT:
            results.append(item)
            continue
        if results or item.kind is _Kind.MATERIAL:
            reminder = chain.observe(batch)
            hands_off = any(result.hands_off for result in results)
            if reminder and results and not hands_off and item.kind is not _Kind.REMINDER:
                placements.append(Placement(index, reminder, is_new=index >= end_of_model))
            if hands_off or item.kind is _Kind.MATERIAL:
                chain.reset()
            batch, results = [], []
        if item.call:
            batch.append(item.call)
    return placements


def _read(item: object) -> _Item:
    fields = item if isinstance(item, Mapping) else dict(item) if isinstance(item, BaseModel) else {}
    item_type = fields.get("type") or "message"
    if item_type in _ARGUMENTS_OF:
        already_counted = item_type == "mcp_call" and fields.get("approval_request_id")
        return _Item(_Kind.MODEL) if already_counted else _Item(_Kind.CALL, _call(item_type, fields))
    if item_type.endswith(_RESULT_SUFFIX) or item_type == "mcp_approval_response":
        return _Item(_Kind.RESULT, hands_off=_hands_off(fields.get("output")))
    if item_type == "message" and fields.get("role") in _ROLES_BESIDE_THE_MODEL:
        return _Item(_Kind.REMINDER if _is_ours(fields.get("content")) else _Kind.MATERIAL)
    return _Item(_Kind.MODEL)


def _call(item_type: str, fields: Mapping[str, object]) -> ToolCall:
    name = fields.get("name") or item_type.removesuffix("_call")
    namespace = fields.get("namespace")
    qualified = f"{namespace}.{name}" if namespace and namespace != name else f"{name}"
    return ToolCall(qualified, fields.get(_ARGUMENTS_OF[item_type]))


def _hands_off(output: object) -> bool:
    """Recognise the result that the SDK gives to a handoff: a JSON object with the next agent's name."""
    if not isinstance(output, str) or not output.startswith('{"assistant"'):
        return False
    try:
        return list(json.loads(output)) == ["assistant"]
    except ValueError:
        return False


def _is_ours(content: object) -> bool:
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        content = content[0].get("text")
    return isinstance(content, str) and is_reminder(content)
