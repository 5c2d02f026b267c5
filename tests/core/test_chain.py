"""D1, D6 to D11: the chain's table, and the plain chain against a naive reading of the rules."""

from __future__ import annotations

from typing import TypeAlias, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repeatguard_core import RepeatChain, RepeatGuardConfig, ToolCall
from repeatguard_core._state import TRANSITIONS, Event, State

from tests.core.decisions import reminders_among

SELECT = ToolCall("run_sql", '{"q": "select 1"}')
OTHER_SELECT = ToolCall("run_sql", '{"q": "select 2"}')
NOTE = ToolCall("update_plan", '{"step": 1}')


def chain(*, untracked: tuple[str, ...] = (), **settings: object) -> RepeatChain:
    """Make a chain that reminds at 2 and 4 unless told otherwise, of identical calls in a row alone."""
    config = RepeatGuardConfig.model_validate({"thresholds": (2, 4), "max_cycle_length": 1, **settings})
    return RepeatChain(config, untracked=lambda name: name in untracked)


def counts(chain: RepeatChain, *batches: list[ToolCall]) -> list[int | None]:
    """Give the count of which each batch reminds."""
    reminders = [chain.observe(batch) for batch in batches]
    return [reminder.count if reminder else None for reminder in reminders]


@pytest.mark.rules("D1", "D6", "D10", "D11")
def test_every_event_has_a_rule() -> None:
    """The table is complete: every event has its row."""
    assert set(TRANSITIONS) == set(get_args(Event))


@pytest.mark.rules("D1")
def test_an_identical_call_adds_one() -> None:
    """Row SAME: the count goes up, through both thresholds."""
    assert counts(chain(), [SELECT], [SELECT], [SELECT], [SELECT]) == [None, 2, None, 4]


@pytest.mark.rules("D1")
def test_the_same_arguments_in_another_spelling_are_identical() -> None:
    """Row SAME goes by canonical arguments, in either order of spellings, text or object."""
    spellings = [SELECT, ToolCall("run_sql", ' {"q":"select 1"}'), ToolCall("run_sql", {"q": "select 1"}), SELECT]
    assert counts(chain(), *([call] for call in spellings)) == [None, 2, None, 4]


@pytest.mark.rules("D1", "D10")
@pytest.mark.parametrize("other", [OTHER_SELECT, ToolCall("run_sql"), ToolCall("explain", SELECT.arguments)])
def test_a_different_call_starts_a_new_chain_at_one(other: ToolCall) -> None:
    """Row DIFFERENT: neither count nor fired thresholds survive."""
    assert counts(chain(), [SELECT], [SELECT], [other], [SELECT], [SELECT]) == [None, 2, None, None, 2]


@pytest.mark.rules("D1")
def test_the_different_call_is_the_one_to_compare_with() -> None:
    """Row DIFFERENT: the new chain is the different call's."""
    assert counts(chain(), [SELECT], [OTHER_SELECT], [OTHER_SELECT]) == [None, None, 2]


@pytest.mark.rules("D6")
@pytest.mark.parametrize(
    "settings",
    [{"exclude": ("update_*",)}, {"include": ("run_*",)}, {"untracked": ("update_plan",)}],
    ids=["excluded", "not included", "named by untracked"],
)
def test_an_untracked_call_is_transparent(settings: dict[str, tuple[str, ...]]) -> None:
    """Row UNTRACKED: it neither counts, nor resets, nor reminds once more."""
    plain = chain(untracked=settings.pop("untracked", ()), **settings)
    batches = [[NOTE], [SELECT], [NOTE], [SELECT], [NOTE], [NOTE, SELECT, NOTE], [SELECT]]
    assert counts(plain, *batches) == [None, None, None, 2, None, None, 4]


@pytest.mark.rules("D11")
def test_new_material_resets() -> None:
    """Row NEW_MATERIAL: counting starts anew, and all thresholds are armed again."""
    guard = chain()
    assert counts(guard, [SELECT], [SELECT], [SELECT]) == [None, 2, None]
    guard.reset()
    assert counts(guard, [SELECT], [SELECT]) == [None, 2]


@pytest.mark.rules("D9")
def test_equal_calls_of_one_batch_count() -> None:
    """Three equal calls in one batch are a count of three."""
    assert counts(chain(thresholds=(3,)), [SELECT, SELECT, SELECT]) == [3]


@pytest.mark.rules("D9")
def test_a_batch_is_read_in_the_models_order() -> None:
    """The last call of one batch is the one before the first of the next."""
    assert counts(chain(), [OTHER_SELECT, SELECT], [SELECT, OTHER_SELECT], [SELECT]) == [None, 2, None]


@pytest.mark.rules("D10")
def test_a_due_reminder_stays_due_when_the_batch_goes_on() -> None:
    """The chain was broken, but the model has not been told yet."""
    reminder = chain().observe([SELECT, SELECT, OTHER_SELECT])
    assert reminder is not None
    assert (reminder.tool_name, reminder.count) == ("run_sql", 2)
    assert "select 1" in reminder.arguments


@pytest.mark.rules("D10")
def test_of_several_due_in_a_batch_the_last_is_given() -> None:
    """One message a batch."""
    assert counts(chain(), [SELECT] * 4 + [OTHER_SELECT] * 2, [OTHER_SELECT]) == [2, None]
    reminder = chain().observe([SELECT] * 4 + [OTHER_SELECT] * 2)
    assert reminder is not None
    assert "select 2" in reminder.arguments


