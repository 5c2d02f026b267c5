"""How the SDK's items read."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest
from openai.types.responses import ResponseFunctionToolCall, ResponseInputItemParam
from repeatguard_core import Reminder, RepeatGuardConfig
from repeatguard_core.adapters import Guard
from repeatguard_openai_agents._transcript import SdkTranscript

USER = {"role": "user", "content": "go"}
ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "one moment"}]}
REASONING = {"type": "reasoning", "id": "rs", "summary": []}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "pending"}


CONFIG = RepeatGuardConfig(thresholds=(2,), exclude=("note",))


def call(arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    """Make a function call as the SDK writes it."""
    return {"type": "function_call", "call_id": "c", "name": "get_status", "arguments": arguments, **fields}


def find(*items: object) -> list[tuple[int, Reminder]]:
    """Return the reminders that are missing from a request, each with its place, for a threshold of two."""
    found: list[tuple[int, Reminder]] = []
    Guard(CONFIG).before_request(
        SdkTranscript(items), lambda insertions: found.extend((each.place, each.reminder) for each in insertions)
    )
    return found


def places(*items: object) -> list[int]:
    """Return the places of the reminders that are missing."""
    return [index for index, _ in find(*items)]


ONCE = (call(), RESULT)
TWICE = (*ONCE, *ONCE)


@pytest.mark.rules("M6")
def test_a_reminder_that_is_there_is_not_missing() -> None:
    """In either of the two forms in which the SDK may hold a user message."""
    ((_, missing),) = find(USER, *TWICE)
    text = missing.text
    for content in (text, [{"type": "input_text", "text": text}]):
        reminder = {"role": "user", "content": content}
        assert places(USER, *TWICE, reminder) == []
        assert places(USER, *TWICE, reminder, *TWICE) == []


@pytest.mark.rules("D11")
@pytest.mark.parametrize("role", ["user", "system", "developer"])
@pytest.mark.parametrize("content", ["and?", [{"type": "input_text", "text": "and?"}], [], [None, None], None])
def test_new_material_resets(role: str, content: object) -> None:
    """Whoever it comes from, if it is not from the model."""
    assert places(USER, *ONCE, {"role": role, "content": content}, *ONCE) == []


@pytest.mark.rules("D11")
@pytest.mark.parametrize("item", [ANSWER, REASONING, {"type": "compaction"}, {"type": 3}, {"type": ["x"]}, "odd", None])
def test_what_the_model_or_the_sdk_adds_does_not_reset(item: object) -> None:
    """Its words, its thoughts, and a summary."""
    assert places(USER, *ONCE, item, *ONCE) == [6]


KINDS: list[tuple[dict[str, Any], str, Any]] = [
    ({"type": "custom_tool_call", "call_id": "c", "name": "x", "input": "y"}, "x", "input"),
    ({"type": "mcp_call", "name": "x", "server_label": "s", "arguments": "{}"}, "s.x", "arguments"),
    ({"type": "mcp_approval_request", "id": "r", "name": "x", "arguments": "{}"}, "x", "arguments"),
    ({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}, "shell", "action"),
    ({"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}}, "local_shell", "action"),
    ({"type": "apply_patch_call", "call_id": "c", "operation": {"path": "x"}}, "apply_patch", "operation"),
    ({"type": "computer_call", "call_id": "c", "action": {"type": "screenshot"}}, "computer", "action"),
    ({"type": "computer_call", "call_id": "c", "actions": [{"type": "click"}]}, "computer", "actions"),
    ({"type": "web_search_call", "action": {"query": "x"}}, "web_search", "action"),
    ({"type": "file_search_call", "queries": ["x"]}, "file_search", "queries"),
    ({"type": "code_interpreter_call", "code": "1"}, "code_interpreter", "code"),
    ({"type": "function_call", "call_id": "c", "name": "x", "arguments": ""}, "x", "arguments"),
]


@pytest.mark.rules("D8", "D1")
@pytest.mark.parametrize(("item", "name", "field"), KINDS, ids=[f"{item['type']}, {field}" for item, _, field in KINDS])
def test_every_kind_of_call_counts(item: dict[str, Any], name: str, field: str) -> None:
    """Hosted or local: two of them are two identical calls, and other arguments make another call."""
    result = {"type": "a_call_output", "call_id": item.get("call_id", item.get("id"))}
    if item["type"] == "mcp_approval_request":
        result = {"type": "mcp_approval_response", "approval_request_id": item["id"]}
    note = call(name="note", call_id="n")
    noted = {**RESULT, "call_id": "n"}
    batch = (item, note, result, noted)
    ((index, missing),) = find(USER, *batch, *batch)
    assert index == 9
    assert missing.tool_name == name
    assert find(USER, *batch, {**item, field: "other"}, *batch[1:]) == []


@pytest.mark.rules("D8")
@pytest.mark.parametrize("item", [item for item, _, _ in KINDS], ids=lambda item: f"{item['type']}, {list(item)[-1]}")
def test_the_fields_are_those_of_the_sdk(item: dict[str, Any]) -> None:
    """A release that renames the field of a call's arguments is noticed."""
    fields = {
        name
        for kind in get_args(ResponseInputItemParam)
        if f"Literal['{item['type']}']" in str(get_type_hints(kind).get("type"))
        for name in get_type_hints(kind)
    }
    if list(item)[-1] != "actions":  # from openai 2.26 on
        assert set(item) <= fields


