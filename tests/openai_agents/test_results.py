"""What a call was answered with: which results are compared, and what of them is left out."""

from __future__ import annotations

from typing import Any

import pytest
from agents import Agent, function_tool
from openai.types.responses import ResponseFunctionWebSearch, ResponseOutputItem
from openai.types.responses.response_output_item import McpCall
from pydantic import TypeAdapter
from repeatguard_core import RepeatGuardConfig
from repeatguard_core.adapters import Guard, RunMemory
from repeatguard_openai_agents import RepeatGuardHooks
from repeatguard_openai_agents._transcript import SdkTranscript

from tests.openai_agents.scripted_model import ScriptedModel, both_ways, call, reminders, run_to_the_end, say
from tests.openai_agents.tools import get_status

USER = {"role": "user", "content": "go"}
RESET = RepeatGuardConfig(thresholds=(2,), on_changed_result="reset")
OUTPUTS: TypeAdapter[ResponseOutputItem] = TypeAdapter(ResponseOutputItem)


def places(*items: object, memory: RunMemory | None = None, config: RepeatGuardConfig = RESET) -> list[int]:
    """Return the places of the reminders where a changed result begins a new chain."""
    found: list[int] = []
    Guard(config).before_request(
        SdkTranscript(items), lambda insertions: found.extend(each.place for each in insertions), memory=memory
    )
    return found


def output(kind: str, value: object, **fields: Any) -> dict[str, Any]:
    """Make the result of a call."""
    return {"type": f"{kind}_call_output", "call_id": "c", "output": value, **fields}


def of(kind: str, **fields: Any) -> dict[str, Any]:
    """Make a call that the application answers."""
    return {"type": f"{kind}_call", "call_id": "c", **fields}


def shell_part(text: str, **fields: Any) -> dict[str, Any]:
    """Make what one command of a shell has come to."""
    return {"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}, **fields}


FUNCTION = {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"}
CUSTOM = {"type": "custom_tool_call", "call_id": "c", "name": "x", "input": "y"}
APPROVAL = {"type": "mcp_approval_request", "id": "c", "name": "x", "arguments": "{}"}
PICTURE = {"type": "computer_screenshot", "image_url": "data:a"}
REJECTED = {"type": "mcp_approval_response", "approval_request_id": "c", "approve": False}
TIMEOUT = {"outcome": {"type": "timeout"}}

#: A call, a result, the same result with what differs each time, and another result.
OURS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (FUNCTION, output("function", "a"), output("function", "a", id="1", status="completed"), output("function", "b")),
    (
        FUNCTION,
        output("function", [{"type": "input_text", "text": "a"}]),
        output("function", [{"text": "a", "type": "input_text"}], caller={"type": "direct"}),
        output("function", [{"type": "input_text", "text": "b"}]),
    ),
    (FUNCTION, output("function", ""), output("function", "", id="1"), output("function", "b")),
    (CUSTOM, output("custom_tool", "a"), output("custom_tool", "a", id="1"), output("custom_tool", "b")),
    (
        of("shell", action={}),
        output("shell", [shell_part("a")], max_output_length=1),
        output("shell", [shell_part("a", created_by="x")], id="1", status="completed"),
        output("shell", [shell_part("b")]),
    ),
    (
        of("shell", action={}),
        output("shell", [shell_part("a")]),
        output("shell", [shell_part("a")]),
        output("shell", [shell_part("a", **TIMEOUT)]),
    ),
    (
        of("shell", action={}),
        output("shell", [shell_part("a")]),
        output("shell", [shell_part("a")], id="1"),
        output("shell", [shell_part("a", stderr="b")]),
    ),
    (
        of("shell", action={}),
        output("shell", [shell_part("a")]),
        output("shell", [shell_part("a")], id="1"),
        output("shell", [shell_part("a", outcome={"type": "exit", "exit_code": 1})]),
    ),
    (
        of("local_shell", action={}),
        output("local_shell", "a"),
        output("local_shell", "a", id="1"),
        output("local_shell", "b"),
    ),
    (
        of("apply_patch", operation={}),
        output("apply_patch", "a", status="completed"),
        output("apply_patch", "a", status="completed", id="1"),
        output("apply_patch", "a", status="failed"),
    ),
    (
        of("apply_patch", operation={}),
        output("apply_patch", "", status="completed"),
        output("apply_patch", None, status="completed"),
        output("apply_patch", "b", status="completed"),
    ),
    (
        of("computer", action={}),
        output("computer", PICTURE, acknowledged_safety_checks=[{"id": "1"}]),
        output("computer", PICTURE, id="1", status="completed"),
        output("computer", {**PICTURE, "image_url": "data:b"}),
    ),
    (APPROVAL, REJECTED, {**REJECTED, "id": "1", "reason": None}, {**REJECTED, "reason": "no"}),
]


@pytest.mark.rules("X2")
@pytest.mark.parametrize(
    ("made", "result", "same", "other"), OURS, ids=lambda value: value["type"].removesuffix("_output")
)
def test_results_that_the_application_gives(
    made: dict[str, Any], result: dict[str, Any], same: dict[str, Any], other: dict[str, Any]
) -> None:
    """They are compared by what the model is told, whatever else an item says."""
    assert places(USER, made, result, made, same) == [5]
    assert places(USER, made, result, made, other) == []
    assert places(USER, made, other, made, other) == [5]


HOSTED: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (
        {"type": "mcp_call", "id": "1", "name": "x", "server_label": "s", "arguments": "{}"},
        {"output": "a"},
        {"id": "2", "output": "a", "error": None, "status": "completed"},
        {"error": "a"},
    ),
    (
        {"type": "file_search_call", "id": "1", "queries": ["x"], "status": "completed"},
        {"results": [{"file_id": "f", "text": "a", "score": 0.5}]},
        {"id": "2", "results": [{"file_id": "f", "text": "a", "score": 0.6, "filename": "a.txt"}]},
        {"results": [{"file_id": "f", "text": "b"}]},
    ),
    (
        {"type": "code_interpreter_call", "id": "1", "code": "1", "container_id": "k", "status": "completed"},
        {"outputs": [{"type": "logs", "logs": "a"}]},
        {"id": "2", "container_id": "l", "outputs": [{"type": "logs", "logs": "a"}, {"type": "image", "url": "u"}]},
        {"outputs": [{"type": "logs", "logs": "b"}]},
    ),
]


