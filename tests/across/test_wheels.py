"""What the built wheels contain and require."""

from __future__ import annotations

import ast
import contextlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
import repeatguard_core
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, zipfile.ZipFile]]:
    """The wheels of all packages: those that are named in the environment, or new ones."""
    folder = Path(os.environ.get("REPEATGUARD_WHEELS") or tmp_path_factory.mktemp("wheels"))
    if not list(folder.iterdir()):
        command = ["uv", "build", "--quiet", "--all-packages", "--wheel", "--out-dir", str(folder)]
        subprocess.run(command, cwd=ROOT, check=True)
    with contextlib.ExitStack() as stack:
        opened = (stack.enter_context(zipfile.ZipFile(file)) for file in folder.glob("*.whl"))
        yield {Path(str(wheel.filename)).name.partition("-")[0]: wheel for wheel in opened}


def packages() -> list[str]:
    """List the packages' folders."""
    return sorted(file.parent.name for file in ROOT.glob("packages/*/pyproject.toml"))


def metadata(wheel: zipfile.ZipFile) -> Message:
    """Read a wheel's metadata."""
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def requirements(wheel: zipfile.ZipFile) -> list[Requirement]:
    """Read what a wheel requires."""
    return [Requirement(text) for text in metadata(wheel).get_all("Requires-Dist", [])]


def test_each_package_has_a_wheel(wheels: dict[str, zipfile.ZipFile]) -> None:
    """And nothing else has."""
    assert sorted(wheels) == sorted(name.replace("-", "_") for name in packages())


@pytest.mark.parametrize("package", packages())
def test_a_wheel_holds_its_module_and_its_licence(wheels: dict[str, zipfile.ZipFile], package: str) -> None:
    """Every source file, the marker for type checkers, the licence, and nothing beside them."""
    module = package.replace("-", "_")
    source = ROOT / "packages" / package / "src"
    expected = {
        file.relative_to(source).as_posix()
        for file in source.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    names = wheels[module].namelist()
    assert {name for name in names if ".dist-info/" not in name and not name.endswith("/")} == expected
    assert f"{module}/py.typed" in names
    (licence,) = [name for name in names if name.endswith("LICENSE")]
    assert "the repeatguard authors" in wheels[module].read(licence).decode()


@pytest.mark.parametrize("package", packages())
def test_a_wheel_says_what_it_is(wheels: dict[str, zipfile.ZipFile], package: str) -> None:
    """What a package index and a reader need to know."""
    fields = metadata(wheels[package.replace("-", "_")])
    assert fields["License-Expression"] == "MIT"
    assert "Typing :: Typed" in fields.get_all("Classifier", [])
    assert fields["Summary"]
    assert len(str(fields.get_payload()).splitlines()) > 10


def test_all_packages_have_one_version(wheels: dict[str, zipfile.ZipFile]) -> None:
    """Whoever reads one version knows the others."""
    assert len({metadata(wheel)["Version"] for wheel in wheels.values()}) == 1


@pytest.mark.parametrize("package", [name for name in packages() if name != "repeatguard-core"])
def test_an_adapter_requires_the_core_of_its_own_version(wheels: dict[str, zipfile.ZipFile], package: str) -> None:
    """From this version on, and below the next that may break something."""
    wheel = wheels[package.replace("-", "_")]
    version = Version(metadata(wheel)["Version"])
    cores = [requirement for requirement in requirements(wheel) if requirement.name == "repeatguard-core"]
    following = f"{version.major}.{version.minor + 1}" if version.major == 0 else f"{version.major + 1}"
    assert [core.extras for core in cores] == [set(), {"opentelemetry"}]
    for core in cores:
        assert {str(specifier) for specifier in core.specifier} == {f">={version}", f"<{following}"}


@pytest.mark.parametrize("package", [name for name in packages() if name != "repeatguard-core"])
def test_an_adapter_requires_no_other_adapter(wheels: dict[str, zipfile.ZipFile], package: str) -> None:
    """The core is the only sibling it knows."""
    siblings = {requirement.name for requirement in requirements(wheels[package.replace("-", "_")])} & set(packages())
    assert siblings == {"repeatguard-core"}


def test_the_core_requires_pydantic_alone(wheels: dict[str, zipfile.ZipFile]) -> None:
    """And a TOML reader where Python has none."""
    for python, expected in (("3.10", {"pydantic", "tomli"}), ("3.11", {"pydantic"}), ("3.13", {"pydantic"})):
        environment = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
        required = {
            requirement.name
            for requirement in requirements(wheels["repeatguard_core"])
            if requirement.marker is None or requirement.marker.evaluate(environment)
        }
        assert required == expected


def imports(file: Path) -> Iterator[tuple[str, str]]:
    """List what a file imports: each module, with each name that is taken from it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((str(node.module), alias.name) for alias in node.names)


def sources(package: str) -> list[Path]:
    """List a package's source files, without the contract kit's."""
    return [file for file in (ROOT / "packages" / package / "src").rglob("*.py") if "testing" not in file.parts]


def test_the_core_imports_pydantic_alone() -> None:
    """Beside the standard library and itself; and never the contract kit, which imports pytest."""
    allowed = {*sys.stdlib_module_names, "pydantic", "pydantic_core", "tomli", "repeatguard_core"}
    type_checking_only = {"typing_extensions"}
    with_an_extra = {"_opentelemetry.py": {"opentelemetry"}}
    for file in sources("repeatguard-core"):
        for module, _ in imports(file):
            may_be_imported = allowed | type_checking_only | with_an_extra.get(file.name, set())
            assert module.partition(".")[0] in may_be_imported, f"{file.name} imports {module}"
            assert not module.startswith("repeatguard_core.testing"), f"{file.name} imports {module}"


def test_the_chain_imports_no_file_no_clock_and_no_words() -> None:
    """It is a state machine, fed from outside."""
    modules = {module for module, _ in imports(ROOT / "packages/repeatguard-core/src/repeatguard_core/_chain.py")}
    assert not modules & {"datetime", "io", "json", "logging", "os", "pathlib", "re", "time", "tomllib"}


@pytest.mark.parametrize("package", [name for name in packages() if name != "repeatguard-core"])
def test_an_adapter_imports_the_cores_public_names_and_its_framework(package: str) -> None:
    """No underscored module of the core's, no kit, and no other adapter."""
    siblings = {name.replace("-", "_") for name in packages()} - {"repeatguard_core", package.replace("-", "_")}
    for file in sources(package):
        for module, name in imports(file):
            assert module.partition(".")[0] not in siblings, f"{file.name} imports {module}"
            if module.startswith("repeatguard_core"):
                assert module == "repeatguard_core", f"{file.name} imports {module}"
                assert name in repeatguard_core.__all__, f"{file.name} imports {name}"
