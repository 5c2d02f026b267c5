"""A new adapter is new folders: what the command makes passes the checks, and nothing else has to be edited."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.across.distributions import ROOT

NAME = "tiny-loop"
PACKAGE = f"packages/repeatguard-{NAME}"
FOLDERS = ("benchmarks", "docs", "packages", "releasing", "scaffolding", "tests", ".github")
#: They look at every package, page and example, and take no time. Those that serve an API are left out.
LOOK_AT_ALL = [
    "test_links.py",
    "test_lists.py",
    "test_messages.py",
    "test_metadata.py",
    "test_rules.py",
    "test_wheels.py",
]


def run(folder: Path, *command: str) -> None:
    """Run a command in the copy, in which the new package can be imported."""
    environment = os.environ | {"PYTHONPATH": str(folder / PACKAGE / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("REPEATGUARD_DISTRIBUTIONS", None)
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, with a new adapter."""
    folder = tmp_path_factory.mktemp("repository")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (file for file in ROOT.iterdir() if file.is_file()):
        shutil.copy(file, folder / file.name)
    run(folder, "scaffolding", NAME, "Tiny Loop")
    return folder


def test_a_new_adapter_keeps_the_contract(copy: Path) -> None:
    """As it is made, before its author replaces anything."""
    run(copy, "pytest", "-q", "-p", "no:cacheprovider", "tests/tiny_loop", "-k", "test_scenario and plain")


def test_nothing_else_has_to_be_edited(copy: Path) -> None:
    """The checks that look at all packages, pages and examples pass with one more."""
    run(copy, "pytest", "-q", "-p", "no:cacheprovider", *(f"tests/across/{name}" for name in LOOK_AT_ALL))


def test_its_examples_run(copy: Path) -> None:
    """Both, on the scripted model."""
    for name in ("try", "use"):
        file = copy / f"docs/examples/{name}_tiny_loop.py"
        environment = os.environ | {"PYTHONPATH": str(copy / PACKAGE / "src")}
        run_example = subprocess.run(
            [sys.executable, "-W", "error", str(file)], env=environment, capture_output=True, text=True, check=True
        )
        assert "The export is still pending" in run_example.stdout
