"""M5, D11 and S3: an agent in a durable engine, whose process is killed in mid-loop and started again.

The engine is DBOS, by Pydantic AI's own integration, with a database in a file.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

WORKER = Path(__file__).with_name("durable_worker.py")
#: What is made anew when the workflow's code runs again.
OF_THE_PROCESS = {"timestamp", "run_id", "conversation_id"}


def work(folder: Path, form: str, *, dies_at: str = "") -> None:
    """Run a process to its end, or to its death."""
    folder.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DBOS")}
    if environment.pop("PYTHONDONTWRITEBYTECODE", None):
        environment["PYTHONPYCACHEPREFIX"] = str(folder.parent.parent / "bytecode")  # or each would compile it all
    worker = subprocess.run(
        [sys.executable, "-W", "error", str(WORKER), str(folder), form, dies_at],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert worker.returncode == (-9 if dies_at else 0), worker.stdout
    assert not worker.stdout


def comparable(value: Any) -> Any:
    """Leave out what two equal runs differ in."""
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items() if key not in OF_THE_PROCESS}
    return [comparable(item) for item in value] if isinstance(value, list) else value


def requests(folder: Path) -> list[list[Any]]:
    """Give each process's requests, in the order of the processes."""
    by_process: dict[int, list[Any]] = {}
    for line in (folder / "model.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        by_process.setdefault(entry["pid"], []).append(comparable(entry["messages"]))
    return list(by_process.values())


def result(folder: Path) -> Any:
    """Give the run's output and history."""
    return comparable(json.loads((folder / "result.json").read_text(encoding="utf-8")))


@pytest.mark.rules("D11", "M5", "M6", "S3")
@pytest.mark.skipif(os.name == "nt", reason="a process cannot be killed in the same way there")
@pytest.mark.skipif(
    sys.version_info >= (3, 12) and sqlite3.sqlite_version_info < (3, 42),
    reason="on Python 3.12 and later the engine's tables need SQLite 3.42, and this Python has an older one",
)
@pytest.mark.parametrize("form", ["processor", "capability"])
def test_a_recovered_run_sends_what_an_unbroken_one_sends(tmp_path: Path, form: str) -> None:
    """Killed with the first reminder on its way, and again in the call that brings about the second."""
    unbroken, broken = tmp_path / "unbroken", tmp_path / "broken"
    work(unbroken, form)
    work(broken, form, dies_at="model:4")
    work(broken, form, dies_at="tool:5")
    work(broken, form)
    (expected,) = requests(unbroken)
    assert [json.dumps(request).count('"repeatguard"') for request in expected] == [0, 0, 0, 1, 1, 2, 2]
    # The request that was on its way is sent again, and none that was answered.
    assert requests(broken) == [expected[:4], expected[3:5], expected[5:]]
    assert result(broken) == result(unbroken)
