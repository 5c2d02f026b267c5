"""The chain: it takes a conversation's calls in order, and says when a reminder is due."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

from repeatguard_core._calls import PastCall, ToolCall, TrackedCall
from repeatguard_core._checkpoint import read_checkpoint, write_checkpoint
from repeatguard_core._config import RepeatGuardConfig, ensure_config, policies, wording
from repeatguard_core._policy import Schedule
from repeatguard_core._reminder import UNKNOWN_CALL, Decision, Stop
from repeatguard_core._state import Lookback, Repetition, State, completed, event_of

__all__ = ["RepeatChain"]

#: What a conversation held: the calls of a response, a checkpoint, or new input.
PastEvent: TypeAlias = Sequence[ToolCall] | str | None


class RepeatChain:
    """Counts how often calls come again in a row, and says when a reminder is due.

    A chain belongs to one conversation and takes its calls in order, from one thread at a time.
    It holds the last call, and of the few before it what a reminder may quote, so it stays the
    same size however long a run is.

    Args:
        config: Thresholds and tools; left out, the defaults.
        untracked: Tells from a tool's name whether the tool is mere bookkeeping, to be passed
            over like an excluded one. It must always answer the same for the same name.

    Raises:
        TypeError: ``config`` is not a configuration.
    """

    __slots__ = ("_config", "_policies", "_state", "_untracked", "_wording")

    def __init__(
        self,
        config: RepeatGuardConfig | None = None,
        untracked: Callable[[str], bool] | None = None,
    ) -> None:
        self._config = ensure_config(config)
        self._policies = policies(self._config)
        self._wording = wording(self._config)
        self._untracked = untracked
        self._state = State(self._config.max_cycle_length)

    def __copy__(self) -> RepeatChain:
        """Make a chain that stands where this one does; each then goes its own way."""
        chain = object.__new__(type(self))
        for slot in self.__slots__:
            setattr(chain, slot, getattr(self, slot))
        return chain

    def observe(self, calls: Iterable[ToolCall]) -> Decision | None:
        """Take in the calls of one response of the model.

        Args:
            calls: The calls in the model's order, whatever becomes of them: denied, unknown,
                failing and hosted calls count like any other. Where results are to be compared,
                the calls come with theirs.

        Returns:
            The reminder that is due after this batch (the last one, if several are), or None. It
            is a `Stop` if the run is to end instead.

        Raises:
            Exception: Whatever ``untracked`` raises; the chain is then as it was before.
        """
        batch = [self._tracked_call(call) if self.tracks(call.name) else None for call in calls]
        due: Decision | None = None
        for call in batch:
            decision = None if call is None else self._decision(self._take_in(call))
            if decision is not None and (isinstance(decision, Stop) or not isinstance(due, Stop)):
                due = decision
        return due

    def catch_up(self, newest_first: Iterable[PastEvent]) -> None:
        """Bring the chain to where a conversation has brought it, reading back only as far as it matters.

        For an adapter whose framework keeps the reminders: all that it has to know at a
        request is what the newest batch makes due, however long the conversation is.

        Args:
            newest_first: What the conversation held, from its end: the calls of a response, in the
                model's order; a `checkpoint`; or None for new input. It is read lazily. Text that
                is not a checkpoint, or comes from a guard that compares calls otherwise, is passed over.

        Raises:
            Exception: Whatever ``untracked`` raises; the chain is then as it was before.
        """
        start = State(self._config.max_cycle_length)
        lookback = Lookback(start.max_cycle_length, self._policies.last_count)
        noted: State | None = None
        since = 0
        for past in newest_first:
            if past is None:
                break
            if isinstance(past, str):
                if noted is None:
                    noted, since = read_checkpoint(past, self._config, self._policies), len(lookback.calls)
            else:
                for call in reversed(past):
                    if self.tracks(call.name):
                        lookback.read(self._tracked_call(call))
            # Before a checkpoint only the calls whose previews it lacks are of interest.
            if lookback.is_complete or (noted is not None and len(lookback.calls) - since >= _missing(noted.calls)):
                break
        calls = lookback.calls
        if noted is not None:
            calls, visible = lookback.calls[:since], lookback.calls[since:]
            start = noted._replace(calls=tuple(_with_previews(noted.calls, visible)))
        self._state = start
        for each in reversed(calls):
            self._take_in(each)

    def checkpoint(self, *, with_previews: bool = False) -> str:
        """Write down where the chain stands, for `catch_up` to go on from.

        Args:
            with_previews: Whether the text also holds what a reminder about a cycle can quote: the
                names of tools, and the arguments as far as ``arguments_preview_chars`` goes. It is
                for an adapter that does not see the earlier calls again. Without it the text holds
                nothing but counts and digests, and calls that cannot be seen are not named.

        Returns:
            One line of ASCII: at most 45 characters for each length up to ``max_cycle_length``, and
            66 for each of as many calls. With previews each of the calls also takes its tool's name
            and its preview, written as JSON with at most 12 characters for each of theirs; the
            preview of a tool whose name has more than 256 characters is left out.
        """
        return write_checkpoint(self._state, self._config, with_previews=with_previews)

    def tracks(self, tool_name: str) -> bool:
        """Return whether calls of a tool count.

        Args:
            tool_name: The name as the model wrote it.

        Returns:
            True unless the configuration or ``untracked`` leaves the tool out.

        Raises:
            Exception: Whatever ``untracked`` raises.
        """
        return self._config.tracks(tool_name) and not (self._untracked is not None and self._untracked(tool_name))

    def compares_results(self, tool_name: str) -> bool:
        """Return whether it matters what came of a tool's calls, for adapters that have to work it out first.

        Args:
            tool_name: The name as the model wrote it.

        Returns:
            True if the tool's calls count, and ``on_changed_result`` says that their results are compared.

        Raises:
            Exception: Whatever ``untracked`` raises.
        """
        return self._policies.for_tool(tool_name).on_changed_result != "count" and self.tracks(tool_name)

    def reset(self) -> None:
        """Start counting again, because new input entered the conversation.

        That is a user's message, a steer, a follow-up, or a message that another extension put
        in. The adapter's own reminders are not new input, and neither is a replay or a compaction.
        """
        self._state = self._state.after("new input")

    def _tracked_call(self, call: ToolCall) -> TrackedCall:
        return TrackedCall(call, self._policies.for_tool(call.name))

    def _take_in(self, call: TrackedCall) -> list[Repetition]:
        """Take in a tracked call, and return the cycles that it completes once more."""
        before = self._state
        if before.calls:
            call.share_forms(before.calls[0])
        self._state = before.after(event_of(call, before.calls), call)
        return completed(before, self._state)

    def _decision(self, repetitions: Sequence[Repetition]) -> Decision | None:
        """Return what is due of cycles, the longest run first: an end if there is one, or else a reminder."""
        due: Decision | None = None
        for repetition in repetitions:
            decision = self._due(repetition)
            if isinstance(decision, Stop):
                return decision
            due = due or decision
        return due

    def _due(self, repetition: Repetition) -> Decision | None:
        """Return what is due at a repetition: by a tool's own schedule, if all calls of the cycle go by it."""
        calls, count, level = repetition
        schedule = _schedule_of(calls) or self._policies.general.schedule
        stop_after, threshold = schedule.stop_after, schedule.threshold_at(level)
        if stop_after is not None and level >= stop_after:
            return self._wording.stop([call.preview for call in calls], count, stop_after)
        if threshold is None:
            return None
        is_first = level == schedule.thresholds[0]
        return self._wording.reminder([call.preview for call in calls], count, threshold, is_first=is_first)


def _schedule_of(calls: Sequence[PastCall]) -> Schedule | None:
    """Return the schedule of the calls, if it is known of some of them and is the same for these."""
    if len(calls) == 1:
        return calls[0].schedule
    schedules = {call.schedule for call in calls} - {None}
    return schedules.pop() if len(schedules) == 1 else None


def _missing(noted: Sequence[PastCall]) -> int:
    """Return how many calls to read before a checkpoint, to find the previews that it lacks."""
    lacking = (number for number, call in enumerate(noted[:-1], 1) if call.preview is UNKNOWN_CALL)
    return max(lacking, default=0)


def _with_previews(noted: Sequence[PastCall], visible: Sequence[TrackedCall]) -> Iterator[PastCall]:
    """Add the previews that a checkpoint lacks, of calls that can be seen."""
    for known, seen in zip_longest(noted, visible[: len(noted)]):
        if seen is not None and seen.digest == known.digest:
            yield seen.record(with_preview=True)._replace(result=known.result)
        else:
            yield known
