"""What a run remembers: where counting goes on when the earlier calls are out of sight."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repeatguard_core import RepeatChain, RepeatGuardConfig
from repeatguard_openai_agents._conversation import Conversation
from repeatguard_openai_agents._memory import RunMemory

USER = {"role": "user", "content": "go"}
STEER = {"role": "user", "content": "look again"}
CONFIG = RepeatGuardConfig(thresholds=(2, 3))


def call(number: int, arguments: str = "{}") -> dict[str, Any]:
    """Make a call."""
    return {"type": "function_call", "call_id": f"c{number}", "name": "get_status", "arguments": arguments}


def result(number: int) -> dict[str, Any]:
    """Make the result of a call."""
    return {"type": "function_call_output", "call_id": f"c{number}", "output": "pending"}


def place(memory: RunMemory, *items: Any) -> list[tuple[int, int]]:
    """Find the places of the reminders in a request, each with its count."""
    placements = memory.place(Conversation(items), lambda: RepeatChain(CONFIG))
    return [(placement.index, placement.reminder.count) for placement in placements]


def respond(memory: RunMemory, *items: Any) -> None:
    """Let the model respond."""
    memory.note_response(items)


def first_call(memory: RunMemory) -> None:
    """Go as far as the second request, with everything in sight."""
    assert place(memory, USER) == []
    respond(memory, call(1))
    assert place(memory, USER, call(1), result(1)) == []


@pytest.mark.rules("D11")
def test_results_alone_go_on_counting() -> None:
    """The server keeps the rest."""
    memory = RunMemory()
    assert place(memory, USER) == []
    for number, expected in ((1, []), (2, [(1, 2)]), (3, [(1, 3)]), (4, [])):
        respond(memory, call(number))
        assert place(memory, result(number)) == expected


@pytest.mark.rules("D11")
@pytest.mark.parametrize("cut", [(), (USER,), ({"type": "compaction"},), (call(0), result(0))], ids=len)
def test_a_call_with_everything_before_it_cut_off_goes_on_counting(cut: tuple[Any, ...]) -> None:
    """Whatever stands in the place of what was cut."""
    memory = RunMemory()
    first_call(memory)
    respond(memory, call(2))
    assert place(memory, *cut, call(2), result(2)) == [(len(cut) + 2, 2)]


@pytest.mark.rules("D11")
@pytest.mark.parametrize("call_is_in_sight", [False, True])
def test_new_material_resets_also_when_it_is_out_of_sight_again(call_is_in_sight: bool) -> None:  # noqa: FBT001
    """It stood behind the results of the last call, in the last request."""
    memory = RunMemory()
    first_call(memory)
    assert place(memory, USER, call(1), result(1), STEER) == []
    respond(memory, call(2))
    assert place(memory, *([call(2)] if call_is_in_sight else []), result(2)) == []


@pytest.mark.rules("D11")
def test_a_note_that_is_gone_from_the_next_request_does_not_reset() -> None:
    """It never stood between two calls; nor does it once the history is cut."""
    memory = RunMemory()
    first_call(memory)
    assert place(memory, USER, call(1), result(1), STEER) == []
    respond(memory, call(2))
    assert place(memory, USER, call(1), result(1), call(2), result(2), STEER) == [(5, 2)]
    assert place(memory, USER, call(1), result(1), call(2), result(2)) == [(5, 2)]
    respond(memory, call(3))
    assert place(memory, call(3), result(3)) == [(2, 3)]


@pytest.mark.rules("M6")
def test_looking_twice_changes_nothing() -> None:
    """A guard that is wired twice sees each request twice."""
    memory = RunMemory()
    first_call(memory)
    respond(memory, call(2))
    items = (USER, call(1), result(1), call(2), result(2))
    assert place(memory, *items) == place(memory, *items) == place(memory, *items, STEER) == [(5, 2)]
    respond(memory, call(3))
    assert place(memory, result(3)) == []  # the steer has been said
    memory = RunMemory()
    assert place(memory, USER) == []
    respond(memory, call(1))
    respond(memory, call(1))
    assert place(memory, result(1)) == place(memory, result(1)) == []
    respond(memory, call(2))
    assert place(memory, result(2)) == place(memory, result(2)) == [(1, 2)]


@pytest.mark.rules("D12")
def test_a_conversation_of_which_nothing_is_known_starts_anew() -> None:
    """A caller may use a run's context object again, for another conversation."""
    memory = RunMemory()
    first_call(memory)
    respond(memory, {"type": "message", "role": "assistant", "content": "done"})
    assert place(memory, USER) == []
    respond(memory, call(2))
    assert place(memory, result(2)) == []
    assert place(memory, USER, call(8), result(8), call(9), result(9)) == [(5, 2)]


