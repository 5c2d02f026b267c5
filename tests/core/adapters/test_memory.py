"""What a run remembers: where counting goes on when earlier calls are out of sight."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repeatguard_core import RepeatGuardConfig
from repeatguard_core.adapters import Item, Kind

from tests.core.adapters.conversations import ANSWER, USER, Message, Run, call, handoff, hosted, result

SUMMARY = Item(Kind.OTHER)
NOTE = USER._replace(result="a note")
STEER = USER._replace(result="look again")


def started() -> Run:
    """Go as far as the second request, with everything in sight."""
    run = Run()
    assert run.request(USER) == []
    run.respond(call(1))
    assert run.request(USER, call(1), result(1)) == []
    return run


@pytest.mark.rules("D11")
def test_results_alone_go_on_counting() -> None:
    """The server keeps the rest."""
    run = Run()
    assert run.request(USER) == []
    for number, expected in ((1, []), (2, [(1, 2)]), (3, [(1, 3)]), (4, [])):
        run.respond(call(number))
        assert run.request(result(number)) == expected
    assert run.announced == [2, 3]


@pytest.mark.rules("D11")
@pytest.mark.parametrize("cut", [(), (USER,), (SUMMARY,), (USER, SUMMARY), (call(0), result(0))], ids=len)
def test_a_call_with_everything_before_it_cut_off_goes_on_counting(cut: tuple[Any, ...]) -> None:
    """Whatever is in the place of what was cut."""
    run = started()
    run.respond(call(2))
    assert run.request(*cut, call(2), result(2)) == [(len(cut) + 2, 2)]


@pytest.mark.rules("D11", "M5", "M6")
@pytest.mark.parametrize("summary", [(), (USER,), (SUMMARY,), (USER, SUMMARY), (ANSWER, USER)], ids=len)
def test_a_whole_history_that_is_replaced_goes_on_counting(summary: tuple[Message, ...]) -> None:
    """What is there instead is a summary, and not new input, request after request."""
    run = started()
    for number, expected in ((2, [2]), (3, [2, 3]), (4, [2, 3])):
        run.respond(call(number))
        assert run.request(*summary) == [(len(summary), count) for count in expected]
        assert run.again() == []
    run.respond(call(5))
    end = len(summary)
    assert run.request(*summary, call(5), result(5)) == [(end, 2), (end, 3)]
    assert run.announced == [2, 3]


@pytest.mark.rules("D11", "X5")
def test_a_run_whose_history_is_replaced_each_time_ends() -> None:
    """Each summary has other words."""
    run = Run(RepeatGuardConfig(thresholds=(2,), stop_after=4))
    run.request(USER)
    for number in range(1, 5):
        run.respond(call(number))
        run.request(USER._replace(result=f"summary {number}"))
    assert run.announced == [2]
    assert run.stop is not None
    assert run.stop.count == 4


@pytest.mark.rules("D11")
def test_a_user_s_message_after_answered_results_is_not_a_summary() -> None:
    """The results have been sent, and the server keeps them."""
    run = started()
    run.respond(call(2))
    assert run.request(result(2)) == [(1, 2)]
    assert run.request(USER) == []
    assert run.request(USER) == []
    run.respond(call(3))
    assert run.request(result(3)) == []


@pytest.mark.rules("D8")
@pytest.mark.parametrize("is_shown_once", [False, True])
def test_calls_that_all_have_one_id(is_shown_once: bool) -> None:  # noqa: FBT001
    """Some frameworks show one pair for all of them. Each response counts once."""
    run = Run()
    run.request(USER)
    shown: list[Message] = [USER]
    counts: list[list[int]] = []
    for _ in range(4):
        run.respond(call())
        shown = [USER, call(), result()] if is_shown_once else [*shown, call(), result()]
        added = [count for _, count in run.request(*shown)]
        assert run.again() == []
        counts.append(added)
    assert counts == [[], [2], [2, 3], [2, 3]]
    assert run.announced == [2, 3]


@pytest.mark.rules("D8", "D9")
def test_ids_that_restart_in_each_response() -> None:
    """Two calls a response, in sight or cut off."""
    for cut in (False, True):
        run = Run(RepeatGuardConfig(thresholds=(2, 4)))
        run.request(USER)
        response = (call(0), call(1))
        batch = (*response, result(0), result(1))
        run.respond(*response)
        assert run.request(USER, *batch) == [(5, 2)]
        run.respond(*response)
        assert run.request(*([] if cut else [USER, *batch]), *batch)[-1] == (4 if cut else 9, 4)


@pytest.mark.rules("D11")
@pytest.mark.parametrize("call_is_in_sight", [False, True])
def test_new_input_resets_also_when_it_is_out_of_sight_again(call_is_in_sight: bool) -> None:  # noqa: FBT001
    """It came after the results of the last call, in the last request."""
    run = started()
    assert run.request(USER, call(1), result(1), STEER) == []
    run.respond(call(2))
    assert run.request(*([call(2)] if call_is_in_sight else []), result(2)) == []


@pytest.mark.rules("D11")
def test_a_note_that_is_gone_from_the_next_request_does_not_reset() -> None:
    """It never stood between two calls; nor does it once the history is cut."""
    run = started()
    assert run.request(USER, call(1), result(1), NOTE) == []
    run.respond(call(2))
    assert run.request(USER, call(1), result(1), call(2), result(2), NOTE) == [(5, 2)]
    assert run.request(USER, call(1), result(1), call(2), result(2)) == [(5, 2)]
    run.respond(call(3))
    assert run.request(call(3), result(3)) == [(2, 3)]
    assert run.announced == [2, 3]


@pytest.mark.rules("D11")
def test_new_input_between_two_calls_that_came_late_resets() -> None:
    """It was not there when the last request was sent."""
    run = started()
    run.respond(call(2))
    assert run.request(USER, call(1), result(1), STEER, call(2), result(2)) == []


@pytest.mark.rules("M6")
def test_looking_twice_changes_nothing() -> None:
    """A guard that is wired twice sees each request and each response twice."""
    run = started()
    run.respond(call(2))
    run.respond(call(2))
    items = (USER, call(1), result(1), call(2), result(2))
    assert run.request(*items) == [(5, 2)]
    assert run.again() == []
    assert run.request(*items) == run.request(*items, STEER) == [(5, 2)]
    assert run.announced == [2]
    run.respond(call(3))
    assert run.request(result(3)) == []  # the steer has been said
    run = Run()
    assert run.request(USER) == []
    for number, expected in ((1, []), (2, [(1, 2)])):
        run.respond(call(number))
        run.respond(call(number))
        assert run.request(result(number)) == run.request(result(number)) == expected


@pytest.mark.rules("D8", "M6")
def test_a_response_that_is_made_again_counts_once() -> None:
    """Nothing was sent in between."""
    run = started()
    run.respond(call(2))
    run.respond(call(3))
    assert run.request(USER, call(1), result(1), call(3), result(3)) == [(5, 2)]
    run.respond(call(4))
    run.respond(ANSWER)
    assert run.request(USER) == []


@pytest.mark.rules("D12")
def test_a_conversation_of_which_nothing_is_known_starts_from_scratch() -> None:
    """A caller can use a run's context object again, for another conversation."""
    run = started()
    run.respond(ANSWER)
    assert run.request(USER) == []
    run.respond(call(2))
    assert run.request(result(2)) == []
    assert run.request(USER, call(8), result(8), call(9), result(9)) == [(5, 2)]


