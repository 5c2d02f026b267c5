"""The strict server accepts what is well-formed for Anthropic, and refuses each malformed request."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.wire.strict_server import StrictServer

PATHS = {"messages": "/v1/messages", "beta": "/v1/messages?beta=true"}
TEXT = {"type": "text", "text": "go"}
USER = {"role": "user", "content": "go"}
ANSWER = {"role": "assistant", "content": "done"}


def call(call_id: str, **changes: Any) -> dict[str, Any]:
    """Make a block with a call."""
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}, **changes}


def result(call_id: str, **changes: Any) -> dict[str, Any]:
    """Make a block with a result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": "pending", **changes}


def asked(*call_ids: str) -> dict[str, Any]:
    """Make a message with calls."""
    return {"role": "assistant", "content": [call(each) for each in call_ids]}


def told(*call_ids: str, text: str | None = None) -> dict[str, Any]:
    """Make a message with results, and with a text behind them."""
    texts = [] if text is None else [{"type": "text", "text": text}]
    return {"role": "user", "content": [*(result(each) for each in call_ids), *texts]}


def of(role: str, *blocks: Any) -> dict[str, Any]:
    """Make a message of blocks."""
    return {"role": role, "content": list(blocks)}


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
PNG = {"type": "base64", "media_type": "image/png", "data": "aGk="}
IMAGE = {"type": "image", "source": PNG}

