"""What every adapter needs beside the chain, so that each is the same good guest (S2, S6)."""

from __future__ import annotations

import copy
import inspect
import logging
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final

from repeatguard_core._chain import RepeatChain
from repeatguard_core._config import RepeatGuardConfig
from repeatguard_core._errors import describe
from repeatguard_core._given import given_config, refuse_what_is_no_plain_function
from repeatguard_core._reminder import Decision, Reminder

__all__ = ["AdapterSupport"]

_LOGGER: Final = logging.getLogger("repeatguard")


def _find_recorder() -> Callable[[Decision], None] | None:
    """Find what shows reminders in OpenTelemetry, which is an extra; None if that is not installed."""
    try:
        from repeatguard_core._opentelemetry import record  # noqa: PLC0415
    except ImportError:
        return None
    return record


_RECORD: Final = _find_recorder()


class AdapterSupport:
    """The part of an adapter that is the same for every framework.

    It makes chains, announces reminders and catches faults. It holds settings and nothing of
    any run, so one object serves all runs and threads.

    Args:
        config: Thresholds and tools; left out, the defaults.
        untracked: Names bookkeeping tools, as in `RepeatChain`. If it raises, the fault is
            logged and the tool counts as tracked.
        on_reminder: Called with each new reminder, so not an async function. If it raises, the
            fault is logged.

    Raises:
        TypeError: ``config`` is no configuration, or one of the functions is none or is async.

    Fulfils S2, S3 and S6.
    """

    def __init__(
        self,
        config: RepeatGuardConfig | None = None,
        *,
        untracked: Callable[[str], bool] | None = None,
        on_reminder: Callable[[Reminder], None] | None = None,
    ) -> None:
        self.config = given_config(config)
        refuse_what_is_no_plain_function("untracked", untracked)
        refuse_what_is_no_plain_function("on_reminder", on_reminder)
        self._untracked = untracked
        self._on_reminder = on_reminder
        self._first_chain = RepeatChain(self.config, None if untracked is None else self._is_untracked)
        self._known_faults: set[tuple[str, str, str, int | None]] = set()

    def new_chain(self) -> RepeatChain:
        """Make a chain that reads this adapter's settings and that no fault of the user's stops.

        Returns:
            A chain with a count of zero.
        """
        return copy.copy(self._first_chain)  # to read the settings takes longer than to copy what came of it

    def announce(self, decision: Decision) -> None:
        """Log a reminder or a stop, and show it in OpenTelemetry; hand a reminder to ``on_reminder`` (S6).

        Args:
            decision: A reminder that the model is about to be sent for the first time, or the end of
                the run, with the name of the agent if the framework has one
                (``dataclasses.replace(decision, agent_name=name)``).
        """
        is_reminder = isinstance(decision, Reminder)
        threshold = decision.threshold if is_reminder else decision.stop_after
        _LOGGER.log(
            logging.INFO if is_reminder else logging.WARNING,
            "reminded the model: %s (threshold=%d)" if is_reminder else "ended the run: %s (stop_after=%d)",
            describe(decision),
            threshold,
            extra={
                "tool": decision.tool_name,
                "count": decision.count,
                "threshold": threshold,
                "cycle_length": len(decision.tool_names),
                "agent": decision.agent_name,
            },
        )
        if _RECORD is not None:
            with self.failing_open("OpenTelemetry"):
                _RECORD(decision)
        if self._on_reminder is not None and is_reminder:
            with self.failing_open("on_reminder"):
                _refuse_awaitable(self._on_reminder(decision))

    @contextmanager
    def failing_open(self, where: str) -> Generator[None]:
        """Let no fault of the guard's out: it is logged, and the run goes on (S2).

        A fault that comes again from the same line is not logged again.

        Args:
            where: What is being tried, for the log.
        """
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
        fault = (where, type(error).__name__, raised_at.filename, raised_at.lineno)
        if fault not in self._known_faults:
            self._known_faults.add(fault)
            with suppress(Exception):  # a handler or filter of the user's may raise as well
                _LOGGER.error(
                    "repeatguard: a fault in %s: %r; the run goes on, and this fault is not logged again",
                    where,
                    error,
                    exc_info=error,
                )


def _refuse_awaitable(answer: object) -> None:
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        msg = "it returned something to await, which nobody does; return a plain value"
        raise TypeError(msg)
