"""What the reader does where a framework keeps the reminders that are put into its messages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from repeatguard_core import RepeatGuardConfig, ToolCall
from repeatguard_core.adapters import Guard, Insertion, Item, Kind, RunMemory, Transcript, insert

CONFIG = RepeatGuardConfig(thresholds=(2, 3), exclude=("note",))
INPUT = "input"
REMINDER = "reminder"


class Lines(Transcript[str]):
    """A conversation of lines such as "call NAME/NUMBER" and "result NAME/NUMBER"; a response is one call."""

    keeps_reminders = True

    def __init__(self, messages: list[str]) -> None:
        super().__init__(messages)
        self.looked_at: set[int] = set()

    def read(self, index: int) -> Iterator[Item]:
        """Read a line."""
        self.looked_at.add(index)
        word, _, call_id = self.messages[index].partition(" ")
        if word == "call":
            yield Item(Kind.RESPONSE)
            yield Item(Kind.CALL, ToolCall(call_id.split("/")[0]), call_id, awaits_result=True)
        elif word == "result":
            yield Item(Kind.RESULT, call_id=call_id)
        else:
            yield Item(Kind(word))


def turn(name: str = "search") -> list[str]:
    """Make a call and its result."""
    return [f"call {name}", f"result {name}"]


def write(insertion: Insertion) -> str:
    """Write a reminder."""
    return REMINDER


def ask(lines: list[str], memory: RunMemory | None = None) -> list[str]:
    """Return a request with the reminders that it misses."""
    complete = list(lines)
    assert Guard(CONFIG).before_request(Lines(lines), partial(insert, complete, write=write), memory=memory) is None
    return complete


@pytest.mark.rules("M5", "D8")
@pytest.mark.parametrize("is_known", [False, True])
def test_only_what_the_model_has_not_been_sent_gets_a_reminder(is_known: bool) -> None:  # noqa: FBT001
    """Responses that no request of the guard led to are counted, and what was due between them is past."""
    memory = RunMemory() if is_known else None
    first = [INPUT, *turn("search/1")]
    if memory is not None:
        assert ask([INPUT], memory) == [INPUT]
        memory.note_response(Lines(first[1:2]))
    assert ask(first, memory) == first
    history = [*first, *turn("search/2"), *turn("search/3")]
    assert ask(history, memory) == [*history, REMINDER]


@pytest.mark.rules("D11", "M6")
@pytest.mark.parametrize("summary", [[INPUT], [INPUT, *turn("other"), INPUT]])
def test_a_summary_in_place_of_everything(summary: list[str]) -> None:
    """In a run that is known to be one the count goes on; and a guard that comes second leaves it at one reminder."""
    memories = [RunMemory(is_one_run=True) for _ in range(2)]
    for count in range(4):
        for memory in memories:
            if count:
                memory.note_response(Lines(["call search"]))
        once = ask(summary, memories[0])
        assert once == [*summary, *([REMINDER] if count > 1 else [])]
        assert ask(once, memories[1]) == once


@pytest.mark.rules("D12")
def test_unknown_calls_are_another_conversation_unless_it_is_one_run() -> None:
    """Nothing is counted on from a memory that may be of something else."""
    memory = RunMemory()
    assert ask([INPUT], memory) == [INPUT]
    for _ in range(2):
        memory.note_response(Lines(["call search"]))
        assert ask([INPUT, *turn("other")], memory) == [INPUT, *turn("other")]


@pytest.mark.rules("D6", "S4")
@pytest.mark.parametrize("is_remembered", [False, True])
def test_the_way_back_waits_for_a_call_that_counts(is_remembered: bool) -> None:  # noqa: FBT001
    """However many calls that do not count come before it, and then nothing is forgotten."""
    memory = RunMemory() if is_remembered else None
    history = [INPUT, *turn(), *turn("note") * 100]
    transcript = Lines(history)
    assert Guard(CONFIG).before_request(transcript, lambda _: pytest.fail("nothing is due"), memory=memory) is None
    assert len(transcript.looked_at) == 2
    if memory is not None:
        memory.note_response(Lines(["call search"]))
    history += turn()
    assert ask(history, memory) == [*history, REMINDER]


@pytest.mark.rules("D6", "D11")
def test_nothing_before_new_input_has_to_be_looked_for() -> None:
    """A run that follows on another one goes on counting from its prompt, also when that is out of sight."""
    memory = RunMemory()
    history = [*turn(), *turn("note"), INPUT]
    assert ask(history, memory) == history
    for lines in (turn(), [*turn(), REMINDER]):
        memory.note_response(Lines(lines[:1]))
        assert ask(lines[:2], memory) == lines
