"""The frameworks, each a module with the same functions: what is measured in it."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from benchmarks.costs.frameworks import autogen, openai_agents, pydantic_ai

__all__ = ["FRAMEWORKS"]

FRAMEWORKS: Final[tuple[ModuleType, ...]] = (openai_agents, pydantic_ai, autogen)
