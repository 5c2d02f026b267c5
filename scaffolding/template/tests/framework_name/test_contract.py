"""The adapter keeps the contract."""

from __future__ import annotations

from repeatguard_testing import AdapterContract

from tests.framework_name.driver import FrameworkDriver


class TestFrameworkName(AdapterContract):
    """The contract's tests, with this driver."""

    driver = FrameworkDriver()
