"""The strict server accepts what is well-formed for Google, and refuses each malformed request."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.wire.strict_server import StrictServer

METHODS = ["generateContent", "streamGenerateContent?alt=sse"]
TEXT = {"text": "go"}


def call(name: str, call_id: str | None = None, **changes: Any) -> dict[str, Any]:
    """Make a part with a call."""
    return {"functionCall": {"name": name, "args": {}, **({"id": call_id} if call_id else {}), **changes}}


def result(name: str, call_id: str | None = None, **changes: Any) -> dict[str, Any]:
    """Make a part with a response."""
    given = {"name": name, "response": {"output": "pending"}, **({"id": call_id} if call_id else {}), **changes}
    return {"functionResponse": given}


def user(*parts: Any, **changes: Any) -> dict[str, Any]:
    """Make a content of the user's."""
    return {"role": "user", "parts": list(parts), **changes}


def model(*parts: Any, **changes: Any) -> dict[str, Any]:
    """Make a content of the model's."""
    return {"role": "model", "parts": list(parts), **changes}


GO, DONE = user(TEXT), model({"text": "done"})
THOUGHT = {"text": "hm", "thought": True}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}

GOOD_CONTENTS: dict[str, Any] = {
    "a text": [GO],
    "a content without role": [{"parts": [TEXT]}],
    "parts": [user(TEXT, IMAGE)],
    "an empty text": [user({"text": ""}), DONE, GO],
    "an answer": [GO, DONE, GO],
    "a call and its response": [GO, model(call("a")), user(result("a"))],
    "a content behind the response": [GO, model(call("a")), user(result("a")), GO],
    "a batch": [GO, model(call("a"), call("b"), call("a")), user(result("a"), result("a"), result("b")), GO],
    "a batch with ids": [
        GO,
        model(call("a", "1"), call("a", "2")),
        user(result("a", "2"), result("a", "1")),
    ],
    "batch after batch": [GO, model(call("a")), user(result("a")), model(call("a")), user(result("a"))],
    "batch after batch with ids": [GO, model(call("a", "1")), user(result("a", "1")), GO],
    "a response with an id of its own": [GO, model(call("a")), user(result("a", "1"))],
    "a call behind a text": [GO, model(TEXT, call("a")), user(result("a"))],
    "a call behind a thought": [GO, model(THOUGHT, {**call("a"), "thoughtSignature": "aGk="}), user(result("a"))],
    "a response without role": [GO, model(call("a")), {"parts": [result("a")]}],
    "keys with underscores": [GO, model({"function_call": {"name": "a"}}), user({"function_response": {"name": "a"}})],
}
UNEQUAL = "calls in the content before"
BAD_CONTENTS: dict[str, tuple[Any, str]] = {
    "no content": ([], "There has to be a content"),
    "an answer at the beginning": ([DONE, GO], "The first and the last content"),
    "an answer at the end": ([GO, DONE], "The first and the last content"),
    "a call at the beginning": ([model(call("a")), user(result("a"))], "The first and the last content"),
    "a call without response": ([GO, model(call("a"))], UNEQUAL),
    "a call without response, later": ([GO, model(call("a")), GO], UNEQUAL),
    "one response for two calls": ([GO, model(call("a"), call("a")), user(result("a"))], UNEQUAL),
    "two responses for one call": ([GO, model(call("a")), user(result("a"), result("a"))], UNEQUAL),
    "a response without call": ([GO, user(result("a"))], UNEQUAL),
    "a response at the beginning": ([user(result("a"))], UNEQUAL),
    "a response twice": ([GO, model(call("a")), user(result("a")), user(result("a"))], UNEQUAL),
    "a content between call and response": ([GO, model(call("a")), GO, user(result("a"))], UNEQUAL),
    "a content between two responses": (
        [GO, model(call("a"), call("b")), user(result("a")), GO, user(result("b"))],
        UNEQUAL,
    ),
    "responses in two contents": ([GO, model(call("a"), call("b")), user(result("a")), user(result("b"))], UNEQUAL),
    "an answer between call and response": ([GO, model(call("a")), DONE, user(result("a"))], UNEQUAL),
    "a batch behind an open batch": (
        [GO, model(call("a")), model(call("b")), user(result("a"), result("b"))],
        UNEQUAL,
    ),
    "a call behind an answer": ([GO, DONE, model(call("a")), user(result("a"))], "behind a content of the user's"),
    "another name": ([GO, model(call("a")), user(result("b"))], "other names"),
    "a name too often": ([GO, model(call("a"), call("b")), user(result("a"), result("a"))], "other names"),
    "another id": ([GO, model(call("a", "1")), user(result("a", "2"))], "other ids"),
    "no id for one": ([GO, model(call("a", "1")), user(result("a"))], "other ids"),
    "an id twice": ([GO, model(call("a", "1"), call("a", "1")), user(result("a", "1"), result("a", "1"))], "same id"),
    "a text behind the response": ([GO, model(call("a")), user(result("a"), TEXT)], "no other parts"),
    "a text before the response": ([GO, model(call("a")), user(TEXT, result("a"))], "no other parts"),
    "a call of the user's": ([user(call("a")), user(result("a"))], "no part of the role 'user'"),
    "a response of the model's": ([GO, model(call("a")), model(result("a")), GO], "no part of the role 'model'"),
    "an unknown role": ([GO, model(call("a")), user(result("a"), role="tool")], "no role 'tool'"),
    "no parts": ([user()], "must have parts"),
    "parts that are not there": ([{"role": "user"}], "must have parts"),
    "a part that is nothing": ([user({"thought": True})], "this one is: nothing"),
    "a part that is two things": ([GO, model({**call("a"), **TEXT}), user(result("a"))], "is: text, function_call"),
    "an unknown key of a content": ([user(TEXT, note=1)], r"Unknown name 'note' at 'contents\[0\]'"),
    "an unknown key of a part": ([user({**TEXT, "note": 1})], r"Unknown name 'note' at 'contents\[0\].parts\[0\]'"),
    "metadata of a part": ([user({**TEXT, "metadata": {"a": 1}})], "Unknown name 'metadata'"),
    "an unknown key of a call": ([GO, model(call("a", note=1)), user(result("a"))], "Unknown name 'note'"),
    "an unknown key of a response": ([GO, model(call("a")), user(result("a", note=1))], "Unknown name 'note'"),
    "a number for a text": ([user({"text": 1})], r"Invalid value at 'contents\[0\].parts\[0\].text'"),
    "args that are no object": ([GO, model(call("a", args="{}")), user(result("a"))], r"functionCall.args'"),
    "a message of the other API": ([{"role": "user", "content": "go"}], "Unknown name 'content'"),
    "something that is no content": (["go"], r"Invalid value at 'contents\[0\]'"),
}
BAD_BODIES: dict[str, tuple[Any, str]] = {
    "an unknown parameter": ({"contents": [GO], "note": 1}, "Unknown name 'note' at ''"),
    "the model": ({"contents": [GO], "model": "m"}, "Unknown name 'model'"),
    "no contents": ({}, "Invalid value at 'contents'"),
    "an unknown setting": ({"contents": [GO], "generationConfig": {"note": 1}}, "at 'generationConfig'"),
    "a tool of the other API": ({"contents": [GO], "tools": [{"name": "look"}]}, "Unknown name 'name'"),
    "no object": ([GO], "must be an object"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[StrictServer]:
    """A server that never runs out of turns."""
    with StrictServer(itertools.repeat("done")) as running:
        yield running


@pytest.fixture(scope="module")
def http(server: StrictServer) -> Iterator[httpx.Client]:
    """A client that sends whatever it is given."""
    with httpx.Client(base_url=f"{server.root_url}/v1beta/models") as client:
        yield client


@pytest.fixture(params=METHODS)
def path(request: pytest.FixtureRequest) -> str:
    """Where to ask for an answer, whole and streamed."""
    return f"/m:{request.param}"


@pytest.mark.parametrize("contents", GOOD_CONTENTS.values(), ids=GOOD_CONTENTS)
def test_a_well_formed_request_is_answered_and_recorded(
    server: StrictServer, http: httpx.Client, path: str, contents: Any
) -> None:
    """Streaming or not."""
    body = {"contents": contents}
    answer = http.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream" if "stream" in path else "application/json")
    assert server.requests[-1] == body


def test_parameters_are_known(http: httpx.Client, path: str) -> None:
    """Those of an agent's usual request."""
    tool = {"name": "look", "description": "Looks.", "parametersJsonSchema": {"type": "object", "properties": {}}}
    more = {
        "systemInstruction": {"parts": [TEXT]},
        "generationConfig": {"temperature": 0.5, "maxOutputTokens": 9, "stopSequences": ["."]},
        "tools": [{"functionDeclarations": [tool]}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    }
    answer = http.post(path, json={"contents": [GO], **more})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        *(pytest.param({"contents": at}, words, id=name) for name, (at, words) in BAD_CONTENTS.items()),
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
    assert error["code"] == 400
    assert error["status"] == "INVALID_ARGUMENT"
    assert re.search(words, error["message"]), error["message"]
    assert server.refusals[-1] == error["message"]
    for detail in error.get("details", ()):
        (violation,) = detail["fieldViolations"]
        assert violation["description"] == error["message"]
    assert len(server.requests) == accepted
