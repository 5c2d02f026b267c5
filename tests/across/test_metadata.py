"""What every package says of itself to an index, the same way."""

from __future__ import annotations

import re

import pytest
from packaging.specifiers import SpecifierSet
from trove_classifiers import classifiers, deprecated_classifiers

from tests.across.distributions import ADAPTERS, HOME, PACKAGES, ROOT, Distribution

EVERYWHERE = {
    "Development Status :: 4 - Beta",
    "Intended Audience :: Developers",
    "Operating System :: OS Independent",
    "Programming Language :: Python :: 3",
    "Programming Language :: Python :: 3 :: Only",
    "Topic :: Scientific/Engineering :: Artificial Intelligence",
    "Topic :: Software Development :: Libraries :: Python Modules",
    "Typing :: Typed",
}
each_package = pytest.mark.parametrize("package", PACKAGES)


@pytest.fixture(params=["wheel", "sdist"])
def said(
    request: pytest.FixtureRequest, wheels: dict[str, Distribution], sdists: dict[str, Distribution]
) -> dict[str, Distribution]:
    """All packages' metadata, in either form."""
    return wheels if request.param == "wheel" else sdists


@each_package
def test_the_licence_is_named_and_is_there(said: dict[str, Distribution], package: str) -> None:
    """By its SPDX name, and not by a classifier as well."""
    assert said[package].all("License-Expression") == ["MIT"]
    assert said[package].all("License-File") == ["LICENSE"]
    assert not [text for text in said[package].all("Classifier") if text.startswith("License ::")]


@each_package
def test_descriptions_have_one_form(said: dict[str, Distribution], package: str) -> None:
    """Whom it tells, and of what."""
    assert re.fullmatch(
        r"(Tells|Checks that an adapter tells) an? [\w ]+ agent when it repeats the same tool call(, in [\w ]+)?",
        str(said[package].metadata["Summary"]),
    )


@each_package
def test_classifiers_exist_and_are_the_same(said: dict[str, Distribution], package: str) -> None:
    """Those that all packages have, and a framework's."""
    given = said[package].all("Classifier")
    assert set(given) <= classifiers - set(deprecated_classifiers)
    assert given == sorted(
        given, key=lambda text: [(len(part), part) if part[0] == "3" else (0, part) for part in text.split(" :: ")]
    )
    assert set(given) >= EVERYWHERE
    others = [text for text in given if text not in EVERYWHERE and "Python :: 3." not in text]
    assert all(text.startswith("Framework :: ") for text in others)
    assert "Framework :: AsyncIO" not in others or package in ADAPTERS


@each_package
def test_the_pythons_are_those_that_it_installs_on(said: dict[str, Distribution], package: str) -> None:
    """One after the other, from the lowest that is required."""
    given = [text.rpartition(" :: ")[2] for text in said[package].all("Classifier") if "Python :: 3." in text]
    first = int(given[0].partition(".")[2])
    assert given == [f"3.{minor}" for minor in range(first, first + len(given))]
    assert SpecifierSet(str(said[package].metadata["Requires-Python"])) == SpecifierSet(f">={given[0]}")


@each_package
def test_addresses_lead_home(said: dict[str, Distribution], package: str) -> None:
    """All five; a page of the repository's is there."""
    given = dict(text.split(", ", 1) for text in said[package].all("Project-URL"))
    documentation = given.pop("Documentation")
    assert given == {
        "Homepage": HOME,
        "Changelog": f"{HOME}/blob/main/CHANGELOG.md",
        "Issues": f"{HOME}/issues",
        "Source": f"{HOME}/tree/main/packages/{package}",
    }
    assert (ROOT / documentation.removeprefix(f"{HOME}/blob/main/")).is_file()


@each_package
def test_keywords_are_sorted_and_name_the_matter(said: dict[str, Distribution], package: str) -> None:
    """For those who search by what they have."""
    given = str(said[package].metadata["Keywords"]).split(",")
    assert given == sorted(given)
    assert {"agents", "guardrails", "llm", "loop detection", "repeatguard", "tool calls"} <= set(given)


@each_package
def test_the_authors_are_named(said: dict[str, Distribution], package: str) -> None:
    """As in the licence."""
    assert said[package].metadata["Author"] == "the repeatguard authors"
