"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = ["pytester", "tests.telemetry"]

# How long an example takes says more about the machine than about the code.
settings.register_profile("repeatguard", deadline=None)
settings.load_profile("repeatguard")
