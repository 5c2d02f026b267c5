"""What is remembered of a conversation is what can be read from it: tested at random."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from repeatguard_autogen import GuardedContext, RepeatGuardConfig, RepeatGuardHandler
from repeatguard_testing import AdapterContract

from tests.autogen.driver import AcrossTurnsDriver, _AcrossTurns
from tests.autogen.scripted_client import assert_append_only, call, reminders, words

#: What may happen in a conversation: what is added, or a request.
Happening = Any
REQUEST = "request"


def batches(source: str) -> st.SearchStrategy[list[LLMMessage]]:
    """Make calls and what is answered to them: in one message, one by one, or not at all."""
    names = st.lists(st.sampled_from(["look", "look", "note", "transfer_to_b"]), min_size=1, max_size=3)

    def build(drawn: list[str], way: str, *, failed: bool) -> list[LLMMessage]:
        calls = [call(name) for name in drawn]
        results = [FunctionExecutionResult(content="", name=c.name, call_id=c.id, is_error=failed) for c in calls]
        answers = {"whole": [results], "one by one": [[each] for each in results], "partly": [results[1:]], "not": []}
        messages = [FunctionExecutionResultMessage(content=each) for each in answers[way] if each]
        return [AssistantMessage(content=calls, source=source), *messages]

    ways = st.sampled_from(["whole", "whole", "whole", "one by one", "partly", "not"])
    return st.builds(build, names, ways, failed=st.booleans())


def happenings() -> st.SearchStrategy[list[Happening]]:
    """Make conversations."""
    said = st.sampled_from(["user", "a", "b", "somebody"]).map(lambda s: [UserMessage(content="hm", source=s)])
    memory = st.sampled_from(["it rains", "it snows"]).map(lambda text: [SystemMessage(content=text)])
    answer = st.just([AssistantMessage(content="well", source="a")])
    request = st.just([REQUEST])
    one = st.one_of(batches("a"), batches("a"), batches("a"), batches("b"), said, memory, answer, request, request)
    return st.lists(one, max_size=12).map(lambda drawn: [each for part in drawn for each in part])


async def converse(context: GuardedContext, happening: list[Happening], *, forgets: bool) -> list[list[LLMMessage]]:
    """Let it all happen, and return the requests. What is known beside the messages can be forgotten at each step."""
    context.learn(agents={"a", "b"})
    requests = []
    for each in happening:
        if forgets:
            await context.load_state(await context.save_state())
        if each is REQUEST:
            requests.append(list(await context.get_messages()))
        else:
            await context.add_message(each)
    return requests


def new_context(inner: Any = None) -> GuardedContext:
    """Make a context that reminds early."""
    context = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2, 3), exclude=("note",))).context(inner)
    assert isinstance(context, GuardedContext)
    return context


@pytest.mark.rules("D1", "D11", "D12", "M1", "M5", "M6")
@settings(max_examples=300)
@given(happenings())
def test_what_is_remembered_is_what_can_be_read(happening: list[Happening]) -> None:
    """Made anew from the messages at every step, the requests are the same; they only grow; places are right."""
    remembered = asyncio.run(converse(new_context(), happening, forgets=False))
    derived = asyncio.run(converse(new_context(), happening, forgets=True))
    assert derived == remembered
    assert_append_only(remembered)
    for request in remembered:
        check_places(request)


@pytest.mark.rules("D11")
@settings(max_examples=100)
@given(happenings())
def test_what_is_out_of_sight_counts_all_the_same(happening: list[Happening]) -> None:
    """A context that shows the latest messages alone ends each request as one does that shows everything."""
    whole = asyncio.run(converse(new_context(), happening, forgets=False))
    cut = asyncio.run(converse(new_context(BufferedChatCompletionContext(2)), happening, forgets=False))
    assert [reminders(request[-1:]) for request in cut] == [reminders(request[-1:]) for request in whole]


def answered(*, by: str = "a", ids: bool = True, name: str = "look") -> list[LLMMessage]:
    """Make a call and its result, or one of a call that nobody made."""
    made = call(name)
    result = FunctionExecutionResult(content="", name=name, call_id=made.id if ids else "nobody's", is_error=False)
    return [AssistantMessage(content=[made], source=by), FunctionExecutionResultMessage(content=[result])]


def handing_over() -> list[LLMMessage]:
    """Make a response that calls and hands over."""
    calls = [call("look"), call("transfer_to_b")]
    results = [FunctionExecutionResult(content="", name=each.name, call_id=each.id, is_error=False) for each in calls]
    return [AssistantMessage(content=calls, source="a"), FunctionExecutionResultMessage(content=results)]


def said(source: str) -> LLMMessage:
    """Make words."""
    return UserMessage(content="hm", source=source)


@pytest.mark.rules("M1", "D8", "D11", "D12")
@pytest.mark.parametrize(
    ("happening", "is_reminded"),
    [
        ([*answered(), *answered()], True),
        ([*answered(), *answered(ids=False)], False),
        ([*answered(), said("a"), *answered()], True),
        ([*answered(), said("somebody"), *answered()], False),
        ([*answered(), said("somebody"), said("a"), *answered(), *answered()], True),
        ([*answered(), *answered(name="transfer_to_b")[:1], *answered()], False),
        ([*answered(by="c"), said("a"), said("c"), *answered(by="c")], False),
        ([*answered(by="c"), said("c"), *answered(by="c")], True),
        ([*answered(), *answered(), said("a")], False),
        ([*answered(), *handing_over(), said("b")], True),
        ([*answered(), *handing_over(), *answered(by="b"), said("b")], True),
        ([*answered(), *handing_over(), said("b"), said("somebody")], False),
        ([*answered(), *handing_over(), said("b"), *answered(name="other")], False),
    ],
    ids=[
        "twice",
        "foreign results",
        "a peer",
        "words",
        "words and a peer",
        "a handoff without a result is a call",
        "words of a stranger who has called before",
        "a copy of what was called",
        "a copy with something due in it",
        "control comes back",
        "control comes back with a copy",
        "control comes back with words",
        "control comes back without a request",
    ],
)
async def test_what_follows_what(happening: list[LLMMessage], is_reminded: bool) -> None:  # noqa: FBT001
    """Small conversations, each with one thing in it that could be taken for another."""
    [request] = await converse(new_context(), [*happening, REQUEST], forgets=False)
    assert (words(request)[-1] == "reminder") == is_reminded


@pytest.mark.rules("S4")
async def test_knowing_who_is_who_costs_no_reading() -> None:
    """An agent is looked up before each turn; its messages are read anew only when there is something to learn."""
    reads: list[int] = []

    class Watched(BufferedChatCompletionContext):
        async def save_state(self) -> Any:
            reads.append(1)
            return await super().save_state()

    context = new_context(Watched(100))
    read_by_then: list[int] = []
    for _ in range(5):
        await converse(context, [*answered(), REQUEST], forgets=False)
        context.learn(agents={"c"}, handoffs={"hand_over"})
        context.learn(agents={"c"})
        read_by_then.append(len(reads))
    assert read_by_then == [1, 2, 2, 2, 2]


@pytest.mark.rules("D12")
async def test_what_is_known_of_handoffs_is_not_forgotten() -> None:
    """Also if somebody else who shares the context knows nothing of them."""
    context = new_context()
    context.learn(agents=(), handoffs={"hand_over"})
    context.learn(agents=())
    [request] = await converse(
        context, [*answered(name="hand_over"), *answered(name="hand_over"), REQUEST], forgets=False
    )
    assert "reminder" not in words(request)


@pytest.mark.rules("D11")
async def test_a_human_who_is_known_is_not_forgotten() -> None:
    """Also if the next one who wires the context does not know it."""
    context = new_context()
    context.learn(agents={"ann"}, humans={"ann"})
    context.learn(agents={"ann"})
    [request] = await converse(context, [*answered(), said("ann"), *answered(), REQUEST], forgets=False)
    assert "reminder" not in words(request)


def check_places(request: list[LLMMessage]) -> None:
    """M1: a reminder comes after all results of a batch, and no results come after it before further calls.

    Only one that was held while another agent was at work comes after words, or after that agent's results.
    """
    written = words(request)
    for index, word in enumerate(written):
        if word == "reminder":
            assert written[index - 1] == "result" or has_handoff(request)
            assert written[index + 1 : index + 2] != ["result"]
            waiting = set(open_calls(request, index))
            assert not waiting


def has_handoff(request: list[LLMMessage]) -> bool:
    """Return whether an agent has handed over."""
    calls = [message.content for message in request if isinstance(message, AssistantMessage)]
    return any(not isinstance(each, str) and each.name == "transfer_to_b" for content in calls for each in content)


def open_calls(request: list[LLMMessage], place: int) -> Iterator[str]:
    """List the calls of the last response before a place that have no result there."""
    position = 0
    waiting: set[str] = set()
    for message in request:
        if position >= place:
            break
        position += max(1, len(words([message]))) if words([message]) else 0
        if isinstance(message, AssistantMessage):
            waiting = {each.id for each in message.content if not isinstance(each, str)}
        elif isinstance(message, FunctionExecutionResultMessage):
            waiting -= {each.call_id for each in message.content}
    yield from waiting


class ForgetfulContext(GuardedContext):
    """Goes back to what is stored before each step, so that nothing else is known."""

    async def add_message(self, message: LLMMessage) -> None:
        await self.load_state(await self.save_state())
        await super().add_message(message)

    async def get_messages(self) -> list[LLMMessage]:
        await self.load_state(await self.save_state())
        return await super().get_messages()


class _Forgetting(_AcrossTurns):
    def wire(self, guard: RepeatGuardHandler, agent: Any) -> None:
        agent._model_context = ForgetfulContext(agent.model_context, guard._guard)
        guard.attach(agent)  # the context learns who is who


class ForgetfulDriver(AcrossTurnsDriver):
    """Drops what is remembered of a conversation whenever it is looked up."""

    name = "autogen, memory dropped"
    player = _Forgetting


class TestMemoryDropped(AdapterContract):
    """What is remembered may be lost at any moment: no request changes."""

    driver = ForgetfulDriver()
