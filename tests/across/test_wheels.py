"""What the built wheels and sdists contain and require."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import repeatguard_core
import repeatguard_core.adapters
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.across.distributions import ADAPTERS, CORE, KIT, PACKAGES, ROOT, Distribution

#: The modules of the core that others may import, each with what it exports.
PUBLIC = {module.__name__: set(module.__all__) for module in (repeatguard_core, repeatguard_core.adapters)}
MIT = (ROOT / "LICENSE").read_bytes()


def sources_of(package: str) -> dict[str, bytes]:
    """Read a package's source files, by their paths in its wheel."""
    folder = ROOT / "packages" / package / "src"
    files = [file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def test_each_package_has_a_wheel_and_an_sdist(
    built: Path, wheels: dict[str, Distribution], sdists: dict[str, Distribution]
) -> None:
    """And nothing else has."""
    assert sorted(wheels) == sorted(sdists) == PACKAGES
    kept = [file for file in built.iterdir() if file.suffix in {".whl", ".gz"}]
    assert len(kept) == 2 * len(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_all_packages_have_the_version_of_the_workspace(wheels: dict[str, Distribution], package: str) -> None:
    """Whoever reads one version knows the others."""
    command = ["uv", "version", "--short", "--project", str(ROOT)]
    version = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert wheels[package].metadata["Version"] == version


@pytest.mark.parametrize("package", PACKAGES)
def test_a_wheel_holds_its_module_and_its_licence(wheels: dict[str, Distribution], package: str) -> None:
    """Every source file, the marker for type checkers, the licence, and nothing beside them."""
    files = wheels[package].files
    assert {name: content for name, content in files.items() if ".dist-info/" not in name} == sources_of(package)
    assert f"{package.replace('-', '_')}/py.typed" in files
    assert [content for name, content in files.items() if name.endswith(".dist-info/licenses/LICENSE")] == [MIT]


@pytest.mark.parametrize("package", PACKAGES)
def test_an_sdist_holds_what_a_wheel_is_built_from(sdists: dict[str, Distribution], package: str) -> None:
    """The same source files, with the page, the licence and the build's configuration."""
    files = dict(sdists[package].files)
    folder = ROOT / "packages" / package
    # A backend may write the configuration in a form of its own, and keep ours beside it.
    assert files.pop("PKG-INFO")
    assert files.pop("pyproject.toml")
    files.pop("pyproject.toml.orig", None)
    expected = {f"src/{name}": content for name, content in sources_of(package).items()}
    assert files == expected | {"README.md": (folder / "README.md").read_bytes(), "LICENSE": MIT}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_wheel_and_its_sdist_say_the_same(
    wheels: dict[str, Distribution], sdists: dict[str, Distribution], package: str
) -> None:
    """Of themselves, field by field."""
    assert sorted(wheels[package].metadata.items()) == sorted(sdists[package].metadata.items())
    assert wheels[package].page == sdists[package].page


@pytest.mark.parametrize("package", ADAPTERS)
def test_an_adapter_requires_the_core_of_its_own_version(wheels: dict[str, Distribution], package: str) -> None:
    """From this version on, and below the next minor one."""
    version = Version(wheels[package].metadata["Version"])
    cores = [requirement for requirement in wheels[package].requirements if requirement.name == CORE]
    assert [core.extras for core in cores] == [set(), {"opentelemetry"}]
    for core in cores:
        assert core.specifier == SpecifierSet(f"~={version}")
        assert core.specifier.contains(f"{version.major}.{version.minor}.{version.micro + 1}")
        assert not core.specifier.contains(f"{version.major}.{version.minor + 1}.0")


@pytest.mark.parametrize("package", ADAPTERS)
def test_an_adapter_requires_no_other_adapter(wheels: dict[str, Distribution], package: str) -> None:
    """The core is the only sibling it knows."""
    assert {requirement.name for requirement in wheels[package].requirements} & set(PACKAGES) == {CORE}


def test_the_core_requires_pydantic_alone(wheels: dict[str, Distribution]) -> None:
    """And a TOML reader where Python has none."""
    for python, expected in (("3.10", {"pydantic", "tomli"}), ("3.11", {"pydantic"}), ("3.13", {"pydantic"})):
        environment = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
        required = {
            requirement.name
            for requirement in wheels[CORE].requirements
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
    """List a package's source files."""
    return sorted((ROOT / "packages" / package / "src").rglob("*.py"))


def test_the_core_imports_pydantic_alone() -> None:
    """Beside the standard library and itself; never the contract kit, and never pytest."""
    allowed = {*sys.stdlib_module_names, "pydantic", "pydantic_core", "tomli", "repeatguard_core"}
    type_checking_only = {"typing_extensions"}
    with_an_extra = {"_telemetry.py": {"opentelemetry"}}
    for file in sources("repeatguard-core"):
        for module, _ in imports(file):
            may_be_imported = allowed | type_checking_only | with_an_extra.get(file.name, set())
            assert module.partition(".")[0] in may_be_imported, f"{file.name} imports {module}"


def test_the_kit_imports_what_the_core_exports() -> None:
    """Beside the standard library, pytest, Hypothesis and itself, so that it holds for every version of the core."""
    allowed = {*sys.stdlib_module_names, "hypothesis", "pytest", "repeatguard_testing"}
    for file in sources(KIT):
        for module, name in imports(file):
            if module.partition(".")[0] == "repeatguard_core":
                assert module == "repeatguard_core", f"{file.name} imports {module}"
                assert name in repeatguard_core.__all__, f"{file.name} imports {name}"
            else:
                assert module.partition(".")[0] in allowed, f"{file.name} imports {module}"


def test_the_kit_requires_the_core_of_its_own_version(wheels: dict[str, Distribution]) -> None:
    """And brings its plugin to pytest by itself."""
    version = wheels[KIT].metadata["Version"]
    (core,) = [requirement for requirement in wheels[KIT].requirements if requirement.name == CORE]
    assert core.specifier == SpecifierSet(f"~={version}")
    (points,) = [content for name, content in wheels[KIT].files.items() if name.endswith("entry_points.txt")]
    assert points.decode().split() == ["[pytest11]", "repeatguard", "=", "repeatguard_pytest"]


@pytest.mark.parametrize("name", ["_state.py", "_chain.py"])
def test_the_state_machine_imports_no_file_no_clock_and_no_logging(name: str) -> None:
    """It is fed from outside."""
    modules = {module for module, _ in imports(ROOT / "packages/repeatguard-core/src/repeatguard_core" / name)}
    assert not modules & {"datetime", "io", "json", "logging", "os", "pathlib", "re", "time", "tomllib"}


@pytest.mark.parametrize("package", ADAPTERS)
def test_an_adapter_imports_the_cores_public_names_and_its_framework(package: str) -> None:
    """No underscored module of the core's, no kit, and no other adapter."""
    siblings = {name.replace("-", "_") for name in PACKAGES} | {"repeatguard_pytest"}
    siblings -= {"repeatguard_core", package.replace("-", "_")}
    for file in sources(package):
        for module, name in imports(file):
            assert module.partition(".")[0] not in siblings, f"{file.name} imports {module}"
            if module.partition(".")[0] == "repeatguard_core":
                assert module in PUBLIC, f"{file.name} imports {module}"
                assert name in PUBLIC[module], f"{file.name} imports {name} from {module}"


def test_the_core_has_no_test_code(wheels: dict[str, Distribution]) -> None:
    """No test, no part of the contract kit, and no entry point for pytest."""
    for name, content in wheels[CORE].files.items():
        assert not re.search(r"(^|[/_])(test|tests|testing|conftest)\b", name), name
        assert not name.endswith("entry_points.txt")
        assert not name.endswith(".py") or not re.search(rb"\b(pytest|hypothesis|repeatguard_testing)\b", content), name
