"""The reference: an agent loop over plain lists of entries, with a guard that derives every place anew."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from repeatguard_core import Reminder, RepeatGuardConfig, RepeatLoopError, Stop, ToolCall, is_reminder
from repeatguard_core.adapters import Guard
from repeatguard_testing import (
    MEANINGS,
    RETURNING_TOOLS,
    Call,
    Called,
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

Conversation = list[Entry]


class ReferenceGuard:
    """Puts the missing reminders into a conversation, before each request."""

    def __init__(
        self,
        config: RepeatGuardConfig,
        *,
        untracked: Callable[[str], bool] | None = None,
        on_reminder: Callable[[Reminder], None] | None = None,
    ) -> None:
        self.support = Guard(config, untracked=untracked, on_reminder=on_reminder)

    def before_request(self, conversation: Conversation) -> None:
        """Insert what is missing."""
        end: Stop | None = None
        with self.support.failing_open("a reminder"):
            missing = list(self.missing(conversation))
            end = next(
                (reminder for index, reminder in missing if isinstance(reminder, Stop) and index == len(conversation)),
                None,
            )
            for index, reminder in reversed(missing):
                if isinstance(reminder, Reminder):
                    conversation.insert(index, Said(reminder.text))
                    self.support.announce(reminder)
            if end is not None:
                self.support.announce(end)
        if end is not None:
            raise RepeatLoopError(end)

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        """Find the places where a reminder belongs and is not there yet."""
        chain = self.support.new_chain()
        batch: list[Called] = []
        results: list[Returned] = []
        for index, entry in enumerate([*conversation, Said("")]):
            if isinstance(entry, Returned):
                results.append(entry)
                continue
            if results:
                answered = zip(batch, results, strict=True)
                reminder = chain.observe(
                    [ToolCall(call.tool, call.arguments, result.content) for call, result in answered]
                )
                if "handoff" in [result.tool for result in results]:
                    chain.reset()
                elif reminder is not None and not self.is_ours(entry):
                    yield index, reminder
                batch, results = [], []
            if isinstance(entry, Called):
                batch.append(entry)
            if isinstance(entry, Said) and not self.is_ours(entry):
                chain.reset()

    def is_ours(self, entry: Entry) -> bool:
        """Know a reminder again."""
        return isinstance(entry, Said) and is_reminder(entry.text)


class ReferenceDriver(Driver):
    """Plays a script as it stands."""

    name = "reference"
    guard_class: type[Any] = ReferenceGuard

    def guard(self, config: RepeatGuardConfig, **options: Any) -> Any:
        return self.guard_class(config, **options)

    async def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        player = Player(script, make_guard, options)
        conversation: Conversation = []
        for run in script.runs:
            if run.from_storage:
                conversation = player.restart(conversation)
            conversation.append(Said(run.prompt))
            try:
                conversation = await player.play(run.turns, conversation, "main")
            except RepeatLoopError as end:
                conversation = player.conversation
                options.on_stop(end.tool_name, end.count, end.arguments)
        return player.requests


class Player:
    """Plays the turns of one script."""

    def __init__(self, script: Script, make_guard: MakeGuard | None, options: Options) -> None:
        self.requests: list[Request] = []
        self._script = script
        self._make_guard = make_guard
        self._options = options
        self._guard = make_guard() if make_guard else None
        self._delegations = 0
        self.conversation: Conversation = []

    def restart(self, conversation: Conversation) -> Conversation:
        """Go on as another process would."""
        self._guard = self._make_guard() if self._make_guard else None
        restored: Conversation = pickle.loads(pickle.dumps(conversation))  # noqa: S301 - its own data
        return restored

    async def play(self, turns: Sequence[Turn], conversation: Conversation, agent: str) -> Conversation:
        """Play turns on a conversation, and give it back as it is then."""
        for turn in turns:
            self.conversation = conversation
            for _ in range(1 + self._options.wired_twice):
                if self._guard:
                    self._guard.before_request(conversation)
            if self._options.user_hook and agent == "main":
                self._options.user_hook()
            self.requests.append(Request(tuple(conversation), agent))
            await self._options.pause()
            conversation.extend([Wrote(turn.text)] if turn.text else [])
            conversation.extend(Called(call.tool, call.arguments) for call in turn.calls)
            conversation.extend([Called("handoff", "{}")] if turn.hands_over else [])
            conversation.extend([Returned(call.tool, await self._run_tool(call, turn)) for call in turn.calls])
            if turn.hands_over:
                conversation.append(Returned("handoff", "second"))
                agent = "second"
            if turn.resumes:
                conversation = self.restart(conversation)
            if turn.steer is not None:
                conversation.append(Said(turn.steer))
        return conversation

    async def _run_tool(self, call: Call, turn: Turn) -> str:
        if call.tool in RETURNING_TOOLS and call.arguments not in MEANINGS["not JSON"]:
            return turn.result_of(call.tool, json.loads(call.arguments.strip() or "{}").get("q"))
        if call.tool != "delegate":
            return {"failing": "it failed", "forbidden": "denied", "missing": "no such tool"}.get(call.tool, "invalid")
        self._delegations += 1
        inner = await self.play(self._script.delegated, [Said("a task")], f"inner-{self._delegations}")
        return str(inner[-1])
