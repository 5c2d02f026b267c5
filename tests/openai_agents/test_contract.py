"""The adapter against the contract that all adapters share, in each way that it can be wired."""

from __future__ import annotations

from typing import Any

from repeatguard_core.adapters import RunMemory
from repeatguard_openai_agents import RepeatGuardConfig, RepeatGuardHooks
from repeatguard_testing import AdapterContract, Capability

from tests.openai_agents.driver import OpenAIAgentsDriver


class TestRunHooks(AdapterContract):
    """`RepeatGuardHooks` as the hooks of a run."""

    driver = OpenAIAgentsDriver()


class AgentHooksDriver(OpenAIAgentsDriver):
    """Wires agent hooks alone."""

    name = "openai_agents, agent hooks"
    by_agent_hooks = True


class TestAgentHooks(AdapterContract):
    """``guard.agent_hooks()`` as the hooks of each agent."""

    driver = AgentHooksDriver()


NOTHING_IN_SIGHT = "without a memory, only what is in sight counts"


class ForgetfulDriver(OpenAIAgentsDriver):
    """Drops what is remembered of a run whenever it is looked up."""

    name = "openai_agents, memory dropped"
    lacks = {  # noqa: RUF012 - it is never changed
        **OpenAIAgentsDriver.lacks,
        Capability.CUT_HISTORY: NOTHING_IN_SIGHT,
        Capability.KEPT_ELSEWHERE: NOTHING_IN_SIGHT,
        Capability.REUSED_CALL_IDS: NOTHING_IN_SIGHT,
        Capability.SUMMED_UP_HISTORY: NOTHING_IN_SIGHT,
    }

    def guard(self, config: RepeatGuardConfig, **options: Any) -> RepeatGuardHooks:
        guard = super().guard(config, **options)
        guard._guard.memory = lambda context: RunMemory()  # type: ignore[method-assign]
        return guard


class TestMemoryDropped(AdapterContract):
    """As long as everything is in sight, a run's memory may be lost at any moment: no request changes."""

    driver = ForgetfulDriver()
