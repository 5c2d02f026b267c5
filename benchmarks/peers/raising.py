"""Drivers of the guards that raise an exception."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from typing import Any

from benchmarks.peers.driver import Call, Driver, parsed_or_text, parsed_or_wrapped

__all__ = ["AgentBudgetGuard", "AgentGuardFuzzy", "AgentGuardLoop", "AgentWatchdog", "AgentbeltLoop", "TrajectoryFuse"]


class TrajectoryFuse(Driver):
    """`AgentFuse.observe`, behind each call."""

    package = "trajectory-fuse"
    guard = "trajectory-fuse"

    def __init__(self) -> None:
        self._api = import_module("trajectory_fuse")
        self._fuse = self._api.AgentFuse()

    def prepare(self, call: Call) -> Any:
        return self._api.Action(call.name, parsed_or_text(call), result=call.result, success=not call.denied)

    def observe(self, prepared: Any) -> str | None:
        try:
            self._fuse.observe(prepared)
        except self._api.DeadlockDetected:
            return "raises"
        return None

    def tell_of_user(self) -> bool:
        self._fuse.reset()
        return True

    begin_run = tell_of_user


class AgentGuardLoop(Driver):
    """`LoopGuard.check`, before each call."""

    package = "agentguard47"
    guard = "agentguard47 `LoopGuard`"
    _class = "LoopGuard"

    def __init__(self) -> None:
        self._api = import_module("agentguard")
        self._guard = getattr(self._api, self._class)()

    def prepare(self, call: Call) -> tuple[str, dict[str, Any]]:
        return call.name, parsed_or_wrapped(call)

    def observe(self, prepared: tuple[str, dict[str, Any]]) -> str | None:
        try:
            self._guard.check(*prepared)
        except self._api.LoopDetected:
            return "raises"
        return None

    def tell_of_user(self) -> bool:
        self._guard.reset()
        return True

    begin_run = tell_of_user


class AgentGuardFuzzy(AgentGuardLoop):
    """`FuzzyLoopGuard.check`, before each call."""

    guard = "agentguard47 `FuzzyLoopGuard`"
    _class = "FuzzyLoopGuard"


class AgentbeltLoop(Driver):
    """`LoopDetector.record` and `check`, with the run as its session."""

    package = "agentbelt-loop"
    guard = "agentbelt-loop"

    def __init__(self) -> None:
        self._api = import_module("agentbelt_loop")
        self._detector = self._api.LoopDetector()
        self._run = 0

    def prepare(self, call: Call) -> tuple[str, dict[str, Any], str]:
        return call.name, parsed_or_wrapped(call), call.result

    def observe(self, prepared: tuple[str, dict[str, Any], str]) -> str | None:
        session = str(self._run)
        self._detector.record(session, *prepared)
        try:
            self._detector.check(session)
        except self._api.LoopDetected:
            return "raises"
        return None

    def tell_of_user(self) -> bool:
        self._detector.reset(str(self._run))
        return True

    def begin_run(self) -> bool:
        self._run += 1
        return True


class AgentBudgetGuard(Driver):
    """`Guard.step` and `Step.tool`, around each call, with no budget."""

    package = "agent-budget-guard-py"
    guard = "agent-budget-guard-py"

    def __init__(self) -> None:
        self._api = import_module("agentguard")
        self._guard = self._api.Guard()

    def prepare(self, call: Call) -> tuple[str, Any]:
        return call.name, parsed_or_text(call)

    def observe(self, prepared: tuple[str, Any]) -> str | None:
        try:
            with self._guard.step() as step, step.tool(*prepared):
                return None
        except self._api.LoopDetected:
            return "raises"

    def tell_of_user(self) -> bool:
        self._guard.reset()
        return True

    begin_run = tell_of_user


class AgentWatchdog(Driver):
    """`record_tool_call`, inside a `watch` for each run."""

    package = "agent-watchdog"
    guard = "agent-watchdog"

    def __init__(self) -> None:
        self._api = import_module("agent_watchdog")
        self._watchdog = self._api.AgentWatchdog()
        self._watch = ExitStack()
        self._watch.enter_context(self._watchdog.watch())

    def prepare(self, call: Call) -> tuple[str, Any, str]:
        return call.name, parsed_or_text(call), call.result

    def observe(self, prepared: tuple[str, Any, str]) -> str | None:
        try:
            self._watchdog.record_tool_call(*prepared)
        except self._api.WatchdogHalt:
            return "raises"
        return None

    def begin_run(self) -> bool:
        self._watch.close()
        self._watch.enter_context(self._watchdog.watch())
        return True

    def close(self) -> None:
        self._watch.close()
