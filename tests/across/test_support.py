"""The page about what is supported says what is tested."""

from __future__ import annotations

import re

import pytest

from tests.across.distributions import PACKAGES, ROOT

PAGE = (ROOT / "docs/support.md").read_text(encoding="utf-8")


def row_of(package: str) -> list[str]:
    """Give the cells of a package's row, without the marks of code."""
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{package}`")]
    return [cell.strip(" `") for cell in row.strip("|").split("|")]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_row_of_a_package_is_what_its_configuration_says(package: str) -> None:
    """Pythons, what it needs, the lowest release, and those in between."""
    text = (ROOT / "packages" / package / "pyproject.toml").read_text(encoding="utf-8")
    pythons = re.findall(r"Python :: (3\.\d+)", text)
    (required,) = re.findall(r'^dependencies = \[\n    "([\w-]+)>=([\d.]+)', text, re.MULTILINE)
    between = re.findall(r"^releases = \[(.*?)\]", text, re.MULTILINE)
    listed = between[0].replace('"', "") if between else ""
    assert row_of(package) == [package, f"{pythons[0]} to {pythons[-1]}", *required, listed, "the newest"]


def test_the_page_has_a_row_for_each_package() -> None:
    """And for nothing else."""
    assert sorted(re.findall(r"^\| `(repeatguard-[\w-]+)`", PAGE, re.MULTILINE)) == PACKAGES
