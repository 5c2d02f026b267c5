"""D1, D6, D11, S4 and X1 to X5: a chain that reads a conversation back stands where one stands that saw it all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repeatguard_core import RepeatChain, RepeatGuardConfig, ToolCall, ToolSettings

from tests.core.decisions import as_reminder

A = ToolCall("search", '{"q": 1}')
A_IN_OTHER_WORDS = ToolCall("search", {"q": 1.0})
B = ToolCall("search", '{"q": 2}')
OF_ANOTHER_TOOL = ToolCall("fetch", '{"q": 1}')
UNTRACKED = ToolCall("update_plan", '{"step": 1}')
USUAL = {"thresholds": (2, 4), "exclude": ("update_plan",), "max_cycle_length": 1}
CONFIG = RepeatGuardConfig.model_validate(USUAL)
#: What a checkpoint under it begins with.
BEGINS = " ".join(RepeatChain(CONFIG).checkpoint().split(" ")[:2])
DIGEST = "0" * 32
CONFIGS = [
    RepeatGuardConfig.model_validate({**USUAL, **settings})
    for settings in (
        {},
        {"max_cycle_length": 2},
        {"max_cycle_length": 4},
        {"max_cycle_length": 16},
        {"max_cycle_length": 4, "on_changed_result": "reset"},
        {"max_cycle_length": 4, "on_changed_result": "defer"},
        {"max_cycle_length": 3, "remind_every": 2},
        {"max_cycle_length": 2, "stop_after": 6},
        {"max_cycle_length": 2, "tools": [{"match": "fetch", "thresholds": [3], "on_changed_result": "defer"}]},
        {"max_cycle_length": 3, "ignore_arguments": {"fetch": ["q"]}},
    )
]

results = st.sampled_from([None, "a", "a", "b"])


def answered(call: ToolCall, result: str | None) -> ToolCall:
    """Give a call a result."""
    return replace(call, result=result)


calls = st.builds(
    answered,
    st.sampled_from([A, A_IN_OTHER_WORDS, A, B, OF_ANOTHER_TOOL, ToolCall("fetch"), UNTRACKED]),
    results,
)
batches = st.lists(calls, max_size=4)
History: TypeAlias = "list[list[ToolCall] | None]"


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Make up a conversation of batches, loops and new material."""
    history: History = []
    for kind in draw(st.lists(st.sampled_from(["batch", "loop", "loop", "material"]), max_size=8)):
        if kind == "loop":
            cycle = draw(st.lists(calls, min_size=1, max_size=3))
            history += [[call] for call in cycle * draw(st.integers(1, 5))]
        else:
            history.append(draw(batches) if kind == "batch" else None)
    return history


def read(history: History, config: RepeatGuardConfig = CONFIG) -> RepeatChain:
    """Make a chain that has seen everything, in order."""
    chain = RepeatChain(config)
    for past in history:
        if past is None:
            chain.reset()
        else:
            chain.observe(past)
    return chain


def polled(result: str) -> ToolCall:
    """Look something up that changes."""
    return ToolCall("poll", '{"job": 1}', result)


def polling(longest: int) -> RepeatGuardConfig:
    """Make a configuration that looks at the results of one tool."""
    tools = (ToolSettings(match="poll", on_changed_result="reset"),)
    return CONFIG.model_copy(update={"max_cycle_length": longest, "tools": tools})


def caught_up(*newest_first: list[ToolCall] | str | None, config: RepeatGuardConfig = CONFIG) -> RepeatChain:
    """Make a chain that has read a conversation back."""
    chain = RepeatChain(config)
    chain.catch_up(newest_first)
    return chain


@pytest.mark.rules("D1", "D6", "D9", "D10", "D11", "X1", "X2", "X3", "X4", "X5")
@given(st.sampled_from(CONFIGS), histories(), st.lists(batches, max_size=4), st.sets(st.integers(0, 40)))
def test_reading_back_leads_to_what_reading_on_leads_to(
    config: RepeatGuardConfig,
    history: History,
    to_come: list[list[ToolCall]],
    checkpoints: set[int],
) -> None:
    """Whatever was, and wherever checkpoints stand in it, what is due next is the same, word for word."""
    past: list[list[ToolCall] | str | None] = []
    for index, event in enumerate(history):
        past.append(event)
        if index in checkpoints:
            past.append(read(history[: index + 1], config).checkpoint())
    other, whole = caught_up(*reversed(past), config=config), read(history, config)
    assert [other.observe(batch) for batch in to_come] == [whole.observe(batch) for batch in to_come]