@pytest.mark.rules("D10", "C1")
def test_beyond_the_highest_threshold_there_is_silence() -> None:
    """By default the model is reminded at 3, 5 and 8 and not again."""
    fired = counts(RepeatChain(), *([SELECT] for _ in range(30)))
    assert [count for count in fired if count] == [3, 5, 8]
    assert fired.index(3) == 2


@pytest.mark.rules("D10")
def test_an_empty_batch_changes_nothing() -> None:
    """A response without calls neither counts nor resets."""
    assert counts(chain(), [SELECT], [], [SELECT], []) == [None, None, 2, None]


@pytest.mark.rules("D6", "S2")
def test_a_raising_untracked_leaves_the_chain_as_it_was() -> None:
    """Either a whole batch is counted or none of it."""
    names: list[str] = []

    def untracked(name: str) -> bool:
        names.append(name)
        if len(names) == 2:
            msg = "boom"
            raise LookupError(msg)
        return False

    guard = RepeatChain(RepeatGuardConfig(thresholds=(3,)), untracked)
    with pytest.raises(LookupError, match="boom"):
        guard.observe([SELECT, SELECT])
    assert counts(guard, [SELECT, SELECT], [SELECT]) == [None, 3]


@pytest.mark.rules("D8")
def test_a_call_is_counted_by_what_the_model_wrote() -> None:
    """Invalid arguments form a chain as well, and so do tools that do not exist."""
    assert counts(chain(), [ToolCall("nope", "{oops")], [ToolCall("nope", " {oops ")]) == [None, 2]


@pytest.mark.rules("D1")
def test_changing_an_object_later_does_not_change_what_was_counted() -> None:
    """The framework may go on using the arguments that it handed over."""
    arguments = {"q": 1}
    guard = chain()
    guard.observe([ToolCall("run_sql", arguments)])
    arguments["q"] = 2
    assert counts(guard, [ToolCall("run_sql", {"q": 1})]) == [2]


# --- against a naive reading of the rules ---------------------------------------------------

Op: TypeAlias = "list[tuple[str, int]] | None"

#: Spellings of the same arguments, by their number.
SPELLINGS: list[list[object]] = [
    [None, "", "  ", "null", "{}", {}],
    ['{"a": 1}', '{"a":1.0}', {"a": 1}],
    ['{"a": true}', {"a": True}],
    ["{broken", " {broken\n"],
]
TOOLS = ["search", "run_sql", "update_plan"]
batches = st.lists(st.tuples(st.sampled_from(TOOLS), st.integers(0, len(SPELLINGS) - 1)), max_size=6)
calls = st.tuples(st.just("search"), st.integers(0, 1))
loops: st.SearchStrategy[Op] = st.tuples(calls, st.integers(1, 5)).map(lambda drawn: [drawn[0]] * drawn[1])
ops: st.SearchStrategy[list[Op]] = st.lists(st.one_of(batches, loops, loops, st.none()), max_size=20)


def naive(history: list[Op], thresholds: set[int]) -> list[tuple[str, int, bool] | None]:
    """Say what each batch reminds of, by looking back through all calls at every single one."""
    expected: list[tuple[str, int, bool] | None] = []
    tracked: list[tuple[str, int] | None] = []
    for op in history:
        if op is None:
            tracked.append(None)
            continue
        due = None
        for call in op:
            if call[0] == "update_plan":
                continue
            tracked.append(call)
            run = 0
            while run < len(tracked) and tracked[-1 - run] == call:
                run += 1
            if run in thresholds:
                due = (call[0], run, run == min(thresholds))
        expected.append(due)
    return expected


@pytest.mark.rules("D1", "D3", "D6", "D9", "D10", "D11", "X1")
@given(ops, st.sets(st.integers(2, 9), min_size=1), st.data())
def test_the_chain_against_a_naive_reading(history: list[Op], thresholds: set[int], data: st.DataObject) -> None:
    """Whatever happens: with a longest cycle of 1 and the rest as it is by default, it is the plain rule."""
    guard = chain(thresholds=tuple(thresholds), exclude=("*_plan",))
    seen: list[tuple[str, int, bool] | None] = []
    for op in history:
        if op is None:
            guard.reset()
            continue
        calls = [ToolCall(name, data.draw(st.sampled_from(SPELLINGS[number]))) for name, number in op]
        seen += [(r.tool_name, r.count, r.is_first) for r in reminders_among([guard.observe(calls)])] or [None]
    assert seen == naive(history, thresholds)


@pytest.mark.rules("D10", "M2")
def test_what_a_reminder_says_of_itself() -> None:
    """Every field is filled, in the first reminder and in the later ones."""
    guard = chain()
    reminders = reminders_among(guard.observe([SELECT]) for _ in range(4))
    assert [(r.tool_name, r.count, r.threshold, r.is_first) for r in reminders] == [
        ("run_sql", 2, 2, True),
        ("run_sql", 4, 4, False),
    ]
    assert all(r.arguments == '{"q":"select 1"}' for r in reminders)


@pytest.mark.rules("D6")
def test_an_untracked_call_leaves_the_state_as_it_is() -> None:
    """The table has a row for it."""
    state = State(4, chain_length=2)
    assert state.after("untracked call") is state
