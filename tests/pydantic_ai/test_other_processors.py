"""S1, S5, D11 and M6: the guard beside processors, capabilities and hooks of the user's, and beside itself."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from markdown_it import MarkdownIt
from pydantic_ai import capabilities as capabilities_module
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from repeatguard_core import is_reminder
from repeatguard_pydantic_ai import Reminder, RepeatGuard, RepeatGuardConfig, RepeatGuardProcessor

from tests.pydantic_ai.agents import agent, assert_prefixes, loop, marks_in
from tests.pydantic_ai.driver import stored
from tests.pydantic_ai.scripted_model import ScriptedModel, call
from tests.pydantic_ai.test_runs import WAYS
from tests.pydantic_ai.wiring import in_front

CONFIG = RepeatGuardConfig(thresholds=(2, 4))
OF_FOUR_CALLS = [[], [], [5], [5], [5, 10]]
Processor = Callable[[list[ModelMessage]], list[ModelMessage]]


def keeping(messages: int) -> Processor:
    """Make a processor that keeps the prompt and the last messages."""

    def keep(history: list[ModelMessage]) -> list[ModelMessage]:
        return history if len(history) <= messages else [history[0], *history[-messages:]]

    return keep


def summing_up(history: list[ModelMessage]) -> list[ModelMessage]:
    """Put a summary in the place of everything but the last response and its results."""
    if len(history) < 4:
        return history
    return [ModelRequest([UserPromptPart("what has been so far")]), *history[-2:]]


def copying(history: list[ModelMessage]) -> list[ModelMessage]:
    """Give other objects that say the same."""
    return stored(history)


class Told:
    """Keeps what ``on_reminder`` was told."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def note(self, reminder: Reminder) -> None:
        """Keep a count."""
        self.counts.append(reminder.count)


# --- histories that are cut ------------------------------------------------------------------


@pytest.mark.rules("D11", "S5")
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("cut", [keeping(2), keeping(4), keeping(5), summing_up, copying])
async def test_the_capability_counts_on_when_the_history_is_cut(cut: Processor, is_first: bool) -> None:  # noqa: FBT001
    """Wherever in the order the cut is made, what is out of sight has been counted."""
    told = Told()
    guard: Any = RepeatGuard(CONFIG, on_reminder=told.note)
    model = ScriptedModel(*loop(3), call("search", {"q": 2}), *loop(2))
    await agent(model, *([guard, cut] if is_first else [cut, guard])).run("go")
    brought = [number for number, request in enumerate(model.requests) if is_reminder(request[-1])]
    assert brought == [2, 6]
    assert told.counts == [2, 2]


@pytest.mark.rules("D11")
async def test_the_capability_counts_up_to_the_last_threshold_when_the_history_is_cut() -> None:
    """However little is left of it."""
    model = ScriptedModel(*loop(9))
    told = Told()
    guard: Any = RepeatGuard(on_reminder=told.note)
    await agent(model, keeping(2), guard).run("go")
    assert told.counts == [3, 5, 8]


@pytest.mark.rules("D11")
@pytest.mark.parametrize("is_first", [True, False])
async def test_the_processor_counts_on_from_a_reminder_in_sight(is_first: bool) -> None:  # noqa: FBT001
    """A reminder's metadata holds the count, so a cut behind it costs nothing."""
    told = Told()
    guard = RepeatGuardProcessor(on_reminder=told.note)
    model = ScriptedModel(*loop(9))
    cut = keeping(7)
    await agent(model, *([guard, cut] if is_first else [cut, guard])).run("go")
    assert told.counts == [3, 5, 8]


@pytest.mark.rules("D11", "M1")
async def test_the_documentations_way_to_cut_begins_with_a_response(form: Any) -> None:
    """No result is left without its call, with a reminder in sight or without."""
    page = (Path(__file__).parents[2] / "docs/pydantic-ai.md").read_text(encoding="utf-8")
    (block,) = [token.content for token in MarkdownIt().parse(page) if "def keep_recent" in token.content]
    names: dict[str, Any] = {}
    exec(compile(block, "docs", "exec", dont_inherit=True), names)  # noqa: S102 - it is ours
    model = ScriptedModel(*loop(9))
    told = Told()
    await agent(model, form(on_reminder=told.note), names["keep_recent"]).run("go")
    assert told.counts == [3, 5, 8]
    assert max(map(len, model.requests)) <= 9
    assert all(request[1].startswith("call: ") for request in model.requests[1:])


