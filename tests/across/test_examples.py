"""The examples of all frameworks do the same with the same settings, on a scripted model and on a real one's API."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.wire.strict_server import StrictServer

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
USES = sorted(file.name for file in EXAMPLES.glob("use_*.py"))
ANSWER = "The export is still pending, with 0 rows so far. I will not wait any longer."
OTHERS = """
[repeatguard]
thresholds = [2]
remind_every = 3
stop_after = 9
first_reminder = "{tool}!"
later_reminder = "{count}"
"""
SETTINGS = (EXAMPLES / "repeatguard.toml").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the examples, to be changed as a user would."""
    return Path(shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def play(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[[str], str]]:
    """Runs an example of the copy as a script is run, and gives back what it prints."""
    known = set(sys.modules)
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        monkeypatch.delenv(name)

    def run(name: str) -> str:
        runpy.run_path(str(folder / name), run_name="__main__")
        return capsys.readouterr().out

    yield run
    for name in [name for name in set(sys.modules) - known if name.startswith("try_")]:
        del sys.modules[name]


def told(output: str) -> list[int]:
    """List the counts at which the model was told something."""
    return [int(count) for count in re.findall(r"^At call (\d+) of get_status:\n\S", output, re.MULTILINE)]


def test_each_framework_has_an_example() -> None:
    """One for each that is shown stuck."""
    shown = {file.name.removeprefix("try_") for file in EXAMPLES.glob("try_*.py")} - {"core.py"}
    assert {name.removeprefix("use_") for name in USES} == shown


@pytest.mark.rules("C3", "D1", "M8", "X5", "X6")
@pytest.mark.parametrize(
    ("settings", "counts", "end"),
    [
        pytest.param(SETTINGS, [3, 6], f"The answer: {ANSWER}", id="as it stands"),
        pytest.param(
            OTHERS,
            [2, 5, 8],
            "The run has ended: get_status called 9 times in a row with the same arguments (stop_after=9)",
            id="an end",
        ),
    ],
)
def test_one_file_drives_all_frameworks(
    folder: Path, play: Callable[[str], str], settings: str, counts: list[int], end: str
) -> None:
    """The same reminders at the same calls, to the letter, and the same end."""
    (folder / "repeatguard.toml").write_text(settings, encoding="utf-8")
    outputs = [play(name) for name in USES]
    assert len(set(outputs)) == 1
    assert told(outputs[0]) == counts
    assert outputs[0].endswith(f"{end}\n")


@pytest.mark.parametrize("name", USES)
def test_one_changed_line_makes_it_a_real_model(folder: Path, name: str) -> None:
    """The line says itself what to change it to, and then the provider's API is asked, with the key.

    Beside it is then nothing needed but the settings.
    """
    for other in folder.glob("try_*.py"):
        other.unlink()
    file = folder / name
    source = file.read_text(encoding="utf-8")
    changed, times = re.subn(r"^    \w+.* = .*  # a real one: (.*)$", r"    \1", source, flags=re.MULTILINE)
    assert times == 1
    file.write_text(changed, encoding="utf-8")
    with StrictServer([*[[("get_status", '{"job": "export"}')]] * 6, ANSWER]) as server:
        environment = os.environ | {"OPENAI_API_KEY": "a key", "OPENAI_BASE_URL": server.base_url}
        command = [sys.executable, str(file)]
        output = subprocess.run(
            command, capture_output=True, text=True, check=True, encoding="utf-8", env=environment
        ).stdout
    assert told(output) == [3, 6]
    assert output.endswith(f"The answer: {ANSWER}\n")
    assert {request["model"] for request in server.requests} == {"gpt-4.1-mini"}
    assert len(server.requests) == 7
    assert server.refusals == []
