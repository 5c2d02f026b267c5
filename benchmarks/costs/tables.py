"""Tables, and how what they hold is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tabulate import tabulate

__all__ = ["percent", "table", "times", "yes"]


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table."""
    return tabulate(list(rows), headers=list(headers), tablefmt="github", disable_numparse=True)


def yes(is_met: bool) -> str:  # noqa: FBT001 - it is the value that is written
    """Write whether something holds."""
    return "yes" if is_met else "no"


def times(ratio: float) -> str:
    """Write how many times as much something is."""
    return f"{ratio:.2g} ×"  # noqa: RUF001 - it is what it looks like


def percent(share: float) -> str:
    """Write a share."""
    return f"{100 * share:.1f} %"
