"""X3 to X5: arguments that are left out, and what comes after the highest threshold."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repeatguard_core import (
    Reminder,
    RepeatChain,
    RepeatGuardConfig,
    RepeatLoopError,
    Stop,
    ToolCall,
    ToolSettings,
    canonical_arguments,
)

from tests.core.decisions import as_stop, reminders_among
from tests.core.json_values import any_value

SELECT = ToolCall("run_sql", '{"q": 1}')


def due(calls: int, **settings: object) -> list[tuple[int, Reminder | Stop]]:
    """Observe the same call so many times, and give the reminders that are due with the call that each is due at."""
    chain = RepeatChain(RepeatGuardConfig.model_validate({"thresholds": [2, 4], **settings}))
    reminders = [(number, chain.observe([SELECT])) for number in range(1, calls + 1)]
    return [(number, reminder) for number, reminder in reminders if reminder is not None]


def limit_of(decision: Reminder | Stop) -> tuple[type, int]:
    """Return what was decided, and the limit that was reached."""
    return type(decision), decision.threshold if isinstance(decision, Reminder) else decision.stop_after


def is_identical(one: object, other: object, *ignored: str) -> bool:
    """Tell whether two sets of arguments are the same without some of them."""
    settings = {"thresholds": [2], "ignore_arguments": {"run_*": ignored} if ignored else {}}
    chain = RepeatChain(RepeatGuardConfig.model_validate(settings))
    return chain.observe([ToolCall("run_sql", one), ToolCall("run_sql", other)]) is not None


# --- X3 -----------------------------------------------------------------------------------------


@pytest.mark.rules("X3", "D2")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"q": 1, "note": "a"}', '{"q": 1, "note": "b"}'),
        ('{"q": 1, "note": "a"}', '{"q":1.0}'),
        ({"q": 1, "note": "a"}, '{"note": [1, {"x": 2}], "q": 1e0}'),
        ('{"note": 1}', ""),
        ('{"note": 1}', {"note": 2}),
        ('{"q": 12345678901234567890, "note": 1}', {"q": 12345678901234567890}),
        ('{"q": 0.1, "note": 1}', '{"q": 1e-1}'),
        ('{"q": NaN, "note": 1}', '{"q": NaN, "note": 2}'),
    ],
)
def test_an_ignored_argument_makes_no_difference(one: object, other: object) -> None:
    """Whatever its value, and whether it is there at all."""
    assert is_identical(one, other, "note")
    assert is_identical(other, one, "note")
    assert not is_identical(one, other)


@pytest.mark.rules("X3", "D4")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"q": 1, "note": "a"}', '{"q": 2, "note": "a"}'),
        ('{"q": {"note": 1}}', '{"q": {"note": 2}}'),
        ('[{"note": 1}]', '[{"note": 2}]'),
        ('{"note": 1', '{"note": 2'),
        ("note", "more"),
        ('{"Note": 1}', '{"Note": 2}'),
    ],
)
def test_what_is_not_ignored_makes_a_difference(one: str, other: str) -> None:
    """Only arguments of that very name, and only the outermost."""
    assert not is_identical(one, other, "note")


@pytest.mark.rules("X3", "D5")
@given(st.dictionaries(st.sampled_from(["note", "q", "é", ""]), any_value), any_value)
def test_text_and_value_without_an_argument_have_one_form(arguments: dict[str, object], note: object) -> None:
    """In either spelling, with the argument and without it."""
    without = {name: value for name, value in arguments.items() if name != "note"}
    text = canonical_arguments({**arguments, "note": note})
    assert is_identical(text, without, "note")
    assert is_identical({**arguments, "note": note}, canonical_arguments(without), "note")


@pytest.mark.rules("X3", "D5")
def test_arguments_that_fight_back() -> None:
    """Nothing that arguments are may raise."""

    class Hostile(dict[str, object]):
        def __iter__(self) -> object:  # type: ignore[override]
            raise LookupError

    deep = '{"note": ' + "[" * 50_000 + "]" * 50_000 + "}"
    for arguments in (Hostile(a=1), deep, {"note": object()}, {1: 2, "note": 3}, object()):
        assert is_identical(arguments, arguments, "note")
    assert is_identical({1: 2, "note": 3}, {1: 2}, "note")
    assert is_identical({1: 2, "x": 3}, {"x": 3}, "1")


@pytest.mark.rules("X3", "M2")
def test_ignored_arguments_are_quoted_all_the_same() -> None:
    """The model sees what it has called."""
    config = RepeatGuardConfig(thresholds=(2, 3), ignore_arguments={"*": ("note",)})
    reminder = RepeatChain(config).observe([ToolCall("run_sql", {"q": 1, "note": text}) for text in "abc"])
    assert reminder is not None
    assert reminder.arguments == '{"note":"c","q":1}'


@pytest.mark.rules("X3", "D7")
def test_which_arguments_of_which_tool() -> None:
    """All patterns that cover a tool count, and so does its own entry."""
    config = RepeatGuardConfig.model_validate(
        {
            "thresholds": [2],
            "ignore_arguments": {"*": ["a"], "run_*": ["b"]},
            "tools": [{"match": "run_sql", "ignore_arguments": ["c"]}, {"match": "run*", "stop_after": 9}],
        }
    )

    def ignores(tool: str, name: str) -> bool:
        calls = [ToolCall(tool, {name: value}) for value in (1, 2)]
        return RepeatChain(config).observe(calls) is not None

    assert [ignores("run_sql", name) for name in "abcd"] == [True, True, True, False]
    assert [ignores("run_it", name) for name in "abcd"] == [True, True, False, False]
    assert [ignores("fetch", name) for name in "abcd"] == [True, False, False, False]


# --- X4 -----------------------------------------------------------------------------------------


@pytest.mark.rules("X4", "D10")
@pytest.mark.parametrize(
    ("every", "counts"), [(1, [2, 4, 5, 6, 7, 8, 9, 10]), (2, [2, 4, 6, 8, 10]), (5, [2, 4, 9]), (None, [2, 4])]
)
def test_further_reminders(every: int | None, counts: list[int]) -> None:
    """They are detailed ones, and name the highest threshold as the one that was reached."""
    due_at = due(10, remind_every=every)
    reminders = reminders_among(decision for _, decision in due_at)
    assert [number for number, _ in due_at] == counts
    assert [reminder.count for reminder in reminders] == counts
    assert [reminder.is_first for reminder in reminders] == [True] + [False] * (len(counts) - 1)
    assert [reminder.threshold for reminder in reminders] == [2] + [4] * (len(counts) - 1)


@pytest.mark.rules("X4", "M2")
def test_further_reminders_after_a_single_threshold_are_detailed() -> None:
    """Only the threshold itself gives the short text."""
    due_at = due(4, thresholds=[2], remind_every=1)
    texts = [reminder.text for reminder in reminders_among(decision for _, decision in due_at)]
    assert ["consecutive_calls" in text for text in texts] == [False, True, True]


@pytest.mark.rules("X4", "X1")
def test_further_reminders_of_a_cycle() -> None:
    """By repetitions, not by calls."""
    chain = RepeatChain(RepeatGuardConfig(thresholds=(2,), remind_every=2))
    reminders = [chain.observe([SELECT, ToolCall("fetch")]) for _ in range(6)]
    assert [reminder and reminder.count for reminder in reminders] == [None, 2, None, 4, None, 6]


@pytest.mark.rules("X4", "X5", "D7")
def test_settings_of_one_tool() -> None:
    """The first entry that matches counts, and what it leaves out is as for every other tool."""
    settings = {
        "remind_every": 2,
        "stop_after": 9,
        "tools": [
            {"match": "run_sql", "remind_every": "never", "stop_after": "never"},
            {"match": "run_*", "thresholds": [3], "stop_after": 6},
        ],
    }
    assert [number for number, _ in due(20, **settings)] == [2, 4]
    chain = RepeatChain(RepeatGuardConfig.model_validate({"thresholds": [2, 4], **settings}))
    of_another = [chain.observe([ToolCall("run_it")]) for _ in range(6)]
    assert [r and (r.count, type(r)) for r in of_another] == [
        None,
        None,
        (3, Reminder),
        None,
        (5, Reminder),
        (6, Stop),
    ]


@pytest.mark.rules("X1", "D7")
def test_a_cycle_of_tools_with_different_settings_goes_by_the_general_ones() -> None:
    """One whose tools all go by the same goes by those."""
    config = RepeatGuardConfig.model_validate({"thresholds": [2], "tools": [{"match": "a*", "thresholds": [3]}]})

    def first_count(*tools: str) -> int | None:
        chain = RepeatChain(config)
        reminders = (chain.observe([ToolCall(tool) for tool in tools]) for _ in range(4))
        return next((reminder.count for reminder in reminders if reminder), None)

    assert [first_count("a1", "a2"), first_count("a1", "b"), first_count("b", "a1"), first_count("b", "c")] == [
        3,
        2,
        2,
        2,
    ]


# --- X5 -----------------------------------------------------------------------------------------


@pytest.mark.rules("X5")
def test_a_run_is_to_end() -> None:
    """At that count, and again at each further one if it is made to go on."""
    assert [(r.count, limit_of(r)) for _, r in due(7, stop_after=5)] == [
        (2, (Reminder, 2)),
        (4, (Reminder, 4)),
        (5, (Stop, 5)),
        (6, (Stop, 5)),
        (7, (Stop, 5)),
    ]


@pytest.mark.rules("X5", "D10")
def test_an_end_stays_due_when_the_batch_goes_on() -> None:
    """Neither another chain nor another reminder in the same batch takes its place."""
    chain = RepeatChain(RepeatGuardConfig(thresholds=(2,), stop_after=3))
    reminder = chain.observe([SELECT] * 3 + [ToolCall("fetch")] * 2)
    assert reminder is not None
    assert (type(reminder), reminder.tool_name, reminder.count) == (Stop, "run_sql", 3)


@pytest.mark.rules("X5", "X2")
def test_a_poll_with_changing_results_goes_on_longer() -> None:
    """The end comes where the policy says that the threshold would."""
    settings = {"thresholds": [2], "stop_after": 4, "on_changed_result": "defer"}
    chain = RepeatChain(RepeatGuardConfig.model_validate(settings))
    reminders = [chain.observe([ToolCall("status", "1", text)]) for text in "abcdef"]
    assert [r and (r.count, limit_of(r)) for r in reminders] == [
        None,
        None,
        None,
        (4, (Reminder, 2)),
        None,
        (6, (Stop, 4)),
    ]


@pytest.mark.rules("X5", "S6")
def test_the_error() -> None:
    """It carries what it is about, goes through pickle and copy, and its text has no arguments."""
    _, stop = due(3, thresholds=[2], stop_after=3)[-1]
    assert isinstance(stop, Stop)
    error = RepeatLoopError(stop)
    for each in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - its own data
        assert (each.tool_name, each.count, each.arguments, each.stop) == ("run_sql", 3, '{"q":1}', stop)
        assert str(each) == "run_sql called 3 times in a row with the same arguments (stop_after=3)"


@pytest.mark.rules("X5")
def test_the_error_about_a_stop_that_was_made_by_hand() -> None:
    """Which may leave out what has a default."""
    stop = Stop(tool_name="search", count=3, stop_after=3, arguments="{}")
    assert str(RepeatLoopError(stop)) == "search called 3 times in a row with the same arguments (stop_after=3)"


@pytest.mark.rules("C2")
@pytest.mark.parametrize("kind", [list, tuple, iter, set])
def test_entries_come_in_any_kind_of_list(kind: Any) -> None:
    """As all other lists do."""
    entry = ToolSettings(match="get_*", thresholds=(4,))
    assert RepeatGuardConfig(tools=kind([entry])).tools == (entry,)


@pytest.mark.rules("X5", "X1")
def test_the_error_about_a_cycle() -> None:
    """It names all tools."""
    chain = RepeatChain(RepeatGuardConfig(thresholds=(2,), stop_after=3))
    stop = as_stop(chain.observe([SELECT, ToolCall("fe\ntch")] * 3))
    assert str(RepeatLoopError(stop)) == (
        r"a cycle of run_sql, fe\ntch called 3 times in a row with the same arguments (stop_after=3)"
    )