@pytest.mark.rules("X2", "D8")
@pytest.mark.parametrize("as_objects", [False, True], ids=["dictionaries", "objects"])
@pytest.mark.parametrize(("made", "result", "same", "other"), HOSTED, ids=lambda value: value.get("type", ""))
def test_results_that_a_call_has_with_it(
    made: dict[str, Any],
    result: dict[str, Any],
    same: dict[str, Any],
    other: dict[str, Any],
    as_objects: bool,  # noqa: FBT001
) -> None:
    """The provider runs it; an object of the client's says the same as its dictionary."""

    def item(**fields: Any) -> Any:
        whole = {**made, **fields}
        return OUTPUTS.validate_python(whole) if as_objects else whole

    last = ({**FUNCTION, "arguments": '{"q": 1}'}, output("function", "a"))
    assert places(USER, {**made, **result}, item(**same), *last) == [5]
    assert places(USER, item(**result), {**made, **other}, *last) == []


@pytest.mark.rules("X2", "D8")
@pytest.mark.parametrize("unknown", [{}, {"output": None, "results": None, "outputs": None}, {"outputs": []}], ids=str)
@pytest.mark.parametrize(("made", "result", "same", "other"), HOSTED, ids=lambda value: value.get("type", ""))
def test_a_result_that_is_not_there_is_unknown(
    made: dict[str, Any], result: dict[str, Any], same: dict[str, Any], other: dict[str, Any], unknown: dict[str, Any]
) -> None:
    """The provider was not asked for it, so the calls count by their arguments alone."""
    last = ({**FUNCTION, "arguments": '{"q": 1}'}, output("function", "a"))
    assert places(USER, {**made, **result}, {**made, **same, "output": None, "results": None, **unknown}, *last) == [5]
    assert places(USER, {**made, **other}, {**made, **unknown, "results": []}, *last) == [5]


@pytest.mark.rules("X2", "D8")
def test_what_has_no_result_to_compare() -> None:
    """An approved call has its result later; a shell may have said nothing; a picture may be elsewhere."""
    approved = {**REJECTED, "approve": True}
    assert places(USER, APPROVAL, approved, APPROVAL, REJECTED) == [5]
    silent, loud = output("shell", []), output("shell", [shell_part("a")])
    assert places(USER, of("shell"), silent, of("shell"), loud) == [5]
    elsewhere = output("computer", {"type": "computer_screenshot", "file_id": "f"})
    assert places(USER, of("computer"), elsewhere, of("computer"), output("computer", PICTURE)) == [5]


