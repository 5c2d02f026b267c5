"""The contract kit's part in pytest: it adds the report, and comes with the package's entry point.

It is a package of its own so that nothing of the kit is imported before coverage is measured.
"""

from __future__ import annotations

import pytest

__all__ = ["pytest_configure"]


def pytest_configure(config: pytest.Config) -> None:
    """Add the report to a test run.

    Args:
        config: The test run's configuration.
    """
    from repeatguard_testing._report import Report  # noqa: PLC0415 - not before coverage is measured

    config.pluginmanager.register(Report(), "repeatguard-report")
