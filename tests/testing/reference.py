"""The reference: an agent loop over plain lists of entries, with a guard that derives every place again."""

from __future__ import annotations

import json
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from repeatguard_core import Reminder, RepeatChain, RepeatGuardConfig, RepeatLoopError, Stop, ToolCall, is_reminder
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
    Role,
    Said,
    Script,
    ScriptPlayer,
    Turn,
    Wrote,
)


class Conversation(list[Entry]):
    """What a request shows, and what the guard remembers of the run.

    Attributes:
        whole: The conversation as the guard has seen it grow.
        response: What the model has written since the last request.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        super().__init__(entries)
        self.whole: list[Entry] = []
        self.response: list[Entry] = []


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
            whole = self.remembered(conversation)
            out_of_sight = len(whole) - len(conversation)
            for index, due in reversed(list(self.missing(whole))):
                if isinstance(due, Reminder):
                    whole.insert(index, Said(due.text))
                    conversation.insert(index - out_of_sight, Said(due.text))
                elif index == len(whole):
                    end = due
                else:
                    continue  # the end of an earlier run
                self.support.announce(due)
            conversation.whole, conversation.response = whole, []
        if end is not None:
            raise RepeatLoopError(end)

    def after_response(self, conversation: Conversation, response: Sequence[Entry]) -> None:
        """Remember what the model has written."""
        conversation.response = list(response)

    def remembered(self, conversation: Conversation) -> list[Entry]:
        """Return the whole conversation, with what is out of sight."""
        if not conversation.whole:
            return list(conversation)
        return [*conversation.whole, *conversation.response, *self.new_in(conversation)]

    def new_in(self, conversation: Conversation) -> Sequence[Entry]:
        """Find what has come since the response."""
        response, length = conversation.response, len(conversation.response)
        for end in range(len(conversation), length - 1, -1):
            if length and conversation[end - length : end] == response:
                return conversation[end:]
        if conversation and isinstance(conversation[0], Returned):
            return conversation  # the rest is kept elsewhere
        return [Returned(entry.tool, "") for entry in response if isinstance(entry, Called)]  # it is summed up

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        """Find the places where a reminder belongs and is not there yet."""
        chains: defaultdict[str, RepeatChain] = defaultdict(self.support.new_chain)
        held: dict[str, Reminder | Stop] = {}
        agent = ""
        batch: list[Called] = []
        results: list[Returned] = []
        for index, entry in enumerate([*conversation, Said("")]):
            if isinstance(entry, Returned):
                results.append(entry)
                continue
            if results:
                due = chains[agent].observe(self.calls(batch, results))
                target = next((result.content for result in results if result.tool == "handoff"), None)
                if target is not None:
                    agent, due = self.hand_over(held, agent, target, due)
                if due is not None and not self.is_ours(entry):
                    yield index, due
                batch, results = [], []
            if isinstance(entry, Called):
                batch.append(entry)
            if isinstance(entry, Said) and not entry.agent and not self.is_ours(entry):
                chains.clear()
                held.clear()
                agent = ""

    def calls(self, batch: Sequence[Called], results: Sequence[Returned]) -> list[ToolCall]:
        """Return the calls of a batch with their results, without the one that hands over."""
        answered = zip(batch, results, strict=True)
        return [
            ToolCall(call.tool, call.arguments, result.content) for call, result in answered if call.tool != "handoff"
        ]

    def hand_over(
        self, held: dict[str, Reminder | Stop], agent: str, target: str, due: Reminder | Stop | None
    ) -> tuple[str, Reminder | Stop | None]:
        """Hold what is due for the agent, and return who is next, with what was held for that one."""
        if due is not None:
            held[agent] = due
        return target, held.pop(target, None)

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
        loop = Loop(ScriptPlayer(script, options), make_guard)
        conversation = Conversation()
        for run in script.runs:
            if run.from_storage:
                conversation = loop.restart(conversation)
            conversation = Conversation([*conversation, Said(run.prompt)])
            loop.player.start(run)
            try:
                conversation = await loop.run(conversation)
            except RepeatLoopError as end:
                conversation = loop.conversation
                options.on_stop(end.tool_name, end.count, end.arguments)
        return loop.player.requests


class Loop:
    """An agent loop."""

    def __init__(self, player: ScriptPlayer, make_guard: MakeGuard | None) -> None:
        self.player = player
        self.conversation = Conversation()
        self._make_guard = make_guard
        self._guard = make_guard() if make_guard else None

    def restart(self, conversation: Conversation) -> Conversation:
        """Go on as another process would."""
        self._guard = self._make_guard() if self._make_guard else None
        return Conversation(pickle.loads(pickle.dumps(list(conversation))))  # noqa: S301 - its own data

    async def run(self, conversation: Conversation, role: Role | None = None) -> Conversation:
        """Ask the model until it answers, and return the conversation as it is then."""
        options = self.player.options
        turn: Turn | None = None
        while turn is None or turn.calls or turn.hands_over:
            self.conversation = conversation
            for _ in range(1 + options.wired_twice):
                if self._guard:
                    self._guard.before_request(conversation)
            if options.user_hook and role is None:
                options.user_hook()
            turn = await self.player.respond(conversation, role)
            response = written(turn, self.player.call_ids())
            if self._guard:
                self._guard.after_response(conversation, response)
            if self.player.script.is_kept_elsewhere:
                conversation.clear()
            else:
                conversation += response
            calls = [entry for entry in response if isinstance(entry, Called)]
            results = [await self._run_tool(call, turn) for call in turn.calls]
            results += [self.player.agent] * turn.hands_over
            conversation += [
                Returned(call.tool, result, call.call_id) for call, result in zip(calls, results, strict=True)
            ]
            conversation = self._happens(turn, conversation)
        return conversation

    def _happens(self, turn: Turn, conversation: Conversation) -> Conversation:
        """Do what happens to the conversation after a turn."""
        if turn.resumes:
            conversation = self.restart(conversation)
        conversation[:] = self.player.in_sight(
            conversation, is_models=lambda entry: isinstance(entry, Called | Wrote), say=Said
        )
        if turn.steer is not None:
            conversation.append(Said(turn.steer))
        if turn.overheard is not None:
            conversation.append(Said(turn.overheard, agent="other"))
        return conversation

    async def _run_tool(self, call: Call, turn: Turn) -> str:
        if call.tool in RETURNING_TOOLS and call.arguments not in MEANINGS["not JSON"]:
            return turn.result_of(call.tool, json.loads(call.arguments.strip() or "{}").get("q"))
        if call.tool != "delegate":
            return {"failing": "it failed", "forbidden": "denied", "missing": "no such tool"}.get(call.tool, "invalid")
        outer = self.conversation
        with self.player.delegation() as role:
            inner = await self.run(Conversation([Said("a task")]), role)
        self.conversation = outer
        return str(inner[-1])


def written(turn: Turn, ids: Iterator[str]) -> list[Entry]:
    """Write a response of the model."""
    words: list[Entry] = [Wrote(turn.text)] if turn.text else []
    calls = [Called(call.tool, call.arguments, next(ids)) for call in turn.calls]
    return [*words, *calls, *([Called("handoff", "{}", next(ids))] if turn.hands_over else [])]
