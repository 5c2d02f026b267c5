"""The strict server accepts what is well-formed, and refuses each malformed request."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.wire.shapes import check_shape
from tests.wire.strict_server import StrictServer

RESPONSES, CHAT = "/responses", "/chat/completions"
USER = {"role": "user", "content": "go"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "done", "annotations": [], "logprobs": []}],
}


def called(call_id: str, **changes: Any) -> dict[str, Any]:
    """Make a call of the Responses API."""
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}", **changes}


def returned(call_id: str, **changes: Any) -> dict[str, Any]:
    """Make the output of a call of the Responses API."""
    return {"type": "function_call_output", "call_id": call_id, "output": "pending", **changes}


CUSTOM_CALL = {"type": "custom_tool_call", "call_id": "a", "name": "look", "input": "x"}
CUSTOM_OUTPUT = {"type": "custom_tool_call_output", "call_id": "a", "output": "pending"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}

GOOD_INPUTS: dict[str, Any] = {
    "a text": "go",
    "a message": [USER],
    "a message with its type": [{"type": "message", **USER}],
    "a message with parts": [{"role": "user", "content": [{"type": "input_text", "text": "go"}]}],
    "a call and its output": [USER, called("a"), returned("a")],
    "a message behind the output": [USER, called("a"), returned("a"), USER],
    "a batch": [USER, called("a"), called("b"), returned("b"), returned("a"), USER],
    "batch after batch": [USER, called("a"), returned("a"), called("b"), called("c"), returned("b"), returned("c")],
    "a response with reasoning": [USER, REASONING, called("a"), REASONING, called("b"), returned("a"), returned("b")],
    "a hosted call in the batch": [USER, called("a"), SEARCH, returned("a")],
    "a custom call": [USER, CUSTOM_CALL, CUSTOM_OUTPUT, USER],
    "an answer": [USER, SAID, USER],
    "a reference": [USER, {"id": "msg_1"}],
}
NO_OUTPUT = "No tool output found for function call a"
NO_CALL = "No tool call found for function call output with call_id a"
BAD_INPUTS: dict[str, tuple[Any, str]] = {
    "a call without output": ([USER, called("a")], NO_OUTPUT),
    "a custom call without output": ([USER, CUSTOM_CALL], "No tool output found for custom tool call a"),
    "an output without call": ([USER, returned("a")], NO_CALL),
    "an output before its call": ([USER, returned("a"), called("a")], NO_CALL),
    "an output twice": ([USER, called("a"), returned("a"), returned("a")], NO_CALL),
    "an output without id": ([USER, called("a"), {"type": "function_call_output", "output": "x"}], "call_id"),
    "an output of another kind": ([USER, CUSTOM_CALL, returned("a")], NO_CALL),
    "a call twice": ([USER, called("a"), returned("a"), called("a"), returned("a")], "Duplicate call_id a"),
    "a message between call and output": ([USER, called("a"), USER, returned("a")], NO_OUTPUT),
    "a message between two calls": ([USER, called("a"), USER, called("b"), returned("a"), returned("b")], NO_OUTPUT),
    "a message between two outputs": ([USER, called("b"), called("a"), returned("b"), USER, returned("a")], NO_OUTPUT),
    "an answer between call and output": ([USER, called("a"), SAID, returned("a")], NO_OUTPUT),
    "a call between two outputs": (
        [USER, called("b"), called("a"), returned("b"), called("c"), returned("a"), returned("c")],
        NO_OUTPUT,
    ),
    "an unknown key of a message": ([{**USER, "note": 1}], r"Unknown parameter: 'input\[0\].note'"),
    "an unknown key of an answer": ([USER, {**SAID, "note": 1}], r"Unknown parameter: 'input\[1\].note'"),
    "an unknown key of a call": ([called("a", note=1), returned("a")], r"Unknown parameter: 'input\[0\].note'"),
    "an unknown key of an output": ([called("a"), returned("a", note=1)], r"Unknown parameter: 'input\[1\].note'"),
    "an unknown key of a part": (
        [{"role": "user", "content": [{"type": "input_text", "text": "go", "note": 1}]}],
        r"Unknown parameter: 'input\[0\].content\[0\].note'",
    ),
    "an unknown type": ([USER, {"note": 1, "type": "tool_result"}], "Invalid value: 'tool_result'"),
    "no type": ([USER, {"id": "rs_1", "summary": []}], r"Missing required parameter: 'input\[1\].type'"),
    "an unknown type of part": (
        [{"role": "user", "content": [{"type": "text", "text": "go"}]}],
        "Invalid value: 'text'",
    ),
    "an unknown role": ([{"role": "guard", "content": "go"}], "Invalid value: 'guard'"),
    "a role of the other API": ([{"role": "tool", "content": "pending"}], "Invalid value: 'tool'"),
    "a missing key": ([USER, {"role": "user"}], r"Missing required parameter: 'input\[1\].content'"),
    "a number for a text": ([{"role": "user", "content": 1}], r"Invalid type for 'input\[0\].content'"),
    "arguments that are no text": ([called("a", arguments={}), returned("a")], r"for 'input\[0\].arguments'"),
    "something that is no item": ([USER, "go"], r"Invalid type for 'input\[1\]'"),
}


def asked(*call_ids: str, **changes: Any) -> dict[str, Any]:
    """Make a message of Chat Completions with calls."""
    calls = [{"id": each, "type": "function", "function": {"name": "look", "arguments": "{}"}} for each in call_ids]
    return {"role": "assistant", "content": None, "tool_calls": calls, **changes}


def told(call_id: str, **changes: Any) -> dict[str, Any]:
    """Make a message of Chat Completions with a result."""
    return {"role": "tool", "tool_call_id": call_id, "content": "pending", **changes}


ANSWER = {"role": "assistant", "content": "done"}
GOOD_MESSAGES: dict[str, Any] = {
    "a message": [USER],
    "instructions": [{"role": "system", "content": "be brief"}, {"role": "developer", "content": "be kind"}, USER],
    "a call and its result": [USER, asked("a"), told("a")],
    "a message behind the result": [USER, asked("a"), told("a"), USER],
    "a batch": [USER, asked("a", "b"), told("b"), told("a"), USER],
    "batch after batch": [USER, asked("a"), told("a"), asked("b"), told("b")],
    "an answer": [USER, ANSWER, USER],
}
NOT_FOLLOWED = "must be followed by tool messages .* did not have response messages: a$"
NOT_ASKED = "must be a response to a preceding message"
BAD_MESSAGES: dict[str, tuple[Any, str]] = {
    "a call without result": ([USER, asked("a")], NOT_FOLLOWED),
    "one result for two calls": ([USER, asked("a", "b"), told("b")], NOT_FOLLOWED),
    "a result without call": ([USER, told("a")], NOT_ASKED),
    "a result twice": ([USER, asked("a"), told("a"), told("a")], NOT_ASKED),
    "a result of an earlier call": ([USER, asked("a"), told("a"), ANSWER, told("a")], NOT_ASKED),
    "a result behind the next message": ([USER, asked("b", "a"), told("b"), ANSWER, told("a")], NOT_FOLLOWED),
    "an id twice in a message": ([USER, asked("a", "a"), told("a"), told("a")], "Duplicate value"),
    "a message between call and result": ([USER, asked("a"), USER, told("a")], NOT_FOLLOWED),
    "a message between two results": ([USER, asked("b", "a"), told("b"), USER, told("a")], NOT_FOLLOWED),
    "a batch behind an open batch": ([USER, asked("a"), asked("b"), told("a"), told("b")], NOT_FOLLOWED),
    "an unknown key of the user's": ([{**USER, "note": 1}], r"Unknown parameter: 'messages\[0\].note'"),
    "an unknown key of the model's": ([USER, {**ANSWER, "note": 1}], r"Unknown parameter: 'messages\[1\].note'"),
    "an unknown key of a result": ([asked("a"), told("a", name="look")], r"Unknown parameter: 'messages\[1\].name'"),
    "an unknown key of a call": (
        [{**asked(), "tool_calls": [{**asked("a")["tool_calls"][0], "note": 1}]}, told("a")],
        r"Unknown parameter: 'messages\[0\].tool_calls\[0\].note'",
    ),
    "a key of another role": ([{**USER, "tool_call_id": "a"}], r"Unknown parameter: 'messages\[0\].tool_call_id'"),
    "an unknown role": ([{"role": "guard", "content": "go"}], "Invalid value: 'guard'"),
    "no role": ([{"content": "go"}], r"Missing required parameter: 'messages\[0\].role'"),
    "a missing key": ([asked("a"), {"role": "tool", "content": "x"}], r"parameter: 'messages\[1\].tool_call_id'"),
    "an item of the other API": ([USER, returned("a")], r"messages\[1\]"),
}
BAD_BODIES: dict[str, tuple[str, Any, str]] = {
    "an unknown parameter of responses": (RESPONSES, {"model": "m", "input": "go", "note": 1}, "parameter: 'note'"),
    "an unknown parameter of chat": (CHAT, {"model": "m", "messages": [USER], "note": 1}, "parameter: 'note'"),
    "no messages": (CHAT, {"model": "m"}, "Missing required parameter: 'messages'"),
    "messages that are no list": (CHAT, {"model": "m", "messages": USER}, "Invalid type for 'messages'"),
    "an earlier response": (RESPONSES, {"input": "go", "previous_response_id": "resp_1"}, "Nothing is kept"),
    "a kept conversation": (RESPONSES, {"input": "go", "conversation": "conv_1"}, "Nothing is kept"),
    "a value of a mapping": (RESPONSES, {"input": "go", "metadata": {"job": 7}}, "Invalid type for 'metadata.job'"),
    "a number for true": (RESPONSES, {"input": "go", "stream": 1}, "Invalid value: 1"),
    "no object": (CHAT, [USER], "must be an object"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[StrictServer]:
    """A server that never runs out of turns."""
    with StrictServer(itertools.repeat("done")) as running:
        yield running


@pytest.fixture(scope="module")
def http(server: StrictServer) -> Iterator[httpx.Client]:
    """A client that sends whatever it is given."""
    with httpx.Client(base_url=server.base_url) as client:
        yield client


def bodies(table: dict[str, Any], path: str, key: str) -> list[Any]:
    """Make a case of a request from each row of a table, with and without streaming."""
    return [
        pytest.param(path, {"model": "m", key: value, "stream": stream}, id=f"{key}-{name}-{stream}")
        for name, value in table.items()
        for stream in (False, True)
    ]


@pytest.mark.parametrize(
    ("path", "body"), [*bodies(GOOD_INPUTS, RESPONSES, "input"), *bodies(GOOD_MESSAGES, CHAT, "messages")]
)
def test_a_well_formed_request_is_answered_and_recorded(
    server: StrictServer, http: httpx.Client, path: str, body: Any
) -> None:
    """Streaming or not."""
    answer = http.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream" if body["stream"] else "application/json")
    assert server.requests[-1] == body


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        *(pytest.param(RESPONSES, {"model": "m", "input": at}, say, id=name) for name, (at, say) in BAD_INPUTS.items()),
        *(pytest.param(CHAT, {"model": "m", "messages": at}, say, id=name) for name, (at, say) in BAD_MESSAGES.items()),
        *(pytest.param(*case, id=name) for name, case in BAD_BODIES.items()),
    ],
)
def test_a_malformed_request_is_refused(
    server: StrictServer, http: httpx.Client, path: str, body: Any, words: str
) -> None:
    """With status 400 and a reason, and it is not recorded as a request."""
    accepted = len(server.requests)
    answer = http.post(path, json=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert re.search(words, error["message"]), error["message"]
    assert server.refusals[-1] == error["message"]
    assert len(server.requests) == accepted


def test_what_is_not_json_is_refused(http: httpx.Client) -> None:
    """As the provider does."""
    answer = http.post(CHAT, content=b"{")
    assert answer.status_code == 400
    assert "could not parse" in answer.json()["error"]["message"]


def test_a_type_that_the_server_cannot_check_is_an_error() -> None:
    """A new release of the client's types cannot make it lenient unnoticed."""
    with pytest.raises(TypeError, match="unknown kind"):
        check_shape(b"", bytes, "input")
