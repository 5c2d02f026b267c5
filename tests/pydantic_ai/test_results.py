"""X2: what the model is told that came of a call, of every kind, and when two results are equal."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import ModelRetry, Tool
from pydantic_ai import messages as messages_module
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    ToolReturn,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied
from repeatguard_core import RepeatChain, RepeatGuardConfig, canonical_arguments
from repeatguard_core.adapters import Item, Kind
from repeatguard_pydantic_ai import RepeatGuard, ToolSettings
from repeatguard_pydantic_ai._transcript import History

from tests.pydantic_ai.agents import agent, loop, marks_in
from tests.pydantic_ai.asking import added, find, note
from tests.pydantic_ai.driver import stored
from tests.pydantic_ai.scripted_model import ScriptedModel, call
from tests.pydantic_ai.test_calls import searched_by_the_provider
from tests.pydantic_ai.test_history import broken_off
from tests.pydantic_ai.test_places import PROMPT, STEER, request

RESET = RepeatGuardConfig(thresholds=(2, 4), on_changed_result="reset")


def came_of(messages: Sequence[ModelMessage], config: RepeatGuardConfig = RESET) -> list[Any]:
    """Return the results of all calls of a history, in the model's order; None where they are not compared."""
    chain = RepeatChain(config)
    found: list[Any] = []
    history = History(messages)
    items = [item for index in range(len(messages)) for item in history[index]]
    for number, item in enumerate(items):
        if item.call is not None:
            found.append(_result(item, items[number:]) if chain.compares_results(item.call.name) else None)
    return found


def _result(call: Item, since: Sequence[Item]) -> object:
    answers = itertools.takewhile(lambda item: item.kind is not Kind.RESPONSE, since)
    for item in answers:
        if item.kind is Kind.RESULT and item.call_id == call.call_id:
            assert callable(item.result)
            return item.result()
    return None


def told_apart(messages: Sequence[ModelMessage]) -> list[int]:
    """Number the different results of a history's calls, in the order in which they come first."""
    forms = [json.dumps(result) for result in came_of(messages)]
    return [list(dict.fromkeys(forms)).index(form) for form in forms]


# --- what tools return -----------------------------------------------------------------------


class Colour(str, Enum):
    """An enumeration that is text as well."""

    ONE = "1"
    TWO = "2"


class Row(BaseModel):
    """A model."""

    number: int


def picture(number: int) -> BinaryContent:
    """Make a picture."""
    return BinaryContent(data=f"picture {number}".encode(), media_type="image/png")


NOW = dt.datetime(2025, 1, 1, tzinfo=dt.timezone.utc)

NUMBERS = itertools.count()

#: Of each kind of result, one for each number.
KINDS: dict[str, Callable[[int], Any]] = {
    "text": lambda n: f"result {n}",
    "text that is JSON": lambda n: f'{{"n": {n}}}',
    "nothing or something": lambda n: [None, ""][n],
    "number": lambda n: n,
    "mapping": lambda n: {"rows": [n], "by": {"a": 1}},
    "list": lambda n: [{"n": n}],
    "empty list or mapping": lambda n: json.loads(["[]", "{}"][n]),
    "enumeration": lambda n: [Colour.ONE, Colour.TWO][n],
    "model": lambda n: Row(number=n),
    "time": lambda n: NOW + dt.timedelta(days=n),
    "decimal": lambda n: Decimal(n) / 7,
    "bytes": lambda n: bytes([200 + n]),
    "picture": picture,
    "text and picture": lambda n: ["the same", picture(n)],
    "return": lambda n: ToolReturn(f"result {n}", metadata={"seen": next(NUMBERS)}),
    "words beside": lambda n: ToolReturn("the same", content=["look", f"at {n}"]),
    "words in one text beside": lambda n: ToolReturn("the same", content=f"look at {n}"),
    "picture beside": lambda n: ToolReturn("the same", content=[picture(n)]),
    "marked words beside": lambda n: ToolReturn(
        "the same", content=[TextContent(f"look at {n}", metadata={"seen": next(NUMBERS)})]
    ),
}


def returning(results: Iterator[Any]) -> Any:
    """Make a tool that returns one result after the other."""

    def search(q: Any = None) -> Any:
        result = next(results)
        if isinstance(result, Exception):
            raise result
        return result

    return search


