"""What makes a valid list of thresholds?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

__all__ = ["LOWEST_THRESHOLD", "validated_thresholds"]

#: One call repeats nothing.
LOWEST_THRESHOLD: Final = 2


def validated_thresholds(thresholds: object) -> tuple[int, ...]:
    """Check the counts at which a reminder falls due, and sort them (C2).

    Args:
        thresholds: Any number of different integers of at least 2, at least one, in any
            order: a list, a tuple, a set or another iterable.

    Returns:
        The thresholds in ascending order.

    Raises:
        ValueError: If there is none, or one is no integer, too low or there twice. The
            message names the value, the limit and the way out.
    """
    if isinstance(thresholds, str | bytes | Mapping) or not isinstance(thresholds, Iterable):
        msg = f"thresholds must be a list of integers such as (3, 5, 8), not {thresholds!r}"
        raise ValueError(msg)  # noqa: TRY004 - pydantic reports a ValueError and lets a TypeError through
    accepted: list[int] = []
    for value in thresholds:
        if isinstance(value, bool) or not isinstance(value, int):
            msg = f"a threshold must be an integer, and {value!r} is a {type(value).__name__}"
            raise ValueError(msg)  # noqa: TRY004 - as above
        if value < LOWEST_THRESHOLD:
            msg = f"a threshold must be at least {LOWEST_THRESHOLD}, and {value} is below it: one call repeats nothing"
            raise ValueError(msg)
        if value in accepted:
            msg = f"each threshold must stand in the list once, and {value} is there twice"
            raise ValueError(msg)
        accepted.append(int(value))
    if not accepted:
        msg = "thresholds must hold at least one count, and () holds none; leave it out for the defaults"
        raise ValueError(msg)
    return tuple(sorted(accepted))
