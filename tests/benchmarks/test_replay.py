"""The replay: what it counts as right, wrong, found and missed, in conversations made up for it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from repeatguard_core import RepeatGuardConfig

from benchmarks.replay import main
from benchmarks.scoring import Given, Proportion, Score, Verdict, labelled, replay, score
from benchmarks.trajectories import Trajectory, read

ROOT = Path(__file__).parents[2]
USER: dict[str, object] = {"kind": "user", "content": "Go on."}


def call(arguments: object, number: int, name: str = "weigh") -> dict[str, object]:
    """Make a call that comes in a response of its own."""
    return {"kind": "call", "id": f"c{number}", "name": name, "arguments": arguments, "batch": number}


def result(number: int, text: str = "3 kg") -> dict[str, object]:
    """Make a call's result."""
    return {"kind": "result", "id": f"c{number}", "content": text}


def weighing(*results: str, first: int = 0) -> list[dict[str, object]]:
    """Weigh the same parcel, with these results."""
    calls = [[call('{"parcel": 7}', number), result(number, text)] for number, text in enumerate(results, first)]
    return [event for pair in calls for event in pair]


def label(what: str, length: int, **other: object) -> dict[str, object]:
    """Label a chain of weighing calls, from the first one on."""
    return {"label": what, "note": "", "tool": "weigh", "segment": 0, "start": 0, "length": length, **other}


def conversation(
    *events: dict[str, object], labels: Sequence[dict[str, object]] = (), source: str = "made-up/a"
) -> dict[str, object]:
    """Make a trajectory."""
    return {"source": source, "task": "parcels", "events": [USER, *events], "labels": labels}


def trajectory(*events: dict[str, object], labels: Sequence[dict[str, object]] = ()) -> Trajectory:
    """Make a trajectory as it is read."""
    return Trajectory.model_validate(conversation(*events, labels=labels))


def written(folder: Path, *conversations: dict[str, object]) -> Path:
    """Write a file of them."""
    file = folder / "trajectories.jsonl"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in conversations), encoding="utf-8")
    return file


def reminders(made: Trajectory, **settings: object) -> list[Given]:
    """Replay a trajectory."""
    return replay(1, made, RepeatGuardConfig.model_validate(settings))


def scored(threshold: int, *made: Trajectory, **settings: object) -> Score:
    """Replay trajectories, and score them at a threshold."""
    config = RepeatGuardConfig.model_validate(settings)
    given = [each for line, one in enumerate(made, 1) for each in replay(line, one, config)]
    return score(threshold, given, [chain for line, one in enumerate(made, 1) for chain in labelled(line, one)])


@pytest.mark.parametrize("what", ["loop", "redundant"])
def test_a_reminder_in_a_loop_is_right(what: str) -> None:
    """So is one in a chain of needless calls; and the chain is found."""
    three = scored(3, trajectory(*weighing("3 kg", "3 kg", "3 kg"), labels=[label(what, 3)]))
    assert three.precision == Proportion(1, 1)
    assert three.groups["recall"] == three.groups[f"recall {what}"] == Proportion(1, 1)
    assert three.groups["false alarms"] == Proportion(0, 0)
    assert [chain.label for chain in three.found] == [what]


@pytest.mark.parametrize("what", ["legit", "legitimate", "poll", "polling", "retry", "transient"])
def test_a_reminder_in_a_harmless_chain_is_wrong(what: str) -> None:
    """It is a false alarm, and the chain is none to be found."""
    three = scored(3, trajectory(*weighing("3 kg", "3 kg", "3 kg"), labels=[label(what, 3)]))
    assert three.precision == Proportion(0, 1)
    assert three.groups["false alarms"] == Proportion(1, 1)
    assert three.groups["recall"] == Proportion(0, 0)


@pytest.mark.parametrize(
    "labels", [[], [label("unclear", 3)], [label("loop", 2)]], ids=["no label", "another label", "beside it"]
)
def test_any_other_reminder_is_unlabelled(labels: list[dict[str, object]]) -> None:
    """It is kept, and does not count towards precision."""
    three = scored(3, trajectory(*weighing("3 kg", "3 kg", "3 kg"), labels=labels))
    assert three.precision == Proportion(0, 0)
    assert len(three.of(Verdict.UNLABELLED)) == 1


def test_recall_is_over_chains_of_at_least_as_many_calls() -> None:
    """A loop of four is none to be found at five, and one of five is."""
    loops = [trajectory(*weighing(*["3 kg"] * calls), labels=[label("loop", calls)]) for calls in (4, 5)]
    assert scored(3, *loops).groups["recall"] == Proportion(2, 2)
    assert scored(5, *loops).groups["recall"] == Proportion(1, 1)
    assert scored(8, *loops).groups["recall"] == Proportion(0, 0)


