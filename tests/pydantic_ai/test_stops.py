"""X5: a run that the guard ends, what reaches the caller, and how it can go on."""

from __future__ import annotations

import copy
import logging
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import ModelRequestNode, RunContext, Tool, capture_run_messages
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied
from repeatguard_core import RepeatChain
from repeatguard_core import RepeatLoopError as LoopErrorOfTheCore
from repeatguard_pydantic_ai import (
    RepeatGuard,
    RepeatGuardConfig,
    RepeatGuardProcessor,
    RepeatLoopError,
    ToolSettings,
)

from tests.pydantic_ai import asking
from tests.pydantic_ai.agents import agent, assert_prefixes, loop, marks_in, search
from tests.pydantic_ai.asking import Added, added, note
from tests.pydantic_ai.driver import stored
from tests.pydantic_ai.scripted_model import ScriptedModel, call, lines
from tests.pydantic_ai.test_calls import native_model, searched_by_the_provider
from tests.pydantic_ai.test_history import CARRIED, Carry, broken_off
from tests.pydantic_ai.test_other_processors import Told, copying, keeping, summing_up
from tests.pydantic_ai.test_places import NOTE, PROMPT, STEER, reminder_part, request, turn
from tests.pydantic_ai.test_runs import WAYS

# As in the tests of calls that a provider runs.
pytestmark = pytest.mark.filterwarnings("ignore:`BuiltinTool(Call|Result)Event` is deprecated:DeprecationWarning")

CONFIG = RepeatGuardConfig(thresholds=(2,), stop_after=4)


async def ended(running: Any) -> RepeatLoopError:
    """Give what a run ends with."""
    with pytest.raises(RepeatLoopError) as end:
        await running
    return end.value


def pickled(end: RepeatLoopError) -> Any:
    """Send an error to another process and back."""
    return pickle.loads(pickle.dumps(end))  # noqa: S301 - its own data


# --- what reaches the caller -----------------------------------------------------------------


@pytest.mark.rules("X5")
@pytest.mark.parametrize("way", WAYS)
async def test_every_way_to_run_an_agent(form: Any, way: Any) -> None:
    """The error comes out of it as it is, once all results are there, and no request follows."""
    model = ScriptedModel(*loop(9))
    with capture_run_messages() as captured:
        end = await ended(way(agent(model, form(CONFIG))))
    assert len(model.requests) == 4
    assert model.reminders == [[], [], [5], [5]]
    assert (end.tool_name, end.count, end.arguments) == ("search", 4, '{"q":1}')
    assert end.stop.stop_after == 4
    assert isinstance(end, AgentRunError)
    assert isinstance(end, LoopErrorOfTheCore)
    assert str(end) == end.message
    assert "search" in str(end)
    assert "4" in str(end)
    assert "q" not in str(end)
    assert lines(end.messages)[-2:] == [lines([end.messages[-2]])[0], "result: no rows"]
    assert lines(end.messages)[: len(model.requests[-1])] == model.requests[-1]
    assert [mark["count"] for mark in marks_in(end.messages)] == [2]
    if captured:  # a thread has a context of its own
        assert lines(captured) == lines(end.messages)
        assert captured is not end.messages


@pytest.mark.rules("X5")
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
async def test_the_error_can_be_copied_and_pickled(again: Callable[[Any], Any]) -> None:
    """As a durable engine or a process pool does it."""
    end = await ended(agent(ScriptedModel(*loop(9)), RepeatGuard(CONFIG)).run("go"))
    other = again(end)
    assert type(other) is RepeatLoopError
    assert (str(other), other.message, other.stop) == (str(end), end.message, end.stop)
    assert other.messages == end.messages
    assert RepeatLoopError(end.stop).messages == []


