"""What the tests of this adapter share."""

from __future__ import annotations

import pytest
from agents import set_tracing_disabled


@pytest.fixture(autouse=True, scope="session")
def _no_tracing() -> None:
    """Keep the SDK from sending traces anywhere."""
    set_tracing_disabled(disabled=True)