@pytest.mark.rules("X2", "D1", "D8")
def test_the_sources_of_a_web_search_are_no_arguments() -> None:
    """They are what was found; the same search is the same call whatever it finds, and has no result to compare."""

    def search(query: str, *sources: str) -> dict[str, Any]:
        found = [{"type": "url", "url": source} for source in sources]
        return {"type": "web_search_call", "action": {"type": "search", "query": query, "sources": found}}

    bare = {"type": "web_search_call", "action": {"type": "search", "query": "x"}}
    made = {"id": "1", "status": "completed", **search("x", "b", "c")}
    as_object = ResponseFunctionWebSearch.model_validate(made)
    last = ({**FUNCTION, "name": "y"}, output("function", "a"))
    for again in (search("x", "b"), bare, as_object):
        assert places(USER, search("x", "a"), again, *last) == [5]
    assert places(USER, search("x", "a"), search("y", "a"), *last) == []
    odd = {"type": "web_search_call", "action": {}}
    assert places(USER, odd, odd, *last) == [5]


@pytest.mark.rules("X2", "D8")
def test_a_hosted_shell_is_answered_within_the_response() -> None:
    """In sight or not, its result is paired with its call."""
    shell = of("shell", id="1", action={}, environment={"type": "container_reference", "container_id": "k"})
    last = ({**FUNCTION, "call_id": "d"}, {**output("function", "a"), "call_id": "d"})
    changed = [shell, output("shell", [shell_part("a")]), {**shell, "call_id": "e"}]
    changed.append({**output("shell", [shell_part("b")]), "call_id": "e"})
    same = [*changed[:3], {**changed[1], "call_id": "e"}]
    assert places(USER, *changed, *last) == []
    assert places(USER, *same, *last) == [7]
    for response, expected in ((changed, []), (same, [1])):
        memory = RunMemory()
        assert places(USER, memory=memory) == []
        memory.note_response(SdkTranscript([*response, last[0]]))
        assert places(last[1], memory=memory) == expected


@pytest.mark.rules("X2", "D9")
def test_results_go_by_the_names_of_their_calls() -> None:
    """Not by the order in which they came; and a batch that stays without some has those that it has."""
    other = {**FUNCTION, "call_id": "d", "arguments": '{"q": 1}'}
    a, b = output("function", "a"), {**output("function", "b"), "call_id": "d"}
    assert places(USER, FUNCTION, other, a, b, other, b) == [7]
    assert places(USER, FUNCTION, other, b, a, other, b) == [7]
    assert places(USER, other, FUNCTION, a, b, other, {**a, "call_id": "d"}) == []


class Statuses:
    """A tool whose answers differ, or do not."""

    def __init__(self, *answers: str) -> None:
        self._answers = iter(answers)
        self.tool = function_tool(self._answer, name_override="poll")

    def _answer(self) -> str:
        """Look a job up."""
        return next(self._answers)


modes = pytest.mark.parametrize("mode", [{}, {"conversation_id": "c"}], ids=["in sight", "kept by the server"])


@pytest.mark.rules("X2", "D11")
@modes
@both_ways
async def test_results_through_a_run(mode: dict[str, Any], streamed: bool) -> None:  # noqa: FBT001
    """Also where a request shows no more than the newest one."""
    model = ScriptedModel([*([call("poll")] for _ in range(5)), [say("done")]])
    agent = Agent(name="agent", model=model, tools=[Statuses("a", "b", "b", "c", "c").tool])
    await run_to_the_end(agent, "go", RepeatGuardHooks(RESET), streamed=streamed, **mode)
    new = [0, 0, 0, 1, 0, 1]
    expected = new if mode else [sum(new[: n + 1]) for n in range(6)]
    assert [len(reminders(request)) for request in model.requests] == expected


@pytest.mark.rules("X2", "D8")
@modes
async def test_hosted_results_through_a_run(mode: dict[str, Any]) -> None:
    """The SDK shows them in the response, and in the history where it keeps it."""

    def look(number: int, text: str) -> ResponseOutputItem:
        return McpCall(id=f"m{number}", arguments="{}", name="look", server_label="s", type="mcp_call", output=text)

    turns = [[look(n, text), call("get_status")] for n, text in enumerate("abb")]
    model = ScriptedModel([*turns, [say("done")]])
    config = RepeatGuardConfig(thresholds=(2,), on_changed_result="reset", include=("s.*",))
    agent = Agent(name="agent", model=model, tools=[get_status])
    await run_to_the_end(agent, "go", RepeatGuardHooks(config), **mode)
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 1]


@pytest.mark.rules("X2", "D8")
async def test_failing_calls_have_results() -> None:
    """What the SDK tells the model of the failure."""

    def fail() -> str:
        msg = "it failed"
        raise RuntimeError(msg)

    model = ScriptedModel([[call("fail")], [call("fail")], [say("done")]])
    await run_to_the_end(Agent(name="agent", model=model, tools=[function_tool(fail)]), "go", RepeatGuardHooks(RESET))
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 1]
