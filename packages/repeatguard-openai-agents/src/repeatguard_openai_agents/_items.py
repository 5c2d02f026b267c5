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

from repeatguard_core import Reminder, RepeatChain, ToolCall, is_reminder

__all__ = ["Placement", "find_reminders"]

#: Each type of call, and the fields that may hold its arguments.
_ARGUMENTS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "apply_patch_call": ("operation",),
    "code_interpreter_call": ("code",),
    "computer_call": ("actions", "action"),
    "custom_tool_call": ("input",),
    "file_search_call": ("queries",),
    "function_call": ("arguments",),
    "local_shell_call": ("action",),
    "mcp_approval_request": ("arguments",),
    "mcp_call": ("arguments",),
    "shell_call": ("action",),
    "web_search_call": ("action",),
}
#: The calls that the application answers, and the field that the answer names them by.
_ANSWERED_BY_US: Final[Mapping[str, str]] = {
    "apply_patch_call": "call_id",
    "computer_call": "call_id",
    "custom_tool_call": "call_id",
    "function_call": "call_id",
    "local_shell_call": "call_id",
    "mcp_approval_request": "id",
    "shell_call": "call_id",
}
_RESULT_SUFFIX: Final = "_call_output"
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
    answers: object = None
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
    batch = _Batch()
    for index, item in enumerate([*conversation, _Item(_Kind.MATERIAL)]):
        if (batch.is_answered and item.kind is not _Kind.RESULT) or item.kind is _Kind.MATERIAL:
            reminder = chain.observe(batch.calls)
            if reminder and batch.is_answered and not batch.hands_off and item.kind is not _Kind.REMINDER:
                placements.append(Placement(index, reminder, is_new=index >= end_of_model))
            if batch.hands_off or item.kind is _Kind.MATERIAL:
                chain.reset()
            batch = _Batch()
        batch.add(item)
    return placements


class _Batch:
    """The calls of one response, and the results that they have got so far."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.hands_off = False
        self._has_results = False
        self._waiting: set[object] = set()

    @property
    def is_answered(self) -> bool:
        """Whether the application has answered, and has answered everything."""
        return self._has_results and not self._waiting

    def add(self, item: _Item) -> None:
        if item.call is not None:
            self.calls.append(item.call)
        if item.kind is _Kind.RESULT:
            # A result that nothing waits for came with the response, from a tool that the provider hosts.
            self._has_results |= item.answers in self._waiting
            self._waiting.discard(item.answers)
            self.hands_off |= item.hands_off
        elif item.answers is not None:
            self._waiting.add(item.answers)


def _read(item: object) -> _Item:
    fields: Mapping[str, object] = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    item_type = fields.get("type") or "message"
    if not isinstance(item_type, str):
        return _Item(_Kind.MODEL)
    if item_type in _ARGUMENTS_OF:
        return _read_call(item_type, fields)
    if item_type.endswith(_RESULT_SUFFIX):
        return _Item(_Kind.RESULT, answers=fields.get("call_id"), hands_off=_hands_off(fields.get("output")))
    if item_type == "mcp_approval_response":
        return _Item(_Kind.RESULT, answers=fields.get("approval_request_id"))
    if item_type == "message" and fields.get("role") in _ROLES_BESIDE_THE_MODEL:
        return _Item(_Kind.REMINDER if _is_ours(fields.get("content")) else _Kind.MATERIAL)
    return _Item(_Kind.MODEL)


def _read_call(item_type: str, fields: Mapping[str, object]) -> _Item:
    if item_type == "mcp_call" and fields.get("approval_request_id"):
        return _Item(_Kind.MODEL)  # it was counted when it asked for approval
    name = fields.get("name") or item_type.removesuffix("_call")
    place = fields.get("namespace") or fields.get("server_label")
    qualified = f"{place}.{name}" if place and place != name else f"{name}"
    arguments = next((fields[field] for field in _ARGUMENTS_OF[item_type] if fields.get(field) is not None), None)
    answered_by = None if _is_hosted(fields) else _ANSWERED_BY_US.get(item_type)
    return _Item(_Kind.CALL, ToolCall(qualified, arguments), answers=fields.get(answered_by) if answered_by else None)


def _is_hosted(fields: Mapping[str, object]) -> bool:
    """Recognise a shell call that runs in a container of the provider's."""
    environment = fields.get("environment")
    kind = environment.get("type") if isinstance(environment, Mapping) else getattr(environment, "type", "local")
    return kind != "local"


def _hands_off(output: object) -> bool:
    """Recognise what the SDK answers to a handoff: a JSON object with the next agent's name, as it dumps it."""
    if not isinstance(output, str) or not output.startswith('{"assistant": "'):
        return False
    try:
        return json.dumps({"assistant": json.loads(output)["assistant"]}) == output
    except ValueError:
        return False


def _is_ours(content: object) -> bool:
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        content = content[0].get("text")
    return isinstance(content, str) and is_reminder(content)
