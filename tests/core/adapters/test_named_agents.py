"""Conversations that name their agents: what is held for whom, and what a copied call makes due."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

import pytest
from repeatguard_core import Reminder, RepeatGuardConfig, RepeatLoopError, ToolCall, is_reminder
from repeatguard_core.adapters import AgentChains, Guard, Insertion, Item, Kind, Scanner, Transcript, insert

CONFIG = RepeatGuardConfig(thresholds=(2,), stop_after=4)


class NamedTranscript(Transcript[str]):
    """Messages are texts.

    An agent's name and a colon come before its calls, which are single letters; "over" hands over.
    The results are one message: "results", or "results, over" if one of the calls handed over.
    """

    def read(self, index: int) -> Iterator[Item]:
        """Read a message."""
        kind, _, rest = self.messages[index].partition(":")
        if kind.startswith("results"):
            calls = self.messages[index - 1].partition(":")[2].split()
            for call in calls:
                yield Item(Kind.RESULT, call_id=call, hands_off_to="" if call == "over" else None)
        elif kind in {"input", "aside", "takeover"}:
            yield Item(Kind(kind))
        elif is_reminder(kind + rest):
            yield Item(Kind.REMINDER)
        else:
            yield Item(Kind.RESPONSE, agent=kind)
            for call in rest.split():
                yield Item(Kind.CALL, ToolCall(call), call, awaits_result=True, agent=kind)


def sent(*messages: str, seen: list[Reminder] | None = None) -> list[str]:
    """Return what the model is sent, with the reminders as "reminder"."""
    guard = Guard(CONFIG, on_reminder=None if seen is None else seen.append)
    request = list(messages)

    def write(insertion: Insertion) -> str:
        return insertion.reminder.text

    stop = guard.before_request(NamedTranscript(messages), partial(insert, request, write=write))
    if stop is not None:
        raise RepeatLoopError(stop)
    return ["reminder" if is_reminder(message) else message for message in request]


def growing(*messages: str) -> Iterator[Sequence[str]]:
    """Make the requests of the agent "a": one before each of its responses, and one at the end."""
    for index, message in enumerate(messages):
        if message.startswith("a:"):
            yield messages[:index]
    yield messages


HANDED_OVER = ("input", "a: x x over", "results")


@pytest.mark.rules("D12")
def test_a_reminder_is_held_until_the_agents_next_request() -> None:
    """Whatever another agent has called and said by then, and it keeps its place."""
    other = ("b: y", "results", "takeover")
    assert sent(*HANDED_OVER, *other) == [*HANDED_OVER, *other, "reminder"]
    later = ("a: z", "results", "b: y", "results", "takeover")
    assert sent(*HANDED_OVER, *other, *later) == [*HANDED_OVER, *other, "reminder", *later]


@pytest.mark.rules("D12", "M6")
def test_a_held_reminder_is_given_once() -> None:
    """One that is in the conversation is not given again."""
    reminder = Guard(CONFIG).new_chain().observe([ToolCall("x")] * 2)
    assert isinstance(reminder, Reminder)
    seen: list[Reminder] = []
    request = sent(*HANDED_OVER, "aside", reminder.text, "a: z", "results", seen=seen)
    assert request == [*HANDED_OVER, "aside", "reminder", "a: z", "results"]
    assert seen == []


@pytest.mark.rules("D12", "D11")
def test_new_input_makes_a_held_reminder_void() -> None:
    """It starts the count again."""
    assert sent(*HANDED_OVER, "aside", "input") == [*HANDED_OVER, "aside", "input"]


@pytest.mark.rules("D12", "X5")
def test_a_stop_is_held_like_a_reminder() -> None:
    """It ends the agent's next request."""
    calls = ("input", "a: x x", "results", "a: x x over", "results")
    with pytest.raises(RepeatLoopError) as error:
        sent(*calls, "b: y", "results", "takeover")
    assert error.value.stop.agent_name == "a"
    assert "reminder" in sent(*calls, "b: y", "results", "takeover", "a: z", "results")


@pytest.mark.rules("D12")
def test_each_agent_has_a_chain_which_goes_on() -> None:
    """The call that hands over neither counts nor breaks it."""
    rounds = ("input", "a: x over", "results", "b: y", "results", "aside", "a: x over", "results", "aside")
    assert sent(*rounds) == [*rounds, "reminder"]


@pytest.mark.rules("D12", "S6")
def test_nothing_is_due_after_copied_calls() -> None:
    """They were another agent's, which was reminded of them in its own conversation."""
    seen: list[Reminder] = []
    copied = ("input", "b: y y", "results", "takeover")
    assert sent(*copied, seen=seen) == list(copied)
    assert seen == []
    own = ("input", "a: y y", "results", "aside")
    assert sent(*own, seen=seen) == ["input", "a: y y", "results", "reminder", "aside"]
    assert [reminder.agent_name for reminder in seen] == ["a"]


@pytest.mark.rules("D12", "X5")
def test_words_that_are_no_input_leave_a_stop_due() -> None:
    """Other than new input, and another response."""
    calls = ("input", "a: x x x x", "results")
    for words in ((), ("aside",), ("aside", "aside")):
        with pytest.raises(RepeatLoopError):
            sent(*calls, *words)
    assert sent(*calls, "input") == [*calls, "input"]
    assert sent(*calls, "a: ") == [*calls, "a: "]


@pytest.mark.rules("D12", "M5")
def test_requests_only_grow() -> None:
    """Each stands unchanged at the front of the next."""
    messages = (*HANDED_OVER, "b: y", "results", "takeover", "a: x over", "results", "aside", "a: z z", "results")
    requests = [sent(*each) for each in growing(*messages)]
    for earlier, later in itertools.pairwise(requests):
        assert later[: len(earlier)] == earlier


@pytest.mark.rules("D12", "M1")
def test_one_reminder_at_a_place() -> None:
    """What is held waits, where something else is due."""
    messages = (*HANDED_OVER, "b: y y", "results")
    assert sent(*messages) == [*messages, "reminder"]
    assert sent(*messages, "aside") == [*messages, "reminder", "aside", "reminder"]


@pytest.mark.rules("M6", "S4")
def test_messages_that_are_read_one_by_one() -> None:
    """A framework that keeps reminders hands each message over once, and takes what is due as it comes."""
    scanner = Scanner(AgentChains(Guard(CONFIG).new_chain))
    messages = ("input", "a: x", "results", "a: x", "results", "input", "a: z z", "results")
    taken: list[int] = []
    transcript = NamedTranscript(messages)
    for index in range(len(messages)):
        for item in transcript[index]:
            scanner.add(item, index)
        taken += [placement.place for placement in scanner.take_placements()]
    scanner.add(Item(Kind.REMINDER), len(messages))
    taken += [placement.place for placement in scanner.take_placements() if not placement.is_there]
    assert taken == [5]
    assert scanner.placements == []
