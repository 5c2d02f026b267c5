"""The reference passes the contract."""

from __future__ import annotations

from repeatguard_core.testing import AdapterContract

from tests.core.kit.reference import ReferenceDriver


class TestReference(AdapterContract):
    """Plain lists, and everything that the kit knows."""

    driver = ReferenceDriver()
