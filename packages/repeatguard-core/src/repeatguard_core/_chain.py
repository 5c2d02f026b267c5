"""The chain: it takes a conversation's calls in order, and says when a reminder is due."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

from repeatguard_core._calls import ComparedCall, PastCall, ToolCall
from repeatguard_core._checkpoint import read_checkpoint, write_checkpoint
from repeatguard_core._config import RepeatGuardConfig
from repeatguard_core._cycles import Depth, Repetition, State, completed, event_of
from repeatguard_core._given import given_config
from repeatguard_core._ladder import Ladder
from repeatguard_core._reminder import Decision, Due, Stop, compose
from repeatguard_core._rules import RuleBook

__all__ = ["RepeatChain"]


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
        TypeError: ``config`` is no configuration.

    Fulfils D1, D6, D8, D9, D10, D11, S4, X1, X2, X3, X4 and X5.
    """

    __slots__ = ("_book", "_config", "_state", "_untracked")

    def __init__(
        self,
        config: RepeatGuardConfig | None = None,
        untracked: Callable[[str], bool] | None = None,
    ) -> None:
        self._config = given_config(config)
        self._book = RuleBook(self._config)
        self._untracked = untracked
        self._state = self._empty()

    def __copy__(self) -> RepeatChain:
        """Make a chain that stands where this one does; each then goes its own way."""
        chain = object.__new__(type(self))
        chain._config, chain._book, chain._untracked = self._config, self._book, self._untracked
        chain._state = self._state
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
        batch = [self._compared(call) if self.tracks(call.name) else None for call in calls]
        due: Decision | None = None
        for call in batch:
            decision = None if call is None else self._decision(self._take_in(call))
            if decision is not None and (isinstance(decision, Stop) or not isinstance(due, Stop)):
                due = decision
        return due

    def catch_up(self, newest_first: Iterable[Sequence[ToolCall] | str | None]) -> None:
        """Bring the chain to where a conversation has brought it, reading back only as far as it matters.

        For an adapter whose framework keeps the reminders: all that it wants to know at a
        request is what the newest batch makes due, however long the conversation is.

        Args:
            newest_first: What the conversation held, from its end: the calls of a response, a
                `checkpoint`, or None for new material. It is read lazily. A checkpoint that
                cannot be read, or is by a guard that compares calls otherwise, is passed over.

        Raises:
            Exception: Whatever ``untracked`` raises; the chain is then as it was before.
        """
        start = self._empty()
        depth = Depth(start.max_cycle_length, self._book.enough)
        noted: State | None = None
        since = 0
        for past in newest_first:
            if past is None:
                break
            if isinstance(past, str):
                if noted is None:
                    noted, since = read_checkpoint(past, start, self._book.comparison), len(depth.calls)
            else:
                for call in reversed(past):
                    if self.tracks(call.name):
                        depth.read(self._compared(call))
            # Behind a checkpoint only the calls that it has no words for are of interest.
            if depth.is_enough or (noted is not None and len(depth.calls) - since >= len(noted.calls) - 1):
                break
        calls = depth.calls
        if noted is not None:
            calls, in_sight = depth.calls[:since], depth.calls[since:]
            start = noted._replace(calls=tuple(_in_words(noted.calls, in_sight, start.preview_chars)))
        self._state = start
        for each in reversed(calls):
            self._take_in(each)

    def checkpoint(self) -> str:
        """Write down where the chain stands, for `catch_up` to go on from.

        Returns:
            A short text that holds counts, and of calls and results nothing but digests.
        """
        return write_checkpoint(self._state, self._book.comparison)

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

    def compares_results(self, tool_name: str) -> bool:
        """Tell whether it matters what came of a tool's calls, for adapters that have to work it out first.

        Args:
            tool_name: The name as the model wrote it.

        Returns:
            True if the tool's calls count, and ``on_changed_result`` says that their results are compared.

        Raises:
            Exception: Whatever ``untracked`` raises.
        """
        return self._book.rules_for(tool_name).on_changed_result != "count" and self.tracks(tool_name)

    def reset(self) -> None:
        """Start anew, because new material entered the conversation.

        That is a user's message, a steer, a follow-up, or a message that another extension put
        in. The adapter's own reminders are none, and neither is a replay or a compaction.
        """
        self._state = self._state.after("new input")

    def _empty(self) -> State:
        return State(self._config.max_cycle_length, self._config.arguments_preview_chars)

    def _compared(self, call: ToolCall) -> ComparedCall:
        return ComparedCall(call, self._book.rules_for(call.name))

    def _take_in(self, call: ComparedCall) -> list[Repetition]:
        """Take in a tracked call, and return the cycles that it completes once more."""
        before = self._state
        if before.calls:
            call.learn_from(before.calls[0])
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
        """Return what is due at a repetition: by a tool's own settings, if all calls of the cycle go by them."""
        ladder = _ladder_for(repetition.calls) or self._book.general.ladder
        stop_after = ladder.stop_after if ladder.stops_at(repetition.level) else None
        threshold = ladder.threshold_at(repetition.level)
        if stop_after is None and threshold is None:
            return None
        return compose(
            Due(
                calls=[call.quoted for call in repetition.calls],
                count=repetition.times,
                threshold=threshold or 0,
                is_first=repetition.level == ladder.thresholds[0],
                stop_after=stop_after,
            ),
            self._book.wording,
            preview_chars=self._config.arguments_preview_chars,
        )


def _ladder_for(calls: Sequence[PastCall]) -> Ladder | None:
    """Give what happens at which count, if it is known of some of the calls and is the same for these."""
    if len(calls) == 1:
        return calls[0].ladder
    ladders = {call.ladder for call in calls} - {None}
    return ladders.pop() if len(ladders) == 1 else None


def _in_words(noted: Sequence[PastCall], in_sight: Sequence[ComparedCall], chars: int) -> Iterator[PastCall]:
    """Find the words again that a checkpoint has left out."""
    for known, seen in zip_longest(noted, in_sight[: len(noted)]):
        if seen is not None and seen.digest == known.digest:
            yield seen.noted(chars)._replace(result=known.result)
        else:
            yield known
