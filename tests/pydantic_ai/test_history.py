"""M5, M6 and D11: histories that are carried on, stored, resumed, broken off, and what of the guard is in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from pydantic_ai import CallDeferred, ModelRequestNode, Tool, capture_run_messages
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextContent,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied
from repeatguard_core import is_reminder
from repeatguard_pydantic_ai import RepeatGuard, RepeatGuardConfig

from tests.pydantic_ai.agents import agent, assert_prefixes, loop, marks_in, reminders_in, search
from tests.pydantic_ai.driver import stored
from tests.pydantic_ai.scripted_model import ScriptedModel, call, lines

CONFIG = RepeatGuardConfig(thresholds=(2, 4))
Carry = Callable[[list[ModelMessage]], list[ModelMessage]]


def as_it_is(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Carry a history on in the process."""
    return messages


CARRIED = pytest.mark.parametrize("carry", [as_it_is, stored])


@pytest.mark.rules("M5", "M6")
@CARRIED
async def test_a_further_run_begins_with_what_was(form: Any, carry: Carry) -> None:
    """The reminders stand where they stood, and the new prompt starts a new chain."""
    model = ScriptedModel(*loop(2), "done", *loop(2), "done")
    first = await agent(model, form(CONFIG)).run("go")
    second = await agent(model, form(CONFIG)).run("again", message_history=carry(first.all_messages()))
    assert_prefixes(model.requests)
    assert model.reminders == [[], [], [5], [5], [5], [5, 12]]
    assert [mark["count"] for mark in marks_in(second.all_messages())] == [2, 2]
    assert [mark["count"] for mark in marks_in(second.new_messages())] == [2]


@pytest.mark.rules("M5")
async def test_new_messages_put_together_are_the_history(form: Any) -> None:
    """An application that stores each run's new messages stores every reminder, once and in its place."""
    model = ScriptedModel(*loop(4), "done", *loop(4), "done")
    store: list[ModelMessage] = []
    for prompt in ("go", "again"):
        result = await agent(model, form(CONFIG)).run(prompt, message_history=list(store))
        store += result.new_messages()
    assert [mark["count"] for mark in marks_in(store)] == [2, 4, 2, 4]
    assert lines(store)[:-1] == model.requests[-1]


@pytest.mark.rules("M5", "S6")
async def test_what_a_reminder_looks_like_in_the_history(form: Any) -> None:
    """A request of its own after the results, of the run, with metadata that JSON keeps and the model is not sent."""
    model = ScriptedModel(*loop(2))
    result = await agent(model, form(CONFIG)).run("go")
    message = stored(result.all_messages())[5]
    assert isinstance(message, ModelRequest)
    assert message.run_id == result.all_messages()[0].run_id is not None
    assert message.timestamp is not None
    (part,) = message.parts
    assert isinstance(part, UserPromptPart)
    (content,) = list(part.content)
    assert isinstance(content, TextContent)
    assert is_reminder(content.content)
    metadata = content.metadata["repeatguard"]
    assert (metadata["tool"], metadata["count"], metadata["threshold"]) == ("search", 2, 2)
    assert "q" not in json.dumps(metadata)
    assert "checkpoint" not in str(model.requests)


async def test_the_documentation_finds_the_reminders() -> None:
    """The function that it shows lists them all, also from JSON."""
    page = (Path(__file__).parents[2] / "docs/pydantic-ai.md").read_text(encoding="utf-8")
    (block,) = [token.content for token in MarkdownIt().parse(page) if "def reminders" in token.content]
    names: dict[str, Any] = {}
    exec(compile(block, "docs", "exec", dont_inherit=True), names)  # noqa: S102 - it is ours
    result = await agent(ScriptedModel(*loop(4)), RepeatGuard(CONFIG)).run("go")
    found = names["reminders"](stored(result.all_messages()))
    assert [mark["count"] for mark in found] == [2, 4]


@pytest.mark.rules("M6")
async def test_captured_messages_show_what_was_sent(form: Any) -> None:
    """Also where the run then fails."""

    def fails(q: int) -> str:
        if len(model.requests) == 4:
            msg = "broken"
            raise RuntimeError(msg)
        return "no rows"

    model = ScriptedModel(*loop(4, "fails"))
    with capture_run_messages() as messages, pytest.raises(RuntimeError, match="broken"):
        await agent(model, form(CONFIG), tools=[fails]).run("go")
    assert reminders_in(messages) == [5]