@pytest.mark.rules("S6", "X5")
@pytest.mark.parametrize("order", ["P", "C", "PP", "CC", "PC", "CP"])
async def test_an_end_is_logged_once_and_is_no_reminder(order: str, caplog: pytest.LogCaptureFixture) -> None:
    """Also if several guards would end the run."""
    caplog.set_level(logging.INFO, logger="repeatguard")
    told = Told()
    forms: dict[str, Any] = {"P": RepeatGuardProcessor, "C": RepeatGuard}
    guards = [forms[letter](CONFIG, on_reminder=told.note) for letter in order]
    await ended(agent(ScriptedModel(*loop(9)), *guards).run("go"))
    assert told.counts == [2]
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]
    assert "'q'" not in caplog.text
    assert (caplog.records[-1].__dict__["tool"], caplog.records[-1].__dict__["count"]) == ("search", 4)


@pytest.mark.rules("D12", "X5")
@pytest.mark.parametrize("handles", [False, True])
async def test_an_agent_that_another_one_runs(form: Any, handles: bool) -> None:  # noqa: FBT001
    """Its end is the other one's as well, with its own messages, unless the tool makes something else of it."""
    guard = form(CONFIG)
    inner = agent(ScriptedModel(*loop(9)), guard)
    ends: list[RepeatLoopError] = []

    async def delegate(q: int) -> str:
        try:
            return str((await inner.run("a task")).output)
        except RepeatLoopError as end:
            ends.append(end)
            if handles:
                return "it made no progress"
            raise

    model = ScriptedModel(call("delegate"))
    outer = agent(model, guard, tools=[delegate])
    if handles:
        assert (await outer.run("go")).output == "done"
        assert model.requests[-1][-1] == "result: it made no progress"
    else:
        assert await ended(outer.run("go")) is ends[0]
    assert lines(ends[0].messages)[0] == "a task"
    assert (ends[0].tool_name, ends[0].count) == ("search", 4)


@pytest.mark.rules("X1", "X5")
async def test_a_cycle_and_a_tool_with_settings_of_its_own(form: Any) -> None:
    """What ends a run is what the configuration says, tool by tool."""
    config = RepeatGuardConfig(thresholds=(2,), stop_after=3, tools=(ToolSettings(match="poll", stop_after="never"),))
    tools = [search, Tool(search, name="poll"), Tool(search, name="fetch")]
    model = ScriptedModel(*loop(9, "poll"), *(call(name) for _ in range(9) for name in ("search", "fetch")))
    end = await ended(agent(model, form(config), tools=tools).run("go"))
    assert (end.tool_name, end.count, end.stop.tool_names) == ("fetch", 3, ("search", "fetch"))
    assert len(model.requests) == 9 + 6