@pytest.mark.rules("M5")
def test_a_reminder_is_put_back_as_long_as_its_place_is_in_sight() -> None:
    """Also when the calls that it is about are not."""
    memory = RunMemory()
    first_call(memory)
    respond(memory, call(2))
    assert place(memory, USER, call(1), result(1), call(2), result(2)) == [(5, 2)]
    respond(memory, call(3))
    assert place(memory, USER, result(2), call(3), result(3)) == [(2, 2), (4, 3)]
    respond(memory, call(4))
    assert place(memory, result(3), call(4), result(4)) == [(1, 3)]
    assert place(memory, USER, result(2), call(4), result(4)) == []


@pytest.mark.rules("D1", "D11")
def test_a_batch_that_is_cut_in_the_middle_keeps_its_calls() -> None:
    """A call that is out of sight still breaks the chain, and a result that is does not keep the batch waiting."""
    memory = RunMemory()
    first_call(memory)
    respond(memory, call(2, '{"job": "2"}'), call(3), call(4))
    assert place(memory, call(3), call(4), result(3), result(4)) == [(4, 2)]
    memory = RunMemory()
    first_call(memory)
    respond(memory, call(2), call(3))
    assert place(memory, USER, result(3)) == [(2, 3)]


@pytest.mark.rules("D8", "D11")
def test_nothing_in_sight_changes_nothing() -> None:
    """The provider ran what the model called, and the server keeps the conversation."""
    search = {"type": "web_search_call", "id": "ws_1", "action": {"query": "x"}}
    memory = RunMemory()
    first_call(memory)
    output = [search]
    memory.note_response(output)
    memory.note_response(output)
    assert place(memory) == []
    respond(memory, {**search, "id": "ws_2"}, call(2))
    assert place(memory, result(2)) == [(1, 2)]
    assert place(memory, USER) == []
    respond(memory, call(3))
    assert place(memory, result(3)) == []


@pytest.mark.rules("D11", "D12")
def test_calls_of_an_earlier_run_do_not_come_back() -> None:
    """They stood before the user's message, in sight or not."""
    search = {"type": "web_search_call", "action": {"query": "x"}}
    memory = RunMemory()
    assert place(memory, USER) == []
    respond(memory, {**search, "id": "ws_1"}, {**search, "id": "ws_2"})
    assert place(memory, USER) == []
    respond(memory, call(1))
    assert place(memory, result(1)) == []


@pytest.mark.rules("D12")
def test_a_handoff_of_which_nothing_is_left_starts_anew() -> None:
    """A filter may take it out of the history; what was due for the agent before is dropped."""
    memory = RunMemory()
    first_call(memory)
    respond(memory, call(2))
    memory.note_handoff()
    history = (USER, call(1), result(1), call(2), result(2))
    assert place(memory, *history) == []
    respond(memory, call(3))
    assert place(memory, *history, call(3), result(3)) == []
    respond(memory, call(4))
    assert place(memory, *history, call(3), result(3), call(4), result(4)) == [(9, 2)]
    memory = RunMemory()
    memory.note_handoff()
    assert place(memory, USER) == []


kinds = st.sampled_from(["call", "call", "other call", "search", "thought"])
steps = st.lists(st.tuples(st.lists(kinds, min_size=1, max_size=4), st.booleans()), max_size=8)


@pytest.mark.rules("M5", "M6")
@given(steps)
def test_with_everything_in_sight_nothing_is_remembered_that_could_not_be_derived(
    script: list[tuple[list[str], bool]],
) -> None:
    """Request by request, a memory says what a new one says, and what was said before stays where it is."""
    numbers = itertools.count(1)
    memory = RunMemory()
    conversation: list[Any] = [USER]
    placed: list[tuple[int, int]] = []
    for response, steers in script:
        output: list[Any] = []
        for kind in response:
            number = next(numbers)
            output.append(
                {
                    "call": call(number),
                    "other call": call(number, '{"job": "2"}'),
                    "search": {"type": "web_search_call", "id": f"ws_{number}", "action": {"query": "x"}},
                    "thought": {"type": "reasoning", "summary": []},
                }[kind]
            )
        memory.note_response(output)
        results = [{**result(0), "call_id": item["call_id"]} for item in output if "call_id" in item]
        conversation = [*conversation, *output, *results, *([STEER] if steers else [])]
        now = place(memory, *conversation)
        assert now == place(memory, *conversation) == place(RunMemory(), *conversation)
        assert now[: len(placed)] == placed
        placed = now
