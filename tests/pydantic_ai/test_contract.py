"""The adapter against the contract that all adapters share, in each way that it can be wired."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext
from repeatguard_pydantic_ai import RepeatGuard, RepeatGuardConfig, RepeatGuardProcessor
from repeatguard_pydantic_ai._derivation import Missing, RunMemory
from repeatguard_testing import AdapterContract, Capability, Options

from tests.pydantic_ai.driver import ProcessorDriver, PydanticAIDriver


class TestProcessor(AdapterContract):
    """`RepeatGuardProcessor`, as the installed release wants a history processor."""

    driver = ProcessorDriver()


class CapabilityDriver(PydanticAIDriver):
    """Wires the capability."""

    name = "pydantic_ai, capability"

    def guard(self, config: RepeatGuardConfig, **options: Any) -> Any:
        return RepeatGuard(config, **options)


class TestCapability(AdapterContract):
    """`RepeatGuard` among an agent's capabilities."""

    driver = CapabilityDriver()


class BothDriver(PydanticAIDriver):
    """Wires both forms at once, in one order and, where the guard is wired twice, in the other as well."""

    name = "pydantic_ai, both"
    lacks = {  # noqa: RUF012 - it is never changed
        **PydanticAIDriver.lacks,
        Capability.CUT_HISTORY: "not yet: the processor remembers nothing of a run",
    }

    def guard(self, config: RepeatGuardConfig, **options: Any) -> Any:
        capability: RepeatGuard[Any] = RepeatGuard(config, **options)
        processor = RepeatGuardProcessor(config, **options)
        processor._support = capability._support  # a fault is logged once a guard, and here they count as one
        return capability, processor

    def wiring(self, guard: Any, options: Options) -> list[Any]:
        return [*guard, *reversed(guard)] if options.wired_twice else list(guard)


class TestBoth(AdapterContract):
    """Both forms at once give each reminder once."""

    driver = BothDriver()


NOTHING_IN_SIGHT = "without a memory, only what is in sight counts"


class ForgetfulMemory(RunMemory):
    """Knows nothing of the requests before."""

    def missing(self, messages: Any, run_id: Any, new_chain: Any) -> Missing | None:
        return RunMemory().missing(messages, run_id, new_chain)


class ForgetfulGuard(RepeatGuard[Any]):
    """Gives each run such a memory."""

    async def for_run(self, ctx: RunContext[Any]) -> RepeatGuard[Any]:
        guard = await super().for_run(ctx)
        guard._memory = ForgetfulMemory()
        return guard


class ForgetfulDriver(CapabilityDriver):
    """Wires the capability without its memory."""

    name = "pydantic_ai, memory dropped"
    lacks = {  # noqa: RUF012 - it is never changed
        **PydanticAIDriver.lacks,
        Capability.CUT_HISTORY: NOTHING_IN_SIGHT,
        Capability.SUMMED_UP_HISTORY: NOTHING_IN_SIGHT,
    }

    def guard(self, config: RepeatGuardConfig, **options: Any) -> Any:
        return ForgetfulGuard(config, **options)


class TestMemoryDropped(AdapterContract):
    """As long as everything is in sight, a run's memory may be lost at any moment: no request changes."""

    driver = ForgetfulDriver()
