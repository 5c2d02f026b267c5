"""What the tests of this adapter share."""

from __future__ import annotations

from pathlib import Path

import pytest

#: AutoGen's own: every team answers a message with None, and it warns of that as soon as there is a handler.
KNOWN_WARNING = "ignore:Intervention handler on_response returned None:RuntimeWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let AutoGen's known warning through, as the documentation tells its users to."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings(KNOWN_WARNING))
