"""The example shows what the adapter is for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "docs/examples/try_autogen.py"


def test_the_example_shows_a_loop_that_ends() -> None:
    """Without the guard the budget is used up, with it the model answers."""
    command = [sys.executable, "-I", "-W", "error", str(EXAMPLE)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    without, with_guard = printed.split("WITH repeatguard")
    assert "there is no answer" in without
    assert "[repeatguard]" not in without
    assert with_guard.count("[repeatguard]") == 2
    assert "assistant  The export is still pending" in with_guard
    assert printed.endswith("Model requests: 12 without repeatguard, 6 with it.\n")
