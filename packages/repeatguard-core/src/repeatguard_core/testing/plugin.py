"""The contract's report as a pytest plugin.

The report comes by itself where the contract's tests run in pytest's own process. Where other
processes run them, as with pytest-xdist, put this into the outermost ``conftest.py``::

    pytest_plugins = ["repeatguard_core.testing.plugin"]
"""

from __future__ import annotations

import pytest

from repeatguard_core.testing._report import Report

__all__ = ["pytest_configure"]


def pytest_configure(config: pytest.Config) -> None:
    """Add the report to a test run."""
    Report.of(config)
