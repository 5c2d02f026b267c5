"""The pretend adapter against the contract: all that an adapter's author has to write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
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
    Role,
    Said,
    Script,
    ScriptPlayer,
    Turn,
    Wrote,
)

from tests.testing.third_party_adapter.tiny_guard import TinyGuard
from tests.testing.third_party_adapter.tiny_loop import Message, Model, run


class TinyDriver(Driver):
    """Plays scripts in the tiny loop."""

    name = "tiny_loop"
    lacks = {  # noqa: RUF012 - it is never changed
        Capability.CUT_HISTORY: "it sends the whole list of messages",
        Capability.DENIED_CALL: "it runs every call",
        Capability.HANDOFF: "it has one agent",
        Capability.KEPT_ELSEWHERE: "it sends the whole list of messages",
        Capability.OTHER_AGENTS_WORDS: "it has one agent",
        Capability.RESUMED_RUN: "a run cannot be stored",
        Capability.STEERING: "a run takes no words in between",
        Capability.STREAMING: "it waits for whole messages",
        Capability.SUMMED_UP_HISTORY: "it sends the whole list of messages",
    }

    def guard(self, config: RepeatGuardConfig, **options: Any) -> TinyGuard:
        return TinyGuard(config, **options)

    async def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        player = ScriptPlayer(script, options)
        messages: list[Message] = []
        guard: TinyGuard | None = make_guard() if make_guard else None
        hooks: list[Any] = [guard] * (1 + options.wired_twice) if guard else []
        user_hooks = [lambda _: options.user_hook()] if options.user_hook else []  # type: ignore[misc]

        def model(role: Role | None = None) -> Model:
            async def respond(messages: Sequence[Message]) -> Message:
                return reply(await player.respond(entries(messages), role), player.call_ids())

            return respond

        def fail(q: Any = None) -> str:
            msg = "it failed"
            raise RuntimeError(msg)

        async def delegate(q: Any = None) -> str:
            with player.delegation() as role:
                return await run([{"role": "user", "content": "a task"}], model(role), tools, hooks)

        tools = {name: partial(player.answer, name) for name in RETURNING_TOOLS} | {
            "failing": fail,
            "delegate": delegate,
        }
        for each in script.runs:
            player.start(each)
            messages = json.loads(json.dumps(messages)) if each.from_storage else messages
            messages.append({"role": "user", "content": each.prompt})
            try:
                await run(messages, model(), tools, [*hooks, *user_hooks])
            except RepeatLoopError as end:
                options.on_stop(end.tool_name, end.count, end.arguments)
        return player.requests


def reply(turn: Turn, ids: Iterator[str]) -> Message:
    """Write a turn as the framework has it."""
    calls = [{"id": next(ids), "name": call.tool, "arguments": call.arguments} for call in turn.calls]
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
