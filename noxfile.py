"""All checks of the repository: `nox` runs them, `nox -l` lists them.

Packages are found by looking under packages/. For each, tests/ has a folder of its name, without
"repeatguard-" and with underscores, and docs/examples/ a file of that name behind "try_", since a
file by the name of a framework would be imported in its place.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nox
from packaging.requirements import Requirement

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "uv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False  # they are reported as skipped
nox.options.sessions = ["lint", "typing", "tests", "wire", "benchmarks", "wheel", "docs"]

ROOT = Path(__file__).parent
PREFIX = "repeatguard-"
IN_PARALLEL = ["-n", "auto", "--dist", "worksteal"]


@dataclass(frozen=True)
class Package:
    """One of the packages under packages/."""

    folder: Path

    @property
    def name(self) -> str:
        """The name to install it by."""
        return self.folder.name

    @property
    def short(self) -> str:
        """The name of its tests and its example."""
        return self.name.removeprefix(PREFIX).replace("-", "_")

    @property
    def module(self) -> str:
        """The name to import it by."""
        return self.name.replace("-", "_")

    @property
    def pythons(self) -> list[str]:
        """The versions of Python it supports, from its classifiers."""
        return nox.project.python_versions(nox.project.load_toml(self.folder / "pyproject.toml"))

    @property
    def requirements(self) -> list[Requirement]:
        """What it requires, its siblings left out."""
        declared = nox.project.load_toml(self.folder / "pyproject.toml")["project"]["dependencies"]
        requirements = [Requirement(text) for text in declared]
        return [requirement for requirement in requirements if not requirement.name.startswith(PREFIX)]

    @property
    def settings(self) -> dict[str, Any]:
        """How it is to be tested."""
        tool: dict[str, Any] = nox.project.load_toml(self.folder / "pyproject.toml").get("tool", {})
        return dict(tool.get("repeatguard-tests", {}))

    @property
    def between(self) -> list[str]:
        """Releases of its framework between the lowest and the newest that are tested as well."""
        return list(self.settings.get("releases", []))

    def beside(self, releases: str) -> list[str]:
        """What certain releases are tested with where the newest of everything is too new for them."""
        return list(self.settings.get("beside", {}).get(releases, []))

    @property
    def test_requirements(self) -> list[str]:
        """What its tests need beside what all tests need: its own dependency group "test"."""
        groups = nox.project.load_toml(self.folder / "pyproject.toml").get("dependency-groups", {})
        return list(groups.get("test", []))

    @property
    def lowest(self) -> list[str]:
        """Pins of what it requires, to the lowest versions that it accepts."""
        pins: list[str] = []
        for requirement in self.requirements:
            (floor,) = [spec.version for spec in requirement.specifier if spec.operator == ">="]
            marker = f"; {requirement.marker}" if requirement.marker else ""
            pins.append(f"{requirement.name}=={floor}{marker}")
        return pins


PACKAGES = [Package(file.parent) for file in sorted(ROOT.glob("packages/*/pyproject.toml"))]
ALL_TEST_REQUIREMENTS = [requirement for package in PACKAGES for requirement in package.test_requirements]
#: The releases of other packages that ours is compared with.
PEERS = [
    Requirement(line)
    for line in (ROOT / "benchmarks/peers/requirements.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
#: The newest releases on every Python; the lowest on the first and the last, since what is between says no more.
MATRIX = [
    nox.param(python, package, releases, id=f"{package.short}-{releases}-{python}")
    for package in PACKAGES
    for releases, pythons in (("lowest", [package.pythons[0], package.pythons[-1]]), ("newest", package.pythons))
    for python in pythons
] + [
    nox.param(package.pythons[-1], package, release, id=f"{package.short}-{release}-{package.pythons[-1]}")
    for package in PACKAGES
    for release in package.between
]


@nox.session
@nox.parametrize(["python", "package", "releases"], MATRIX)
def tests(session: nox.Session, package: Package, releases: str) -> None:
    """Test a package's wheel against the lowest, the newest or a certain release of what it requires."""
    framework = package.requirements[0].name
    pins = {"lowest": package.lowest, "newest": []}.get(releases, [f"{framework}=={releases}"])
    extra = [*package.beside(releases), *package.test_requirements]
    session.install(*wheels(package), *pins, *extra, *dependency_group("test"))
    # Measuring costs time, and tells the same of a package whatever it runs on: once is enough.
    is_measured = releases == "newest" and session.python == package.pythons[-1]
    coverage = [f"--cov={package.module}", "--cov-report=term-missing"] if is_measured else []
    # Random scripts look for what is wrong in an adapter: at both ends of its framework, and on one Python.
    is_searched = releases in {"lowest", "newest"} and session.python == package.pythons[-1]
    without = [] if is_searched else ["-k", "not test_random_scripts"]
    session.run("pytest", *IN_PARALLEL, f"tests/{package.short}", *coverage, *without, *session.posargs)