@pytest.mark.rules("D11")
async def test_new_material_counts_when_the_history_is_cut() -> None:
    """What came between two requests starts a new chain, also if it is out of sight a request later."""
    steers = iter([None, None, "try fetch", None, None])

    def steer(history: list[ModelMessage]) -> list[ModelMessage]:
        words = next(steers, None)
        return history if words is None else [*history, ModelRequest([UserPromptPart(words)])]

    guard: Any = RepeatGuard(CONFIG)
    model = ScriptedModel(*loop(4))
    result = await agent(model, keeping(2), steer, guard).run("go")
    assert [number for number, request in enumerate(model.requests) if any(map(is_reminder, request[-3:]))] == [2, 4]
    assert "try fetch" in model.requests[2][-1]
    assert result.output == "done"


@pytest.mark.rules("D11")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rest", [[], loop(1, "other")], ids=len)
async def test_the_capability_counts_on_when_nothing_is_left(way: Any, rest: list[Any]) -> None:
    """A summary replaces everything, also beside an example of a call, and however the agent is run."""
    example = [each for part in rest for each in (ModelResponse([part]), answered(part))]

    def replacing(history: list[ModelMessage]) -> list[ModelMessage]:
        return [ModelRequest([UserPromptPart("what has been so far")]), *example, ModelRequest([UserPromptPart("on")])]

    told = Told()
    guards: list[Any] = [RepeatGuard(on_reminder=told.note), RepeatGuard()]
    model = ScriptedModel(*loop(9))
    await way(agent(model, in_front(replacing), *guards))
    assert told.counts == [3, 5, 8]
    assert [number for number, request in enumerate(model.requests) if is_reminder(request[-1])] == [3, 5, 8]
    assert max(map(len, model.reminders)) == 1


def answered(part: ToolCallPart) -> ModelRequest:
    """Make the request with the result of a call."""
    return ModelRequest([ToolReturnPart(part.tool_name, "no rows", part.tool_call_id)])


@pytest.mark.rules("D11", "D12")
async def test_a_prompt_starts_again_when_nothing_is_left() -> None:
    """What is remembered ends with the run."""

    def replacing(history: list[ModelMessage]) -> list[ModelMessage]:
        return [ModelRequest([UserPromptPart("what has been so far")])]

    guard: Any = RepeatGuard(RepeatGuardConfig(thresholds=(3,)))
    for _ in range(3):
        model = ScriptedModel(*loop(2))
        await agent(model, in_front(replacing), guard).run("go")
        assert model.reminders == [[], [], []]


@pytest.mark.rules("D8", "D11")
@pytest.mark.parametrize("cut", [keeping(2), keeping(4), summing_up, copying])
async def test_calls_that_all_have_one_id_count_once_each(cut: Processor) -> None:
    """Some backends give every call the same id."""
    told = Told()
    guard: Any = RepeatGuard(on_reminder=told.note)
    model = ScriptedModel(*(replace(part, tool_call_id="call") for part in loop(9)))
    await agent(model, cut, guard).run("go")
    assert told.counts == [3, 5, 8]


@pytest.mark.rules("S4")
async def test_the_capability_remembers_one_response() -> None:
    """And of the calls before it no more than the chain does."""
    guards: list[Any] = []

    class Watched(RepeatGuard[Any]):
        async def for_run(self, ctx: Any) -> Any:
            guards.append(await super().for_run(ctx))
            return guards[-1]

    parts = [call("search", {"q": number}) for number in range(30)]
    model = ScriptedModel(*parts)
    await agent(model, Watched(CONFIG)).run("go")
    held, left = set(), [*guards]
    while left:
        each = left.pop()
        if id(each) not in held and not isinstance(each, type | ModuleType | FunctionType):
            held.add(id(each))
            left += gc.get_referents(each)
    assert [part.args for part in parts if id(part) in held] == [{"q": 29}]


