"""The comparison with other packages: the page is what was measured, and ours does what it says."""

from __future__ import annotations

from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from benchmarks.peers.__main__ import main
from benchmarks.peers.about import ABOUT, COLUMNS, WORDS
from benchmarks.peers.driver import UNSEEN, Call, Driver
from benchmarks.peers.drivers import DRIVERS, GUARDS, OURS, SET_UP, Ours
from benchmarks.peers.page import main as render_page
from benchmarks.peers.playing import play
from benchmarks.peers.results import Outcome, Results
from benchmarks.peers.scenarios import SCENARIOS, Scenario

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/results/peers.json"
PAGE = ROOT / "docs/comparison.md"


class Odd(Driver):
    """Is handed nothing that was denied, speaks of what it is told to, and fails over what is no JSON."""

    package = "no-such-package"
    guard = "odd"

    def prepare(self, call: Call) -> Any:
        """Pass calls over that were denied."""
        return UNSEEN if call.denied else call

    def observe(self, prepared: Call) -> str | None:
        """Speak, or fail, by the call's name."""
        if prepared.name == "fail":
            raise KeyError(prepared.name)
        print("Not to be seen.")  # noqa: T201 - some packages print
        return "speaks" if prepared.name == "speak" else None


def scenario(*names: str, denied: bool = False) -> Scenario:
    """Make calls of tools, each in a response of its own."""
    return Scenario("made-up", "", "", tuple((Call(name, "{}", denied=denied),) for name in names))


def installed(package: str) -> str | None:
    """Tell which version of a package is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def test_the_page_is_what_was_measured(tmp_path: Path) -> None:
    """Rendered anew, nothing changes."""
    page = tmp_path / "page.md"
    render_page([str(RESULTS), str(page)])
    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("shown", SCENARIOS, ids=lambda each: each.name)
def test_ours_does_what_the_page_says(shown: Scenario) -> None:
    """With its defaults, in every scenario."""
    assert play(OURS, shown) == Results.read(RESULTS).guards[OURS.guard].behaviour[shown.name]


def test_ours_with_settings_does_what_the_page_says() -> None:
    """In the scenarios that a setting is about."""
    shown = {each.name: each for each in SCENARIOS}
    now = {name: play(partial(Ours, config), shown[name]) for name, config in SET_UP.items()}
    assert now == Results.read(RESULTS).ours_set_up


def test_every_release_in_the_list_was_measured() -> None:
    """And nothing else was: a new release in the list calls for new figures."""
    lines = (ROOT / "benchmarks/peers/requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = {str(Requirement(line)) for line in lines if not line.startswith("#")}
    guards = Results.read(RESULTS).guards
    assert {f"{guard.package}=={guard.version}" for name, guard in guards.items() if name != OURS.guard} == pins
    assert set(guards) == {driver.guard for driver in GUARDS}
    assert all(guard.costs is not None for guard in guards.values())


def test_the_page_has_words_for_everything() -> None:
    """Every package, scenario and word in the tables is explained."""
    guards = Results.read(RESULTS).guards.values()
    assert set(ABOUT) == {guard.package for guard in guards}
    assert sorted(name for names in COLUMNS.values() for name in names) == sorted(each.name for each in SCENARIOS)
    said = {word.split()[0] for guard in guards for outcome in guard.behaviour.values() for word in outcome.said}
    assert said == set(WORDS)


def test_a_package_that_is_not_installed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are measured, and what the file knows of it stays."""
    missing = [driver for driver in DRIVERS if installed(driver.package) is None]
    assert missing
    file = tmp_path / "peers.json"
    file.write_bytes(RESULTS.read_bytes())
    main(["--behaviour", "--json", str(file)])
    printed = capsys.readouterr().out
    for driver in missing:
        assert f"missing: {driver.guard} (the package {driver.package} is not installed)\n" in printed
    before, after = Results.read(RESULTS), Results.read(file)
    assert after.guards == before.guards
    assert list(after.guards) == list(before.guards)


def test_a_new_file_holds_what_is_installed(tmp_path: Path) -> None:
    """Without costs, if none were measured."""
    file = tmp_path / "peers.json"
    main(["--behaviour", "--json", str(file)])
    assert Results.read(file).guards[OURS.guard].costs is None


def test_a_file_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a word, not with a traceback."""
    file = tmp_path / "peers.json"
    file.write_text('{"what": "else"}', encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["--json", str(file)])
    assert "what" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        render_page([str(file), str(tmp_path / "page.md")])
    assert "what" in capsys.readouterr().err


def test_what_a_guard_does_is_written_down(capsys: pytest.CaptureFixture[str]) -> None:
    """Its words with the numbers of the calls, and what comes out of it; what it prints is not shown."""
    names = ("speak", "be silent", "speak", "speak", "speak", "fail", "speak")
    assert play(Odd, scenario(*names)) == Outcome(said={"speaks": "1, 3 to 5, 7", "fails with `KeyError`": "6"})
    assert capsys.readouterr().out == ""


def test_calls_that_never_come_to_a_guard_are_told_from_silence() -> None:
    """Nothing was said in either."""
    assert play(Odd, scenario("speak", denied=True)) == Outcome(said={}, is_shown=False)
    assert play(Odd, scenario("be silent")) == Outcome(said={})


def test_what_a_guard_cannot_be_told_is_written_down() -> None:
    """That the user spoke, and that another run begins."""
    shown = {each.name: each for each in SCENARIOS}
    assert not play(Odd, shown["steer"]).is_told
    assert not play(Odd, shown["two_runs"]).is_told
    assert play(Odd, shown["identical"]).is_told
