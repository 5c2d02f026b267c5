"""Reading the items of a conversation, as the SDK hands them over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from repeatguard_core import ToolCall, is_reminder

__all__ = ["Item", "Kind", "read"]

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


class Kind(Enum):
    """What an item is to the guard."""

    CALL = "a call that the model made"
    RESULT = "what was answered to a call"
    MODEL = "anything else that came from the model"
    MATERIAL = "a message that did not come from the model"
    REMINDER = "a message of ours"


class Item(NamedTuple):
    """An item of a conversation, as far as the guard looks at it.

    Attributes:
        kind: What it is.
        call: The call, if it is one.
        answers: Of a call, the name by which the application will answer it, or None if the
            provider runs it. Of a result, the name of the call that it answers.
        hands_off: Whether it is the result of a handoff.
        identity: Tells the item from others of its kind; None if nothing does.
    """

    kind: Kind
    call: ToolCall | None = None
    answers: str | None = None
    hands_off: bool = False
    identity: str | None = None


def read(item: object) -> Item:
    """Read an item, whatever it is.

    Args:
        item: A dictionary, or an object of the client's.

    Returns:
        What it is to the guard.
    """
    fields: Mapping[str, object] = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    item_type = fields.get("type") or "message"
    if not isinstance(item_type, str):
        return Item(Kind.MODEL)
    if item_type in _ARGUMENTS_OF:
        return _read_call(item_type, fields)
    if item_type.endswith(_RESULT_SUFFIX):
        answers = _name(fields, "call_id")
        return Item(Kind.RESULT, None, answers, _hands_off(fields.get("output")), identity=answers)
    if item_type == "mcp_approval_response":
        answers = _name(fields, "approval_request_id")
        return Item(Kind.RESULT, None, answers, identity=answers)
    if item_type == "message" and fields.get("role") in _ROLES_BESIDE_THE_MODEL:
        return Item(Kind.REMINDER if _is_ours(fields.get("content")) else Kind.MATERIAL)
    return Item(Kind.MODEL)


def _read_call(item_type: str, fields: Mapping[str, object]) -> Item:
    if item_type == "mcp_call" and fields.get("approval_request_id"):
        return Item(Kind.MODEL)  # it was counted when it asked for approval
    name = fields.get("name") or item_type.removesuffix("_call")
    place = fields.get("namespace") or fields.get("server_label")
    qualified = f"{place}.{name}" if place and place != name else f"{name}"
    arguments = next((fields[field] for field in _ARGUMENTS_OF[item_type] if fields.get(field) is not None), None)
    answered_by = None if _is_hosted(fields) else _ANSWERED_BY_US.get(item_type)
    answers = _name(fields, answered_by) if answered_by else None
    return Item(Kind.CALL, ToolCall(qualified, arguments), answers, identity=answers or _name(fields, "id"))


def _name(fields: Mapping[str, object], field: str) -> str | None:
    value = fields.get(field)
    return value if isinstance(value, str) else None


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