@pytest.mark.rules("X2")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_changed_result_begins_a_new_chain(form: Any, kind: str) -> None:
    """Of every kind: equal ones count, and another one starts at one, also once the history has been stored."""
    results = [KINDS[kind](n) for n in (0, 0, 1, 1, 0, 1)]
    model = ScriptedModel(*loop(6))
    result = await agent(model, form(RESET), tools=[returning(iter(results))]).run("go")
    assert [len(places) for places in model.reminders] == [0, 0, 1, 1, 2, 2, 2]
    messages = result.all_messages()
    assert told_apart(messages) == [0, 0, 1, 1, 0, 1]
    assert came_of(stored(messages)) == came_of(messages)


@pytest.mark.rules("X2")
def test_a_result_that_cannot_be_stored_is_not_known() -> None:
    """Such a call counts as if results were not looked at."""
    history: list[ModelMessage] = [PROMPT]
    for _ in range(2):
        part = call("search")
        history += [ModelResponse([part]), request(ToolReturnPart("search", object(), part.tool_call_id))]
    assert came_of(history) == [None, None]
    assert find(*history, thresholds=(2, 4), on_changed_result="reset") is not None


@pytest.mark.rules("X2")
def test_a_tools_words_that_cannot_be_stored_leave_all_results_unknown() -> None:
    """They may have been any call's."""
    part = call("search")
    result = ToolReturnPart("search", "no rows", part.tool_call_id)
    words = [ImageUrl("https://example.com/a.png", vendor_metadata={"detail": object()})]
    assert came_of([PROMPT, ModelResponse([part], run_id="run"), request(result, UserPromptPart(words))]) == [None]


@pytest.mark.rules("X2")
async def test_a_retry_is_a_result(form: Any) -> None:
    """By its words, and it is never that of a call that returns them."""
    results = [ModelRetry("a"), ModelRetry("a"), ModelRetry("b"), "b", "b"]
    model = ScriptedModel(*loop(5))
    result = await agent(model, form(RESET), tools=[returning(iter(results))]).run("go")
    assert told_apart(result.all_messages()) == [0, 0, 1, 2, 2]
    assert came_of(stored(result.all_messages())) == came_of(result.all_messages())
    assert [len(places) for places in model.reminders] == [0, 0, 1, 1, 1, 2]


def find_row(q: int, where: str = "here") -> str:
    """Find something."""
    if where == "there":
        msg = "not there"
        raise ValueError(msg)
    return "no rows"


@pytest.mark.rules("D1", "D2", "X2")
async def test_errors_in_arguments_are_equal_in_any_spelling(form: Any) -> None:
    """They echo the arguments, and come in the order of the model's keys; neither makes another result."""
    spellings: list[Any] = [
        '{"q": "x", "where": 5}',
        '{ "where": 5.0, "q": "\\u0078" }',
        {"where": 5, "q": "x"},
        '{"q": ',
        ' {"q": ',
    ]
    model = ScriptedModel(*[call("find_row", spelling) for spelling in spellings])
    result = await agent(model, form(RESET), tools=[find_row]).run("go")
    assert told_apart(result.all_messages()) == [0, 0, 0, 1, 1]
    assert came_of(stored(result.all_messages())) == came_of(result.all_messages())
    assert [len(places) for places in model.reminders] == [0, 0, 1, 1, 1, 2]


@pytest.mark.rules("D8", "X2")
@pytest.mark.parametrize("changes", [False, True])
async def test_a_denial_is_a_result(form: Any, changes: bool) -> None:  # noqa: FBT001
    """By what the user says to it; and if a call is allowed after all, then that is news."""
    model = ScriptedModel(*loop(5, "drop"))
    drop = Tool(returning(itertools.repeat("no")), name="drop", requires_approval=True)
    guarded = agent(model, form(RESET), tools=[drop], output_type=[str, DeferredToolRequests])
    result = await guarded.run("go")
    for number in range(5):
        denial = ToolDenied(f"not {number}" if changes else "no")
        answers = DeferredToolResults(
            approvals={each.tool_call_id: True if number == 4 else denial for each in result.output.approvals}
        )
        result = await guarded.run(message_history=result.all_messages(), deferred_tool_results=answers)
    assert told_apart(result.all_messages()) == ([0, 1, 2, 3, 4] if changes else [0, 0, 0, 0, 1])
    assert [mark["count"] for mark in marks_in(result.all_messages())] == ([] if changes else [2, 4])


