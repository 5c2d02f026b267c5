"""X2: what a changed result means."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repeatguard_core import RepeatChain, RepeatGuardConfig, ToolCall

from tests.core.decisions import as_reminder


def chain(policy: str, **settings: object) -> RepeatChain:
    """Make a chain that goes by a policy and reminds at 2 and 4, of identical calls in a row."""
    usual = {"on_changed_result": policy, "thresholds": [2, 4], "max_cycle_length": 1}
    return RepeatChain(RepeatGuardConfig.model_validate({**usual, **settings}))


def counts(guard: RepeatChain, *results: object, arguments: object = '{"q": 1}') -> list[int | None]:
    """Observe the same call with one result after the other, and give the count of which each call reminds."""
    reminders = [guard.observe([ToolCall("search", arguments, result)]) for result in results]
    return [reminder.count if reminder else None for reminder in reminders]


@pytest.mark.rules("X2")
def test_by_default_results_do_not_matter() -> None:
    """They are not even looked at."""

    class Untouchable:
        def __getattribute__(self, name: str) -> object:
            raise AssertionError(name)

    assert counts(chain("count"), "a", "b", "c", "d") == [None, 2, None, 4]
    assert counts(RepeatChain(), *[Untouchable() for _ in range(3)]) == [None, None, 3]


@pytest.mark.rules("X2")
def test_reset() -> None:
    """A changed result starts a new chain at one."""
    assert counts(chain("reset"), "a", "a", "b", "b", "b", "b", "a") == [None, 2, None, 2, None, 4, None]


@pytest.mark.rules("X2", "D10")
def test_defer() -> None:
    """Two calls later, unless the results have been the same so often; each threshold once."""
    assert counts(chain("defer"), "a", "b", "c", "d", "e", "f") == [None, None, None, 4, None, 6]
    assert counts(chain("defer"), "a", "a", "b", "b", "b", "b", "b") == [None, 2, None, None, None, 6, None]
    assert counts(chain("defer"), "a", "b", "b", "b", "b", "b", "b") == [None, None, 3, None, 5, None, None]


@pytest.mark.rules("X2")
@pytest.mark.parametrize("arguments", [None, "", "{}", " null "])
def test_defer_without_arguments(arguments: object) -> None:
    """Only identical results count: a pager that has no arguments is left alone."""
    assert counts(chain("defer"), *"abcdefghijk", arguments=arguments) == [None] * 11
    assert counts(chain("defer"), *"aabbbbc", arguments=arguments) == [None, 2, None, 2, None, 4, None]


@pytest.mark.rules("X2")
@pytest.mark.parametrize("policy", ["reset", "defer"])
def test_a_result_that_is_not_to_be_had_counts(policy: str) -> None:
    """As with "count", on either side."""
    assert counts(chain(policy), None, None, None, None) == [None, 2, None, 4]
    assert counts(chain(policy), "a", None, "b", None) == [None, 2, None, 4]
    assert counts(chain(policy), "a", None, "a", "a") == [None, 2, None, 4]


@pytest.mark.rules("X2", "D5")
def test_results_are_compared_whole_and_by_value() -> None:
    """Text exactly; any other value by its canonical form."""
    assert counts(chain("reset"), "x" * 5000 + "a", "x" * 5000 + "b") == [None, None]
    assert counts(chain("reset"), '{"a": 1}', '{"a":1}') == [None, None]
    assert counts(chain("reset"), {"a": 1, "b": [2]}, {"b": [2.0], "a": 1}) == [None, 2]
    assert counts(chain("reset"), [1], [2]) == [None, None]
    assert counts(chain("reset"), "\ud800", "\ud800") == [None, 2]
    assert counts(chain("reset"), "", "") == [None, 2]


@pytest.mark.rules("X2", "X1")
def test_results_within_cycles() -> None:
    """A cycle whose results change is left alone or reminded of later, and the rest of it may stay as it is."""

    def rounds(policy: str, results: str, arguments: object = '{"job": 7}') -> list[int | None]:
        guard = chain(policy, max_cycle_length=4)
        look = [(ToolCall("status", arguments, result), ToolCall("list", '{"all": 1}', "same")) for result in results]
        reminders = [guard.observe(calls) for calls in look]
        return [reminder.count if reminder else None for reminder in reminders]

    assert rounds("count", "abcdef") == [None, 2, None, 4, None, None]
    assert rounds("reset", "abcdef") == [None] * 6
    assert rounds("reset", "abbbbc") == [None, None, 2, None, 4, None]
    assert rounds("defer", "abcdef") == [None, None, None, 4, None, 6]
    assert rounds("defer", "aaaaaa") == [None, 2, None, 4, None, None]
    assert rounds("defer", "abcdef", arguments=None) == [None] * 6


@pytest.mark.rules("X2", "X1")
def test_the_previous_one_of_the_same_call_may_be_a_few_calls_back() -> None:
    """As far as the longest cycle goes, and no further."""
    a = [ToolCall("a", "1", text) for text in "xyyyyy"]
    b = ToolCall("b", "1", "same")
    guard = chain("reset", max_cycle_length=2)
    seen = [guard.observe([call]) for call in (a[0], b, a[1], b, a[2], b)]
    assert [reminder and (reminder.count, reminder.tool_names) for reminder in seen] == [
        None,
        None,
        None,
        None,
        None,
        (2, ("a", "b")),
    ]


@pytest.mark.rules("X2")
def test_settings_of_one_tool() -> None:
    """Only that tool's results are looked at."""
    guard = chain("count", tools=[{"match": "poll*", "on_changed_result": "reset"}])
    polls = [guard.observe([ToolCall("poll_build", '{"id": 1}', text)]) for text in "abcd"]
    others = [guard.observe([ToolCall("search", '{"id": 1}', text)]) for text in "abcd"]
    assert polls == [None] * 4
    assert [reminder and reminder.count for reminder in others] == [None, 2, None, 4]


