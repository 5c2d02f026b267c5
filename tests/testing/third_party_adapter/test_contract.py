"""The pretend adapter against the contract: all that an adapter's author has to write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

from repeatguard_core import RepeatGuardConfig, RepeatLoopError
from repeatguard_testing import (
    RETURNING_TOOLS,
    AdapterContract,
    Called,
    Capability,
    Driver,
    Entry,
    MakeGuard,
    Options,
    Request,
    Returned,
    Said,
    Script,
    Turn,
    Wrote,
)

from tests.testing.third_party_adapter.tiny_guard import TinyGuard
from tests.testing.third_party_adapter.tiny_loop import Message, Model, run


class TinyDriver(Driver):
    """Plays scripts in the tiny loop."""

    name = "tiny_loop"
    lacks = {  # noqa: RUF012 - it is never changed
        Capability.DENIED_CALL: "it runs every call",
        Capability.HANDOFF: "it has one agent",
        Capability.STEERING: "a run takes no words in between",
        Capability.RESUMED_RUN: "a run cannot be stored",
        Capability.STREAMING: "it waits for whole messages",
    }

    def guard(self, config: RepeatGuardConfig, **options: Any) -> TinyGuard:
        return TinyGuard(config, **options)

    async def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        requests: list[Request] = []
        messages: list[Message] = []
        guard: TinyGuard | None = make_guard() if make_guard else None
        hooks: list[Any] = [guard] * (1 + options.wired_twice) if guard else []
        user_hooks = [lambda _: options.user_hook()] if options.user_hook else []  # type: ignore[misc]
        inner_numbers = count(1)
        turn = Turn()

        def model(turns: Sequence[Turn], agent: str) -> Model:
            remaining = iter(turns)

            async def respond(messages: Sequence[Message]) -> Message:
                nonlocal turn
                requests.append(Request(tuple(entries(messages)), agent))
                await options.pause()
                turn = next(remaining)
                return reply(turn)

            return respond

        def fail(q: Any = None) -> str:
            msg = "it failed"
            raise RuntimeError(msg)

        async def delegate(q: Any = None) -> str:
            inner = model(script.delegated, f"inner-{next(inner_numbers)}")
            return await run([{"role": "user", "content": "a task"}], inner, tools, hooks)

        def returning(name: str) -> Any:
            def answer(q: Any = None) -> str:
                return turn.result_of(name, q)

            return answer

        tools = {name: returning(name) for name in RETURNING_TOOLS} | {"failing": fail, "delegate": delegate}
        for each in script.runs:
            messages = json.loads(json.dumps(messages)) if each.from_storage else messages
            messages.append({"role": "user", "content": each.prompt})
            try:
                await run(messages, model(each.turns, "main"), tools, [*hooks, *user_hooks])
            except RepeatLoopError as end:
                options.on_stop(end.tool_name, end.count, end.arguments)
        return requests


def reply(turn: Turn) -> Message:
    """Write a turn as the framework has it."""
    calls = [{"id": f"{n}", "name": call.tool, "arguments": call.arguments} for n, call in enumerate(turn.calls)]
    return {"role": "assistant", "content": turn.text, "tool_calls": calls}


def entries(messages: Sequence[Message]) -> list[Entry]:
    """Write a conversation as the contract has it."""
    written: list[Entry] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] == "user":
            written.append(Said(message["content"]))
        elif message["role"] == "tool":
            written.append(Returned(names[message["tool_call_id"]], message["content"]))
        else:
            names = {call["id"]: call["name"] for call in message["tool_calls"]}
            written.extend([Wrote(message["content"])] if message["content"] else [])
            written.extend(Called(call["name"], call["arguments"]) for call in message["tool_calls"])
    return written


class TestTinyGuard(AdapterContract):
    """The contract's tests, with this driver."""

    driver = TinyDriver()