# --- runs that are taken up again ------------------------------------------------------------


async def broken_off(guarded: Any, requests: int, *, is_sent: bool, captured: list[ModelMessage]) -> None:
    """Run an agent to a request, and leave the run there: before it is sent, or when the model fails."""
    async with guarded.iter("go") as run:
        node = run.next_node
        while True:
            if isinstance(node, ModelRequestNode):
                requests -= 1
                if requests == 0:
                    break
            node = await run.next(node)
        captured[:] = run.all_messages()
        if is_sent:
            with pytest.raises(ConnectionError):
                await run.next(node)
            captured[:] = run.ctx.state.message_history
        else:
            captured.append(node.request)


@pytest.mark.rules("D11", "M5", "M6")
@CARRIED
@pytest.mark.parametrize("is_sent", [False, True])
async def test_a_run_that_broke_off_between_two_requests(form: Any, carry: Carry, is_sent: bool) -> None:  # noqa: FBT001
    """Taken up without a prompt it goes on counting, and gives no reminder a second time."""
    model = ScriptedModel(*loop(2), fails_at=3)
    history: list[ModelMessage] = []
    await broken_off(agent(model, form(CONFIG)), 3, is_sent=is_sent, captured=history)
    resumed = ScriptedModel(*loop(2))
    result = await agent(resumed, form(CONFIG)).run(message_history=carry(history))
    assert resumed.reminders == [[5], [5], [5, 10]]
    assert_prefixes([*model.requests, *resumed.requests])
    assert [mark["count"] for mark in marks_in(result.all_messages())] == [2, 4]


@pytest.mark.rules("D11")
async def test_a_run_that_broke_off_and_goes_on_with_a_prompt(form: Any) -> None:
    """The user's words start a new chain, so what was due before them is dropped."""
    history: list[ModelMessage] = []
    model = ScriptedModel(*loop(3))
    await broken_off(agent(model, form(CONFIG)), 3, is_sent=False, captured=history)
    resumed = ScriptedModel(*loop(2))
    result = await agent(resumed, form(CONFIG)).run("try fetch", message_history=history)
    assert resumed.reminders == [[], [], [10]]
    assert len(marks_in(result.all_messages())) == 1


def approvals(requests: DeferredToolRequests, *, approve: bool) -> DeferredToolResults:
    """Answer all requests for approval alike."""
    answer = approve or ToolDenied("no")
    return DeferredToolResults(approvals={each.tool_call_id: answer for each in requests.approvals})


async def run_to_the_end(guarded: Callable[[], Any], carry: Carry, *, approve: bool) -> list[list[ModelMessage]]:
    """Run an agent through all approvals, each time with a new agent; give the messages of each run."""
    result = await guarded().run("go")
    runs = [result.new_messages()]
    while isinstance(result.output, DeferredToolRequests):
        answers = approvals(result.output, approve=approve)
        result = await guarded().run(message_history=carry(result.all_messages()), deferred_tool_results=answers)
        runs.append(result.new_messages())
    return [*runs, result.all_messages()]


@pytest.mark.rules("D8", "D11", "M5")
@CARRIED
@pytest.mark.parametrize("approve", [False, True])
async def test_a_loop_of_approvals_counts_across_the_runs(form: Any, carry: Carry, approve: bool) -> None:  # noqa: FBT001
    """Each resume is a run of its own, and no news to the model."""
    model = ScriptedModel(*loop(4, "drop"))

    def guarded() -> Any:
        tools = [Tool(search, name="drop", requires_approval=True)]
        return agent(model, form(CONFIG), tools=tools, output_type=[str, DeferredToolRequests])

    *runs, messages = await run_to_the_end(guarded, carry, approve=approve)
    assert model.reminders == [[], [], [5], [5], [5, 10]]
    assert_prefixes(model.requests)
    assert [mark["count"] for mark in marks_in(messages)] == [2, 4]
    assert [len(marks_in(run)) for run in runs] == [0, 0, 1, 0, 1]


@pytest.mark.rules("D9", "M1", "M5")
async def test_a_batch_of_which_only_some_calls_wait(form: Any) -> None:
    """The reminder stands behind the results of both kinds."""
    model = ScriptedModel(*([call("search"), call("drop"), call("drop")] for _ in range(2)))

    def guarded() -> Any:
        tools = [search, Tool(search, name="drop", requires_approval=True)]
        return agent(model, form(CONFIG), tools=tools, output_type=[str, DeferredToolRequests])

    await run_to_the_end(guarded, stored, approve=True)
    assert model.reminders == [[], [7], [7, 14]]
    assert_prefixes(model.requests)


