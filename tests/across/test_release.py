"""What a release needs: a version that is ready, and workflows that publish in order."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from releasing.readiness import NotReadyError, notes_of
from tests.across.distributions import ADAPTERS, CORE, PACKAGES, ROOT

CHANGES = """# Changes

## Unreleased

## 0.2.0 - 2026-03-01

### Added

- A thing of two
  lines.

## 0.1.0 - 2026-01-31

- The first.
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose version 0.2.0 is ready."""
    (tmp_path / "CHANGELOG.md").write_text(CHANGES, encoding="utf-8")
    (tmp_path / "README.md").write_text("pip install repeatguard-core\n", encoding="utf-8")
    return tmp_path


def change(file: Path, old: str, new: str) -> None:
    """Replace a text that is in a file."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("tag", [None, "v0.2.0"])
def test_the_notes_are_the_versions_section(repository: Path, tag: str | None) -> None:
    """And nothing of an older one."""
    notes = notes_of(repository, "0.2.0", tag)
    assert "### Added" in notes
    assert "- A thing of two\n  lines." in notes
    assert "The first" not in notes


def test_a_tag_of_another_version_is_refused(repository: Path) -> None:
    """The message says which it has to be."""
    with pytest.raises(NotReadyError, match=r"has to be v0\.2\.0"):
        notes_of(repository, "0.2.0", "v0.3.0")


@pytest.mark.parametrize("version", ["0.1.0", "0.3.0"])
def test_a_version_that_is_not_the_newest_section_is_refused(repository: Path, version: str) -> None:
    """Be it an older one, or one that has none."""
    with pytest.raises(NotReadyError, match=f"## {version} - YYYY-MM-DD"):
        notes_of(repository, version)


@pytest.mark.parametrize("heading", ["## 0.2.0", "## 0.2.0 - 2026-02-30", "## 0.2.0 - soon"])
def test_a_section_without_a_date_is_refused(repository: Path, heading: str) -> None:
    """Also with one that no calendar has."""
    change(repository / "CHANGELOG.md", "## 0.2.0 - 2026-03-01", heading)
    with pytest.raises(NotReadyError, match=r"0\.2\.0"):
        notes_of(repository, "0.2.0")


def test_an_empty_section_is_refused(repository: Path) -> None:
    """There is nothing to tell."""
    change(repository / "CHANGELOG.md", "### Added\n\n- A thing of two\n  lines.\n", "")
    with pytest.raises(NotReadyError, match="says nothing"):
        notes_of(repository, "0.2.0")


def test_a_page_that_says_not_published_is_refused(repository: Path) -> None:
    """Wherever its lines are broken."""
    change(repository / "README.md", "pip", "The packages are not on the\npackage index yet.\n\npip")
    with pytest.raises(NotReadyError, match=r"README\.md"):
        notes_of(repository, "0.2.0")


def test_one_command_raises_the_version_everywhere(tmp_path: Path) -> None:
    """In the workspace, in all packages, in what they require of the core, and in the changes."""
    for name in ("pyproject.toml", "CHANGELOG.md", *(f"packages/{package}/pyproject.toml" for package in PACKAGES)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    change(tmp_path / "pyproject.toml", 'pre_commit_hooks = ["uv lock"]', "")
    command = [sys.executable, "-m", "bumpversion", "bump", "--new-version", "7.8.9"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert 'version = "7.8.9"' in (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    for package in PACKAGES:
        text = (tmp_path / "packages" / package / "pyproject.toml").read_text(encoding="utf-8")
        assert re.findall(r'^version = "(.*)"', text, re.MULTILINE) == ["7.8.9"]
        bounds = re.findall(r'"repeatguard-core(?:\[opentelemetry\])?(~.*?)"', text)
        assert bounds == ["~=7.8.9"] * (0 if package == CORE else 2 if package in ADAPTERS else 1)
    changes = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"## Unreleased\n\n## 7\.8\.9 - \d{4}-\d\d-\d\d\n", changes)


def workflow(name: str) -> dict[str, Any]:
    """Read a workflow."""
    loaded: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows" / name).read_text(encoding="utf-8"))
    return loaded


def steps(job: dict[str, Any]) -> list[dict[str, Any]]:
    """List a job's steps; one that calls another workflow has none."""
    return list(job.get("steps", []))


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_actions_are_pinned_and_jobs_may_do_no_more_than_read(name: str) -> None:
    """By a version's tag; what a job may do beyond that stands in the job."""
    read = workflow(name)
    assert read["permissions"] == {"contents": "read"}
    used = [step["uses"] for job in read["jobs"].values() for step in steps(job) if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+(\.\d+)*", action) for action in used)


def test_only_the_jobs_that_publish_may_identify_themselves() -> None:
    """And what they publish was built by another job, and tested."""
    jobs = workflow("release.yml")["jobs"]
    allowed = {name: job["permissions"] for name, job in jobs.items() if "permissions" in job}
    assert allowed == {
        "core": {"id-token": "write"},
        "adapters": {"id-token": "write"},
        "announce": {"contents": "write"},
    }
    assert not [step for name in allowed for step in steps(jobs[name]) if "checkout" in step.get("uses", "")]


def test_the_core_is_published_first_and_once_all_is_tested() -> None:
    """Since an adapter cannot be installed without it."""
    jobs = workflow("release.yml")["jobs"]
    assert {name: job.get("needs", []) for name, job in jobs.items()} == {
        "ci": [],
        "build": [],
        "core": ["ci", "build"],
        "adapters": ["build", "core"],
        "announce": ["adapters"],
    }


def test_each_package_is_published_in_an_environment_of_its_name() -> None:
    """So that each can have a trusted publisher of its own."""
    jobs = workflow("release.yml")["jobs"]
    assert jobs["core"]["environment"] == CORE
    assert jobs["adapters"]["environment"] == "${{ matrix.package }}"
    both = [*steps(jobs["core"]), *steps(jobs["adapters"])]
    uploads = [step["with"] for step in both if "pypi-publish" in step.get("uses", "")]
    assert uploads == [{"packages-dir": "upload/", "skip-existing": True}] * 2


def test_ci_runs_every_session_that_nox_runs_by_default() -> None:
    """On every Python that a package supports."""
    jobs = workflow("ci.yml")["jobs"]
    commands = [step.get("run", "") for job in jobs.values() for step in steps(job)]
    run = {word for command in commands for word in command.partition(" -s ")[2].split()}
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    (line,) = re.findall(r"^nox\.options\.sessions = \[(.*)\]$", noxfile, re.MULTILINE)
    assert {word.strip(' "') for word in line.split(",")} <= run
    text = (ROOT / "packages" / CORE / "pyproject.toml").read_text(encoding="utf-8")
    assert jobs["tests"]["strategy"]["matrix"]["python"] == re.findall(r"Python :: (3\.\d+)", text)