@pytest.mark.rules("S2", "X5")
async def test_a_fault_of_the_guards_ends_nothing(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An end is the only thing that the guard lets out."""

    def fail(*_: Any) -> None:
        raise LookupError

    monkeypatch.setattr(RepeatChain, "observe", fail)
    model = ScriptedModel(*loop(5))
    assert (await agent(model, form(CONFIG)).run("go")).output == "done"


# --- what comes after ------------------------------------------------------------------------


@pytest.mark.rules("D11", "M5", "X5")
@CARRIED
async def test_a_further_run_on_the_same_history(form: Any, carry: Carry) -> None:
    """The user's words begin a new chain, and an end in the history is over."""
    model = ScriptedModel(*loop(9))
    first = await ended(agent(model, form(CONFIG)).run("go"))
    further = ScriptedModel(*loop(9))
    second = await ended(agent(further, form(CONFIG)).run("try fetch", message_history=carry(first.messages)))
    assert_prefixes([*model.requests, *further.requests])
    assert len(further.requests) == 4
    assert further.requests[0][-2:] == ["result: no rows", "try fetch"]
    assert [mark["count"] for mark in marks_in(second.messages)] == [2, 2]


@pytest.mark.rules("D11", "X5")
async def test_a_run_that_ends_well_after_one_that_was_ended(form: Any) -> None:
    """A third run has both in its history, and is neither's."""
    first = await ended(agent(ScriptedModel(*loop(9)), form(CONFIG)).run("go"))
    second = await agent(ScriptedModel(), form(CONFIG)).run("and now?", message_history=first.messages)
    model = ScriptedModel(*loop(1))
    third = await agent(model, form(CONFIG)).run("again", message_history=stored(second.all_messages()))
    assert third.output == "done"
    assert [len(places) for places in model.reminders] == [1, 1]


@pytest.mark.rules("D11", "X5")
@CARRIED
async def test_a_run_that_is_taken_up_with_nothing_new_ends_again(form: Any, carry: Carry) -> None:
    """At once, as often as it is tried, and the history stays as it is."""
    end = await ended(agent(ScriptedModel(*loop(9)), form(CONFIG)).run("go"))
    for _ in range(2):
        model = ScriptedModel()
        again = await ended(agent(model, form(CONFIG)).run(message_history=carry(end.messages)))
        assert model.requests == []
        assert lines(again.messages) == lines(end.messages)
        assert again.count == 4


@pytest.mark.rules("X5")
async def test_a_run_that_is_taken_up_with_a_lower_limit(form: Any) -> None:
    """What counts is the configuration of the guard that looks at it."""
    history: list[ModelMessage] = []
    config = RepeatGuardConfig(thresholds=(2, 3))
    await broken_off(agent(ScriptedModel(*loop(3)), form(config)), 4, is_sent=False, captured=history)
    for stop_after in (4, 3):
        model = ScriptedModel()
        lower = RepeatGuardConfig(thresholds=(2,), stop_after=stop_after)
        running = agent(model, form(lower)).run(message_history=stored(history))
        if stop_after == 4:
            assert (await running).output == "done"
        else:
            assert (await ended(running)).count == 3


@pytest.mark.rules("X5")
async def test_a_run_that_is_stepped_on_ends_again(form: Any) -> None:
    """Code that drives the nodes itself gets the error at the request, and the history is the run's."""
    model = ScriptedModel(*loop(9))
    async with agent(model, form(CONFIG)).iter("go") as run:
        node: Any = run.next_node
        while not (isinstance(node, ModelRequestNode) and len(model.requests) == 4):
            node = await run.next(node)
        end = await ended(run.next(node))
        assert lines(run.all_messages()) == lines(end.messages)


@pytest.mark.rules("D8", "D11", "X5")
@CARRIED
async def test_a_loop_of_denials_ends(form: Any, carry: Carry) -> None:
    """Across the runs that bring the answers; the last one is in the messages."""
    model = ScriptedModel(*loop(9, "drop"))

    def guarded() -> Any:
        tools = [Tool(search, name="drop", requires_approval=True)]
        return agent(model, form(CONFIG), tools=tools, output_type=[str, DeferredToolRequests])

    async def run() -> None:
        result = await guarded().run("go")
        while True:
            answers = DeferredToolResults(
                approvals={each.tool_call_id: ToolDenied("no") for each in result.output.approvals}
            )
            result = await guarded().run(message_history=carry(result.all_messages()), deferred_tool_results=answers)

    end = await ended(run())
    assert (end.count, len(model.requests)) == (4, 4)
    assert lines(end.messages)[-1] == "result: no"


@pytest.mark.rules("D11", "X5")
@pytest.mark.parametrize("cut", [keeping(2), keeping(4), summing_up, copying])
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_history_that_is_cut(cut: Any, is_first: bool) -> None:  # noqa: FBT001
    """What the capability remembers is enough for an end as well."""
    guard: Any = RepeatGuard(RepeatGuardConfig(stop_after=12))
    model = ScriptedModel(*loop(20))
    end = await ended(agent(model, *([guard, cut] if is_first else [cut, guard])).run("go"))
    assert (end.count, len(model.requests)) == (12, 12)
    assert lines(end.messages)[-1] == "result: no rows"


def clearing(history: list[ModelMessage]) -> list[ModelMessage]:
    """Take the results out of all requests but the last, as those do who want to save tokens."""

    def cleared(message: ModelMessage) -> ModelMessage:
        if not isinstance(message, ModelRequest):
            return message
        parts: list[Any] = [*message.parts]
        kept = [replace(part, content="-") if isinstance(part, ToolReturnPart) else part for part in parts]
        return replace(message, parts=kept)

    return [*map(cleared, history[:-1]), *history[-1:]]


@pytest.mark.rules("D11", "X2", "X5")
@pytest.mark.parametrize("policy", ["reset", "defer"])
@pytest.mark.parametrize("is_first", [True, False])
async def test_results_that_are_cleared(policy: Any, is_first: bool) -> None:  # noqa: FBT001
    """What the capability has compared once is not compared again with what has been put in its place."""
    guard: Any = RepeatGuard(RepeatGuardConfig(thresholds=(3,), stop_after=6, on_changed_result=policy))
    model = ScriptedModel(*loop(12))
    end = await ended(agent(model, *([guard, clearing] if is_first else [clearing, guard])).run("go"))
    assert (end.count, len(model.requests)) == (6, 6)


@pytest.mark.rules("D11", "X5")
def test_a_users_words_that_are_out_of_sight() -> None:
    """What came after a response starts a new chain, even if the next request does not show it any more."""
    guard: RepeatGuard[Any] = RepeatGuard(RepeatGuardConfig(thresholds=(2,)))
    first, second = turn(), turn()
    assert added(guard, [PROMPT]) is None
    note(guard, first[0])
    assert added(guard, [PROMPT, *first, STEER]) is None
    note(guard, second[0])
    assert added(guard, second) is None


@pytest.mark.rules("D8", "D11", "M5")
@pytest.mark.parametrize("is_known", [False, True])
def test_a_response_that_no_request_of_the_guards_led_to(is_known: bool) -> None:  # noqa: FBT001
    """Other code may have asked the model, or answered instead of it: those calls count, and get no reminder late."""
    guard: RepeatGuard[Any] = RepeatGuard(RepeatGuardConfig(thresholds=(2, 3)))
    history = [PROMPT, *turn(), *turn(), *turn()]
    assert added(guard, history[:1]) is None
    if is_known:
        note(guard, history[1])
    assert added(guard, history[:3]) is None
    found = added(guard, history)
    assert found is not None
    assert (found.index, found.count) == (7, 3)


@pytest.mark.rules("X2", "X5", "M6")
@pytest.mark.parametrize("is_first", [True, False])
async def test_guards_that_compare_calls_otherwise(form: Any, is_first: bool) -> None:  # noqa: FBT001
    """One does not take the other's counts for its own: each ends a run where it would by itself, or not at all."""
    numbers = iter(range(100))

    def poll(q: int) -> str:
        return f"look {next(numbers)}"

    eager = form(RepeatGuardConfig(thresholds=(3,), remind_every=1))
    patient = form(RepeatGuardConfig(thresholds=(2,), stop_after=5, on_changed_result="reset"))
    model = ScriptedModel(*loop(12, "poll"), "done")
    guards = [eager, patient] if is_first else [patient, eager]
    result = await agent(model, *guards, tools=(poll,)).run("go")
    assert result.output == "done"


# --- when a run ends -------------------------------------------------------------------------


def find(*messages: ModelMessage, **settings: Any) -> Added | RepeatLoopError | None:
    """Return what a guard adds to a request, or what ends the run instead of it."""
    try:
        return asking.find(*messages, **{"thresholds": (2,), "stop_after": 3, **settings})
    except RepeatLoopError as end:
        return end


def has_end(found: Added | RepeatLoopError | None) -> bool:
    """Return whether a run is to end."""
    return isinstance(found, RepeatLoopError)


LOOP = [PROMPT, *turn(), *turn(), *turn()]


@pytest.mark.rules("D11", "X5")
@pytest.mark.parametrize(
    ("behind", "ends"),
    [
        ([], True),
        ([NOTE], True),
        ([request(reminder_part())], True),
        ([STEER], False),
        ([NOTE, STEER], False),
        ([request("a prompt", run="another run")], False),
        ([request(reminder_part()), STEER], False),
    ],
)
def test_a_run_ends_unless_there_is_something_new(behind: list[ModelMessage], ends: bool) -> None:  # noqa: FBT001
    """What is new gets an answer; a system prompt and a reminder of another guard's are not new."""
    found = find(*LOOP, *behind)
    assert has_end(found) == ends
    assert ends or found is None


@pytest.mark.rules("D11", "X5")
def test_words_beside_the_results() -> None:
    """A user's let the run go on, a tool's do not."""
    assert has_end(find(*LOOP[:-2], *turn("words of the tool")))
    assert find(*LOOP[:-2], *turn("words of the user", run=None)) is None


@pytest.mark.rules("D10", "X5")
def test_an_end_stays_due_though_the_batch_goes_on() -> None:
    """The last call of the batch is another one."""
    parts = [call("search"), call("search", {"q": 2})]
    results = [ToolReturnPart("search", "no rows", part.tool_call_id) for part in parts]
    found = find(PROMPT, *turn(), *turn(), ModelResponse(parts, run_id="run"), request(*results))
    assert isinstance(found, RepeatLoopError)
    assert found.arguments == '{"q":1}'


@pytest.mark.rules("X2", "X5")
def test_a_changed_result_keeps_a_run_from_its_end() -> None:
    """Where the configuration compares them."""
    other = turn()
    part: Any = other[1].parts[0]
    part.content = "one row"
    assert has_end(find(*LOOP[:-2], *other))
    assert find(*LOOP[:-2], *other, on_changed_result="reset") is None


@pytest.mark.rules("M1", "X5")
async def test_no_end_while_the_provider_is_at_it(form: Any) -> None:
    """All results are to be there; the next batch is soon enough."""
    requests: list[list[str]] = []
    responses = [
        [call("search")],
        [call("search")],
        [call("search"), *searched_by_the_provider(1, is_paired=False)],
        [call("search")],
    ]
    config = RepeatGuardConfig(thresholds=(2,), stop_after=3, exclude=("web_search",))
    end = await ended(agent(native_model(requests, *responses), form(config)).run("go"))
    assert (end.count, len(requests)) == (4, 4)


@pytest.mark.rules("M6", "X5")
@pytest.mark.parametrize("order", ["PP", "CC", "PC", "CP"])
async def test_another_guards_reminder_at_the_same_count(order: str) -> None:
    """The one reminds at three and the other ends the run there, whichever is asked first."""
    forms: dict[str, Any] = {"P": RepeatGuardProcessor, "C": RepeatGuard}
    configs = [RepeatGuardConfig(thresholds=(3,)), RepeatGuardConfig(thresholds=(2,), stop_after=3)]
    for each in (configs, configs[::-1]):
        model = ScriptedModel(*loop(9))
        guards = [forms[letter](config) for letter, config in zip(order, each, strict=True)]
        assert (await ended(agent(model, *guards).run("go"))).count == 3
        assert len(model.requests) == 3


@pytest.mark.rules("S1", "X5")
async def test_the_users_history_is_not_changed(form: Any) -> None:
    """Neither by the end of a run that begins with it, nor by what the caller does to the error's messages."""
    end = await ended(agent(ScriptedModel(*loop(9)), form(CONFIG)).run("go"))
    history = list(end.messages)
    before = ModelMessagesTypeAdapter.dump_json(history)
    again = await ended(agent(ScriptedModel(), form(CONFIG)).run(message_history=history))
    again.messages.append(ModelRequest([UserPromptPart("more")]))
    assert ModelMessagesTypeAdapter.dump_json(history) == before


@pytest.mark.rules("X5")
async def test_a_tool_of_the_run_sees_nothing_of_an_end(form: Any) -> None:
    """All calls of the last batch are run, as they were before."""
    ran: list[int] = []

    def counts(ctx: RunContext[Any], q: int) -> str:
        ran.append(q)
        return "no rows"

    batch = [call("counts"), call("counts", {"q": 2})]
    model = ScriptedModel(*loop(3, "counts"), [call("counts"), *batch[1:]])
    end = await ended(agent(model, form(CONFIG), tools=[counts]).run("go"))
    assert sorted(ran) == [1, 1, 1, 1, 2]
    assert end.count == 4
