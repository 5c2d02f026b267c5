"""Reading the items of a conversation, as the SDK hands them over."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from repeatguard_core import ToolCall, is_reminder

__all__ = ["Item", "Kind", "is_ours", "is_result_of", "read"]

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
_APPROVAL: Final = "mcp_approval_response"
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
        call: The call, if it is one; with its result, if the provider puts both into one item.
        call_id: The name that a call and its result have in common.
        is_ours: Whether it is a call that the application answers, and not the provider.
        result: Of a result, what it says, without what differs each time; None if that is not known.
        hands_off: Whether it is the result of a handoff.
        identity: Tells the item from others of its kind; None if nothing does.
    """

    kind: Kind
    call: ToolCall | None = None
    call_id: str | None = None
    is_ours: bool = False
    result: object = None
    hands_off: bool = False
    identity: str | None = None


def read(item: object) -> Item:
    """Read an item, whatever it is.

    Args:
        item: A dictionary, or an object of the client's.

    Returns:
        What it is to the guard.
    """
    fields = _fields(item)
    item_type = fields.get("type") or "message"
    if not isinstance(item_type, str):
        return Item(Kind.MODEL)
    if item_type in _ARGUMENTS_OF:
        return _read_call(item_type, fields)
    if _is_result(item_type):
        call_id = _answered_call(item_type, fields)
        result = _RESULT_IN.get(item_type, _output)(fields)
        return Item(Kind.RESULT, None, call_id, result=result, hands_off=_hands_off(result), identity=call_id)
    if item_type == "message" and fields.get("role") in _ROLES_BESIDE_THE_MODEL:
        return Item(Kind.REMINDER if _is_reminder(fields.get("content")) else Kind.MATERIAL)
    return Item(Kind.MODEL)


def _is_result(item_type: str) -> bool:
    return item_type.endswith(_RESULT_SUFFIX) or item_type == _APPROVAL


def _answered_call(item_type: str, fields: Mapping[str, object]) -> str | None:
    return _name(fields, "approval_request_id" if item_type == _APPROVAL else "call_id")


def is_result_of(item: object, call_id: str | None) -> bool:
    """Tell whether an item is the result of a call, without reading more of it.

    Args:
        item: As for `read`.
        call_id: The call's name.
    """
    fields = _fields(item)
    item_type = fields.get("type")
    return isinstance(item_type, str) and _is_result(item_type) and _answered_call(item_type, fields) == call_id


def is_ours(item: object) -> bool:
    """Tell whether an item is a message of ours, without reading more of it.

    Args:
        item: As for `read`.
    """
    fields = _fields(item)
    return fields.get("role") in _ROLES_BESIDE_THE_MODEL and _is_reminder(fields.get("content"))


def _read_call(item_type: str, fields: Mapping[str, object]) -> Item:
    if item_type == "mcp_call" and fields.get("approval_request_id"):
        return Item(Kind.MODEL)  # it was counted when it asked for approval
    name = fields.get("name") or item_type.removesuffix("_call")
    place = fields.get("namespace") or fields.get("server_label")
    qualified = f"{place}.{name}" if place and place != name else f"{name}"
    arguments = next((fields[field] for field in _ARGUMENTS_OF[item_type] if fields.get(field) is not None), None)
    if item_type == "web_search_call" and (action := _fields(arguments)):
        # The sources are what was found, and are there if they were asked for.
        arguments = {key: value for key, value in action.items() if key != "sources" and value is not None}
    result = _RESULT_IN[item_type](fields) if item_type in _RESULT_IN else None
    answered_by = _ANSWERED_BY_US.get(item_type)
    call_id = _name(fields, answered_by) if answered_by else None
    return Item(
        Kind.CALL,
        ToolCall(qualified, arguments, result),
        call_id,
        is_ours=call_id is not None and not _is_hosted(fields),
        identity=call_id or _name(fields, "id"),
    )


def _fields(value: object) -> Mapping[str, object]:
    """List what a dictionary or an object of the client's holds; nothing if it is neither."""
    if type(value) is dict or isinstance(value, Mapping):  # nearly all are, and to ask for a mapping takes long
        return value
    return getattr(value, "__dict__", {})


def _name(fields: Mapping[str, object], field: str) -> str | None:
    value = fields.get(field)
    return value if isinstance(value, str) else None


def _is_hosted(fields: Mapping[str, object]) -> bool:
    """Recognise a shell call that runs in a container of the provider's."""
    environment = fields.get("environment")
    return environment is not None and _fields(environment).get("type", "local") != "local"


def _output(fields: Mapping[str, object]) -> object:
    """Give the result that tells no more than what the model reads."""
    return fields.get("output")


def _screenshot(fields: Mapping[str, object]) -> object:
    return _fields(fields.get("output")).get("image_url")


def _patched(fields: Mapping[str, object]) -> object:
    return fields.get("status"), fields.get("output") or None


def _shell_output(fields: Mapping[str, object]) -> object:
    return [
        (
            *map(part.get, ("stdout", "stderr")),
            *map(_fields(part.get("outcome")).get, ("type", "exit_code")),
        )
        for part in _parts(fields, "output")
    ] or None


def _rejection(fields: Mapping[str, object]) -> object:
    """Give the answer to a request for approval; an approved call has its result later, in an item of its own."""
    return None if fields.get("approve") else (False, fields.get("reason"))


def _mcp_result(fields: Mapping[str, object]) -> object:
    result = (fields.get("output"), fields.get("error"))
    return None if result == (None, None) else result


def _passages(fields: Mapping[str, object]) -> object:
    return [(part.get("file_id"), part.get("text")) for part in _parts(fields, "results")] or None


def _logs(fields: Mapping[str, object]) -> object:
    return [part["logs"] for part in _parts(fields, "outputs") if "logs" in part] or None


def _parts(fields: Mapping[str, object], field: str) -> list[Mapping[str, object]]:
    """List the parts of a result; none if the provider was not asked for them."""
    parts = fields.get(field)
    return [_fields(part) for part in parts] if isinstance(parts, list | tuple) else []


#: How the result is read where it is more than the output of an item of its own.
_RESULT_IN: Final[Mapping[str, Callable[[Mapping[str, object]], object]]] = {
    "apply_patch_call_output": _patched,
    "code_interpreter_call": _logs,
    "computer_call_output": _screenshot,
    "file_search_call": _passages,
    "mcp_approval_response": _rejection,
    "mcp_call": _mcp_result,
    "shell_call_output": _shell_output,
}


def _hands_off(output: object) -> bool:
    """Recognise what the SDK answers to a handoff: a JSON object with the next agent's name, as it dumps it."""
    if not isinstance(output, str) or not output.startswith('{"assistant": "'):
        return False
    try:
        return json.dumps({"assistant": json.loads(output)["assistant"]}) == output
    except ValueError:
        return False


def _is_reminder(content: object) -> bool:
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        content = content[0].get("text")
    return isinstance(content, str) and is_reminder(content)
