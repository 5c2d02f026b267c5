"""The page about what a reminder changes says what the lines say."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks.documents import put_between
from benchmarks.effect.arms import ARMS, wordings
from benchmarks.effect.figures import ModelFigures, StepFigures, figures
from benchmarks.effect.lines import read_lines
from benchmarks.effect.report import body

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/effect.md"
LINES: Final = ROOT / "benchmarks/results/effect.jsonl.gz"
FOUND: Final = figures(read_lines([LINES]))


def model() -> ModelFigures:
    """Give the figures of the one model that was asked."""
    (only,) = FOUND.models
    return only


def steps(k: int) -> dict[str, StepFigures]:
    """Give the next steps after so many calls, by arm."""
    return {each.arm: each for each in model().steps if each.count == str(k)}


def share(step: StepFigures, measure: str) -> float:
    """Give how often something was so."""
    found = step.shares[measure]
    return found.part / found.whole


def test_the_tables_are_made_from_the_lines() -> None:
    """By the command that the page names."""
    text = PAGE.read_text(encoding="utf-8")
    assert put_between(text, "effect", body(FOUND)) == text


def test_every_arm_can_be_asked_again() -> None:
    """Its settings stand in the repository."""
    known = {arm.name for arm in [*ARMS, *wordings(ROOT / "benchmarks/effect/wordings.toml")]}
    assert {each.arm for each in model().steps} <= known


def test_what_the_page_says_in_short() -> None:
    """In its table, and in what it says of the others."""
    none, guard = steps(3)["none"], steps(3)["guard"]
    stuck = sum(guard.stuck.values())
    assert share(none, "again") == 1
    assert 0.13 < share(guard, "again") < 0.2
    assert not none.stuck.get("another_call")
    assert 1 / 3 < guard.stuck["another_call"] / stuck < 0.45
    given_up = [guard.shares["gave_up_same"], guard.shares["gave_up_changing"]]
    assert 0.35 < sum(each.part for each in given_up) / sum(each.whole for each in given_up) < 0.45
    assert not none.shares["gave_up_same"].part + none.shares["gave_up_changing"].part
    for arm in ("guard_reset", "guard_defer"):
        assert not steps(3)[arm].shares["gave_up_changing"].part
    assert not [each for each in model().comparisons if each.count == "5" and each.arm == "guard" and each.is_shown]
    against_none = [
        each for each in model().comparisons if (each.count, each.arm, each.against) == ("3", "guard", "none")
    ]
    assert {each.measure for each in against_none if each.verdict == "better"} == {"again", "right"}
    runs = model().runs.arms
    assert (sum(each.in_a_loop.part for each in runs), sum(each.runs for each in runs)) == (3, 104)
    anew = {each.arm: each.anew or 0 for each in model().cache}
    assert anew["guard"] < 0.65 * anew["last"]


def test_no_wording_is_shown_better_at_one_thing_and_at_nothing_worse() -> None:
    """That is why the default is what it is."""
    others = wordings(ROOT / "benchmarks/effect/wordings.toml")
    assert len(others) == 10, "the page counts eleven, with the default"
    for arm in others:
        shown = {each.verdict for each in model().comparisons if (each.arm, each.against) == (arm.name, "guard")}
        assert "worse" in shown or "better" not in shown


def test_words_that_name_an_answer_get_one() -> None:
    """As the page says of the wordings."""
    arms = steps(3)
    few = [arms[name].stuck.get("another_call", 0) / sum(arms[name].stuck.values()) for name in ANSWERING]
    assert max(few) < 0.12
    for name in WAITING:
        assert share(arms[name], "gave_up_same") > 0.65
        assert share(arms[name], "gave_up_changing") > 0.85
    assert share(arms["short"], "again") < 0.03
    assert share(arms["short"], "gave_up_same") == share(arms["short"], "gave_up_changing") == 1


#: Those that most of the model's steps were answers to.
ANSWERING: Final = ("waiting_first", "waiting_last", "short", "short_with_waiting", "question", "details_at_once")
#: Those that speak of waiting for something to change.
WAITING: Final = ("waiting_first", "waiting_last", "short_with_waiting")
