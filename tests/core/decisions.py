"""What a chain decides, told apart: reminders and stops."""

from __future__ import annotations

from collections.abc import Iterable

from repeatguard_core import Reminder, Stop

__all__ = ["as_reminder", "as_stop", "reminders_among"]


def as_reminder(decision: Reminder | Stop | None) -> Reminder:
    """Return the decision, which must be a reminder."""
    assert isinstance(decision, Reminder)
    return decision


def as_stop(decision: Reminder | Stop | None) -> Stop:
    """Return the decision, which must be a stop."""
    assert isinstance(decision, Stop)
    return decision


def reminders_among(decisions: Iterable[Reminder | Stop | None]) -> list[Reminder]:
    """Return the reminders, in order; there must be no stop among them."""
    return [as_reminder(decision) for decision in decisions if decision is not None]
