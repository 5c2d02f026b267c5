"""What all tests share."""

from __future__ import annotations

import pytest
from hypothesis import settings
from repeatguard_core.testing._report import Report

pytest_plugins = ["pytester"]

# How long an example takes says more about the machine than about the code.
settings.register_profile("repeatguard", deadline=None)
settings.load_profile("repeatguard")


def pytest_configure(config: pytest.Config) -> None:
    """Report on the contracts, also where other processes run them."""
    Report.of(config)