@pytest.mark.rules("D11", "X1", "X2", "X4")
@given(st.sampled_from(CONFIGS), histories(), st.lists(batches, max_size=4))
def test_a_checkpoint_alone_is_enough_to_count_on(
    config: RepeatGuardConfig, history: History, to_come: list[list[ToolCall]]
) -> None:
    """What is due next is the same, though the words of a cycle's calls may be out of sight."""
    whole = read(history, config)
    other = caught_up(whole.checkpoint(), config=config)
    if len({config.thresholds, *(entry.thresholds for entry in config.tools)}) > 1:
        return  # which settings a cycle goes by is a matter of its tools' names
    for batch in to_come:
        one, two = whole.observe(batch), other.observe(batch)
        assert (one and (type(one), one.count, len(one.tool_names))) == (
            two and (type(two), two.count, len(two.tool_names))
        )


@pytest.mark.rules("X1")
def test_a_cycle_whose_calls_are_out_of_sight() -> None:
    """Those that have not come again since the checkpoint are named as what they are."""
    config = RepeatGuardConfig(thresholds=(2, 3))
    chain = read([[A], [B], [OF_ANOTHER_TOOL], [A], [B]], config)
    reminder = caught_up(chain.checkpoint(), config=config).observe([OF_ANOTHER_TOOL])
    assert reminder is not None
    assert reminder.tool_names == ("(out of sight)", "(out of sight)", "fetch")
    in_sight = caught_up([B], chain.checkpoint(), [B], [A], config=config)
    assert in_sight.observe([OF_ANOTHER_TOOL]) is None


@pytest.mark.rules("X1", "M2")
def test_the_words_of_a_cycle_that_are_before_the_checkpoint() -> None:
    """They are looked for there, past earlier checkpoints, as far as the calls are those that were noted."""
    config = RepeatGuardConfig(thresholds=(2, 3))
    history: list[list[ToolCall]] = [[A], [B], [OF_ANOTHER_TOOL], [A], [B]]
    noted = read(list(history), config).checkpoint()
    earlier = read([[A]], config).checkpoint()

    def named(*before: list[ToolCall] | str) -> tuple[str, ...]:
        reminder = caught_up(noted, *before, config=config).observe([OF_ANOTHER_TOOL])
        assert reminder is not None
        assert reminder.count == 2
        return reminder.tool_names

    assert named([B], [A], [OF_ANOTHER_TOOL], [B]) == ("search", "search", "fetch")
    assert named([B], earlier, [A]) == ("search", "search", "fetch")
    assert named([B, A]) == ("(out of sight)", "(out of sight)", "fetch")
    assert named([B]) == ("(out of sight)", "search", "fetch")


@pytest.mark.rules("X1", "C3")
@pytest.mark.parametrize(("before", "after"), [(4, 2), (2, 4), (1, 16), (16, 1)])
def test_a_checkpoint_from_under_another_configuration(before: int, after: int) -> None:
    """What both know of counts on: the chains of lengths that both look for."""
    one, other = (RepeatGuardConfig(thresholds=(2, 3), max_cycle_length=longest) for longest in (before, after))
    noted = read([[A], [A]], one).checkpoint()
    reminder = caught_up(noted, config=other).observe([A])
    assert reminder is not None
    assert reminder.count == 3


@pytest.mark.rules("D6", "S4")
@pytest.mark.parametrize(
    ("longest", "newest_first", "needed"),
    [
        (1, [[A], [A], None, [A], [A]], 3),
        (1, [[A], [UNTRACKED], [B], [A]], 3),
        (1, [[A], [A, B], [B], [B]], 2),
        (1, [[A], RepeatChain(polling(1)).checkpoint(), [A]], 2),
        (1, [[A], read([[A]], polling(1)).checkpoint(), [A]], 2),
        (1, [[A], read([[A]], RepeatGuardConfig(on_changed_result="reset")).checkpoint(), [A], [B], [A]], 4),
        (1, [[A], "not a checkpoint", None, [A]], 3),
        (1, [[A]] * 9, 5),
        (1, [[A, A, A, A, A], [A]], 1),
        (1, [[UNTRACKED]] * 9, 9),
        (4, [[A], [B], [A], [OF_ANOTHER_TOOL], [B], [A], [B], [A], [B]], 6),
        (4, [[A]] * 20, 8),
        (4, [[A], [B]] * 20, 12),
        (4, [[polled(text)] for text in "abababababab"], 5),
        (4, [[A], read([[A], [B], [A]], polling(4)).checkpoint(), [A], [B], [A], [A]], 4),
    ],
)
def test_no_more_is_read_than_matters(
    longest: int, newest_first: list[list[ToolCall] | str | None], needed: int
) -> None:
    """Another call, new material, a checkpoint or a count beyond all thresholds: what was before them is not read."""
    taken: list[object] = []

    def take() -> Iterator[list[ToolCall] | str | None]:
        for past in newest_first:
            taken.append(past)
            yield past

    RepeatChain(polling(longest)).catch_up(take())
    assert len(taken) == needed