def test_the_users_words_begin_a_new_chain() -> None:
    """And a new segment, which labels count by; words with no call between them begin one only."""
    made = trajectory(
        *weighing("3 kg", "3 kg"),
        USER,
        USER,
        *weighing("3 kg", "3 kg", "3 kg", first=2),
        labels=[label("loop", 3, segment=1)],
    )
    (given,) = reminders(made)
    assert (given.segment, given.call, given.count, given.verdict) == (1, 2, 3, Verdict.RIGHT)


@pytest.mark.parametrize(("policy", "found"), [("count", 3), ("reset", None), ("defer", 5)])
def test_changed_results_are_taken_as_the_policy_says(policy: str, found: int | None) -> None:
    """Counted, taken for a new chain, or reminded of two calls later."""
    made = trajectory(*weighing("1 kg", "2 kg", "3 kg", "4 kg", "5 kg"), labels=[label("loop", 5)])
    given = [each for each in reminders(made, on_changed_result=policy) if each.threshold == 3]
    assert [each.count for each in given] == ([] if found is None else [found])
    assert len(scored(3, made, on_changed_result=policy).missed) == (found is None)


def test_a_hash_stands_for_a_result_that_was_cut() -> None:
    """Texts that begin alike are different results if their hashes are."""
    pairs = [(call({}, number, "look"), result(number, "a long …") | {"hash": f"h{number}"}) for number in range(3)]
    assert reminders(trajectory(*(event for pair in pairs for event in pair)), on_changed_result="reset") == []
    without = [(call({}, number, "look"), result(number, "a long …")) for number in range(3)]
    assert len(reminders(trajectory(*(event for pair in without for event in pair)), on_changed_result="reset")) == 1


def test_results_go_to_their_calls_by_id() -> None:
    """In whatever order they come, and a call may have none."""
    calls = [call({}, number, "look") for number in range(3)]
    (segment,) = trajectory(*calls, result(2, "third"), result(0, "first")).segments()
    assert [each.result for batch in segment for each in batch] == ["first", None, "third"]


@pytest.mark.parametrize("shared", [None, "again"])
def test_calls_that_share_an_id_get_their_results_in_order(shared: str | None) -> None:
    """As recordings have it that leave ids out or use them twice."""
    events = [call({}, 0), result(0, "first"), call({}, 1), call({}, 2), result(1, "second"), result(2, "third")]
    (segment,) = trajectory(*({**event, "id": shared} for event in events)).segments()
    assert [each.result for batch in segment for each in batch] == ["first", "second", "third"]


def test_calls_of_one_batch_are_one_response() -> None:
    """There is one reminder for it, about the last call of its tool."""
    calls: list[dict[str, Any]] = [call({}, 0), call({}, 0), call({}, 0), call({}, 0, "note"), call({}, 1)]
    (given,) = reminders(trajectory(*calls, labels=[label("loop", 3)]))
    assert (given.call, given.tool, given.verdict) == (2, "weigh", Verdict.RIGHT)


def test_a_cycle_is_found_where_cycles_are_looked_for() -> None:
    """It is held against calls and against rounds."""
    calls = [call({}, number, name) for number, name in enumerate(["lift", "weigh"] * 3)]
    made = trajectory(*calls, labels=[label("loop-cycle", 6, tool="lift/weigh")])
    with_cycles, without = scored(3, made), scored(3, made, max_cycle_length=1)
    assert with_cycles.groups["recall loop-cycle"] == with_cycles.groups["recall rounds"] == Proportion(1, 1)
    assert without.groups["recall loop-cycle"] == without.groups["recall rounds"] == Proportion(0, 1)
    assert scored(5, made).groups["recall loop-cycle"] == Proportion(0, 1)
    assert scored(5, made).groups["recall rounds"] == Proportion(0, 0)


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"), [(0, 10, 0.0, 0.2775), (8, 10, 0.4902, 0.9433), (10, 10, 0.7225, 1.0)]
)
def test_the_interval_is_wilsons(part: int, whole: int, low: float, high: float) -> None:
    """As printed tables have it."""
    assert Proportion(part, whole).interval == pytest.approx((low, high), abs=1e-4)


def test_none_of_none_has_no_share() -> None:
    """It is printed as it is."""
    assert Proportion(0, 0).interval is None
    assert str(Proportion(0, 0)) == "0/0"
    assert str(Proportion(8, 10)) == "8/10 80% (49% to 94%)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give a loop, a poll, a chain that nobody labelled and a cycle, from two collections."""
    cycle = [call({}, number, name) for number, name in enumerate(["lift", "weigh"] * 3)]
    return written(
        tmp_path,
        conversation(*weighing(*["3 kg"] * 5), labels=[label("loop", 5)]),
        conversation(*weighing("1 kg", "2 kg", "3 kg"), labels=[label("poll", 3)], source="made-up/b"),
        conversation(*weighing("3 kg", "3 kg", "3 kg"), source="made-up/b"),
        conversation(*cycle, labels=[label("loop-cycle", 6, tool="lift/weigh")]),
    )


