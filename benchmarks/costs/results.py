"""All that was measured, and on what."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Final

import pyperf
from pydantic import BaseModel

from benchmarks.costs.calls import CallCost
from benchmarks.costs.profiles import Profile
from benchmarks.costs.requests import RequestCost
from benchmarks.costs.runs import RunCost
from benchmarks.costs.scale import ScaleCost

__all__ = ["Costs", "Environment"]

_PACKAGES: Final = ("openai-agents", "pydantic-ai-slim", "autogen-agentchat", "pydantic")


class Environment(BaseModel, frozen=True):
    """On what was measured.

    Attributes:
        python: Python's name and version.
        processor: The processor's name.
        processors: How many of them there are.
        packages: The versions of the frameworks, and of pydantic, by name.
    """

    python: str
    processor: str
    processors: int
    packages: dict[str, str]

    @classmethod
    def this(cls) -> Environment:
        """Describe the machine and the environment that this runs in."""
        known = pyperf.Run([1.0]).get_metadata()
        return cls(
            python=f"{platform.python_implementation()} {platform.python_version()}",
            processor=str(known.get("cpu_model_name", platform.machine())),
            processors=int(known["cpu_count"]),
            packages={name: version(name) for name in _PACKAGES},
        )


class Costs(BaseModel, frozen=True):
    """All that was measured.

    Attributes:
        environment: On what.
        calls: What a call costs.
        requests: What a request costs.
        profiles: Where the time goes.
        runs: What a run costs.
        scale: What very many runs come to.
    """

    environment: Environment
    calls: tuple[CallCost, ...]
    requests: tuple[RequestCost, ...]
    profiles: tuple[Profile, ...]
    runs: tuple[RunCost, ...]
    scale: tuple[ScaleCost, ...]