# --- the guard beside others -----------------------------------------------------------------


@pytest.mark.rules("S5", "D11", "M1")
async def test_what_another_extension_injects_is_new_material(form: Any) -> None:
    """It stands behind the reminder, and starts a new chain."""
    requests: list[int] = []

    def inject(history: list[ModelMessage]) -> list[ModelMessage]:
        requests.append(1)
        return [*history, ModelRequest([UserPromptPart("mind the budget")])] if len(requests) == 3 else history

    model = ScriptedModel(*loop(4))
    await agent(model, inject, form(CONFIG)).run("go")
    assert model.reminders == [[], [], [5], [5], [5, 11]]
    assert model.requests[2][6] == "mind the budget"
    assert_prefixes(model.requests)


@pytest.mark.rules("S5", "D11")
@pytest.mark.parametrize("is_first", [True, False])
async def test_words_added_to_the_last_request_count_the_same_after_a_reminder(form: Any, is_first: bool) -> None:  # noqa: FBT001
    """They are beside results, and where the guard has just spoken, beside its words."""

    def clock(history: list[ModelMessage]) -> list[ModelMessage]:
        last: Any = history[-1]
        return [*history[:-1], replace(last, parts=[*last.parts, UserPromptPart("it is noon")])]

    told = Told()
    guard = form(CONFIG, on_reminder=told.note)
    await agent(ScriptedModel(*loop(4)), *([guard, clock] if is_first else [clock, guard])).run("go")
    assert told.counts == [2, 4]


@pytest.mark.rules("S5")
async def test_a_processor_behind_the_guard_sees_what_the_guard_adds(form: Any) -> None:
    """And may change it: the history is the user's in the end."""
    seen: list[int] = []

    def look(history: list[ModelMessage]) -> list[ModelMessage]:
        seen.append(len(marks_in(history)))
        return history

    model = ScriptedModel(*loop(2))
    await agent(model, form(CONFIG), look).run("go")
    assert seen == [0, 0, 1]


@pytest.mark.rules("S5")
async def test_a_fault_of_another_processor_is_its_own(form: Any) -> None:
    """The guard neither hides nor causes it."""

    def fail(history: list[ModelMessage]) -> list[ModelMessage]:
        if len(history) == 3:
            msg = "broken"
            raise LookupError(msg)
        return history

    with pytest.raises(LookupError, match="broken"):
        await agent(ScriptedModel(*loop(2)), form(CONFIG), fail).run("go")


class Trims(AbstractCapability[Any]):
    """Sends the model less than the history holds, and leaves the history as it is."""

    async def before_model_request(self, ctx: Any, request_context: ModelRequestContext) -> ModelRequestContext:
        messages = request_context.messages
        if len(messages) > 3:
            request_context.messages = [messages[0], *messages[-2:]]
        return request_context


@pytest.mark.rules("D11", "M1", "S5")
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_capability_that_trims_the_request(is_first: bool) -> None:  # noqa: FBT001
    """The reminder reaches both what is sent and the history."""
    guard: Any = RepeatGuard(CONFIG)
    model = ScriptedModel(*loop(2))
    result = await agent(model, *([guard, Trims()] if is_first else [Trims(), guard])).run("go")
    assert is_reminder(model.requests[-1][-1])
    assert [mark["count"] for mark in marks_in(result.all_messages())] == [2]


class TakesOut(AbstractCapability[Any]):
    """Sends the model no reminders, and leaves them in the history."""

    async def before_model_request(self, ctx: Any, request_context: ModelRequestContext) -> ModelRequestContext:
        request_context.messages = [message for message in request_context.messages if not marks_in([message])]
        return request_context


