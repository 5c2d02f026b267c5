"""The lists of packages in the pages are what the packages say of themselves."""

from __future__ import annotations

import pytest

from scaffolding.lists import PAGES, Package, packages, render
from tests.across.distributions import ADAPTERS, PACKAGES, ROOT
from tests.across.pages import anchors


@pytest.mark.parametrize("page", PAGES)
def test_a_pages_lists_are_up_to_date(page: str) -> None:
    """``python -m scaffolding`` writes them."""
    assert (ROOT / page).read_text(encoding="utf-8") == render(ROOT, page)


def test_the_lists_have_every_package() -> None:
    """With what is an adapter and what is not."""
    found = packages(ROOT)
    assert sorted(package.name for package in found) == PACKAGES
    assert sorted(package.name for package in found if package.is_adapter) == sorted(ADAPTERS)


@pytest.mark.parametrize(
    "package", [package for package in packages(ROOT) if package.is_adapter], ids=lambda package: package.name
)
def test_every_frameworks_page_has_the_same_sections(package: Package) -> None:
    """So that whoever changes the framework knows where to look."""
    sections = {"what-counts", "which-results-are-compared", "when-reminders-are-not-enough", "limits"}
    assert sections <= anchors(ROOT / f"docs/{package.short}.md")