@pytest.mark.rules("D11", "D12")
def test_calls_that_no_response_told_of_are_read_where_they_stand() -> None:
    """Those after the calls that are known go on from them."""
    run = started()
    run.respond(call(2))
    history = (USER, call(2), result(2))
    assert run.request(*history, call(3), result(3)) == [(3, 2), (5, 3)]
    run = started()
    run.respond(call(2), call(3, name="search"))
    assert run.request(call(2), call(3, name="search"), result(2), result(3), call(4), result(4)) == [(4, 2)]


@pytest.mark.rules("M5")
def test_a_reminder_is_put_back_as_long_as_its_place_is_in_sight() -> None:
    """Also when the calls that it is about are not."""
    run = started()
    run.respond(call(2))
    assert run.request(USER, call(1), result(1), call(2), result(2)) == [(5, 2)]
    run.respond(call(3))
    assert run.request(USER, result(2), call(3), result(3)) == [(2, 2), (4, 3)]
    assert run.again() == []
    run.respond(call(4))
    assert run.request(result(3), call(4), result(4)) == [(1, 3)]
    assert run.announced == [2, 3]


@pytest.mark.rules("D1", "D11")
def test_a_batch_that_is_cut_in_the_middle_keeps_its_calls() -> None:
    """A call that is out of sight still breaks the chain, and a result that is does not keep the batch waiting."""
    run = started()
    run.respond(call(2, '{"job": "2"}'), call(3), call(4))
    assert run.request(call(3), call(4), result(3), result(4)) == [(4, 2)]
    run = started()
    run.respond(call(2, '{"job": "2"}'), call(3), call(4))
    history = (USER, call(1), result(1))
    assert run.request(*history, call(3), call(4), result(3), result(4)) == [(7, 2)]
    run = started()
    run.respond(call(2), call(3))
    assert run.request(USER, result(3)) == [(2, 3)]


@pytest.mark.rules("D8", "D11")
def test_nothing_in_sight_changes_nothing() -> None:
    """The provider ran what the model called, and the server keeps the conversation."""
    run = started()
    run.respond(hosted(1))
    run.respond(hosted(1))
    assert run.request() == []
    run.respond(hosted(2), call(2))
    assert run.request(result(2)) == [(1, 2)]
    assert run.request(USER) == []
    run.respond(call(3))
    assert run.request(result(3)) == []


