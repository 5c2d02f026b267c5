"""X1: cycles, against a slow reading of the rule, and what a chain holds of them."""

from __future__ import annotations

import gc
import re
from copy import copy
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from repeatguard_core import Reminder, RepeatChain, RepeatGuardConfig, ToolCall

from tests.core.decisions import as_reminder, as_stop

A = ToolCall("search", '{"q": 1}')
A_IN_OTHER_WORDS = ToolCall("search", {"q": 1.0})
B = ToolCall("fetch", '{"url": "b"}')
C = ToolCall("search", '{"q": "c"}')
D = ToolCall("note")
BY_LETTER = {"A": A, "B": B, "C": C, "D": D, "a": A_IN_OTHER_WORDS}


def observed(letters: str, **settings: object) -> list[tuple[int, str, int]]:
    """Observe calls one by one, and say after which of them what is reminded of: its cycle, and the count."""
    chain = RepeatChain(RepeatGuardConfig.model_validate(settings))
    reminders = [(number, chain.observe([BY_LETTER[letter]])) for number, letter in enumerate(letters, 1)]
    return [(number, "-".join(r.tool_names), r.count) for number, r in reminders if r is not None]


def reminder_of(letters: str, **settings: object) -> Reminder:
    """Observe calls in one batch, and return the reminder that is due."""
    chain = RepeatChain(RepeatGuardConfig.model_validate(settings))
    return as_reminder(chain.observe(BY_LETTER[each] for each in letters))


@pytest.mark.rules("X1")
@pytest.mark.parametrize(
    ("letters", "reminded"),
    [
        ("ABABAB", [(6, "search-fetch", 3)]),
        ("ABABABABABABABABAB", [(6, "search-fetch", 3), (10, "search-fetch", 5), (16, "search-fetch", 8)]),
        ("DABABAB", [(7, "search-fetch", 3)]),
        ("BABABAB", [(6, "fetch-search", 3)]),
        ("ABCABCABC", [(9, "search-fetch-search", 3)]),
        ("ABCDABCDABCD", [(12, "search-fetch-search-note", 3)]),
        ("ABABABA", [(6, "search-fetch", 3)]),
        ("aBABaB", [(6, "search-fetch", 3)]),
        ("AAAAAA", [(3, "search", 3), (5, "search", 5)]),
        ("ABABBABAB", []),
        ("ABABADABAB", []),
        ("AABAABAAB", [(9, "search-search-fetch", 3)]),
        ("BABBABBAB", [(9, "fetch-search-fetch", 3)]),
        ("ABBABBABB", [(9, "search-fetch-fetch", 3)]),
        ("ABB" * 6, [(9, "search-fetch-fetch", 3), (15, "search-fetch-fetch", 5)]),
        ("AABB" * 3, [(12, "search-search-fetch-fetch", 3)]),
        ("ABCC" * 3, [(12, "search-fetch-search-search", 3)]),
        (
            "AAABAAABAAAB",
            [(3, "search", 3), (7, "search", 3), (11, "search", 3), (12, "search-search-search-fetch", 3)],
        ),
        ("ABBBABBBABBB", [(4, "fetch", 3), (8, "fetch", 3), (12, "search-fetch-fetch-fetch", 3)]),
        ("ABCDABCD" * 2 + "ABCD", [(12, "search-fetch-search-note", 3), (20, "search-fetch-search-note", 5)]),
    ],
)
def test_cycles_by_hand(letters: str, reminded: list[tuple[int, str, int]]) -> None:
    """When a round is complete, of the length with the longest run, and whichever call comes first in a round."""
    assert observed(letters) == reminded


@pytest.mark.rules("X1")
def test_a_cycle_longer_than_the_longest_is_none() -> None:
    """And the longest that may be set is 16."""
    four = [(12, "search-fetch-search-note", 3)]
    assert observed("ABCDABCDABCD", max_cycle_length=3) == []
    assert observed("ABCDABCDABCD", max_cycle_length=4) == four
    assert observed("ABCDABCDABCD", max_cycle_length=16) == four
    assert observed("ABABABABAB", max_cycle_length=1) == []


