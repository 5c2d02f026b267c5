"""Drivers of the guards that give an answer, which the program is to heed, or another result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from benchmarks.peers.driver import UNSEEN, Call, Driver, parsed, parsed_or_text

__all__ = ["AbleLoopGuard", "AbleProgressGuard", "AgentLoopGuard", "LongGuard", "Unwedge"]


class AgentLoopGuard(Driver):
    """`LoopGuard.check`, with the output that it may be given."""

    package = "agent-loop-guard"
    guard = "agent-loop-guard"

    def __init__(self) -> None:
        self._guard = import_module("loop_guard").LoopGuard()

    def prepare(self, call: Call) -> tuple[str, Any, str]:
        return call.name, parsed_or_text(call), call.result

    def observe(self, prepared: tuple[str, Any, str]) -> str | None:
        action: str = self._guard.check(*prepared).action.name
        return {"WARN": "warns", "STOP": "stops", "ESCALATE": "escalates"}.get(action)

    def tell_of_user(self) -> bool:
        self._guard.reset()
        return True

    begin_run = tell_of_user


class AbleLoopGuard(Driver):
    """`LoopGuardMiddleware`, around each call that LangChain lets run; it looks at arguments alone."""

    package = "able-harness-kit"
    guard = "able-harness-kit `LoopGuardMiddleware`"
    _class = "LoopGuardMiddleware"

    def __init__(self) -> None:
        self._request = import_module("langchain.agents.middleware.types").ToolCallRequest
        self._message = import_module("langchain_core.messages").ToolMessage
        self._signals: list[Any] = []
        make: Callable[..., Any] = getattr(import_module("able_harness_kit"), self._class)
        self._middleware = make(on_signal=self._signals.append)

    def prepare(self, call: Call) -> Any:
        arguments = parsed(call.arguments)
        if call.denied or not isinstance(arguments, dict):
            return UNSEEN
        asked = {"name": call.name, "args": arguments, "id": "c", "type": "tool_call"}
        result = self._message(call.result, tool_call_id="c", name=call.name)
        return self._request(tool_call=asked, tool=None, state={}, runtime=None), result

    def observe(self, prepared: Any) -> str | None:
        request, result = prepared
        self._signals.clear()

        def handler(_: object) -> object:
            return result

        if self._middleware.wrap_tool_call(request, handler) is not result:
            return "replaces"
        return "logs" if any(self._is_warning(signal) for signal in self._signals) else None

    def _is_warning(self, signal: Any) -> bool:
        return bool(signal.action.value == "warn")


class AbleProgressGuard(AbleLoopGuard):
    """`ProgressAwareLoopGuardMiddleware`, which compares results too."""

    guard = "able-harness-kit `ProgressAwareLoopGuardMiddleware`"
    _class = "ProgressAwareLoopGuardMiddleware"

    def _is_warning(self, signal: Any) -> bool:
        return bool(signal.stalled)


class Unwedge(Driver):
    """`Guard.on_turn` for what `session_turns` makes of OpenAI-style messages; no provider, no shadow mode."""

    package = "unwedge"
    guard = "unwedge"

    def __init__(self) -> None:
        self._api = import_module("unwedge")
        self._turns: Callable[..., Any] = import_module("unwedge.adapters.messages").session_turns
        self.begin_run()

    def prepare(self, call: Call) -> list[dict[str, Any]]:
        asked = {"id": "c", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        return [
            {"role": "assistant", "content": None, "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": "c", "content": call.result},
        ]

    def observe(self, prepared: list[dict[str, Any]]) -> str | None:
        self._index += 1
        (turn,) = self._turns(prepared)
        action: str = self._guard.on_turn(replace(turn, index=self._index)).decision.action.value
        return {"hint": "hints", "escalate": "escalates"}.get(action)

    def tell_of_user(self) -> bool:
        self._guard.set_goal("Do what the user said last.")
        return True

    def begin_run(self) -> bool:
        self._guard = self._api.Guard("Do it.", None, self._api.GuardConfig.for_provider(None, shadow=False))
        self._index = 0
        return True


class LongGuard(Driver):
    """`CircuitBreaker.check`, for steps without thoughts and token counts."""

    package = "longguard"
    guard = "longguard"

    def __init__(self) -> None:
        self._api = import_module("longguard")
        self._breaker = self._api.CircuitBreaker(self._api.GuardConfig())
        self._number = 0

    def prepare(self, call: Call) -> Any:
        self._number += 1
        return self._api.AgentStep(
            self._number, thought="", action=call.name, action_input=parsed_or_text(call), observation=call.result
        )

    def observe(self, prepared: Any) -> str | None:
        action: str = self._breaker.check(prepared).action
        return {"reflect": "reflects", "kill": "kills"}.get(action)

    def tell_of_user(self) -> bool:
        self._breaker.reset()
        return True

    begin_run = tell_of_user