@pytest.mark.rules("D8", "X2")
def test_results_that_came_with_a_response_are_compared_though_out_of_sight() -> None:
    """The provider keeps the calls and their results."""
    run = Run(RepeatGuardConfig(thresholds=(2,), on_changed_result="reset", exclude=("note*",)))
    run.request(USER)
    results = [Item(Kind.RESULT, call_id="h1", result=text) for text in "aab"]
    for number, (each, expected) in enumerate(zip(results, ([], [(1, 2)], []), strict=True)):
        run.respond(hosted(1), each, call(number, name=f"note{number}"))
        assert run.request(result(number)) == expected


@pytest.mark.rules("D11", "D12")
def test_calls_of_an_earlier_run_do_not_come_back() -> None:
    """They stood before the user's message, in sight or not."""
    run = Run()
    assert run.request(USER) == []
    run.respond(hosted(1), hosted(2))
    assert run.request(USER) == []
    run.respond(call(1))
    assert run.request(result(1)) == []


@pytest.mark.rules("D8", "D9")
def test_a_provider_s_calls_that_were_open_when_the_run_began_belong_to_its_first_batch() -> None:
    """As they do when the whole conversation is in sight."""
    run = Run()
    assert run.request(USER, hosted(1), ANSWER) == []
    run.respond(hosted(2), call(1))
    assert run.request(USER, hosted(1), ANSWER, hosted(2), call(1), result(1)) == [(6, 2)]
    assert run.request(hosted(2), call(1), result(1)) == [(3, 2)]


@pytest.mark.rules("D12")
def test_a_handoff_of_which_nothing_is_in_sight_is_one() -> None:
    """A filter can take it out of the history. What was due is held for the agent before."""
    history = (USER, call(1), result(1), call(2), result(2))
    run = started()
    run.respond(call(2))
    assert run.memory is not None
    run.memory.note_handoff("second")
    assert run.request(*history) == []
    run.respond(call(3))
    assert run.request(*history, call(3), result(3)) == []
    run.respond(call(4))
    assert run.request(*history, call(3), result(3), call(4), result(4)) == [(9, 2)]
    run = Run()
    assert run.memory is not None
    run.memory.note_handoff("second")
    assert run.request(USER) == []


@pytest.mark.rules("D12")
def test_what_is_held_is_given_when_its_agent_gets_control_back() -> None:
    """Also where only the framework says who has it."""
    run = Run()
    assert run.memory is not None
    run.request(USER)
    run.respond(call(8, name="to_a"))
    run.memory.note_handoff("a")
    run.request(result(8))
    run.respond(call(1))
    run.request(result(1))
    run.respond(call(2))
    run.memory.note_handoff("b")
    assert run.request(result(2)) == []
    run.respond(call(3))
    run.memory.note_handoff("a")
    assert run.request(result(3)) == [(1, 2)]


@pytest.mark.rules("D12")
def test_a_handoff_that_the_server_keeps() -> None:
    """Its result is in sight, its call is not."""
    run = Run()
    run.request(USER)
    assert run.memory is not None
    run.respond(call(1), call(9, name="to_b"))
    run.memory.note_handoff("b")
    assert run.request(result(1), handoff(9, "b")) == []
    run.respond(call(2))
    assert run.request(result(2)) == []
    run.respond(call(3))
    assert run.request(result(3)) == [(1, 2)]


def other_call(number: int) -> Item:
    """Make a call with other arguments."""
    return call(number, '{"job": "2"}')


@pytest.mark.rules("D12")
def test_a_copy_of_a_memory_goes_its_own_way() -> None:
    """As two runs do that go on from the same state; pickled, it is empty."""
    run = started()
    memory = run.memory
    for other in (copy.copy(memory), copy.deepcopy(memory)):
        run.memory = other
        run.respond(call(2))
        assert run.request(result(2)) == [(1, 2)]
    run.memory = pickle.loads(pickle.dumps(memory))  # noqa: S301 - its own data
    run.respond(call(2))
    assert run.request(result(2)) == []


kinds = st.sampled_from(["call", "call", "other call", "search", "thought"])
steps = st.lists(st.tuples(st.lists(kinds, min_size=1, max_size=4), st.booleans()), max_size=8)


@pytest.mark.rules("M5", "M6")
@given(steps)
def test_with_everything_in_sight_nothing_is_remembered_that_could_not_be_derived(
    script: list[tuple[list[str], bool]],
) -> None:
    """Request by request, a memory says what a new one says, and what was said before stays where it is."""
    numbers = itertools.count(1)
    run = Run()
    conversation: list[Message] = [USER]
    placed: list[tuple[int, int]] = []
    for response, steers in script:
        number = next(numbers)
        made: dict[str, Callable[[int], Item]] = {"call": call, "other call": other_call, "search": hosted}
        output = [made[kind](number * 10 + i) if kind in made else ANSWER for i, kind in enumerate(response)]
        run.respond(*output)
        results = [result(0)._replace(call_id=item.call_id) for item in output if item.awaits_result]
        conversation = [*conversation, *output, *results, *([STEER] if steers else [])]
        now = run.request(*conversation)
        assert now == run.request(*conversation) == Run(remembers=False).request(*conversation)
        assert now[: len(placed)] == placed
        placed = now
