"""The reference passes the contract."""

from __future__ import annotations

from repeatguard_testing import AdapterContract

from tests.testing.reference import ReferenceDriver


class TestReference(AdapterContract):
    """Plain lists, and everything that the kit knows."""

    driver = ReferenceDriver()
