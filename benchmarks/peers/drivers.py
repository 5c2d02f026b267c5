"""All drivers. Packages are imported when a driver is made, since none of them has to be installed."""

from __future__ import annotations

from typing import Any, Final

from repeatguard_core import RepeatChain, RepeatGuardConfig, ToolCall

from benchmarks.peers.answering import AbleLoopGuard, AbleProgressGuard, AgentLoopGuard, LongGuard, Unwedge
from benchmarks.peers.driver import Call, Driver
from benchmarks.peers.raising import (
    AgentbeltLoop,
    AgentBudgetGuard,
    AgentGuardFuzzy,
    AgentGuardLoop,
    AgentWatchdog,
    TrajectoryFuse,
)

__all__ = ["DRIVERS", "GUARDS", "OURS", "SET_UP", "Ours"]


class Ours(Driver):
    """A chain for each run, which takes JSON text and all calls of a response at once."""

    package = "repeatguard-core"
    guard = "repeatguard-core"

    def __init__(self, config: RepeatGuardConfig | None = None) -> None:
        self._config = config
        self._chain = RepeatChain(config)

    def prepare(self, call: Call) -> ToolCall:
        return ToolCall(call.name, call.arguments, call.result)

    def observe(self, prepared: ToolCall) -> str | None:
        return "reminds" if self._chain.observe([prepared]) else None

    def observe_response(self, prepared: list[Any]) -> list[str | None]:
        reminder = self._chain.observe(prepared)
        return [None] * (len(prepared) - 1) + ["reminds" if reminder else None]

    def tell_of_user(self) -> bool:
        self._chain.reset()
        return True

    def begin_run(self) -> bool:
        self._chain = RepeatChain(self._config)
        return True


OURS: Final[type[Driver]] = Ours
#: The settings of ours that are about a scenario, by the scenario's name.
SET_UP: Final = {
    "bookkeeping": RepeatGuardConfig(exclude=("todo",)),
    "poll": RepeatGuardConfig(on_changed_result="reset"),
}
DRIVERS: Final[tuple[type[Driver], ...]] = (
    AbleLoopGuard,
    AbleProgressGuard,
    AgentBudgetGuard,
    AgentLoopGuard,
    AgentWatchdog,
    AgentbeltLoop,
    AgentGuardLoop,
    AgentGuardFuzzy,
    LongGuard,
    TrajectoryFuse,
    Unwedge,
)
GUARDS: Final = (OURS, *DRIVERS)
