"""Where reminders belong in a conversation that is in sight."""

from __future__ import annotations

from typing import Any

import pytest
from repeatguard_core import RepeatGuardConfig

from tests.core.adapters.conversations import (
    ANSWER,
    USER,
    Message,
    Run,
    call,
    handoff,
    hosted,
    places,
    result,
)

AT_TWO = RepeatGuardConfig(thresholds=(2,))
ONCE = (call(), result())
TWICE = (*ONCE, *ONCE)
TEXT = "a reminder"


def at_two(*messages: Message) -> list[int]:
    """Return the places of the reminders that are added, for a threshold of two."""
    return [index for index, _ in places(*messages, config=AT_TWO)]


@pytest.mark.rules("M1", "M5")
@pytest.mark.parametrize("after", [(), (USER,), (ANSWER,), (ANSWER, ANSWER), ONCE, (ANSWER, USER, *ONCE)], ids=len)
def test_the_place_does_not_depend_on_what_follows(after: tuple[Any, ...]) -> None:
    """It is right after the last result of the batch, whatever comes later."""
    assert at_two(USER, *TWICE, *after)[0] == 5


@pytest.mark.rules("S6")
@pytest.mark.parametrize(("after", "is_new"), [((), True), ((USER,), True), ((ANSWER,), False), ((call(),), False)])
def test_a_reminder_is_new_until_the_model_goes_on(after: tuple[Any, ...], is_new: bool) -> None:  # noqa: FBT001
    """Only then is it announced."""
    run = Run(AT_TWO, remembers=False)
    assert run.request(USER, *TWICE, *after) == [(5, 2)]
    assert run.announced == [2] * is_new


@pytest.mark.rules("D9", "M1")
def test_no_reminder_before_the_batch_has_its_results() -> None:
    """Calls without results are a batch that is still under way."""
    assert at_two(USER, *ONCE, call()) == []
    assert at_two(USER, call(), call(), ANSWER) == []
    assert at_two(USER, call(), ANSWER, call(), result(), result()) == [6]
    other, other_result = call(1), result(1)
    assert at_two(USER, call(), other, result(), ANSWER, other_result) == [6]
    assert at_two(USER, call(), other, result(), USER, *ONCE) == []


@pytest.mark.rules("D8", "M1")
def test_calls_with_one_id_wait_for_as_many_results() -> None:
    """Some backends give all calls of a response the same id."""
    assert at_two(USER, call(), call(), result()) == []
    assert at_two(USER, call(), call(), result(), result()) == [5]


@pytest.mark.rules("D8", "X2")
def test_calls_with_one_id_take_the_results_in_order() -> None:
    """Each has a result of its own."""
    config = RepeatGuardConfig(thresholds=(2,), on_changed_result="reset")
    other = call(arguments="1")
    batch = (call(), other, result(content="a"), result(content="b"))
    assert places(USER, *batch, other, result(content="b"), config=config) == [(7, 2)]
    assert places(USER, *batch, other, result(content="a"), config=config) == []


@pytest.mark.rules("M6")
def test_a_reminder_that_is_there_is_not_missing() -> None:
    """Whatever comes between it and the results that it belongs to."""
    assert at_two(USER, *TWICE, TEXT) == []
    assert at_two(USER, *TWICE, USER, TEXT) == []
    assert at_two(USER, *TWICE, TEXT, *TWICE) == []
    assert at_two(USER, *TWICE, ANSWER, TEXT) == [5]


@pytest.mark.rules("D11")
def test_new_input_resets_and_nothing_else_does() -> None:
    """The model's words and thoughts, a summary, and a reminder are not new input."""
    assert at_two(USER, *ONCE, USER, *ONCE) == []
    assert at_two(USER, *ONCE, ANSWER, *ONCE) == [6]
    assert at_two(USER, *ONCE, TEXT, *ONCE) == [6]


@pytest.mark.rules("D8", "D9", "M1")
def test_what_the_provider_runs_belongs_to_the_batch() -> None:
    """The reminder comes after the next results of the application: nothing else shows where a response ends."""
    assert at_two(USER, hosted(1), hosted(2), *ONCE) == [5]
    assert at_two(USER, *ONCE, call(), hosted(1), result()) == [6]
    assert at_two(USER, hosted(1), hosted(2)) == []


@pytest.mark.rules("D11")
def test_a_history_that_was_cut_is_read_as_it_stands() -> None:
    """Results whose calls are gone count for nothing, and disturb nothing."""
    assert at_two(result(), *TWICE) == [5]
    assert at_two() == []


