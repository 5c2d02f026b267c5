"""The adapter against the contract that all adapters share, in each way that it can be wired."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.models import ModelRequestContext
from repeatguard_pydantic_ai import RepeatGuard, RepeatGuardConfig, RepeatGuardProcessor
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
        Capability.CUT_HISTORY: "the processor keeps nothing between two requests",
        Capability.SUMMED_UP_HISTORY: "the processor keeps nothing between two requests",
    }

    def guard(self, config: RepeatGuardConfig, **options: Any) -> Any:
        capability: RepeatGuard[Any] = RepeatGuard(config, **options)
        processor = RepeatGuardProcessor(config, **options)
        processor._guard = capability._guard  # a fault is logged once a guard, and here they count as one
        return capability, processor

    def wiring(self, guard: Any, options: Options) -> list[Any]:
        return [*guard, *reversed(guard)] if options.wired_twice else list(guard)


class TestBoth(AdapterContract):
    """Both forms at once give each reminder once."""

    driver = BothDriver()


NOTHING_IN_SIGHT = "without a memory, only what is in sight counts"


class ForgetfulGuard(RepeatGuard[Any]):
    """Knows nothing of the requests before."""

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self._memory = None
        return await super().before_model_request(ctx, request_context)


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
