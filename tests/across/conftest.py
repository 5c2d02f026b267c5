"""The packages as they are built: what an index gets."""

from __future__ import annotations

import logging
import os
import subprocess
from pathlib import Path

import pytest

from tests.across.distributions import ROOT, Distribution, read_sdist, read_wheel


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all wheels and sdists: the one that is named in the environment, or a new one."""
    given = os.environ.get("REPEATGUARD_DISTRIBUTIONS")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("distributions")
    command = ["uv", "build", "--quiet", "--all-packages", "--out-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="session")
def wheels(built: Path) -> dict[str, Distribution]:
    """The wheels of all packages, by package."""
    return {wheel.package: wheel for wheel in map(read_wheel, sorted(built.glob("*.whl")))}


@pytest.fixture(scope="session")
def sdists(built: Path) -> dict[str, Distribution]:
    """The sdists of all packages, by package."""
    return {sdist.package: sdist for sdist in map(read_sdist, sorted(built.glob("*.tar.gz")))}


@pytest.fixture
def as_a_user_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of one's own, a key, which nothing here uses, and no traces sent anywhere."""
    from agents import set_tracing_disabled  # noqa: PLC0415 - the session for wheels has no framework

    set_tracing_disabled(disabled=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr(logging.root, "handlers", list(logging.root.handlers))
    monkeypatch.setattr(logging.root, "level", logging.root.level)