# --- a cycle and a chain in it -------------------------------------------------------------------


@pytest.mark.rules("X1")
def test_a_second_round_does_not_hide_a_third_call() -> None:
    """Each length is asked for its threshold before one is chosen."""
    assert observed("BBBABBB") == [(3, "fetch", 3), (7, "fetch", 3)]  # and B B B A has come nearly twice
    assert observed("BBABBBABBB") == [(6, "fetch", 3), (10, "fetch", 3)]
    assert observed("ABBBABBB") == [(4, "fetch", 3), (8, "fetch", 3)]  # the second round of A B B B is complete
    assert observed("ABBABB", thresholds=[2]) == [(3, "fetch", 2), (6, "search-fetch-fetch", 2)]


@pytest.mark.rules("X1", "X5")
def test_an_end_wins_over_a_longer_run() -> None:
    """The third call in a row ends the run, though a cycle has come twice at the same call."""
    tools = [{"match": "fetch", "thresholds": [2], "stop_after": 3}]
    chain = RepeatChain(RepeatGuardConfig.model_validate({"thresholds": [2], "tools": tools}))
    first = [chain.observe([BY_LETTER[letter]]) for letter in "ABBBABB"]
    assert as_stop(first[3]).tool_names == ("fetch",)
    assert as_stop(chain.observe([B])).tool_names == ("fetch",)
    only_reminders = RepeatChain(RepeatGuardConfig(thresholds=(2, 3)))
    assert as_reminder(only_reminders.observe(BY_LETTER[letter] for letter in "ABBBABBB")).count == 2