@pytest.mark.rules("D1", "D2")
def test_a_checkpoint_keeps_the_count_and_no_arguments() -> None:
    """An identical call in any spelling goes on from it; another tool's or other arguments do not."""
    noted = read([[A], [A], [A]]).checkpoint()
    assert "search" not in noted
    assert '"q"' not in noted
    assert "found" not in read([[ToolCall("search", "{}", "found")]], CONFIGS[4]).checkpoint()
    assert [caught_up(noted).observe([call]) is not None for call in (A, A_IN_OTHER_WORDS, B, OF_ANOTHER_TOOL)] == [
        True,
        True,
        False,
        False,
    ]
    reminder = caught_up(noted).observe([A])
    assert reminder is not None
    assert (reminder.count, reminder.arguments) == (4, '{"q":1}')
    assert caught_up(caught_up(noted).checkpoint()).observe([A]) == reminder


@pytest.mark.rules("D9")
def test_the_order_within_a_batch_is_the_models() -> None:
    """Also when the batches are read from the last to the first."""
    assert caught_up([A, B]).observe([B]) is not None
    assert caught_up([A, B]).observe([A]) is None
    reminder = caught_up([A], [B, A, A]).observe([A])
    assert reminder is not None
    assert reminder.count == 4


@pytest.mark.rules("D10")
def test_a_checkpoint_of_a_long_chain() -> None:
    """A count may have several digits."""
    config = RepeatGuardConfig(thresholds=(13,))
    chain = RepeatChain(config)
    chain.observe([A] * 12)
    other = RepeatChain(config)
    other.catch_up([chain.checkpoint()])
    assert other.observe([A]) is not None


@pytest.mark.rules("X2", "X3", "D6")
@pytest.mark.parametrize(
    "settings",
    [
        {"on_changed_result": "reset"},
        {"ignore_arguments": {"search": ["q"]}},
        {"exclude": ["fetch"]},
        {"include": ["search"]},
        {"tools": [{"match": "search", "on_changed_result": "defer"}]},
        {"tools": [{"match": "search", "ignore_arguments": ["q"]}]},
    ],
    ids=str,
)
def test_a_checkpoint_by_a_guard_that_compares_calls_otherwise_is_passed_over(settings: dict[str, object]) -> None:
    """Its counts are of something else. Other thresholds make no difference."""
    noted = read([[A]], RepeatGuardConfig.model_validate({**USUAL, **settings})).checkpoint()
    assert caught_up(noted).observe([A]) is None
    assert caught_up(noted, [A]).observe([A]) is not None
    of_the_same_kind = read([[A]], CONFIG.model_copy(update={"thresholds": (7,)})).checkpoint()
    assert caught_up(of_the_same_kind).observe([A]) is not None


@pytest.mark.rules("X3")
def test_a_checkpoint_and_ignored_arguments() -> None:
    """The call that is noted is compared without them as well."""
    config = RepeatGuardConfig(thresholds=(2,), ignore_arguments={"search": ["note"]})
    noted = read([[ToolCall("search", '{"q": 1, "note": "a"}')]], config).checkpoint()
    assert caught_up(noted, config=config).observe([ToolCall("search", '{"q": 1, "note": "b"}')]) is not None


@pytest.mark.rules("X2")
def test_reading_back_with_patience() -> None:
    """Many calls whose results change have brought on all reminders, so the next one brings on none."""
    config = RepeatGuardConfig(thresholds=(2, 4), max_cycle_length=1, on_changed_result="defer")
    past = [[polled(str(number))] for number in range(20)]
    assert caught_up(*past, config=config).observe([polled("x")]) is None