@pytest.mark.rules("M6")
async def test_a_reminder_that_only_the_history_has_is_not_given_again() -> None:
    """A second guard, behind a capability that takes it out of the request, leaves it at that."""
    told = Told()
    guards: list[Any] = [RepeatGuard(CONFIG, on_reminder=told.note) for _ in range(2)]
    model = ScriptedModel(*loop(4))
    await agent(model, guards[0], TakesOut(), guards[1]).run("go")
    assert told.counts[:1] == [2]
    if sends_less_than_it_keeps():
        assert told.counts == [2, 4]
        assert model.reminders == [[]] * 5


def sends_less_than_it_keeps() -> bool:
    """Tell whether what a capability does to a request is kept out of the history; before 2.54 it was not."""
    return importlib.util.find_spec("pydantic_ai._history_mirroring") is not None


class Copies(AbstractCapability[Any]):
    """Sends the model copies of all messages."""

    async def before_model_request(self, ctx: Any, request_context: ModelRequestContext) -> ModelRequestContext:
        request_context.messages = stored(list(request_context.messages))
        return request_context


@pytest.mark.rules("M1", "M5", "D11")
async def test_a_capability_that_copies_what_is_sent() -> None:
    """A reminder has the same place in the history as in the request, also before words that came with it."""
    steers = iter([None, None, "try fetch"])

    def steer(history: list[ModelMessage]) -> list[ModelMessage]:
        words = next(steers, None)
        return history if words is None else [*history, ModelRequest([UserPromptPart(words)])]

    guard: Any = RepeatGuard(CONFIG)
    model = ScriptedModel(*loop(4))
    await agent(model, steer, Copies(), guard).run("go")
    assert model.reminders[2:] == [[5], [5], [5, 11]]
    assert_prefixes(model.requests)


@pytest.mark.rules("S5", "M5")
async def test_hooks_of_the_users(form: Any) -> None:
    """`Hooks` run with the guard as without it."""
    hooks_type = getattr(capabilities_module, "Hooks", None)
    if hooks_type is None:
        pytest.skip("this release has no Hooks")
    hooks = hooks_type()
    seen: list[str] = []

    async def look(ctx: Any, request_context: ModelRequestContext) -> ModelRequestContext:
        seen.append(type(request_context.messages[0]).__name__)
        return request_context

    hooks.on.before_model_request(look)

    model = ScriptedModel(*loop(4))
    await agent(model, form(CONFIG), hooks).run("go")
    assert seen == ["ModelRequest"] * 5
    assert model.reminders == OF_FOUR_CALLS


# --- the guard beside itself -----------------------------------------------------------------


@pytest.mark.rules("M6", "S6")
@pytest.mark.parametrize("order", ["PP", "CC", "PC", "CP", "CPC", "PCP"])
async def test_any_number_of_guards_give_each_reminder_once(order: str) -> None:
    """The second one sees what the first has added, in the request or in the history."""
    told = Told()
    forms: dict[str, Any] = {"P": RepeatGuardProcessor, "C": RepeatGuard}
    guards = [forms[letter](CONFIG, on_reminder=told.note) for letter in order]
    model = ScriptedModel(*loop(4))
    result = await agent(model, *guards).run("go")
    assert model.reminders == OF_FOUR_CALLS
    assert [mark["count"] for mark in marks_in(result.all_messages())] == told.counts == [2, 4]


@pytest.mark.rules("M6")
async def test_the_same_capability_listed_twice() -> None:
    """One object, two places."""
    guard: Any = RepeatGuard(CONFIG)
    model = ScriptedModel(*loop(4))
    await agent(model, guard, guard).run("go")
    assert model.reminders == OF_FOUR_CALLS


@pytest.mark.rules("M6")
async def test_a_reminder_that_another_processor_takes_out_is_not_insisted_on(form: Any) -> None:
    """What the user rewrites is the user's; the next threshold is reminded of as usual."""

    def take_out(history: list[ModelMessage]) -> list[ModelMessage]:
        return [message for message in history if not marks_in([message])]

    told = Told()
    model = ScriptedModel(*loop(4))
    guard = form(CONFIG, on_reminder=told.note)
    await agent(model, guard, take_out).run("go")
    assert model.reminders == [[]] * 5
    assert told.counts == [2, 4]