# --- against the words of the rule --------------------------------------------------------------


@dataclass
class Naive:
    """X2, word for word, for identical calls in a row."""

    policy: str
    thresholds: set[int]

    def due(self, calls: list[tuple[str, str | None]]) -> set[int]:
        """Say which thresholds have been due so far in the chain that the last call belongs to."""
        has_arguments = calls[-1][0] != ""
        start = len(calls) - 1
        while start > 0 and calls[start - 1][0] == calls[-1][0]:
            begins_anew = self.policy == "reset" or (self.policy == "defer" and not has_arguments)
            if begins_anew and differ(calls[start][1], calls[start - 1][1]):
                break
            start -= 1
        reached: set[int] = set()
        for end in range(start + 1, len(calls) + 1):
            row = calls[start:end]
            alike = 1
            while alike < len(row) and not differ(row[-alike][1], row[-alike - 1][1]):
                alike += 1
            if self.policy == "defer":
                reached |= {t for t in self.thresholds if alike == t or (has_arguments and len(row) == t + 2)}
            else:
                reached |= {t for t in self.thresholds if len(row) == t}
        return reached


def differ(one: str | None, other: str | None) -> bool:
    """Compare two results, of which either may not be known."""
    return one is not None and other is not None and one != other


histories = st.lists(
    st.tuples(st.sampled_from(["1", "1", "1", "", "2"]), st.sampled_from(["a", "a", "a", "b", None])), max_size=25
)


@pytest.mark.rules("X2", "D1", "D10")
@given(st.sampled_from(["count", "reset", "defer"]), st.sets(st.integers(2, 6), min_size=1), histories)
def test_the_chain_against_the_words_of_the_rule(
    policy: str, thresholds: set[int], calls: list[tuple[str, str | None]]
) -> None:
    """Whatever the results are, and wherever they are missing."""
    guard, naive = chain(policy, thresholds=thresholds), Naive(policy, thresholds)
    before: set[int] = set()
    for end, (arguments, result) in enumerate(calls, 1):
        decision = guard.observe([ToolCall("search", arguments, result)])
        due = naive.due(calls[:end])
        is_new_chain = not before <= due
        newly_due = due if is_new_chain else due - before
        assert ({as_reminder(decision).threshold} if decision else set()) == newly_due
        before = due