@pytest.mark.rules("D8")
def test_an_item_may_be_an_object() -> None:
    """A user may carry on with what the client returned."""
    item = ResponseFunctionToolCall(type="function_call", call_id="c", name="get_status", arguments="{}")
    assert places(USER, item, RESULT, item, RESULT) == [5]


@pytest.mark.rules("M1", "M5")
def test_what_hosted_tools_answer_is_the_models() -> None:
    """It comes within a response, so no batch ends with it."""
    search = ({"type": "tool_search_call", "call_id": "t"}, {"type": "tool_search_output", "call_id": "t"})
    assert places(
        USER, *ONCE, call(), *search, call('{"job": 2}', call_id="d"), RESULT, {**RESULT, "call_id": "d"}
    ) == [9]
    shell = {"type": "shell_call", "call_id": "s", "action": {}, "environment": {"type": "container_reference"}}
    shell_result = {"type": "shell_call_output", "call_id": "s", "output": []}
    assert places(USER, shell, shell_result, shell, shell_result, *ONCE) == [7]
    assert places(USER, *ONCE, call(), shell, shell_result, RESULT) == [7]
    program = {"type": "program", "call_id": "p"}
    assert places(USER, program, *TWICE) == [6]
    assert places(USER, program, *TWICE, {"type": "program_output", "call_id": "p"}, ANSWER) == [6]


@pytest.mark.rules("D8")
def test_an_approved_mcp_call_was_counted_at_its_request() -> None:
    """The request and the call that follows the approval are one."""
    request = {"type": "mcp_approval_request", "id": "r", "name": "x", "arguments": "{}"}
    approval = {"type": "mcp_approval_response", "approval_request_id": "r", "approve": True}
    made = {"type": "mcp_call", "name": "x", "arguments": "{}", "approval_request_id": "r", "output": "y"}
    assert places(USER, request, approval, made, ANSWER) == []
    assert places(USER, request, approval, made, request, approval) == [6]


@pytest.mark.rules("D1")
def test_a_namespace_is_part_of_the_name() -> None:
    """Two tools of one name in two namespaces are two tools."""
    ((_, missing),) = find(USER, call(namespace="crm"), RESULT, call(namespace="crm"), RESULT)
    assert missing.tool_name == "crm.get_status"
    assert places(USER, call(namespace="crm"), RESULT, call(namespace="erp"), RESULT) == []
    ((_, missing),) = find(USER, call(namespace="get_status"), RESULT, call(), RESULT)
    assert missing.tool_name == "get_status"


@pytest.mark.rules("D12")
def test_a_handoff_is_known_by_its_result() -> None:
    """It is a JSON object with the one key "assistant". What is due as the agent hands over is held."""
    handoff = {"type": "function_call_output", "call_id": "c", "output": '{"assistant": "second"}'}
    assert places(USER, *ONCE, call(), handoff) == []
    assert places(USER, *ONCE, call(), handoff, *ONCE) == []
    assert places(USER, *ONCE, call(), handoff, *TWICE) == [9]


@pytest.mark.rules("D12")
@pytest.mark.parametrize(
    "output",
    ['{"assistant": "x", "more": 1}', '{"assistant": "x"} ', '{"assistant": "', '{"assistants": 1}', ["x"], None],
)
def test_other_results_are_no_handoff(output: object) -> None:
    """Though they look like one."""
    assert places(USER, *ONCE, call(), {**RESULT, "output": output}) == [5]
