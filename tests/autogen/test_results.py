"""X2: which results a call is compared by, and whose they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)
from repeatguard_autogen import RepeatGuardConfig, RepeatGuardHandler

from tests.autogen.scripted_client import ScriptedClient, call, counts, words
from tests.autogen.teams import agent_with

pytestmark = pytest.mark.rules("X2")

#: Any change of a result starts a new chain.
RESETTING = RepeatGuardConfig(thresholds=(2,), on_changed_result="reset")


def answer(content: str, call_id: str, *, is_error: bool | None = False) -> FunctionExecutionResult:
    """Make a result."""
    return FunctionExecutionResult(content=content, name="look", call_id=call_id, is_error=is_error)


def response(*ids: str) -> AssistantMessage:
    """Make as many calls as there are ids, all alike."""
    return AssistantMessage(content=[FunctionCall(id=each, name="look", arguments="{}") for each in ids], source="a")


def results(*answers: FunctionExecutionResult) -> FunctionExecutionResultMessage:
    """Put results into a message."""
    return FunctionExecutionResultMessage(content=list(answers))


async def is_reminded(*messages: LLMMessage) -> bool:
    """Tell whether a request ends with a reminder: in a context, and by a client, which must agree."""
    guard = RepeatGuardHandler(RESETTING)
    context = guard.context()
    for message in messages:
        if isinstance(message, AssistantMessage):
            await context.get_messages()  # it answers a request
        await context.add_message(message)
    client = ScriptedClient(["done"])
    await guard.client(client).create(messages)
    assert words(client.requests[0]) == words(await context.get_messages())
    return words(client.requests[0])[-1] == "reminder"


@pytest.mark.parametrize("ids", [("1", "2", "3", "4"), ("1", "1", "1", "1"), ("", "", "", ""), ("1", "1", "2", "2")])
async def test_every_call_has_the_result_in_its_place(ids: tuple[str, ...]) -> None:
    """Also where a model gives all calls of a response one id, or none: the last two decide."""
    for contents, expected in ((("x", "y", "z", "z"), True), (("z", "y", "z", "y"), False)):
        first, second = ids[:2], ids[2:]
        answers = [answer(content, each) for content, each in zip(contents, ids, strict=True)]
        apart: list[LLMMessage] = [response(*first), results(*answers[:2]), response(*second), results(*answers[2:])]
        for messages in (apart, [response(*ids), results(*answers)], [response(*ids), *map(results, answers)]):
            assert await is_reminded(*messages) == expected


async def test_results_that_come_in_another_order() -> None:
    """Where calls have ids of their own, results go by them."""
    calls = AssistantMessage(
        content=[call("look", '{"q": 1}'), call("look", '{"q": 2}'), call("look", '{"q": 2}')], source="a"
    )
    ids = [each.id for each in calls.content if isinstance(each, FunctionCall)]
    one, two, three = (answer(content, each) for content, each in zip("xyy", ids, strict=True))
    assert await is_reminded(calls, results(three, one, two))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (answer("x", "1"), answer("x", "2"), True),
        (answer("x", "1"), answer("x", "2", is_error=None), True),
        (answer("x", "1"), answer("x", "2", is_error=True), False),
        (answer("x", "1", is_error=True), answer("x", "2", is_error=True), True),
        (answer("x", "1", is_error=True), answer("y", "2", is_error=True), False),
        (answer("", "1"), answer("", "2"), True),
    ],
    ids=["equal", "as good as equal", "an error", "errors", "another error", "empty"],
)
async def test_content_and_error_decide(
    first: FunctionExecutionResult,
    second: FunctionExecutionResult,
    expected: bool,  # noqa: FBT001
) -> None:
    """Ids do not."""
    assert await is_reminded(response("1"), results(first), response("2"), results(second)) == expected


async def test_a_result_that_is_missing_is_not_known() -> None:
    """Then the call counts, but the model is not reminded before all are there."""
    assert not await is_reminded(response("1", "1"), results(answer("x", "1")))
    assert await is_reminded(response("1"), response("2"), results(answer("x", "2")))


async def test_a_handoff_among_the_calls() -> None:
    """It is left out with its result, and what it copies is compared like any other."""
    calls = AssistantMessage(
        content=[
            FunctionCall(id="", name="look", arguments="{}"),
            FunctionCall(id="", name="transfer_to_b", arguments="{}"),
            FunctionCall(id="", name="look", arguments="{}"),
        ],
        source="a",
    )
    answers = results(answer("x", ""), answer("handed over", ""), answer("y", ""))
    assert not await is_reminded(calls, answers)
    assert not await is_reminded(calls, answers, response("1"), results(answer("x", "1")))
    assert await is_reminded(calls, answers, response("1"), results(answer("y", "1")))


async def test_what_changes_in_a_run() -> None:
    """With the framework's own results, across a state that is stored and loaded."""
    states = iter(["pending", "pending", "running", "running"])

    def get_state() -> str:
        """Look the state up."""
        return next(states)

    def make(client: ScriptedClient) -> Any:
        agent = agent_with(client, tools=[get_state])
        RepeatGuardHandler(RESETTING).attach(agent)
        return agent

    client = ScriptedClient([*([call("get_state")] for _ in range(4)), "done"])
    agent = make(client)
    await agent.run(task="go")
    for _ in range(4):
        state = json.loads(json.dumps(await agent.save_state()))
        agent = make(client)
        await agent.load_state(state)
        await agent.run()
    assert counts(client) == [0, 0, 1, 1, 2]


async def test_new_words_between_equal_results() -> None:
    """They start anew, whatever the results are."""
    one: list[LLMMessage] = [response("1"), results(answer("x", "1"))]
    assert not await is_reminded(*one, UserMessage(content="and now?", source="user"), *one)