def test_what_is_printed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Figures with counts and intervals, and by source what was found, missed, wrong and unlabelled."""
    main([str(file), "--policy", "count", "--max-cycle-length", "1"])
    printed = capsys.readouterr().out
    assert printed.startswith("4 trajectories, 17 calls, 3 labelled chains (loop 1, loop-cycle 1, poll 1)\n")
    assert "Definitions" in printed
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert "precision 1/2 50% (9% to 91%) 1/1 100% (21% to 100%) 0/0" in lines
    assert "unlabelled 1 0 0" in lines
    assert "recall 1/2 50% (9% to 91%) 1/2 50% (9% to 91%) 0/0" in lines
    start = lines.index("t = 3")
    assert lines[start + 1 : lines.index("t = 5")] == [
        "made-up/a",
        "found 1: 1 (loop 5)",
        "missed 1: 4 (loop-cycle 6 in 3 rounds)",
        "made-up/b",
        "wrong 1: 2 (poll 3)",
        "unlabelled 1: 3 (weigh, call 2 of segment 0)",
    ]


def test_every_policy_is_played_without_cycles_and_with_them(file: Path, tmp_path: Path) -> None:
    """Unless told otherwise; the JSON has them all, twice the same."""
    outs = [tmp_path / "one.json", tmp_path / "two.json"]
    for out in outs:
        main([str(file), "--json", str(out)])
    assert outs[0].read_bytes() == outs[1].read_bytes()
    configurations = json.loads(outs[0].read_text(encoding="utf-8"))["configurations"]
    assert [(each["max_cycle_length"], each["on_changed_result"]) for each in configurations] == [
        (length, policy) for length in (1, 8) for policy in ("count", "reset", "defer")
    ]
    (three, *_) = configurations[3]["thresholds"]
    assert three["precision"]["part"] == 2
    assert [each["verdict"] for each in three["reminders"]] == ["right", "wrong", "unlabelled", "right"]
    assert [each["line"] for each in three["found"]] == [1, 4]


def test_it_runs_as_the_readme_says(file: Path) -> None:
    """As a module, from the repository."""
    command = [sys.executable, "-W", "error", "-m", "benchmarks.replay", str(file), "--policy", "defer"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    assert 'on_changed_result="defer", max_cycle_length=8' in printed
    assert '"count"' not in printed


@pytest.mark.parametrize(
    ("events", "labels", "says"),
    [
        ([call({}, 0)], [label("loop", 2)], "says that 2 calls of weigh begin at call 0"),
        ([call({}, 0)], [label("loop", 1, segment=1)], "of segment 1, and there are []"),
        ([call({}, 0, "lift")], [label("loop", 1)], "['lift']"),
        ([result(0)], [], "belongs to no call"),
        ([{"kind": "sneeze"}], [], "sneeze"),
    ],
    ids=["too long", "no such segment", "another tool", "no call", "unknown event"],
)
def test_a_line_that_cannot_be_right_is_refused(
    events: list[dict[str, object]],
    labels: list[dict[str, object]],
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The message names the line."""
    path = written(tmp_path, conversation(), conversation(*events, labels=labels))
    with pytest.raises(SystemExit):
        main([str(path)])
    assert "trajectories.jsonl, line 2" in (message := capsys.readouterr().err)
    assert says in message


@pytest.mark.parametrize("wrong", [["--max-cycle-length", "99"], ["--policy", "guess"]])
def test_a_wrong_setting_is_refused(wrong: list[str], file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names it."""
    with pytest.raises(SystemExit):
        main([str(file), *wrong])
    assert wrong[1] in capsys.readouterr().err


def test_a_missing_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names it."""
    with pytest.raises(SystemExit):
        main([str(tmp_path / "nowhere.jsonl")])
    assert "nowhere.jsonl" in capsys.readouterr().err


def test_blank_lines_are_passed_over(tmp_path: Path) -> None:
    """Lines are counted as an editor counts them, whatever characters a text holds."""
    path = tmp_path / "trajectories.jsonl"
    line = json.dumps(conversation({"kind": "assistant_text", "content": "one\u2028two"}), ensure_ascii=False)
    path.write_text(f"{line}\n\n{line}\n", encoding="utf-8")
    assert [number for number, _ in read(path)] == [1, 3]