# --- handoffs ---------------------------------------------------------------------------------

TO_B, TO_A = (call(8, name="to_b"), handoff(8, "b")), (call(9, name="to_a"), handoff(9, "a"))


@pytest.mark.rules("D12")
def test_each_agent_has_a_chain_of_its_own() -> None:
    """Which goes on when it gets control back; the call that hands over counts for nothing."""
    assert at_two(USER, *ONCE, *TO_B, *ONCE) == []
    assert at_two(USER, *ONCE, *TO_B, *TWICE) == [9]
    there_and_back = (*TO_B, *ONCE, *TO_A, *ONCE)
    assert at_two(USER, *there_and_back) == []
    assert at_two(USER, *there_and_back, *TO_B, *ONCE) == [13]
    assert at_two(USER, *there_and_back, *there_and_back) == [13, 17]


@pytest.mark.rules("D12")
def test_before_the_first_handoff_calls_are_in_nobody_s_name() -> None:
    """Since a conversation does not show who began it."""
    assert at_two(USER, *ONCE, *TO_B, *TO_A, *ONCE) == []


@pytest.mark.rules("D12", "D11")
def test_new_input_takes_the_conversation_out_of_all_hands() -> None:
    """All chains start again."""
    assert at_two(USER, *TO_B, *ONCE, USER, *ONCE) == []
    assert at_two(USER, *TO_B, *ONCE, USER, *TO_A, *TO_B, *ONCE) == []
    assert at_two(USER, *TO_B, USER, *ONCE, *TO_A, *TO_B, *ONCE) == []


BOTH = (call(), call(9, name="to_a"), result(), handoff(9, "a"))


@pytest.mark.rules("D12", "M1")
def test_what_falls_due_as_another_agent_takes_over_is_held() -> None:
    """Until its agent gets control back."""
    before = (USER, *TO_B, *ONCE, *BOTH)  # b calls, and calls again as it hands over
    assert at_two(*before) == []
    assert at_two(*before, ANSWER, call(8, name="to_b")) == []
    assert at_two(*before, call(8, name="to_b"), handoff(8, "b")) == [11]
    assert at_two(*before, call(8, name="to_b"), handoff(8, "b"), TEXT) == []
    assert at_two(*before, call(8, name="to_b"), handoff(8, "b"), TEXT, *TO_A, *TO_B) == []
    assert at_two(*before, USER, *TO_A, *TO_B) == []


@pytest.mark.rules("D12", "X5")
def test_an_end_that_falls_due_as_another_agent_takes_over_is_held() -> None:
    """The run ends when its agent gets control back."""
    run = Run(RepeatGuardConfig(thresholds=(2,), stop_after=3), remembers=False)
    before = (USER, *TO_B, *TWICE, *BOTH)
    assert run.request(*before) == [(7, 2)]
    assert run.request(*before, *TO_B) == []
    assert run.stop is not None
    assert (run.stop.tool_name, run.stop.count) == ("get_status", 3)
    assert run.request(*before, USER, *TO_B) == [(7, 2)]


# --- ends of runs -----------------------------------------------------------------------------

THREE_TIMES = (USER, *ONCE, *ONCE, *ONCE)


@pytest.mark.rules("X5", "D11")
@pytest.mark.parametrize("after", [(USER,), (ANSWER,), (ANSWER, USER), (ANSWER, USER, *ONCE), (call(),)], ids=len)
def test_an_end_in_the_past_ends_nothing(after: tuple[Any, ...]) -> None:
    """Only the newest batch does, if nothing has come since."""
    run = Run(RepeatGuardConfig(thresholds=(2,), stop_after=3), remembers=False)
    run.request(*THREE_TIMES, *after)
    assert run.stop is None


@pytest.mark.rules("X5", "M6")
def test_the_same_request_again_ends_again() -> None:
    """With everything remembered or nothing; and so does a further call, if the run is made to go on."""
    config = RepeatGuardConfig(thresholds=(2,), stop_after=3)
    for run in (Run(config), Run(config, remembers=False)):
        for messages in (THREE_TIMES, THREE_TIMES, (*THREE_TIMES, TEXT)):
            run.request(*messages)
            assert run.stop is not None
            assert run.stop.count == 3
        run.request(*THREE_TIMES, USER)
        assert run.stop is None
        run.request(*THREE_TIMES, *ONCE)
        assert run.stop is not None
        assert run.stop.count == 4
