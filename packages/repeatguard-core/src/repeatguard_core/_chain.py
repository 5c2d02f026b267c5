"""The chain: how many identical calls in a row there are, and whether a reminder is due.

The rules stand in `TABLE`, a row for each thing that can happen. Nothing in here knows a
framework, a file, a clock or a word of what the model reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from repeatguard_core._calls import ComparedCall, NotedCall, ToolCall
from repeatguard_core._checkpoint import read_checkpoint, write_checkpoint
from repeatguard_core._config import RepeatGuardConfig
from repeatguard_core._reminder import Reminder, compose

__all__ = ["TABLE", "Event", "RepeatChain"]


@dataclass(frozen=True, slots=True)
class State:
    """All that a chain is: the call that the next one is compared with, and how often it came in a row."""

    call: ComparedCall | NotedCall | None
    count: int


class Event(Enum):
    """What can happen to a chain."""

    UNTRACKED = "a call that is not tracked"
    SAME = "a tracked call identical to the previous tracked one"
    DIFFERENT = "a tracked call that differs from the previous tracked one, or is the first"
    NEW_MATERIAL = "something new came into the conversation"


@dataclass(frozen=True, slots=True)
class Rule:
    """What an event does: the state after it, and whether a count that is a threshold then reminds."""

    after: Callable[[State, ComparedCall | None], State]
    reminds: bool


#: Within a chain every count is reached once, so each threshold reminds once (D10).
TABLE: Final[dict[Event, Rule]] = {
    Event.UNTRACKED: Rule(lambda state, _: state, reminds=False),  # D6
    Event.SAME: Rule(lambda state, call: State(call, state.count + 1), reminds=True),  # D1, D9, D10
    Event.DIFFERENT: Rule(lambda _, call: State(call, 1), reminds=False),  # D1, D10
    Event.NEW_MATERIAL: Rule(lambda _, __: State(None, 0), reminds=False),  # D11
}


class RepeatChain:
    """Counts identical calls in a row and says when a reminder is due.

    A chain belongs to one conversation and takes its calls in order, from one thread at a time.
    It holds one call and one number, so it stays the same size however long a run is.

    Args:
        config: Thresholds and tools; left out, the defaults.
        untracked: Tells from a tool's name whether the tool is mere bookkeeping, to be passed
            over like an excluded one. It must always answer the same for the same name.

    Fulfils D1, D6, D8, D9, D10, D11 and S4.
    """

    __slots__ = ("_config", "_state", "_untracked")

    def __init__(
        self,
        config: RepeatGuardConfig | None = None,
        untracked: Callable[[str], bool] | None = None,
    ) -> None:
        self._config = RepeatGuardConfig() if config is None else config
        self._untracked = untracked
        self._state = State(None, 0)

    def observe(self, calls: Iterable[ToolCall]) -> Reminder | None:
        """Take in the calls of one response of the model.

        Args:
            calls: The calls in the model's order, whatever becomes of them: denied, unknown,
                failing and hosted calls count like any other.

        Returns:
            The reminder that is due after this batch (the last one, if several are), or None.

        Raises:
            Exception: Whatever ``untracked`` raises; the chain is then as it was before.
        """
        batch = [(self.tracks(call.name), ComparedCall(call)) for call in calls]
        due: State | None = None
        for tracked, call in batch:
            if self._apply(self._event(call) if tracked else Event.UNTRACKED, call):
                due = self._state
        return None if due is None else self._reminder(due)

    def catch_up(self, newest_first: Iterable[Sequence[ToolCall] | str | None]) -> None:
        """Bring the chain to where a conversation has brought it, reading back only as far as it matters.

        For an adapter whose framework keeps the reminders: all that it wants to know at a
        request is what the newest batch makes due, however long the conversation is.

        Args:
            newest_first: What the conversation held, from its end: the calls of a response, a
                `checkpoint`, or None for new material. It is read lazily. A checkpoint that
                cannot be read is passed over.

        Raises:
            Exception: Whatever ``untracked`` raises; the chain is then as it was before.
        """
        start = State(None, 0)
        newest: ComparedCall | None = None
        seen: list[ComparedCall] = []
        enough = self._config.thresholds[-1]
        for past in newest_first:
            if past is None:
                break
            if isinstance(past, str):
                noted = read_checkpoint(past)
                if noted is None:
                    continue
                start = State(*noted)
                break
            batch = [ComparedCall(call) for call in reversed(past) if self.tracks(call.name)]
            seen += batch
            newest = newest or next(iter(batch), None)
            if newest and (len(seen) > enough or not all(newest.is_identical_to(call) for call in batch)):
                break
        self._state = start
        for call in reversed(seen):
            self._apply(self._event(call), call)

    def checkpoint(self) -> str:
        """Write down where the chain stands, for `catch_up` to go on from.

        Returns:
            A short text that holds the count, and the last call as nothing but a digest.
        """
        return write_checkpoint(self._state.call, self._state.count)

    def tracks(self, tool_name: str) -> bool:
        """Tell whether calls of a tool count.

        Args:
            tool_name: The name as the model wrote it.

        Returns:
            True unless the configuration or ``untracked`` leaves the tool out.

        Raises:
            Exception: Whatever ``untracked`` raises.
        """
        return self._config.tracks(tool_name) and not (self._untracked is not None and self._untracked(tool_name))

    def reset(self) -> None:
        """Start anew, because new material entered the conversation.

        That is a user's message, a steer, a follow-up, or a message that another extension put
        in. The adapter's own reminders are none, and neither is a replay or a compaction.
        """
        self._apply(Event.NEW_MATERIAL)

    def _apply(self, event: Event, call: ComparedCall | None = None) -> bool:
        """Follow the table's row for an event, and tell whether a reminder falls due."""
        rule = TABLE[event]
        self._state = rule.after(self._state, call)
        return rule.reminds and self._state.count in self._config.thresholds

    def _event(self, call: ComparedCall) -> Event:
        previous = self._state.call
        return Event.SAME if previous is not None and call.is_identical_to(previous) else Event.DIFFERENT

    def _reminder(self, due: State) -> Reminder:
        assert isinstance(due.call, ComparedCall)
        return compose(
            tool_name=due.call.name,
            count=due.count,
            is_first=due.count == self._config.thresholds[0],
            arguments=due.call.canonical,
            preview_chars=self._config.arguments_preview_chars,
        )