@nox.session
def wire(session: nox.Session) -> None:
    """Test the strict server that the adapters' wire tests talk to."""
    session.install(*wheels(), *dependency_group("test"))
    session.run("pytest", *IN_PARALLEL, "tests/wire", *session.posargs)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Test what measures the detector and the costs."""
    session.install(*wheels(*PACKAGES), *dependency_group("test"), *dependency_group("benchmarks"))
    session.run("pytest", "tests/benchmarks", *session.posargs)


@nox.session(default=False)
def costs(session: nox.Session) -> None:
    """Measure what the guard costs, and write it down: some parts or all, and options."""
    session.install(*wheels(*PACKAGES), *dependency_group("benchmarks"))
    session.run("python", "-m", "benchmarks.costs", *session.posargs)


@nox.session(default=False)
def effect(session: nox.Session) -> None:
    """Measure what a reminder changes, at an endpoint: sample or report, and options."""
    needed = [package for package in PACKAGES if package.short == "openai_agents"]
    session.install(*wheels(*needed), *dependency_group("benchmarks"))
    session.run("python", "-m", "benchmarks.effect", *session.posargs)


@nox.session(default=False)
def replay(session: nox.Session) -> None:
    """Measure the detector on recorded conversations: the path of a file of them, and options."""
    session.install(*wheels())
    session.run("python", "-m", "benchmarks.replay", *session.posargs)


@nox.session(default=False, python=PACKAGES[0].pythons[-1])
@nox.parametrize("peer", [nox.param(str(peer), id=peer.name) for peer in PEERS])
def peers(session: nox.Session, peer: str) -> None:
    """Measure another package beside ours, in an environment of its own, and render the page about all of them."""
    session.install(*wheels(), peer, *dependency_group("benchmarks"))
    results = "benchmarks/results/peers.json"
    session.run("python", "-m", "benchmarks.peers", "--json", results, *session.posargs)
    session.run("python", "-m", "benchmarks.peers.page", results, "docs/comparison.md")


@nox.session(default=False)
def fuzz(session: nox.Session) -> None:
    """Play many random scripts on every adapter: REPEATGUARD_EXAMPLES (1000) of each kind, --hypothesis-seed=N."""
    session.install(*wheels(*PACKAGES), *dependency_group("test"), *ALL_TEST_REQUIREMENTS)
    session.env["REPEATGUARD_EXAMPLES"] = os.environ.get("REPEATGUARD_EXAMPLES", "1000")
    folders = [f"tests/{package.short}" for package in PACKAGES]
    session.run("pytest", *IN_PARALLEL, *folders, "-k", "test_random_scripts", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Look into the wheels, then run each one's example with nothing but what it requires."""
    session.install(*wheels(), *dependency_group("test"))
    session.env["REPEATGUARD_WHEELS"] = str(build())
    session.run("pytest", "tests/across/test_wheels.py", *session.posargs)
    for package in PACKAGES:
        environment = Path(session.create_tmp()) / package.short
        python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        session.run("uv", "venv", "--quiet", "--clear", "--python", sys.executable, str(environment))
        session.run("uv", "pip", "install", "--quiet", "--python", str(python), *wheels(package))
        session.run(str(python), "-I", "-c", f"import {package.module}", external=True)
        session.run(str(python), "-W", "error", f"docs/examples/try_{package.short}.py", external=True, silent=True)


@nox.session
def lint(session: nox.Session) -> None:
    """Check format and style."""
    session.install(*dependency_group("lint"))
    session.run("ruff", "format", "--check")
    session.run("ruff", "check")


@nox.session
def typing(session: nox.Session) -> None:
    """Check types, as strictly as two checkers can."""
    # From their folders: where modules name each other's types, a wheel's type would not be the type that is checked.
    editable = [argument for package in PACKAGES for argument in ("-e", str(package.folder))]
    session.install(*editable, *dependency_group("typing"), *ALL_TEST_REQUIREMENTS)
    folders = [str(package.folder / "src" / package.module) for package in PACKAGES]
    for folder in [*folders, "tests", "benchmarks", "docs/examples", "noxfile.py"]:
        session.run("mypy", folder)
    session.run("pyright", "--pythonpath", str(Path(session.bin) / "python"))


@nox.session
def docs(session: nox.Session) -> None:
    """Run what the documentation shows, and compare what it prints."""
    session.install(*wheels(*PACKAGES), *dependency_group("test"))
    session.run("pytest", "tests/across/test_docs.py", "tests/across/test_rules.py", *session.posargs)


def wheels(*packages: Package) -> list[str]:
    """Give the wheels of some packages, and of the core, which all others need."""
    names = {package.module for package in packages} | {"repeatguard_core"}
    return [str(file) for file in sorted(build().glob("*.whl")) if file.name.partition("-")[0] in names]


@functools.cache
def build() -> Path:
    """Build the wheels of all packages, once a run of nox."""
    folder = ROOT / ".nox" / "wheels"
    command = ["uv", "build", "--quiet", "--all-packages", "--wheel", "--clear", "--out-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


def dependency_group(name: str) -> list[str]:
    """Give the requirements of one of the workspace's dependency groups."""
    return list(nox.project.dependency_groups(nox.project.load_toml(ROOT / "pyproject.toml"), name))
