"""The effect benchmark's figures, from lines made up for them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.effect.__main__ import main
from benchmarks.effect.answers import NextStep
from benchmarks.effect.differences import Pair, difference_of_means, difference_of_shares
from benchmarks.effect.figures import Figures, ModelFigures, figures
from benchmarks.effect.lines import AnyLine, CacheLine, CacheRequest, RunLine, StepLine
from benchmarks.effect.report import body, page

SCENARIOS = [f"s{number}" for number in range(20)]
GAVE_UP: NextStep = "another_call"
WENT_ON: NextStep = "same_call"
COMMON: dict[str, Any] = {
    "repetition": 0,
    "seed": 1,
    "temperature": 0.7,
    "model": "m",
    "server": "srv",
    "versions": {"repeatguard-core": "0.1.0"},
    "digest": "d",
}


def step(scenario: str, arm: str, k: int, kind: NextStep, **changes: Any) -> StepLine:
    """Make a line of a step."""
    fields: dict[str, Any] = {
        **COMMON,
        "part": "stuck",
        "results": "same",
        "message": {},
        "finish_reason": "stop",
        "is_right": kind == "answer",
        "is_in_text": False,
        "is_shared": False,
        "usage": None,
        "timings": None,
        "seconds": 1.0,
        **changes,
    }
    return StepLine(scenario=scenario, arm=arm, k=k, step=kind, **fields)


def run(scenario: str, arm: str, **changes: Any) -> RunLine:
    """Make a line of a run."""
    fields: dict[str, Any] = {
        **COMMON,
        "kind": "stuck",
        "results": "same",
        "max_turns": 10,
        "requests": 10,
        "input_tokens": 1000,
        "output_tokens": 100,
        "calls": (),
        "calls_in_text": 0,
        "reminders": 0,
        "loops_entered": 1,
        "loops_left": 0,
        "ending": "limit",
        "answer": None,
        "is_right": False,
        "seconds": 1.0,
        **changes,
    }
    return RunLine(scenario=scenario, arm=arm, **fields)


def cache(arm: str, *requests: tuple[int, int | None]) -> CacheLine:
    """Make a line of the cache, from prompts and what was cached of each."""
    made = tuple(CacheRequest(prompt=prompt, cached=cached) for prompt, cached in requests)
    return CacheLine(scenario="s", arm=arm, requests=made, **COMMON)


def of_one_model(lines: Iterable[AnyLine]) -> ModelFigures:
    """Work out the figures of lines that are of one model."""
    (model,) = figures(lines).models
    return model


def guarded(answers: int, k: int = 3) -> list[StepLine]:
    """Make lines of a model that never answers without the guard, and in so many scenarios with it."""
    plain = [step(each, "none", k, "same_call") for each in SCENARIOS]
    return [
        *plain,
        *(step(each, "guard", k, "answer" if at < answers else "same_call") for at, each in enumerate(SCENARIOS)),
    ]


def test_shares_with_intervals() -> None:
    """Of each arm and count, as the Wilson interval has them."""
    lines = [*guarded(10), *guarded(0, k=2), *guarded(20, k=5)]
    model = of_one_model(lines)
    assert [(each.count, each.arm) for each in model.steps] == [
        *(("2", "none"), ("2", "guard"), ("3", "none"), ("3", "guard"), ("5", "none"), ("5", "guard")),
    ]
    three = model.steps[3]
    assert three.shares["again"].interval == pytest.approx((0.2993, 0.7007), abs=1e-4)
    assert three.stuck == {"answer": 10, "same_call": 10}
    assert set(three.shares) == {"again", "right"}


def test_a_difference_is_named_only_if_it_is_shown() -> None:
    """Ten of twenty are, two of twenty are not."""
    shown = of_one_model(guarded(10)).comparisons
    assert [(each.measure, each.difference, each.verdict) for each in shown] == [
        ("again", -0.5, "better"),
        ("right", 0.5, "better"),
    ]
    assert shown[0].pairs == 20
    not_shown = of_one_model(guarded(2)).comparisons
    assert {each.verdict for each in not_shown} == {"no difference shown"}


def test_polls_that_are_given_up_are_the_harm() -> None:
    """Results that stay the same and results that change are counted apart."""
    lines = [
        step(each, arm, 3, kind, part="poll", results=results, is_right=None)
        for each in SCENARIOS
        for results in ("same", "changing")
        for arm in ("none", "guard")
        for kind in (GAVE_UP if (arm, results) == ("guard", "same") else WENT_ON,)
    ]
    model = of_one_model(lines)
    assert [str(model.steps[1].shares[name]) for name in ("gave_up_same", "gave_up_changing")] == [
        "20/20 100% (84% to 100%)",
        "0/20 0% (0% to 16%)",
    ]
    assert [(each.measure, each.verdict) for each in model.comparisons] == [
        ("gave_up_same", "worse"),
        ("gave_up_changing", "no difference shown"),
    ]


def test_arms_are_held_against_no_guard_and_against_the_guard() -> None:
    """Pairs are of the same scenario, count and seed; what has no partner is left out."""
    lines = [step("s0", arm, 3, "answer") for arm in ("none", "guard", "in_result", "terse")]
    lines.append(step("s1", "guard", 3, "same_call"))
    found = [
        (each.arm, each.against, each.pairs) for each in of_one_model(lines).comparisons if each.measure == "right"
    ]
    assert found == [
        *(("guard", "none", 1), ("in_result", "none", 1), ("terse", "none", 1)),
        *(("in_result", "guard", 1), ("terse", "guard", 1)),
    ]


def test_of_two_lines_about_one_sample_the_last_counts() -> None:
    """Models and temperatures are kept apart."""
    lines = [
        step("s0", "none", 3, "same_call"),
        step("s0", "none", 3, "answer"),
        step("s0", "none", 3, "same_call", temperature=0.0),
        step("s0", "none", 3, "same_call", model="other"),
    ]
    found = figures(lines).models
    assert [(each.model, each.temperature, each.lines) for each in found] == [
        ("m", 0.7, 1),
        ("m", 0.0, 1),
        ("other", 0.7, 1),
    ]
    assert found[0].steps[0].stuck == {"answer": 1}


def test_whole_runs() -> None:
    """Means, loops, endings, and how they differ."""
    good = {"ending": "answer", "answer": "8431", "is_right": True, "requests": 4, "input_tokens": 300, "reminders": 1}
    lines = [
        *(run(each, "none") for each in SCENARIOS),
        *(run(each, "guard", loops_left=1, **good) for each in SCENARIOS[:15]),
        *(run(each, "guard", loops_entered=0) for each in SCENARIOS[15:]),
        run("s0", "none", kind="poll", results="changing"),
    ]
    runs = of_one_model(lines).runs
    plain, with_guard, poll = runs.arms
    assert (plain.runs, plain.requests, plain.right.part, plain.loops_left.part) == (20, 10.0, 0, 0)
    assert (with_guard.requests, with_guard.input_tokens, with_guard.reminders) == (5.5, 475.0, 0.75)
    assert (with_guard.in_a_loop.part, with_guard.loops_left.part, with_guard.loops_left.whole) == (15, 15, 15)
    assert (with_guard.at_the_limit.part, with_guard.right.part) == (5, 15)
    assert poll.kind == "poll, results changing"
    assert [(each.measure, each.difference, each.verdict) for each in runs.comparisons] == [
        ("right", 0.75, "better"),
        ("requests", -4.5, "better"),
        ("input_tokens", -525.0, "better"),
        ("output_tokens", 0.0, "no difference shown"),
    ]


def test_the_cache() -> None:
    """The first request of each conversation is left out; a server that does not say is named."""
    lines = [cache("none", (100, 0), (110, 100), (120, 100)), cache("guard", (100, None), (110, None))]
    none, guard = of_one_model(lines).cache
    assert (none.prompt, none.anew, none.most) == (115, 15, 20)
    assert (guard.prompt, guard.anew, guard.most) == (110, None, None)


def pairs(*values: tuple[int, int, int]) -> list[Pair]:
    """Make pairs, each of a scenario of its own, from numbers of them and both values."""
    each = [(here, there) for number, here, there in values for _ in range(number)]
    return [Pair(f"s{index}", here, there) for index, (here, there) in enumerate(each)]


def test_newcombes_interval() -> None:
    """As worked out by hand for few scenarios, which are not drawn anew."""
    table = [(36, 1, 1), (12, 1, 0), (2, 0, 1)]
    few = [pair._replace(scenario="s") for pair in pairs(*table)]
    difference = difference_of_shares(few)
    assert difference.value == pytest.approx(0.2)
    assert difference.interval == pytest.approx((0.0569, 0.3404), abs=1e-4)
    assert difference.is_shown


@pytest.mark.parametrize("table", [[(20, 1, 1)], [(20, 0, 0)], [(10, 1, 1), (10, 0, 0)], [(5, 1, 0), (5, 0, 1)]])
def test_no_difference_is_not_shown(table: Sequence[tuple[int, int, int]]) -> None:
    """Whether both arms agree everywhere, or differ as often this way as that."""
    difference = difference_of_shares(pairs(*table))
    assert difference.value == 0
    assert difference.interval is not None
    assert difference.interval[0] < 0 < difference.interval[1]
    assert not difference.is_shown


def test_scenarios_are_drawn_whole() -> None:
    """Many samples of few scenarios do not make an interval narrow."""
    unlike = [Pair(f"s{number}", int(number < 3), 0) for number in range(6) for _ in range(100)]
    low, high = difference_of_shares(unlike).interval or (0, 0)
    assert low < 0.2
    assert high > 0.8


def test_differences_of_amounts() -> None:
    """The same lines give the same interval; too few scenarios give none."""
    amounts = [Pair(f"s{number}", 10 + number, 20) for number in range(6)]
    difference = difference_of_means(amounts)
    assert difference.value == -7.5
    assert difference.interval is not None
    assert difference.interval[0] < -7.5 < difference.interval[1] < 0
    assert difference_of_means(list(amounts)) == difference
    assert difference_of_means(amounts[:4]).interval is None
    assert not difference_of_means(amounts[:4]).is_shown


EVERYTHING: list[AnyLine] = [
    *guarded(10),
    step("s0", "none", 3, "same_call", part="poll", is_right=None),
    run("s0", "none"),
    run("s0", "guard", requests=4),
    cache("none", (1100, 0), (1110, 1100)),
    cache("guard", (1100, None), (1110, None)),
]


def test_the_page() -> None:
    """Each part has its table, and one without lines has none."""
    text = " ".join(page(figures(EVERYTHING)).split())
    assert "## m at temperature 0.7 45 lines, from srv; with repeatguard-core 0.1.0." in text
    assert "| 3 | guard | 10/20 50% (30% to 70%) | 10/20 50% (30% to 70%) | | |" in text
    assert "| 3 | guard | none | stuck: the same call again | -50 points (" in text
    assert "Of 2 comparisons 2 show a difference." in text
    assert "Of 4 comparisons 0 show a difference. ### The cache" in text
    assert "| none | 1 | 1,110 | 10.0 | 10 |" in text
    assert "| guard | 1 | 1,110 | not reported | |" in text
    assert "###" not in page(figures([]))


def test_differences_of_runs_have_their_units() -> None:
    """Amounts as they are, shares in points."""
    lines = [run(each, arm, requests=10 - 6 * (arm == "guard")) for each in SCENARIOS for arm in ("none", "guard")]
    text = " ".join(page(figures(lines)).split())
    assert "Of 4 comparisons 1 show a difference." in text
    assert "| stuck | guard | none | requests | -6.0 (-6.0 to -6.0) | 20 | better |" in text


def test_the_report_is_made_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of several files, printed or written, and as JSON."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for file, lines in ((first, EVERYTHING[:30]), (second, EVERYTHING[30:])):
        file.write_text("".join(f"{line.model_dump_json()}\n" for line in lines), encoding="utf-8")
    markdown, figures_file = tmp_path / "report.md", tmp_path / "report.json"
    main(["report", str(first), str(second)])
    printed = capsys.readouterr().out
    main(["report", str(first), str(second), "--markdown", str(markdown), "--json", str(figures_file)])
    assert not capsys.readouterr().out
    assert printed == markdown.read_text(encoding="utf-8") == page(figures(EVERYTHING))
    assert Figures.model_validate_json(figures_file.read_bytes()) == figures(EVERYTHING)


def test_the_report_goes_into_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Between its markers, from lines that may be packed."""
    lines, document = tmp_path / "a.jsonl.gz", tmp_path / "effect.md"
    lines.write_bytes(gzip.compress("".join(f"{line.model_dump_json()}\n" for line in EVERYTHING).encode()))
    document.write_text("# Title\n<!-- effect:begin -->\nold\n<!-- effect:end -->\nEnd.\n", encoding="utf-8")
    main(["report", str(lines), "--into", str(document)])
    assert not capsys.readouterr().out
    text = document.read_text(encoding="utf-8")
    assert text == f"# Title\n<!-- effect:begin -->\n{body(figures(EVERYTHING))}\n<!-- effect:end -->\nEnd.\n"
    assert page(figures(EVERYTHING)).endswith(f"\n\n{body(figures(EVERYTHING))}\n")


def test_a_line_of_another_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named."""
    file = tmp_path / "a.jsonl"
    file.write_text(f"{EVERYTHING[0].model_dump_json()}\n{json.dumps({'part': 'moon'})}\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(file)])
    assert "a.jsonl, line 2" in capsys.readouterr().err
