"""Playing a scenario to a guard."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from itertools import groupby

from benchmarks.peers.driver import UNSEEN, Call, Driver
from benchmarks.peers.results import Outcome
from benchmarks.peers.scenarios import Say, Scenario

__all__ = ["play"]


def play(make: Callable[[], Driver], scenario: Scenario) -> Outcome:
    """Show a scenario to a new guard. It is shown all calls, also behind its first word.

    Args:
        make: Makes the guard.
        scenario: What it is shown.

    Returns:
        What it did.
    """
    words: list[str | None] = []
    is_told, is_shown = True, False
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):  # some print, or log, what they do
        driver = make()
        try:
            for event in scenario.events:
                if isinstance(event, Say):
                    is_told = (driver.tell_of_user() if event is Say.USER else driver.begin_run()) and is_told
                elif prepared := _prepared(driver, event):
                    is_shown = True
                    words += _words(driver, prepared)
                else:
                    words += [None] * len(event)
        finally:
            driver.close()
    at = {
        word: [number for number, each in enumerate(words, 1) if each == word]
        for word in dict.fromkeys(words)
        if word is not None
    }
    return Outcome(said={word: _ranges(numbers) for word, numbers in at.items()}, is_told=is_told, is_shown=is_shown)


def _prepared(driver: Driver, calls: Sequence[Call]) -> list[object]:
    """Prepare the calls of a response that come to the guard: all of them, or none."""
    return [each for each in map(driver.prepare, calls) if each is not UNSEEN]


def _words(driver: Driver, prepared: list[object]) -> list[str | None]:
    try:
        return driver.observe_response(prepared)
    except Exception as error:  # noqa: BLE001 - what it raises without meaning to is what is looked for
        return [f"fails with `{type(error).__name__}`"] * len(prepared)


def _ranges(numbers: Sequence[int]) -> str:
    """Write down numbers, with "to" between the ends of three or more in a row."""
    rows = [[number for _, number in row] for _, row in groupby(enumerate(numbers), lambda each: each[1] - each[0])]
    long_as_ends = [[f"{row[0]} to {row[-1]}"] if len(row) > 2 else map(str, row) for row in rows]  # noqa: PLR2004
    return ", ".join(text for row in long_as_ends for text in row)
