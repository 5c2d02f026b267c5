"""What the contract uses to look at an adapter from outside: faults to plant, and eyes for what becomes of them."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Final

from repeatguard_core import RepeatGuardConfig

from repeatguard_testing._checks import ContractError

__all__ = [
    "Barrier",
    "FaultyConfig",
    "Meeting",
    "PlantedError",
    "check_logged_once",
    "is_caused_by",
    "logged",
    "reachable",
]

_LOGGER: Final = logging.getLogger("repeatguard")


class PlantedError(Exception):
    """An error that a test plants."""


class FaultyConfig(RepeatGuardConfig, frozen=True):
    """A configuration that raises when it is used, as a fault inside the guard would."""

    def tracks(self, tool_name: str) -> bool:
        """Raise."""
        raise PlantedError(tool_name)


class Barrier:
    """Lets runs go on when all of them have arrived."""

    def __init__(self, parties: int) -> None:
        self._parties = parties
        self._arrived = 0
        self._opened = asyncio.Event()

    async def wait(self) -> None:
        """Wait until all runs are here."""
        self._arrived += 1
        if self._arrived % self._parties == 0:
            self._opened.set()
            self._opened = asyncio.Event()
        else:
            await self._opened.wait()


class Meeting:
    """Lets threads go on when all of them have arrived that have not left."""

    def __init__(self, parties: int) -> None:
        self._parties = parties
        self._arrived = 0
        self._round = 0
        self._changed = threading.Condition()

    def wait(self) -> None:
        """Wait until all threads are here."""
        with self._changed:
            self._arrived += 1
            this_round = self._round
            self._go_on_if_complete()
            self._changed.wait_for(lambda: self._round > this_round)

    def leave(self) -> None:
        """Let the others go on without this thread, which has come to its end or has failed."""
        with self._changed:
            self._parties -= 1
            self._go_on_if_complete()

    def _go_on_if_complete(self) -> None:
        if self._arrived >= self._parties:
            self._arrived = 0
            self._round += 1
            self._changed.notify_all()


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def logged() -> Generator[list[logging.LogRecord]]:
    """Collect what is logged, from INFO on."""
    handler = _Records()
    level = _LOGGER.level
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(logging.INFO)
    try:
        yield handler.records
    finally:
        _LOGGER.setLevel(level)
        _LOGGER.removeHandler(handler)


def check_logged_once(records: Collection[logging.LogRecord], fault: str) -> None:
    """Check that one record, and one only, has a traceback (S2)."""
    with_traceback = [record for record in records if record.exc_info and record.exc_info[1] is not None]
    if len(with_traceback) != 1:
        raise ContractError(
            "S2", f"{fault} was to be logged once with its traceback, and was {len(with_traceback)} times"
        )


def is_caused_by(error: BaseException | None, kind: type[BaseException]) -> bool:
    """Tell whether an error is of a kind, or was raised on account of one."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error is not None


def reachable(root: object) -> Iterator[object]:
    """Follow references from an object, but not into code."""
    seen: set[int] = set()
    pending = [root]
    while pending:
        held = pending.pop()
        if id(held) in seen or isinstance(held, type | ModuleType | logging.Logger):
            continue
        seen.add(id(held))
        yield held
        pending.extend(held.__closure__ or () if isinstance(held, FunctionType) else gc.get_referents(held))
