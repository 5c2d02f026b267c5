"""D1, D6, D11 and S4: a chain that reads a conversation from its end stands where one stands that saw it all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repeatguard_core import RepeatChain, RepeatGuardConfig, ToolCall

A = ToolCall("search", '{"q": 1}')
A_IN_OTHER_WORDS = ToolCall("search", {"q": 1.0})
B = ToolCall("search", '{"q": 2}')
OF_ANOTHER_TOOL = ToolCall("fetch", '{"q": 1}')
UNTRACKED = ToolCall("update_plan", '{"step": 1}')
CONFIG = RepeatGuardConfig(thresholds=(2, 4), exclude=("update_plan",))

calls = st.sampled_from([A, A_IN_OTHER_WORDS, A, B, OF_ANOTHER_TOOL, UNTRACKED])
batches = st.lists(calls, max_size=4)
histories = st.lists(st.one_of(batches, batches, batches, st.none()), max_size=12)


def read(history: list[list[ToolCall] | None]) -> RepeatChain:
    """Make a chain that has seen everything, in order."""
    chain = RepeatChain(CONFIG)
    for past in history:
        if past is None:
            chain.reset()
        else:
            chain.observe(past)
    return chain


def caught_up(*newest_first: list[ToolCall] | str | None) -> RepeatChain:
    """Make a chain that has read a conversation back."""
    chain = RepeatChain(CONFIG)
    chain.catch_up(newest_first)
    return chain


@pytest.mark.rules("D1", "D6", "D9", "D10", "D11")
@given(histories, st.lists(batches, max_size=3), st.sets(st.integers(0, 11)))
def test_reading_back_leads_to_what_reading_on_leads_to(
    history: list[list[ToolCall] | None], to_come: list[list[ToolCall]], checkpoints: set[int]
) -> None:
    """Whatever was, and wherever checkpoints stand in it, what is due next is the same."""
    past: list[list[ToolCall] | str | None] = []
    for index, event in enumerate(history):
        past.append(event)
        if index in checkpoints:
            past.append(read(history[: index + 1]).checkpoint())
    other, whole = caught_up(*reversed(past)), read(history)
    assert [other.observe(batch) for batch in to_come] == [whole.observe(batch) for batch in to_come]


@pytest.mark.rules("D6", "S4")
@pytest.mark.parametrize(
    ("newest_first", "needed"),
    [
        ([[A], [A], None, [A], [A]], 3),
        ([[A], [UNTRACKED], [B], [A]], 3),
        ([[A], [A, B], [B], [B]], 2),
        ([[A], RepeatChain(CONFIG).checkpoint(), [A]], 2),
        ([[A], "not a checkpoint", None, [A]], 3),
        ([[A]] * 9, 5),
        ([[A, A, A, A, A], [A]], 1),
        ([[UNTRACKED]] * 9, 9),
    ],
)
def test_no_more_is_read_than_matters(newest_first: list[list[ToolCall] | str | None], needed: int) -> None:
    """Another call, new material, a checkpoint or a count beyond all thresholds: what was before them is not read."""
    taken: list[object] = []

    def take() -> Iterator[list[ToolCall] | str | None]:
        for past in newest_first:
            taken.append(past)
            yield past

    RepeatChain(CONFIG).catch_up(take())
    assert len(taken) == needed


@pytest.mark.rules("D1", "D2")
def test_a_checkpoint_keeps_the_count_and_no_arguments() -> None:
    """An identical call in any spelling goes on from it; another tool's or other arguments do not."""
    noted = read([[A], [A], [A]]).checkpoint()
    assert "search" not in noted
    assert '"q"' not in noted
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


@pytest.mark.rules("D11")
def test_a_chain_at_its_start_has_a_checkpoint_too() -> None:
    """It says that nothing was counted, so what stands before it is not read."""
    assert caught_up(RepeatChain(CONFIG).checkpoint(), [A]).observe([A]) is None


@pytest.mark.rules("S2")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "repeatguard-chain-1",
        "repeatguard-chain-2 0 none",
        "repeatguard-chain-1 3 none",
        "repeatguard-chain-1 0 " + "0" * 64,
        "repeatguard-chain-1 3 zz",
        f"{RepeatChain(CONFIG).checkpoint()}x",
        f"repeatguard-chain-1 {'9' * 5_000} {'0' * 64}",
        "x" * 5_000,
    ],
)
def test_what_is_no_checkpoint_is_passed_over(text: str) -> None:
    """A forged one, or one of another version, costs no more than reading on."""
    assert caught_up(text, [A]).observe([A]) is not None


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