@pytest.mark.rules("D11")
def test_a_chain_at_its_start_has_a_checkpoint_too() -> None:
    """It says that nothing was counted, so what stands before it is not read."""
    assert caught_up(RepeatChain(CONFIG).checkpoint(), [A]).observe([A]) is None


@pytest.mark.rules("S2")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "repeatguard-chain-3",
        "repeatguard-chain-2 0 0.0.1 none",
        f"{BEGINS} 1 none",
        f"{BEGINS} 1 1.0.0.1 {DIGEST}",
        f"{BEGINS} 1 1.5.9.1 {DIGEST}",
        f"{BEGINS} 1 1.5.5.99 {DIGEST}",
        f"{BEGINS} 1 1.5.5.0 {DIGEST}",
        f"{BEGINS} 1 0.5.5.2 {DIGEST}",
        f"{BEGINS} 1 2.5.5.2,1.5.5.2 {DIGEST}",
        f"{BEGINS} 1 none {'z' * 32}",
        f"{BEGINS} 1 none {'0' * 31}",
        f"{BEGINS} 1 " + ",".join(f"{length}.9.9.1" for length in range(1, 18)) + f" {DIGEST}",
        f"{RepeatChain(CONFIG).checkpoint()}x",
        f"{BEGINS} {'9' * 5_000} none none",
        f"{BEGINS} 1 1.{'9' * 5_000}.0.1 {DIGEST}",
        f"{BEGINS} 1 none {DIGEST} []",
        f"{BEGINS} 1 none {DIGEST} [1]",
        f"{BEGINS} 1 none {DIGEST} [[]]",
        f"{BEGINS} 1 none {DIGEST} [null,null]",
        f"{BEGINS} 1 none {DIGEST} [null",
        f'{BEGINS} 1 none {DIGEST} [["search","{{}}","2"]]',
        f'{BEGINS} 1 none {DIGEST} [["search","{{}}",1]]',
        f'{BEGINS} 1 none {DIGEST} [["search","{{}}",{10**9}]]',
        f'{BEGINS} 1 none {DIGEST} [["search","{{}}",{"9" * 5_000}]]',
        f'{BEGINS} 1 none {DIGEST} [["search","a\\nb",9]]',
        f'{BEGINS} 1 none {DIGEST} [["search","\\ud800",9]]',
        f'{BEGINS} 1 none {DIGEST} [[["search"],"{{}}",2]]',
        f"{BEGINS} 1 none {DIGEST} {'[' * 100_000}{']' * 100_000}",
        "x" * 5_000,
    ],
    ids=lambda text: text[:60],
)
def test_what_is_not_a_checkpoint_is_passed_over(text: str) -> None:
    """A forged one, or one of another version, costs no more than reading on."""
    assert caught_up(text, [A]).observe([A]) is not None


@pytest.mark.rules("X1", "D11", "M2")
@given(st.sampled_from(CONFIGS), histories(), st.lists(batches, max_size=4))
def test_a_checkpoint_with_previews_is_enough(
    config: RepeatGuardConfig, history: History, to_come: list[list[ToolCall]]
) -> None:
    """What is due next is the same, word for word, though nothing of the earlier calls can be seen."""
    whole = read(history, config)
    other = caught_up(whole.checkpoint(with_previews=True), config=config)
    again = caught_up(other.checkpoint(with_previews=True), config=config)
    seen = [whole.observe(batch) for batch in to_come]
    assert [other.observe(batch) for batch in to_come] == seen
    assert [again.observe(batch) for batch in to_come] == seen


@pytest.mark.rules("X1", "M3", "M4", "S4")
def test_the_size_of_a_checkpoint() -> None:
    """There is a bound, whatever the names and arguments are; and the text is one line of ASCII."""
    calls = [
        ToolCall(f"{'𝄞' * 255}{letter}", '{"q": "' + f"{letter}𝄞\u2028" * 1_000 + '"}') for letter in "abcdefghijklmnop"
    ]
    config = RepeatGuardConfig(max_cycle_length=16, arguments_preview_chars=100)
    chain = read([calls, calls], config)
    digests, previews = chain.checkpoint(), chain.checkpoint(with_previews=True)
    assert len(digests) <= 16 * (45 + 66)
    assert len(digests) + 16 * 10 * 256 < len(previews) <= 16 * (45 + 66 + 12 * (256 + 100) + 30)
    assert previews.isascii()
    assert previews.isprintable()
    due = chain.observe(calls)
    assert due is not None
    assert caught_up(previews, config=config).observe(calls) == due


