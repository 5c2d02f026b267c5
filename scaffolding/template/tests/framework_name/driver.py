"""Plays scripts in the framework. Replace the loop by the framework, with a scripted model in place of a real one."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import repeatguard_framework_name as adapter
from repeatguard_core import RepeatGuardConfig
from repeatguard_testing import (
    RETURNING_TOOLS,
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

Message = dict[str, Any]


class FrameworkDriver(Driver):
    """Plays scripts in a loop over a list of messages."""

    name = "framework_name"
    lacks = {  # noqa: RUF012 - it is never changed
        Capability.CUT_HISTORY: "the loop sends all its messages",
        Capability.DENIED_CALL: "the loop runs every call",
        Capability.HANDOFF: "the loop has one agent",
        Capability.KEPT_ELSEWHERE: "the loop sends all its messages",
        Capability.OTHER_AGENTS_WORDS: "the loop has one agent",
        Capability.RESUMED_RUN: "the loop cannot be stored",
        Capability.STEERING: "the loop takes no words in between",
        Capability.STREAMING: "the loop waits for whole messages",
        Capability.SUMMED_UP_HISTORY: "the loop sends all its messages",
    }

    def guard(self, config: RepeatGuardConfig, **options: Any) -> adapter.RepeatGuard:
        return adapter.RepeatGuard(config, **options)

    async def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        player = ScriptPlayer(script, options)
        guard: adapter.RepeatGuard | None = make_guard() if make_guard else None
        hooks: list[Any] = [guard] * (1 + options.wired_twice) if guard else []
        user_hooks = [lambda _: options.user_hook()] if options.user_hook else []  # type: ignore[misc]

        async def delegate(q: Any = None) -> str:
            with player.delegation() as role:
                return await loop(player, role, tools, [{"role": "user", "content": "a task"}], hooks)

        def fail(q: Any = None) -> str:
            msg = "it failed"
            raise RuntimeError(msg)

        tools: dict[str, Callable[..., Any]] = {name: partial(player.answer, name) for name in RETURNING_TOOLS}
        tools |= {"failing": fail, "delegate": delegate}
        messages: list[Message] = []
        for run in script.runs:
            player.start(run)
            messages = json.loads(json.dumps(messages)) if run.from_storage else messages
            messages.append({"role": "user", "content": run.prompt})
            try:
                await loop(player, None, tools, messages, [*hooks, *user_hooks])
            except adapter.RepeatLoopError as end:
                options.on_stop(end.tool_name, end.count, end.arguments)
        return player.requests


async def loop(
    player: ScriptPlayer,
    role: Role | None,
    tools: Mapping[str, Callable[..., Any]],
    messages: list[Message],
    hooks: Sequence[Callable[[list[Message]], None]],
) -> str:
    """Ask the model until it answers, as the framework would."""
    while True:
        for hook in hooks:
            hook(messages)
        turn = await player.respond(entries(messages), role)
        messages.append(reply(turn, player.call_ids()))
        if not turn.calls:
            return turn.text
        for call in messages[-1]["tool_calls"]:
            try:
                content = tools[call["function"]["name"]](**json.loads(call["function"]["arguments"] or "{}"))
                content = await content if inspect.isawaitable(content) else content
            except Exception as error:  # noqa: BLE001 - the model is told
                content = f"error: {error!r}"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})


def reply(turn: Turn, ids: Iterator[str]) -> Message:
    """Write a turn as the framework has it."""
    functions = [{"name": call.tool, "arguments": call.arguments} for call in turn.calls]
    calls = [{"id": next(ids), "type": "function", "function": function} for function in functions]
    return {"role": "assistant", "content": turn.text, **({"tool_calls": calls} if calls else {})}


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
            functions = {call["id"]: call["function"] for call in message.get("tool_calls", ())}
            names = {call_id: function["name"] for call_id, function in functions.items()}
            written.extend([Wrote(message["content"])] if message["content"] else [])
            calls = [call["function"] for call in message.get("tool_calls", ())]
            written.extend(Called(function["name"], function["arguments"]) for function in calls)
    return written
