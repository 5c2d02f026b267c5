"""The adapter against the contract that all adapters share."""

from __future__ import annotations

from repeatguard_core.testing import AdapterContract

from tests.openai_agents.driver import OpenAIAgentsDriver


class TestContract(AdapterContract):
    """`RepeatGuardHooks` as run hooks."""

    driver = OpenAIAgentsDriver()
