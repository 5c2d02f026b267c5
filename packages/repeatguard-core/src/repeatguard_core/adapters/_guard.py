"""What is the same for every framework: one request is read, told, announced and ended here."""

from __future__ import annotations

import copy
import inspect
import logging
import traceback
from collections.abc import Callable, Generator, MutableSequence, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from repeatguard_core._chain import RepeatChain
from repeatguard_core._config import RepeatGuardConfig, ensure_config, ensure_sync_callable
from repeatguard_core._errors import describe
from repeatguard_core._reminder import Decision, Reminder, Stop
from repeatguard_core.adapters._derivation import derive, newest_response
from repeatguard_core.adapters._memory import RunMemory
from repeatguard_core.adapters._scanner import Placement
from repeatguard_core.adapters._transcript import AnyTranscript

__all__ = ["Guard", "Insertion", "insert"]

_LOGGER: Final = logging.getLogger("repeatguard")
_Message = TypeVar("_Message")
_Decision = TypeVar("_Decision", bound=Decision)


def _find_recorder() -> Callable[[Decision], None] | None:
    """Return what shows reminders in OpenTelemetry, which is an extra; None if that is not installed."""
    try:
        from repeatguard_core._telemetry import record  # noqa: PLC0415
    except ImportError:
        return None
    return record


_RECORD: Final = _find_recorder()


class Insertion(NamedTuple):
    """A reminder that is missing from a request.

    Attributes:
        place: It belongs before the message at this index, or at the end.
        reminder: What the model is to read.
        checkpoint: Returns what `RepeatChain.checkpoint` writes down at this place, for a framework
            that can keep it with the message.
    """

    place: int
    reminder: Reminder
    checkpoint: Callable[[], str]


def insert(
    messages: MutableSequence[_Message], insertions: Sequence[Insertion], write: Callable[[Insertion], _Message]
) -> None:
    """Put the missing reminders into a list of messages.

    Args:
        messages: The messages of the request, changed in place.
        insertions: What is missing, in order.
        write: Makes the framework's message of a reminder.
    """
    complete: list[_Message] = []
    start = 0
    for insertion in insertions:
        complete += messages[start : insertion.place]
        complete.append(write(insertion))
        start = insertion.place
    messages[:] = [*complete, *messages[start:]]


