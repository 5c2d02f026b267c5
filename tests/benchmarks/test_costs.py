"""The cost benchmarks: that they work, and that the documents show what they found. Times are for no test."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from repeatguard_pydantic_ai import RepeatGuard

from benchmarks.costs.__main__ import DOCUMENTS, RESULTS, main
from benchmarks.costs.arguments import SHAPES, Arguments
from benchmarks.costs.calls import KINDS
from benchmarks.costs.frameworks import FRAMEWORKS, pydantic_ai
from benchmarks.costs.histories import LAST, Result, Step, conversation, turn
from benchmarks.costs.results import Costs
from benchmarks.costs.rounds import Pace, Ratio, Subject, at_once, measure
from benchmarks.costs.scale import CrossTalkError, scale
from benchmarks.documents import put_between

NAMES = [framework.NAME for framework in FRAMEWORKS]
COSTS = Costs.model_validate_json(RESULTS.read_bytes())


def test_a_quick_round_measures_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every part has its figures, which are printed, and no run got another one's reminders."""
    file = tmp_path / "costs.json"
    main(["--quick", "--json", str(file)])
    costs = Costs.model_validate_json(file.read_bytes())
    assert [each.kind for each in costs.calls] == [*KINDS, *KINDS]
    assert list(dict.fromkeys(each.framework for each in costs.requests)) == NAMES
    assert {each.messages for each in costs.requests} == {10, 100, 200}
    assert [(each.framework, each.reminders) for each in costs.runs] == list(itertools.product(NAMES, (0, 1)))
    assert all(0.8 < sum(each.shares.values()) <= 1.01 for each in costs.profiles)
    assert [(each.framework, set(each.memory)) for each in costs.scale] == [(name, {20, 40}) for name in NAMES]
    ratios = [each.ratio for each in costs.calls] + [each.of_writing for each in costs.requests]
    assert all(0 < ratio.lower <= ratio.median <= ratio.upper for ratio in ratios)
    assert "## Very many runs" in capsys.readouterr().out


def test_all_goals_and_sizes_are_in_the_results() -> None:
    """They are those of a whole measurement."""
    assert {each.arguments for each in COSTS.calls} == set(SHAPES)
    assert {each.messages for each in COSTS.requests} == {10, 100, 1_000, 10_000}
    assert [(each.framework, each.turns, each.reminders) for each in COSTS.runs] == [
        (name, 200, reminders) for name in NAMES for reminders in (0, 13)
    ]
    assert all(each.at_once == 1_000 and max(each.memory) == 10_000 for each in COSTS.scale)


def test_the_results_say_nothing_of_where_they_were_measured() -> None:
    """But versions and the processor."""
    assert set(json.loads(RESULTS.read_bytes())["environment"]) == {"python", "processor", "processors", "packages"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_shows_the_results(document: Path) -> None:
    """As they are rendered."""
    text = document.read_text(encoding="utf-8")
    assert put_between(text, "costs", DOCUMENTS[document](COSTS)) == text


def test_a_document_needs_its_markers() -> None:
    """Or the figures would be lost without a word."""
    with pytest.raises(ValueError, match="costs:begin"):
        put_between("no markers", "costs", "figures")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rockets"], "there is no part rockets; there are calls, requests, profiles, runs, scale"),
        (["--quick"], "--quick needs --json"),
    ],
)
def test_a_wrong_command_line_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what is wrong."""
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "shape", [each for each in SHAPES if each != "1 MB, small values"]
)  # the largest only takes long
def test_arguments_are_what_they_are_called(shape: str) -> None:
    """New ones differ where they are to, the same ones are other objects, and sizes are about right."""
    arguments = Arguments(shape)
    first, second = (arguments.new_at_the_front() for _ in range(2))
    assert first[:40] != second[:40]
    first, second = (arguments.new_at_the_end() for _ in range(2))
    assert first[:-20] == second[:-20]
    assert first != second
    first, second = arguments.same(), arguments.same()
    assert first == second
    assert first is not second
    shuffled = [arguments.shuffled() for _ in range(5)]
    assert all(one != other for one, other in itertools.pairwise(shuffled))
    assert all(json.loads(each) == json.loads(first) for each in shuffled)
    number, unit = shape.partition(",")[0].split()
    size = int(number) * {"B": 1, "kB": 1_000, "MB": 1_000_000}[unit]
    assert 0.9 * size <= arguments.size <= 1.15 * size


@pytest.mark.parametrize("messages", [10, 100, 1_000])
def test_conversations_are_as_long_as_wanted_and_end_alike(messages: int) -> None:
    """With the result of the last turn."""
    steps = conversation(messages)
    assert len(steps) == messages
    assert steps[-2:] == list(turn(LAST))
    assert all(450 <= len(step.text) <= 1_000 for step in steps if isinstance(step, Result))


def test_subjects_take_turns() -> None:
    """In every second round the other way round."""
    order: list[str] = []

    def subject(name: str) -> Subject[None]:
        return Subject(lambda count: [None] * count, lambda _: order.append(name))

    seconds = measure({name: subject(name) for name in "ab"}, Pace(3, 0))
    assert "".join(order[-6:]) == "abbaab"
    assert {name: len(each) for name, each in seconds.items()} == {"a": 3, "b": 3}


def test_a_ratio_is_formed_in_each_round() -> None:
    """So a round that is slow for both sides counts like any other."""
    baseline = [1.0, 50.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    ratio = Ratio.of([3 * each for each in baseline], baseline)
    assert (ratio.median, ratio.lower, ratio.upper, ratio.rounds) == (3, 3, 3, 9)


def test_what_waits_cannot_be_done_at_once() -> None:
    """It would not be measured to its end."""
    with pytest.raises(RuntimeError, match="waits"):
        at_once(asyncio.sleep(0))


def test_another_runs_reminders_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here by a framework that shows every run the same ones."""
    first: list[Sequence[object]] = []

    def sent(guard: RepeatGuard[None], steps: Sequence[Step]) -> list[Sequence[object]]:
        first.extend(() if first else pydantic_ai_sent(guard, steps))
        return first

    pydantic_ai_sent = pydantic_ai.sent
    monkeypatch.setattr(pydantic_ai, "sent", sent)
    with pytest.raises(CrossTalkError, match="run 2 of Pydantic AI"):
        list(scale(looks=(4,), at_once=4))
