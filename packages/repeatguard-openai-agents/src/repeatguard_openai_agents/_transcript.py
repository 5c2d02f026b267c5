"""How the SDK's items read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from repeatguard_core import ToolCall, is_reminder
from repeatguard_core.adapters import Item, Kind, Transcript

__all__ = ["SdkTranscript"]

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
_ANSWERED_BY_APP: Final[Mapping[str, str]] = {
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
_ROLES_OF_INPUT: Final = frozenset({"developer", "system", "user"})


class SdkTranscript(Transcript[object]):
    """Items as the SDK hands them over: dictionaries, or objects of the client's. It forgets what a hook adds."""

    def read(self, index: int) -> tuple[Item]:
        """Read an item, whatever it is."""
        return (_read(_fields(self.messages[index])),)

    def answers(self, index: int) -> str | None:
        """Return the id of the call that an item is the result of, without reading more of it."""
        fields = _fields(self.messages[index])
        item_type = fields.get("type")
        if isinstance(item_type, str) and _is_result(item_type):
            return _answered_call(item_type, fields)
        return None

    def is_reminder(self, index: int) -> bool:
        """Return whether an item is a reminder, without reading more of it."""
        fields = _fields(self.messages[index]) if index < len(self.messages) else {}
        return fields.get("role") in _ROLES_OF_INPUT and _is_reminder(fields.get("content"))


def _read(fields: Mapping[str, object]) -> Item:
    item_type = fields.get("type") or "message"
    if not isinstance(item_type, str):
        return Item(Kind.OTHER)
    if item_type in _ARGUMENTS_OF:
        return _read_call(item_type, fields)
    if _is_result(item_type):
        result = _RESULT_IN.get(item_type, _output)(fields)
        call_id = _answered_call(item_type, fields)
        return Item(Kind.RESULT, call_id=call_id, result=result, hands_off_to=_next_agent(result))
    if item_type == "message" and fields.get("role") in _ROLES_OF_INPUT:
        return Item(Kind.REMINDER if _is_reminder(fields.get("content")) else Kind.INPUT)
    return Item(Kind.OTHER)


def _is_result(item_type: str) -> bool:
    return item_type.endswith(_RESULT_SUFFIX) or item_type == _APPROVAL


def _answered_call(item_type: str, fields: Mapping[str, object]) -> str | None:
    return _name(fields, "approval_request_id" if item_type == _APPROVAL else "call_id")


def _read_call(item_type: str, fields: Mapping[str, object]) -> Item:
    if item_type == "mcp_call" and fields.get("approval_request_id"):
        return Item(Kind.OTHER)  # it was counted when it asked for approval
    name = fields.get("name") or item_type.removesuffix("_call")
    place = fields.get("namespace") or fields.get("server_label")
    qualified = f"{place}.{name}" if place and place != name else f"{name}"
    arguments = next((fields[field] for field in _ARGUMENTS_OF[item_type] if fields.get(field) is not None), None)
    if item_type == "web_search_call" and (action := _fields(arguments)):
        # The sources are what was found, and are there if they were asked for.
        arguments = {key: value for key, value in action.items() if key != "sources" and value is not None}
    result = _RESULT_IN[item_type](fields) if item_type in _RESULT_IN else None
    answered_by = _ANSWERED_BY_APP.get(item_type)
    call_id = _name(fields, answered_by) if answered_by else None
    return Item(
        Kind.CALL,
        ToolCall(qualified, arguments, result),
        call_id or _name(fields, "id"),
        awaits_result=call_id is not None and not _is_hosted(fields),
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


def _next_agent(output: object) -> str | None:
    """Return the agent that takes over, if it is the result of a handoff: JSON with its name, as the SDK dumps it."""
    if not isinstance(output, str) or not output.startswith('{"assistant": "'):
        return None
    with suppress(ValueError):
        name = json.loads(output)["assistant"]
        if json.dumps({"assistant": name}) == output:
            return str(name)
    return None


def _is_reminder(content: object) -> bool:
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        content = content[0].get("text")
    return isinstance(content, str) and is_reminder(content)