class Guard:
    """The part of an adapter that is the same for every framework.

    It reads a request, has the missing reminders put in, announces them, and keeps every error
    inside. It holds settings and nothing of any run, so one object serves all runs and threads.

    Args:
        config: Thresholds and tools; left out, the defaults.
        untracked: Names bookkeeping tools, as in `RepeatChain`. If it raises, the error is
            logged and the tool counts as tracked.
        on_reminder: Called with each new reminder; not an async function. If it raises, the
            error is logged.

    Attributes:
        config: The configuration.

    Raises:
        TypeError: ``config`` is not a configuration, or one of the functions cannot be called or is async.
    """

    def __init__(
        self,
        config: RepeatGuardConfig | None = None,
        *,
        untracked: Callable[[str], bool] | None = None,
        on_reminder: Callable[[Reminder], None] | None = None,
    ) -> None:
        self.config = ensure_config(config)
        ensure_sync_callable("untracked", untracked)
        ensure_sync_callable("on_reminder", on_reminder)
        self._untracked = untracked
        self._on_reminder = on_reminder
        self._first_chain = RepeatChain(self.config, None if untracked is None else self._is_untracked)
        self._known_errors: set[tuple[str, str, str, int | None]] = set()

    def new_chain(self) -> RepeatChain:
        """Return a chain with a count of zero that has this guard's settings and that no error of the user's stops."""
        return copy.copy(self._first_chain)  # to read the settings takes longer than to copy what came of it

    def before_request(
        self,
        transcript: AnyTranscript,
        deliver: Callable[[Sequence[Insertion]], None],
        *,
        memory: RunMemory | None = None,
        agent_name: str | None = None,
    ) -> Stop | None:
        """Remind the model in a request that is about to be sent, if a reminder is due.

        Never raises: an error is logged, and the request goes on as it is.

        Args:
            transcript: The messages of the request.
            deliver: Puts missing reminders into the request, all at once; see `insert`. It is called
                at most once, and only if one is missing.
            memory: What is remembered of the run; left out, all that counts is what is in sight.
            agent_name: The name of the agent that the request is for, if the framework has one and
                the conversation does not name it.

        Returns:
            The end of the run if that is due instead of the request. The adapter then raises its
            `RepeatLoopError`, or ends the run in the framework's own way.
        """
        stop: Stop | None = None
        with self.failing_open("a reminder"):
            scanner = derive(transcript, self.new_chain) if memory is None else memory.scan(transcript, self.new_chain)
            placements = _open_placements(transcript, scanner.placements)
            stop = scanner.stop
            new: list[Decision] = [] if stop is None else [stop]
            if stop is None:
                missing = [each for each in placements if not each.is_there]
                insertions = [
                    Insertion(each.place, each.decision, each.checkpoint)
                    for each in missing
                    if isinstance(each.decision, Reminder)  # a stop that is not at the end is past
                ]
                if insertions:
                    new += _unseen(transcript, missing)
                    deliver(insertions)
            if memory is None or not memory.is_announced:
                for decision in new:
                    self.announce(_named(decision, agent_name))
            if memory is not None and new:
                memory.is_announced = True
        return None if stop is None else _named(stop, agent_name)

    def announce(self, decision: Decision) -> None:
        """Log a reminder or a stop, show it in OpenTelemetry, and hand a reminder to ``on_reminder``.

        Args:
            decision: A reminder that the model is about to be sent for the first time, or the end of
                the run, with the name of the agent if the framework has one.
        """
        if isinstance(decision, Reminder):
            level, message, limit = logging.INFO, "reminded the model: %s (threshold=%d)", decision.threshold
        else:
            level, message, limit = logging.WARNING, "ended the run: %s (stop_after=%d)", decision.stop_after
        fields = {
            "tool": decision.tool_name,
            "count": decision.count,
            "threshold": limit,
            "cycle_length": len(decision.tool_names),
            "agent": decision.agent_name,
        }
        _LOGGER.log(level, message, describe(decision), limit, extra=fields)
        if _RECORD is not None:
            with self.failing_open("OpenTelemetry"):
                _RECORD(decision)
        if self._on_reminder is not None and isinstance(decision, Reminder):
            with self.failing_open("on_reminder"):
                _refuse_awaitable(self._on_reminder(decision))

    def failing_open(self, where: str) -> AbstractContextManager[None, bool | None]:
        """Return a context that lets no exception out: it is logged, and the run goes on.

        An error that comes again from the same line is not logged again.

        Args:
            where: What is being tried, for the log.
        """
        return self._failing_open(where)

    @contextmanager
    def _failing_open(self, where: str) -> Generator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - advice must never break what it advises
            self._log_once(where, error)

    def _is_untracked(self, tool_name: str) -> bool:
        assert self._untracked is not None
        try:
            answer = self._untracked(tool_name)
            _refuse_awaitable(answer)
            return bool(answer)
        except Exception as error:  # noqa: BLE001 - as above
            self._log_once("untracked", error)
            return False

    def _log_once(self, where: str, error: Exception) -> None:
        raised_at = traceback.extract_tb(error.__traceback__)[-1]
        known = (where, type(error).__name__, raised_at.filename, raised_at.lineno)
        if known not in self._known_errors:
            self._known_errors.add(known)
            with suppress(Exception):  # a handler or filter of the user's may raise as well
                _LOGGER.error(
                    "repeatguard: a fault in %s: %r; the run goes on, and this fault is not logged again",
                    where,
                    error,
                    exc_info=error,
                )


def _named(decision: _Decision, agent_name: str | None) -> _Decision:
    return decision if agent_name is None else replace(decision, agent_name=agent_name)


def _open_placements(transcript: AnyTranscript, placements: Sequence[Placement]) -> Sequence[Placement]:
    """Leave out the places that the model has gone past, if the framework keeps what was put there in time."""
    if not placements or not transcript.keeps_reminders:
        return placements
    newest = newest_response(transcript)
    return [each for each in placements if newest == len(transcript) or each.place > newest]


def _unseen(transcript: AnyTranscript, missing: Sequence[Placement]) -> list[Decision]:
    """List what the model has not been sent yet."""
    end = transcript.end_of_model()
    new = (each.decision for each in missing if each.place >= end and not each.is_given)
    return [decision for decision in new if isinstance(decision, Reminder)]


def _refuse_awaitable(answer: object) -> None:
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        msg = "it returned something to await, which nobody does; return a plain value"
        raise TypeError(msg)