GOOD_MESSAGES: dict[str, Any] = {
    "a text": [USER],
    "a block": [of("user", TEXT, IMAGE)],
    "a block that is cached": [of("user", {**TEXT, "cache_control": {"type": "ephemeral", "ttl": "5m"}})],
    "an answer": [USER, ANSWER, USER],
    "messages of one role": [USER, USER, ANSWER, ANSWER, USER],
    "a call and its result": [USER, asked("a"), told("a")],
    "a text behind the result": [USER, asked("a"), told("a", text="go on")],
    "a message behind the result": [USER, asked("a"), told("a"), USER],
    "a batch": [USER, asked("a", "b"), told("b", "a", text="go on")],
    "batch after batch": [USER, asked("a"), told("a", text="go on"), asked("b"), told("b")],
    "a call behind a text": [USER, of("assistant", TEXT, call("a")), told("a")],
    "a call behind a thought": [USER, of("assistant", THINKING, call("a")), told("a")],
    "a call of the server's": [USER, of("assistant", SEARCH, FOUND, TEXT), USER],
    "a call of the server's beside another": [USER, of("assistant", SEARCH, FOUND, call("a")), told("a")],
    "a result in blocks": [USER, asked("a"), of("user", result("a", content=[TEXT, IMAGE]))],
    "a result without content": [USER, asked("a"), of("user", {"type": "tool_result", "tool_use_id": "a"})],
    "a result that failed": [USER, asked("a"), of("user", result("a", is_error=True))],
}
NOT_ANSWERED = r"a `tool_result` block for each `tool_use` block; there is none for: a\.$"
NOT_ASKED = r"is waiting for this `tool_result` block: a\.$"
EMPTY = "A text block must not be empty"
BAD_MESSAGES: dict[str, tuple[Any, str]] = {
    "no message": ([], "There has to be a message"),
    "an answer at the beginning": ([ANSWER, USER], "The first message has to be the user's"),
    "an answer at the end": ([USER, ANSWER], "The last message has to be the user's"),
    "a system message": ([USER, {"role": "system", "content": "be brief"}, USER], "'system'"),
    "a call without result": ([USER, asked("a")], NOT_ANSWERED),
    "a call without result, later": ([USER, asked("a"), USER], NOT_ANSWERED),
    "one result for two calls": ([USER, asked("a", "b"), told("b")], NOT_ANSWERED),
    "a text before the result": ([USER, asked("a"), of("user", TEXT, result("a"))], NOT_ANSWERED),
    "a text between results": ([USER, asked("b", "a"), of("user", result("b"), TEXT, result("a"))], NOT_ANSWERED),
    "a message between call and result": ([USER, asked("a"), USER, told("a")], NOT_ANSWERED),
    "a message between two results": ([USER, asked("b", "a"), told("b"), USER, told("a")], NOT_ANSWERED),
    "results in two messages": ([USER, asked("b", "a"), told("b"), told("a")], NOT_ANSWERED),
    "an answer between call and result": ([USER, asked("a"), ANSWER, told("a")], NOT_ANSWERED),
    "a batch behind an open batch": ([USER, asked("a"), asked("b"), told("a", "b")], NOT_ANSWERED),
    "a result without call": ([USER, told("a")], NOT_ASKED),
    "a result at the beginning": ([told("a")], NOT_ASKED),
    "a result twice": ([USER, asked("a"), told("a", "a")], NOT_ASKED),
    "a result twice, later": ([USER, asked("a"), told("a"), told("a")], NOT_ASKED),
    "a result of an earlier call": ([USER, asked("a"), told("a"), asked("b"), told("b", "a")], NOT_ASKED),
    "a result of no call behind a text": ([USER, asked("b"), of("user", result("b"), TEXT, result("a"))], NOT_ASKED),
    "a result of a call of the server's": ([USER, of("assistant", SEARCH), told("srvtoolu_1")], "srvtoolu_1"),
    "an id twice in a message": ([USER, asked("a", "a"), told("a", "a")], "the same id: a"),
    "an id twice": ([USER, asked("a"), told("a"), asked("a"), told("a")], "the same id: a"),
    "a call of the user's": ([of("user", call("a")), told("a")], "`tool_use` block is no block of the role 'user'"),
    "a call of the server's, of the user's": ([of("user", SEARCH)], "`server_tool_use` block is no block"),
    "a result of the model's": ([USER, asked("a"), of("assistant", result("a")), USER], "no block of the role 'assi"),
    "an empty text": ([{**USER, "content": ""}], EMPTY),
    "an empty block": ([USER, asked("a"), told("a", text="")], EMPTY),
    "a block of blanks": ([of("user", TEXT, {**TEXT, "text": " \n"})], EMPTY),
    "an empty block of a result": ([USER, asked("a"), of("user", result("a", content=[{**TEXT, "text": ""}]))], EMPTY),
    "an empty text of the model's": ([USER, of("assistant", {**TEXT, "text": ""}), USER], EMPTY),
    "no blocks": ([of("user")], "A message must not be empty"),
    "an unknown key of a message": ([{**USER, "note": 1}], r"Unknown parameter: 'messages\[0\].note'"),
    "an unknown key of a text": ([of("user", {**TEXT, "note": 1})], r"'messages\[0\].content\[0\].note'"),
    "an unknown key of a call": ([USER, of("assistant", call("a", note=1)), told("a")], r"content\[0\].note'"),
    "an unknown key of a result": ([USER, asked("a"), of("user", result("a", note=1))], r"content\[0\].note'"),
    "metadata of a text": ([of("user", {**TEXT, "metadata": {"a": 1}})], r"content\[0\].metadata'"),
    "an unknown role": ([{**USER, "role": "tool"}], "Invalid value: 'tool'"),
    "an unknown type": ([of("user", {**TEXT, "type": "input_text"})], "Invalid value: 'input_text'"),
    "a missing key": ([USER, of("assistant", {"type": "tool_use", "id": "a", "name": "look"})], r"\.input'"),
    "input that is no object": ([USER, of("assistant", call("a", input="{}")), told("a")], r"\.input'"),
    "a number for data": ([of("user", {**IMAGE, "source": {**PNG, "data": 1}})], r"\.source\.data'"),
    "a number for a text": ([{**USER, "content": 1}], r"Invalid type for 'messages\[0\].content'"),
    "a message of the other API": ([USER, {"role": "tool", "tool_call_id": "a", "content": "x"}], r"messages\[1\]"),
}
BODY = {"model": "m", "max_tokens": 9, "messages": [USER]}
BAD_BODIES: dict[str, tuple[Any, str]] = {
    "an unknown parameter": ({**BODY, "note": 1}, "Unknown parameter: 'note'"),
    "no limit": ({"model": "m", "messages": [USER]}, "Missing required parameter: 'max_tokens'"),
    "a limit that is no number": ({**BODY, "max_tokens": True}, "Invalid type for 'max_tokens'"),
    "no messages": ({"model": "m", "max_tokens": 9}, "Missing required parameter: 'messages'"),
    "no model": ({"max_tokens": 9, "messages": [USER]}, "Missing required parameter: 'model'"),
    "an empty block of instructions": ({**BODY, "system": [{**TEXT, "text": ""}]}, EMPTY),
    "a tool of the other API": ({**BODY, "tools": [{"type": "function", "function": {}}]}, r"tools\[0\]"),
    "a number for true": ({**BODY, "stream": 1}, "Invalid value: 1"),
    "no object": ([BODY], "must be an object"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[StrictServer]:
    """A server that never runs out of turns."""
    with StrictServer(itertools.repeat("done")) as running:
        yield running


@pytest.fixture(scope="module")
def http(server: StrictServer) -> Iterator[httpx.Client]:
    """A client that sends whatever it is given."""
    with httpx.Client(base_url=server.root_url) as client:
        yield client


@pytest.fixture(params=PATHS.values(), ids=list(PATHS))
def path(request: pytest.FixtureRequest) -> str:
    """The API, and the one in beta."""
    return str(request.param)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("messages", GOOD_MESSAGES.values(), ids=GOOD_MESSAGES)
def test_a_well_formed_request_is_answered_and_recorded(
    server: StrictServer, http: httpx.Client, path: str, messages: Any, *, stream: bool
) -> None:
    """Streaming or not."""
    body = {**BODY, "messages": messages, "stream": stream}
    answer = http.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream" if stream else "application/json")
    assert server.requests[-1] == body


def test_parameters_are_known(server: StrictServer, http: httpx.Client, path: str) -> None:
    """Those of an agent's usual request."""
    tool = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    more = {"system": [TEXT], "tools": [tool], "tool_choice": choice, "stop_sequences": ["."]}
    answer = http.post(path, json={**BODY, **more})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        *(
            pytest.param({**BODY, "messages": messages, "stream": stream}, words, id=f"{name}-{stream}")
            for name, (messages, words) in BAD_MESSAGES.items()
            for stream in (False, True)
        ),
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
    said = answer.json()
    assert set(said) == {"type", "error", "request_id"}
    assert said["type"] == "error"
    assert said["error"]["type"] == "invalid_request_error"
    assert re.search(words, said["error"]["message"]), said["error"]["message"]
    assert said["error"]["message"].endswith(server.refusals[-1])
    assert len(server.requests) == accepted


def test_what_is_of_the_beta_is_refused_without_it(http: httpx.Client) -> None:
    """A parameter may be known to the API in beta alone."""
    body = {**BODY, "mcp_servers": []}
    answers = [http.post(path, json=body) for path in PATHS.values()]
    assert [answer.status_code for answer in answers] == [400, 200]