@pytest.mark.rules("D8", "X2")
def test_a_providers_result() -> None:
    """It stands in the response itself, and counts like a tool's."""
    history: list[ModelMessage] = [PROMPT]
    for number, content in enumerate(["nothing", "nothing", {"rows": 1}, {"rows": 1}]):
        native, result = searched_by_the_provider(number)
        result.content = content
        result.provider_details = {"seen": number}
        history += [ModelResponse([native, result]), ModelRequest([])]
    assert told_apart(history) == [0, 0, 1, 1]
    assert came_of(stored(history)) == came_of(history)


# --- where results stand ---------------------------------------------------------------------


def batch(*results: str, order: Sequence[int], late: bool = False) -> list[ModelMessage]:
    """Make a response with several equal calls, whose results come in some order."""
    parts = [call("search") for _ in results]
    returns = [ToolReturnPart("search", results[n], parts[n].tool_call_id) for n in order]
    answers = [request(each) for each in returns] if late else [request(*returns)]
    return [ModelResponse(parts, run_id="run"), *answers]


@pytest.mark.rules("D9", "X2")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
@pytest.mark.parametrize("late", [False, True])
def test_results_belong_to_calls_by_their_ids(order: Sequence[int], late: bool) -> None:  # noqa: FBT001
    """Whatever the order that they are there in, in one request or several, with words between."""
    messages = batch("a", "b", "c", order=order, late=late)
    assert came_of([PROMPT, *messages]) == ["a", "b", "c"]
    assert came_of([PROMPT, *messages[:2], STEER, *messages[2:], *batch("d", order=[0])]) == ["a", "b", "c", "d"]


@pytest.mark.rules("X2")
def test_a_result_is_looked_for_up_to_the_next_response() -> None:
    """Ids may come again in another one; and what is not there is not known."""
    first, second = call("search"), call("search")
    second.tool_call_id = first.tool_call_id
    answer = request(ToolReturnPart("search", "no rows", first.tool_call_id))
    history: list[ModelMessage] = [PROMPT, ModelResponse([first]), request(), ModelResponse([second]), answer]
    assert came_of(history) == [None, "no rows"]


@pytest.mark.rules("X2")
def test_a_call_that_was_broken_off_has_no_result() -> None:
    """What the framework puts in its place says nothing of the call."""
    part = call("search")
    result: Any = ToolReturnPart("search", "it was interrupted", part.tool_call_id)
    result.outcome = "interrupted"
    assert came_of([PROMPT, ModelResponse([part]), request(result)]) == [None]


@pytest.mark.rules("X2")
def test_words_beside_results_belong_to_every_call_of_the_batch() -> None:
    """Nothing says whose they are; a prompt of the user's is nobody's, and neither is a mark for a cache."""
    parts = [call("search"), call("search")]
    returns = [ToolReturnPart("search", "no rows", part.tool_call_id) for part in parts]
    words = UserPromptPart(["look", messages_module.CachePoint()])

    def of(*behind: Any, run: str = "run") -> list[Any]:
        return came_of([PROMPT, ModelResponse(parts, run_id=run), *behind])

    assert of(request(*returns, words)) == [["success", "no rows", ["look"]]] * 2
    assert of(request(*returns), request(words)) == ["no rows"] * 2
    assert of(request(*returns, words), run="another run") == ["no rows"] * 2


@pytest.mark.rules("X2")
@pytest.mark.filterwarnings("ignore:.*RetryPromptPart")
@pytest.mark.parametrize(
    "content",
    ["not like that", [], [{"type": "missing", "loc": ("q",), "msg": "Field required", "input": {}}], [{"mine": 1}]],
)
def test_retries_of_old_and_new_releases_are_equal(content: Any) -> None:
    """A history may be older than the release that reads it."""
    part = call("search")
    prompt: Any = getattr(messages_module, "RetryPromptPart")  # noqa: B009 - late releases warn of it
    old: Any = prompt(content, tool_name="search", tool_call_id=part.tool_call_id)
    new: Any = ToolReturnPart("search", content, part.tool_call_id)
    new.outcome = "retried"
    one, other = (came_of([PROMPT, ModelResponse([part]), request(each)]) for each in (old, new))
    assert one == other != [None]


