"""All checks of the repository: `nox` runs them, `nox -l` lists them.

Packages are found by looking under packages/. For each, tests/ has a folder of its name, without
"repeatguard-" and with underscores. For the core and for each adapter, docs/examples/ has a file
try_<that name>.py, and for a framework also use_<that name>.py. A file with nothing but a framework's
name would be imported in its place.
"""

from __future__ import annotations

import functools
import os
import shutil
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
nox.options.sessions = ["lint", "typing", "tests", "wire", "benchmarks", "wheel", "docs", "site"]

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
        """The name of its tests and its examples."""
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
#: What tests import beside what they test: the contract kit, with its report.
KIT = next(package for package in PACKAGES if package.short == "testing")
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
    session.install(*wheels(package, KIT), *pins, *extra, *dependency_group("test"))
    # Measuring tells the same of a package whatever it runs on: once is enough, and not where much is played.
    is_measured = releases == "newest" and session.python == package.pythons[0]
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
    """Look into wheels and sdists, then run each wheel's examples with nothing but what it requires."""
    session.install(*wheels(), *dependency_group("test"), *dependency_group("release"))
    session.run("twine", "check", "--strict", *distributions())
    session.env["REPEATGUARD_DISTRIBUTIONS"] = str(build())
    session.run("pytest", "tests/across/test_wheels.py", "tests/across/test_metadata.py", *session.posargs)
    run_examples(session)


def run_examples(session: nox.Session) -> None:
    """Install each wheel into an environment of its own, and run its examples there."""
    for package in PACKAGES:
        environment = Path(session.create_tmp()) / package.short
        python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        session.run("uv", "venv", "--quiet", "--clear", "--python", sys.executable, str(environment))
        session.run("uv", "pip", "install", "--quiet", "--python", str(python), *wheels(package))
        session.run(str(python), "-I", "-c", f"import {package.module}", external=True)
        for example in sorted(ROOT.glob(f"docs/examples/*_{package.short}.py")):
            session.run(str(python), "-W", "error", str(example), external=True, silent=True)


@nox.session(default=False, python=PACKAGES[0].pythons[-1])
def release(session: nox.Session) -> None:
    """Do all of a release up to publishing, and leave what is to be published in dist/: the tag, if there is one."""
    target = ROOT / "dist"
    shutil.rmtree(target, ignore_errors=True)
    # What is built has to be what is committed; an untracked file would go into an sdist as well.
    if session.run("git", "status", "--porcelain", external=True, silent=True):
        session.error("There are changes that are not committed.")
    groups = [*dependency_group("test"), *dependency_group("release"), *ALL_TEST_REQUIREMENTS]
    session.install(*wheels(*PACKAGES), *groups)
    session.run("python", "-m", "releasing", *session.posargs)
    session.run("twine", "check", "--strict", *distributions())
    session.env["REPEATGUARD_DISTRIBUTIONS"] = str(build())
    folders = [f"tests/{package.short}" for package in PACKAGES]
    session.run("pytest", *IN_PARALLEL, "tests/across", *folders, "-k", "not test_random_scripts")
    run_examples(session)
    target.mkdir()
    for file in distributions():
        shutil.copy(file, target)
    session.log(f"dist/ holds {len(distributions())} files.")


@nox.session
def lint(session: nox.Session) -> None:
    """Check format and style."""
    session.install(*dependency_group("lint"))
    session.run("ruff", "format", "--check")
    session.run("ruff", "check")
    for schema, pattern in (("workflows", "workflows/*"), ("issue-forms", "ISSUE_TEMPLATE/[!c]*")):
        files = [str(file) for file in sorted((ROOT / ".github").glob(f"{pattern}.yml"))]
        session.run("check-jsonschema", "--builtin-schema", f"vendor.github-{schema}", *files)


@nox.session
def typing(session: nox.Session) -> None:
    """Check types, as strictly as two checkers can."""
    # From their folders: where modules name each other's types, a wheel's type would not be the type that is checked.
    editable = [argument for package in PACKAGES for argument in ("-e", str(package.folder))]
    session.install(*editable, *dependency_group("typing"), *dependency_group("release"), *ALL_TEST_REQUIREMENTS)
    folders = sorted(str(file.parent) for package in PACKAGES for file in package.folder.glob("src/*/py.typed"))
    others = ["tests", "benchmarks", "docs/examples", "docs/site", "releasing", "scaffolding", "noxfile.py"]
    for folder in [*folders, *others]:
        session.run("mypy", folder)
    session.run("pyright", "--pythonpath", str(Path(session.bin) / "python"))


@nox.session
def docs(session: nox.Session) -> None:
    """Run what the documentation shows, and compare what it prints."""
    groups = [*dependency_group("test"), *dependency_group("release"), *ALL_TEST_REQUIREMENTS]
    session.install(*wheels(*PACKAGES), *groups)
    session.env["REPEATGUARD_DISTRIBUTIONS"] = str(build())
    elsewhere = {"test_wheels.py", "test_metadata.py", "test_site.py"}  # other sessions run these
    files = [str(file) for file in sorted(ROOT.glob("tests/across/test_*.py")) if file.name not in elsewhere]
    session.run("pytest", *files, *session.posargs)


@nox.session
def site(session: nox.Session) -> None:
    """Build the documentation site in build/site, with warnings as errors, and look it over."""
    session.install(*wheels(*PACKAGES), *dependency_group("docs"), *dependency_group("test"))
    folder = ROOT / "build" / "site"
    shutil.rmtree(folder, ignore_errors=True)
    strictly = ["--fail-on-warning", "--keep-going", "--quiet"]
    places = ["--conf-dir", "docs/site", "--doctree-dir", session.create_tmp()]
    session.run("sphinx-build", *strictly, "--fresh-env", *places, ".", str(folder))
    session.env["REPEATGUARD_SITE"] = str(folder)
    session.run("pytest", "tests/across/test_site.py", *session.posargs)


def wheels(*packages: Package) -> list[str]:
    """Give the wheels of some packages, and of the core, which all others need."""
    names = {package.module for package in packages} | {"repeatguard_core"}
    return [str(file) for file in sorted(build().glob("*.whl")) if file.name.partition("-")[0] in names]


def distributions() -> list[str]:
    """Give all wheels and sdists."""
    return [str(file) for file in sorted(build().iterdir()) if file.name.endswith((".whl", ".tar.gz"))]


@functools.cache
def build() -> Path:
    """Build the sdists of all packages, and from these the wheels, once a run of nox."""
    folder = ROOT / ".nox" / "distributions"
    command = ["uv", "build", "--quiet", "--all-packages", "--clear", "--out-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


def dependency_group(name: str) -> list[str]:
    """Give the requirements of one of the workspace's dependency groups."""
    return list(nox.project.dependency_groups(nox.project.load_toml(ROOT / "pyproject.toml"), name))
