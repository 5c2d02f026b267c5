"""The lists of packages in the pages are what the packages say of themselves."""

from __future__ import annotations

import pytest

from scaffolding.lists import PAGES, packages, render
from tests.across.distributions import ADAPTERS, PACKAGES, ROOT


@pytest.mark.parametrize("page", PAGES)
def test_a_pages_lists_are_up_to_date(page: str) -> None:
    """``python -m scaffolding`` writes them."""
    assert (ROOT / page).read_text(encoding="utf-8") == render(ROOT, page)


def test_the_lists_have_every_package() -> None:
    """With what is an adapter and what is not."""
    found = packages(ROOT)
    assert sorted(package.name for package in found) == PACKAGES
    assert sorted(package.name for package in found if package.is_adapter) == sorted(ADAPTERS)