# --- when they are looked at -----------------------------------------------------------------


class Untouchable:
    """Must not be looked at."""

    def __getattribute__(self, name: str) -> Any:
        raise NotImplementedError


@pytest.mark.rules("S4", "X2")
@pytest.mark.parametrize(
    "config",
    [
        RepeatGuardConfig(thresholds=(2,)),
        RepeatGuardConfig(thresholds=(2,), on_changed_result="reset", exclude=("search",), include=("*",)),
        RepeatGuardConfig(on_changed_result="reset", tools=(ToolSettings(match="sea*", on_changed_result="count"),)),
    ],
)
def test_results_are_left_alone_where_they_are_not_compared(config: RepeatGuardConfig) -> None:
    """Nothing is made of them, however large they are."""
    part = call("search")
    result = ToolReturnPart("search", Untouchable(), part.tool_call_id)
    assert came_of([PROMPT, ModelResponse([part]), request(result)], config) == [None]


@pytest.mark.rules("X2")
def test_results_are_compared_for_the_tools_that_the_configuration_names() -> None:
    """Of others they are not known."""
    config = RepeatGuardConfig(tools=(ToolSettings(match="search", on_changed_result="defer"),))
    parts = [call("search"), call("fetch")]
    returns = [ToolReturnPart(part.tool_name, "no rows", part.tool_call_id) for part in parts]
    assert came_of([PROMPT, ModelResponse(parts), request(*returns)], config) == ["no rows", None]


# --- a count that goes on --------------------------------------------------------------------


@pytest.mark.rules("D11", "M6", "X2")
@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("kind", ["text", "mapping", "model", "picture"])
@pytest.mark.parametrize("only", [0, 5])
async def test_a_resumed_run_compares_with_the_results_before(
    form: Any,
    kind: str,
    changes: bool,  # noqa: FBT001
    only: int,
) -> None:
    """Another process reads the stored history, or no more of it than the reminder, which holds digests."""
    history: list[ModelMessage] = []
    model = ScriptedModel(*loop(2), fails_at=3)
    first = agent(model, form(RESET), tools=[returning(KINDS[kind](0) for _ in range(2))])
    await broken_off(first, 3, is_sent=True, captured=history)
    (mark,) = marks_in(history)
    assert canonical_arguments("result 0") not in mark["chain"]
    resumed = ScriptedModel(*loop(2))
    tools = [returning(KINDS[kind](int(changes)) for _ in range(2))]
    result = await agent(resumed, form(RESET), tools=tools).run(message_history=stored(history)[only:])
    assert [mark["count"] for mark in marks_in(result.all_messages())] == [2, 2 if changes else 4]


@pytest.mark.rules("X2")
async def test_a_poll_whose_results_change_is_given_time(form: Any) -> None:
    """With "defer", two calls more; identical results count at once."""
    config = RepeatGuardConfig(thresholds=(2, 4), on_changed_result="defer")
    for results, expected in ((itertools.count(), [0, 0, 0, 0, 1, 1, 2]), (itertools.repeat(1), [0, 0, 1, 1, 2, 2, 2])):
        model = ScriptedModel(*loop(6))
        await agent(model, form(config), tools=[returning(iter(results))]).run("go")
        assert [len(places) for places in model.reminders] == expected


@pytest.mark.rules("D11", "X2")
def test_a_run_that_is_remembered_compares_with_what_it_was_told() -> None:
    """Though the history has been cut to the newest response and its result."""
    for content, count in (("no rows", 2), ("one row", None)):
        guard: RepeatGuard[Any] = RepeatGuard(RESET)
        first, second = call("search"), call("search")
        results = [ToolReturnPart("search", "no rows", first.tool_call_id)]
        results.append(ToolReturnPart("search", content, second.tool_call_id))
        assert added(guard, [PROMPT]) is None
        found = None
        for part, result in zip([first, second], results, strict=True):
            assert found is None
            response = ModelResponse([part])
            note(guard, response)
            found = added(guard, [PROMPT, response, request(result)])
        assert (None if found is None else found.count) == count
