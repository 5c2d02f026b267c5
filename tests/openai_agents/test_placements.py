"""Finding the places for reminders in a conversation, item by item."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest
from openai.types.responses import ResponseFunctionToolCall, ResponseInputItemParam
from repeatguard_core import RepeatChain, RepeatGuardConfig
from repeatguard_openai_agents._conversation import Conversation
from repeatguard_openai_agents._memory import RunMemory
from repeatguard_openai_agents._placements import Placement, end_of_model

USER = {"role": "user", "content": "go"}
ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "one moment"}]}
REASONING = {"type": "reasoning", "id": "rs", "summary": []}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "pending"}


CONFIG = RepeatGuardConfig(thresholds=(2,), exclude=("note",))


def call(arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    """Make a function call as the SDK writes it."""
    return {"type": "function_call", "call_id": "c", "name": "get_status", "arguments": arguments, **fields}


def find(*items: object) -> list[Placement]:
    """Find the reminders that are missing, for a threshold of two."""
    placements = RunMemory().place(Conversation(items), lambda: RepeatChain(CONFIG))
    return [placement for placement in placements if not placement.is_there]


def places(*items: object) -> list[int]:
    """Find the places of the reminders that are missing."""
    return [placement.index for placement in find(*items)]


ONCE = (call(), RESULT)
TWICE = (*ONCE, *ONCE)


@pytest.mark.rules("M1", "M5")
@pytest.mark.parametrize(
    "after", [(), (USER,), (ANSWER,), (REASONING, ANSWER), (call(), RESULT), (ANSWER, USER, *ONCE)]
)
def test_the_place_does_not_depend_on_what_follows(after: tuple[object, ...]) -> None:
    """It is right behind the last result of the batch, whatever comes later."""
    assert places(USER, *TWICE, *after)[0] == 5


@pytest.mark.rules("S6")
@pytest.mark.parametrize(("after", "is_new"), [((), True), ((USER,), True), ((ANSWER,), False), ((call(),), False)])
def test_a_reminder_is_new_until_the_model_goes_on(after: tuple[object, ...], is_new: bool) -> None:  # noqa: FBT001
    """Only then is it announced."""
    end = end_of_model(Conversation((USER, *TWICE, *after)))
    assert [placement.index >= end for placement in find(USER, *TWICE, *after)] == [is_new]


@pytest.mark.rules("D9", "M1")
def test_no_reminder_before_the_batch_has_its_results() -> None:
    """Calls without results are a batch that is still under way."""
    assert places(USER, *ONCE, call()) == []
    assert places(USER, call(), call(), ANSWER) == []
    assert places(USER, call(), ANSWER, call(), RESULT, RESULT) == [6]


@pytest.mark.rules("M6")
def test_a_reminder_that_is_there_is_not_missing() -> None:
    """In either of the two forms in which the SDK may hold a user message."""
    (placement,) = find(USER, *TWICE)
    text = placement.reminder.text
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
    (placement,) = find(USER, *batch, *batch)
    assert placement.index == 9
    assert placement.reminder.tool_name == name
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


@pytest.mark.rules("M1")
def test_a_batch_waits_for_all_of_its_results() -> None:
    """Also if something stands between them."""
    other, other_result = call(call_id="d"), {**RESULT, "call_id": "d"}
    assert places(USER, call(), other, RESULT, ANSWER, other_result) == [6]
    assert places(USER, call(), other, RESULT, ANSWER) == []
    assert places(USER, call(), other, RESULT, USER, *ONCE) == []


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
    (placement,) = find(USER, call(namespace="crm"), RESULT, call(namespace="crm"), RESULT)
    assert placement.reminder.tool_name == "crm.get_status"
    assert places(USER, call(namespace="crm"), RESULT, call(namespace="erp"), RESULT) == []
    (placement,) = find(USER, call(namespace="get_status"), RESULT, call(), RESULT)
    assert placement.reminder.tool_name == "get_status"


@pytest.mark.rules("D12")
def test_a_handoff_drops_what_is_due_and_starts_anew() -> None:
    """Its result is a JSON object with the one key "assistant"."""
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


@pytest.mark.rules("D11")
def test_a_history_that_was_cut_is_read_as_it_stands() -> None:
    """Results whose calls are gone count for nothing, and disturb nothing."""
    assert places(RESULT, *TWICE) == [5]
    assert places() == []