@pytest.mark.rules("X1")
def test_the_preview_of_a_call_with_an_endless_name_is_left_out() -> None:
    """So that a name cannot make the text long."""
    config = RepeatGuardConfig(thresholds=(2, 3))
    cycle = [ToolCall("n" * 257), B]
    due = as_reminder(
        caught_up(read([cycle, cycle], config).checkpoint(with_previews=True), config=config).observe(cycle)
    )
    assert due.tool_names == ("n" * 257, "search")
    halfway = read([cycle, cycle, [cycle[0]]], config).checkpoint(with_previews=True)
    assert len(halfway) < 400
    assert as_reminder(caught_up(halfway, config=config).observe([B])).tool_names == ("(out of sight)", "search")


@pytest.mark.rules("X1", "M3")
@pytest.mark.parametrize(("chars", "quoted"), [(5, '{"q":… (+2 more chars)'), (100, '{"q":1}')])
def test_previews_under_another_configuration(chars: int, quoted: str) -> None:
    """They are cut as far as the configuration says that quotes them."""
    history = [[A, ToolCall("fetch")], [A, ToolCall("fetch")], [A]]
    noted = read(list(history), RepeatGuardConfig(thresholds=(2, 3))).checkpoint(with_previews=True)
    config = RepeatGuardConfig(thresholds=(2, 3), arguments_preview_chars=chars + 2)
    due = as_reminder(caught_up(noted, config=config).observe([ToolCall("fetch")]))
    assert f"- search {quoted}" in due.text


@pytest.mark.rules("S4")
def test_no_call_is_read_for_a_preview_that_is_there() -> None:
    """Behind a checkpoint with previews nothing is of interest, if all of its calls are in a cycle."""
    config = RepeatGuardConfig(thresholds=(2, 3), max_cycle_length=2)
    noted = read([[A], [B], [A], [B]], config).checkpoint(with_previews=True)

    def never() -> Iterator[list[ToolCall] | str]:
        yield noted
        pytest.fail("it was read")

    RepeatChain(config).catch_up(never())


@pytest.mark.rules("D5")
def test_a_checkpoint_of_a_call_that_cannot_be_encoded() -> None:
    """A lone surrogate in name or arguments is no reason to raise."""
    call = ToolCall("s\ud800", '{"q": "\\ud800"}')
    chain = RepeatChain(CONFIG)
    chain.observe([call])
    assert caught_up(chain.checkpoint()).observe([call]) is not None


@pytest.mark.rules("D1")
def test_a_name_and_its_arguments_are_told_apart() -> None:
    """Moving a character from the one to the other makes another call."""
    noted = read([[ToolCall("a", "bc")]]).checkpoint()
    assert caught_up(noted).observe([ToolCall("ab", "c")]) is None
    assert caught_up(noted).observe([ToolCall("a", "bc")]) is not None


@pytest.mark.rules("S2")
def test_a_fault_leaves_the_chain_as_it_was() -> None:
    """What ``untracked`` raises comes out, and the count is what it was before."""

    def untracked(name: str) -> bool:
        if name == "fetch":
            msg = "no idea"
            raise LookupError(msg)
        return False

    chain = RepeatChain(CONFIG, untracked)
    chain.observe([A])
    with pytest.raises(LookupError):
        chain.catch_up([[OF_ANOTHER_TOOL]])
    assert chain.observe([A]) is not None
    with pytest.raises(LookupError):
        chain.tracks("fetch")


@pytest.mark.rules("D6", "D7")
def test_which_tools_are_tracked() -> None:
    """Both the configuration and ``untracked`` can leave a tool out."""
    chain = RepeatChain(CONFIG, untracked=lambda name: name == "note")
    assert [chain.tracks(name) for name in ("search", "update_plan", "note")] == [True, False, False]


@pytest.mark.rules("X2")
def test_which_tools_results_are_compared() -> None:
    """Those of tracked tools for which the configuration says so."""
    tools = (ToolSettings(match="poll", on_changed_result="count"),)
    config = RepeatGuardConfig(on_changed_result="reset", exclude=("update_*",), tools=tools)
    chain = RepeatChain(config, untracked=lambda name: name == "note")
    names = ("search", "poll", "update_plan", "note")
    assert [chain.compares_results(name) for name in names] == [True, False, False, False]
