"""What the tests of this adapter share."""

from __future__ import annotations

from typing import Any

import pytest
from repeatguard_pydantic_ai import RepeatGuard, RepeatGuardProcessor


@pytest.fixture(params=[RepeatGuardProcessor, RepeatGuard])
def form(request: pytest.FixtureRequest) -> Any:
    """Each of the forms that the guard has."""
    return request.param