@pytest.mark.rules("D11")
async def test_a_prompt_beside_the_results_of_a_resume(form: Any) -> None:
    """Both come in one request: it starts a new chain, and what was due is dropped."""
    model = ScriptedModel(*loop(4, "drop"))

    def guarded() -> Any:
        tools = [Tool(search, name="drop", requires_approval=True)]
        return agent(model, form(CONFIG), tools=tools, output_type=[str, DeferredToolRequests])

    result = await guarded().run("go")
    for prompt in (None, "stop that", None, None):
        answers = approvals(result.output, approve=False)
        result = await guarded().run(prompt, message_history=result.all_messages(), deferred_tool_results=answers)
    assert [request[5] for request in model.requests[2:]] == ["stop that"] * 3
    assert model.reminders == [[], [], [], [], [10]]


@pytest.mark.rules("D8", "D11")
async def test_a_tool_that_is_run_elsewhere(form: Any) -> None:
    """External calls count like others, across the runs that bring their results."""
    model = ScriptedModel(*loop(4, "elsewhere"))

    def elsewhere(q: int) -> str:
        raise CallDeferred

    guarded = agent(model, form(CONFIG), tools=[elsewhere], output_type=[str, DeferredToolRequests])
    result = await guarded.run("go")
    while isinstance(result.output, DeferredToolRequests):
        answers = DeferredToolResults(calls={each.tool_call_id: "a result" for each in result.output.calls})
        result = await guarded.run(message_history=result.all_messages(), deferred_tool_results=answers)
    assert model.reminders == [[], [], [5], [5], [5, 10]]


# --- histories that the application has made or changed ----------------------------------------


def without_metadata(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Store a history in the way of a user interface, which keeps texts alone."""
    document = json.loads(ModelMessagesTypeAdapter.dump_json(messages))
    for message in document:
        message.pop("run_id", None)
        for part in message["parts"]:
            if part["part_kind"] == "user-prompt" and not isinstance(part["content"], str):
                part["content"] = "\n".join(item["content"] for item in part["content"])
    return ModelMessagesTypeAdapter.validate_python(document)


@pytest.mark.rules("D11", "M6")
async def test_a_reminder_is_known_by_its_text(form: Any) -> None:
    """Where the metadata has got lost, the first line tells that it is no user's words."""
    history: list[ModelMessage] = []
    model = ScriptedModel(*loop(3))
    await broken_off(agent(model, form(CONFIG)), 4, is_sent=False, captured=history)
    resumed = ScriptedModel(*loop(1))
    result = await agent(resumed, form(CONFIG)).run(message_history=without_metadata(history))
    assert resumed.reminders == [[5], [5, 10]]
    assert [mark["count"] for mark in marks_in(result.all_messages())] == [4]


@pytest.mark.rules("D11")
async def test_metadata_of_the_applications_own_is_no_reminder(form: Any) -> None:
    """Words that the application has marked for itself are new material like any other."""
    history: list[ModelMessage] = []
    for number in range(3):
        part = call("search")
        history += [
            ModelRequest([UserPromptPart([TextContent("go", metadata={"mine": number}), "!"])]),
            ModelResponse([part]),
            ModelRequest([ToolReturnPart("search", "no rows", part.tool_call_id)]),
        ]
    model = ScriptedModel(*loop(1))
    await agent(model, form(CONFIG)).run(message_history=history)
    assert model.reminders == [[], [11]]


@pytest.mark.rules("S1")
async def test_the_users_history_is_not_changed(form: Any) -> None:
    """Neither the list nor a message of it."""
    history: list[ModelMessage] = []
    model = ScriptedModel(*loop(3))
    await broken_off(agent(model, form(CONFIG)), 3, is_sent=False, captured=history)
    before = ModelMessagesTypeAdapter.dump_json(history)
    messages = list(history)
    await agent(ScriptedModel(*loop(2)), form(CONFIG)).run("go", message_history=history)
    assert ModelMessagesTypeAdapter.dump_json(history) == before
    assert all(one is other for one, other in zip(history, messages, strict=True))