@pytest.mark.rules("X1", "X2")
@pytest.mark.parametrize(
    ("policy", "reminded"),
    [
        ("count", [(9, 3), (15, 5)]),
        ("defer", [(15, 5), (21, 7)]),
        ("reset", []),
    ],
)
def test_a_cycle_that_ends_in_a_pair_and_whose_results_change(policy: str, reminded: list[tuple[int, int]]) -> None:
    """It is told of two rounds later, or not at all, as a cycle without a pair is."""
    config = RepeatGuardConfig.model_validate({"thresholds": [3, 5], "on_changed_result": policy})
    chain = RepeatChain(config)
    letters = "ABB" * 8
    decisions = [chain.observe([replace(BY_LETTER[each], result=str(n // 3))]) for n, each in enumerate(letters)]
    seen = [(number, decision.count) for number, decision in enumerate(decisions, 1) if decision]
    assert seen == reminded


# --- against a slow reading of the rule ----------------------------------------------------------


def told(calls: str, longest: int, thresholds: set[int]) -> tuple[int, int] | None:
    """Say what the rule makes due at the last call, word for word: the length that is told, and its rounds."""
    runs: dict[int, int] = {}
    due: list[tuple[int, int, int]] = []
    for length in range(1, longest + 1):
        repeated = 0
        while repeated + length < len(calls) and calls[-1 - repeated] == calls[-1 - repeated - length]:
            repeated += 1
        if repeated == 0:
            continue
        run = repeated + length
        counts = all(run > shorter for shorter in runs.values())
        runs[length] = run
        rounds = repeated // length + 1
        if counts and repeated % length == 0 and rounds in thresholds:
            assert calls.endswith(calls[-length:] * rounds)
            due.append((run, length, rounds))
    return max(due)[1:] if due else None


def decided(chain: RepeatChain, calls: str) -> tuple[int, int] | None:
    """Observe calls as one batch, and say of which length is reminded, and of how many rounds."""
    decision = chain.observe(BY_LETTER[letter] for letter in calls)
    return (len(decision.tool_names), decision.count) if decision else None


letters = st.sampled_from("ABC")
loops = st.tuples(st.text("ABCD", min_size=1, max_size=5), st.integers(1, 5)).map(lambda drawn: drawn[0] * drawn[1])
conversations = st.lists(st.one_of(letters, loops, loops), max_size=6).map("".join)


@pytest.mark.rules("X1", "D1", "D9", "D10")
@given(conversations, st.integers(1, 16), st.sets(st.integers(2, 6), min_size=1), st.data())
@example("BCAABCAABCAABCAA", 4, {2, 3}, None)
@example("ABBB" * 6, 16, {2, 3}, None)
def test_cycles_against_a_slow_reading(
    conversation: str, longest: int, thresholds: set[int], data: st.DataObject | None
) -> None:
    """Whatever is called, and however it is divided into batches, the chain says what the rule says."""
    chain = RepeatChain(RepeatGuardConfig.model_validate({"max_cycle_length": longest, "thresholds": thresholds}))
    start = 0
    while start < len(conversation):
        size = data.draw(st.integers(1, 3)) if data else 1
        expected = None
        for end in range(start + 1, min(start + size, len(conversation)) + 1):
            expected = told(conversation[:end], longest, thresholds) or expected
        assert decided(chain, conversation[start : start + size]) == expected
        start += size


@pytest.mark.rules("X1", "D1")
@pytest.mark.parametrize("thresholds", [{2, 3}, {3, 5}], ids=str)
@pytest.mark.parametrize(("alphabet", "size"), [("AB", 10), ("ABC", 7)])
def test_every_word(alphabet: str, size: int, thresholds: set[int]) -> None:
    """All conversations of two calls up to ten long, and of three up to seven."""
    config = RepeatGuardConfig(thresholds=tuple(thresholds))
    pending = [("", RepeatChain(config))]
    while pending:
        word, chain = pending.pop()
        for letter in alphabet if len(word) < size else "":
            longer = copy(chain)
            assert decided(longer, letter) == told(word + letter, config.max_cycle_length, thresholds), word + letter
            pending.append((word + letter, longer))


@pytest.mark.rules("X1")
@pytest.mark.parametrize(("alphabet", "size"), [("AB", 8), ("ABC", 5)])
def test_every_rotation(alphabet: str, size: int) -> None:
    """Each cycle that is not itself one that repeats is told of after three rounds, wherever it starts."""
    for length in range(1, size + 1):
        for cycle in map("".join, product(alphabet, repeat=length)):
            if cycle not in (cycle + cycle)[1:-1]:
                chain = RepeatChain()
                chain.observe(BY_LETTER[letter] for letter in (cycle * 3)[:-1])
                assert decided(chain, cycle[-1]) == (length, 3), cycle


# --- what a reminder about a cycle says -----------------------------------------------------------


@pytest.mark.rules("X1", "M2", "M8")
def test_the_texts() -> None:
    """The exact words, of the short one and of the detailed one."""
    _, *short = reminder_of("ABABAB").text.splitlines()
    assert short == [
        (
            "You have gone through the same 2 tool calls with the same arguments 3 times in a row. Go on with "
            "your task in another way: make a different call, or answer with what you have. Begin again only if "
            "something is still in progress. Do not reply to this notice."
        )
    ]
    _, *detailed = reminder_of("ABABABABAB").text.splitlines()
    assert detailed == [
        "You keep going through the same cycle of 2 tool calls:",
        '- search {"q":1}',
        '- fetch {"url":"b"}',
        "- consecutive_rounds: 5",
        (
            "Try another way, or answer with what you have. Begin again only if something is still in progress. Do not "
            "reply to this notice."
        ),
    ]


@pytest.mark.rules("X1", "D10")
def test_what_a_reminder_says_of_itself() -> None:
    """The names in order, and the last one by itself."""
    reminder = reminder_of("ABCABCABC")
    assert (reminder.tool_name, reminder.count, reminder.threshold, reminder.is_first) == ("search", 3, 3, True)
    assert reminder.tool_names == ("search", "fetch", "search")
    assert reminder.arguments == 'search {"q":1}; fetch {"url":"b"}; search {"q":"c"}'


@pytest.mark.rules("X1", "M3")
@pytest.mark.parametrize(
    ("preview", "quoted"),
    [
        (500, ['{"t":"0123456789"}', '{"t":"ab"}', "{}"]),
        (24, ['{"t":"012345… (+6 more chars)', '{"t":"ab"}', "{}"]),
        (15, ['{"t":"0… (+11 more chars)', '{"t":"… (+4 more chars)', "{}"]),
        (2, ["{… (+17 more chars)", "{… (+9 more chars)", "… (+2 more chars)"]),
        (1, ["{… (+17 more chars)", "… (+10 more chars)", "… (+2 more chars)"]),
    ],
)
def test_the_preview_is_bounded_as_a_whole(preview: int, quoted: list[str]) -> None:
    """What the short arguments leave is shared among the long ones, and what is cut is counted."""
    calls = [ToolCall("write", {"t": "0123456789"}), ToolCall("write", {"t": "ab"}), ToolCall("read")]
    chain = RepeatChain(RepeatGuardConfig(thresholds=(2, 3), arguments_preview_chars=preview))
    reminder = as_reminder(chain.observe(calls * 3))
    lines = re.findall("^- (?:write|read) (.*)$", reminder.text, re.MULTILINE)
    assert lines == quoted
    assert sum(len(re.sub(r"… .*", "", line)) for line in lines) <= preview


@pytest.mark.rules("M3", "M4", "X1")
def test_what_is_left_out_is_counted_as_it_would_be_written() -> None:
    """A character that is written as an escape counts as that escape, in each call of a cycle."""
    calls = [ToolCall(tool, '{"q": "\\u2028\\u2028"}') for tool in ("write", "read")]
    reminder = RepeatChain(RepeatGuardConfig(thresholds=(2, 3), arguments_preview_chars=6)).observe(calls * 3)
    assert reminder is not None
    assert reminder.arguments == 'write {"q… (+17 more chars); read {"q… (+17 more chars)'


# --- what a chain holds ---------------------------------------------------------------------------


@pytest.mark.rules("S4", "X1")
@pytest.mark.parametrize("longest", [1, 8, 16])
def test_a_chain_holds_no_more_than_the_longest_cycle(longest: int) -> None:
    """Of all calls but the last no more than what a reminder may quote, and nothing after new material."""
    chain = RepeatChain(RepeatGuardConfig(max_cycle_length=longest, arguments_preview_chars=10))

    def holds() -> list[object]:
        seen: dict[int, object] = {}
        pending: list[object] = [chain]
        while pending:
            held = pending.pop()
            if id(held) not in seen and not isinstance(held, type) and not callable(held):
                seen[id(held)] = held
                pending.extend(gc.get_referents(held))
        return list(seen.values())

    def run(calls: int) -> int:
        for number in range(calls):
            text = f'{{"argument": "{number:09}{"x" * 100}"}}'
            chain.observe([ToolCall(f"tool_{number}", text, result="r" * 100)] * 2)
        return len(holds())

    assert run(40) == run(10_000)
    texts = [held for held in holds() if isinstance(held, str)]
    of_arguments = [text for text in texts if text.startswith('{"argum')]
    assert of_arguments
    assert all("000009999" in text for text in of_arguments if len(text) > 10)
    quotable = [text for text in of_arguments if len(text) == 10]  # a first call is in no cycle yet, a second one is
    assert len(quotable) == (longest - 1) // 2
    assert not [text for text in texts if "rrr" in text]
    chain.reset()
    assert not [held for held in holds() if isinstance(held, str) and held.startswith('{"argum')]


@pytest.mark.rules("X1", "D5")
@given(st.lists(st.sampled_from("ABCa"), min_size=1, max_size=4).map("".join), st.integers(3, 5))
def test_the_spelling_of_a_call_does_not_matter_in_a_cycle(cycle: str, times: int) -> None:
    """What was worked out for one spelling is used again for the same one, and for no other."""
    other_spellings = {"A": "a", "a": "A"}
    respelled = "".join(other_spellings.get(letter, letter) for letter in cycle)
    mixed = [observed((cycle + respelled) * times, max_cycle_length=4, thresholds=[2, 3])]
    assert mixed == [observed((cycle + cycle).replace("a", "A") * times, max_cycle_length=4, thresholds=[2, 3])]
