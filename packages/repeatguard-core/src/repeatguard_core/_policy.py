"""What holds for the calls of a tool: at which counts something is due, and how its calls are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

__all__ = ["EXTRA_REPEATS", "OnChangedResult", "Policies", "Schedule", "ToolPolicy", "matches"]

OnChangedResult: TypeAlias = Literal["count", "reset", "defer"]

#: With "defer", calls whose results change may be repeated so many times more.
EXTRA_REPEATS: Final = 2


@dataclass(frozen=True, slots=True)
class Schedule:
    """The counts at which something is due.

    Attributes:
        thresholds: Where a reminder is due, in ascending order.
        remind_every: After the highest threshold a reminder is due again each time that the count
            has gone up by this; None for silence.
        stop_after: Where the run ends; None for never.
    """

    thresholds: tuple[int, ...]
    remind_every: int | None = None
    stop_after: int | None = None

    @property
    def reminds_again(self) -> bool:
        """Whether the first reminder is not the last."""
        return len(self.thresholds) > 1 or self.remind_every is not None

    @property
    def last_count(self) -> int | None:
        """The count beyond which nothing is ever due; None if there is not one."""
        return self.thresholds[-1] if self.remind_every is None and self.stop_after is None else None

    def threshold_at(self, count: int) -> int | None:
        """Return the threshold to name in the reminder that is due at a count; None if none is due.

        Of those that come after the highest threshold it is the highest one.
        """
        if count in self.thresholds:
            return count
        highest = self.thresholds[-1]
        is_again = self.remind_every is not None and count > highest and (count - highest) % self.remind_every == 0
        return highest if is_again else None


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """What holds for the calls of one tool.

    Attributes:
        schedule: What happens at which count.
        on_changed_result: What a changed result means.
        ignored_arguments: Names of arguments that are left out of the comparison.
        preview_chars: How many characters of its arguments a reminder may quote.
    """

    schedule: Schedule
    on_changed_result: OnChangedResult
    preview_chars: int
    ignored_arguments: frozenset[str] = frozenset()


class Policies:
    """What holds for each tool.

    Args:
        general: What holds for a tool that no entry covers.
        entries: Patterns of tools, and what holds for them; the first that matches counts.
        ignored_arguments: Patterns of tools, and the names of arguments to leave out in addition to those
            of the entry.

    Attributes:
        general: As above.
        entries: As above.
        schedules: All schedules, the general one first.
        last_count: The number of repetitions after which nothing is due for any tool until the
            chain ends; None if there is not one.
    """

    def __init__(
        self,
        general: ToolPolicy,
        entries: Sequence[tuple[str, ToolPolicy]],
        ignored_arguments: Mapping[str, Sequence[str]],
    ) -> None:
        self.general = general
        self.entries = entries
        self._ignored_arguments = ignored_arguments
        all_policies = [general, *(policy for _, policy in entries)]
        self.schedules = [policy.schedule for policy in all_policies]
        last_counts = [count for schedule in self.schedules if (count := schedule.last_count) is not None]
        extra = EXTRA_REPEATS if any(policy.on_changed_result == "defer" for policy in all_policies) else 0
        self.last_count = max(last_counts) + extra if len(last_counts) == len(all_policies) else None

    def for_tool(self, tool_name: str) -> ToolPolicy:
        """Return what holds for the calls of a tool.

        Args:
            tool_name: The name as the model wrote it.
        """
        policy = self.general
        if self.entries:
            policy = next((each for pattern, each in self.entries if matches(pattern, tool_name)), policy)
        if not self._ignored_arguments:
            return policy
        ignored = [names for pattern, names in self._ignored_arguments.items() if matches(pattern, tool_name)]
        return replace(policy, ignored_arguments=policy.ignored_arguments.union(*ignored)) if ignored else policy


def matches(pattern: str, tool_name: str) -> bool:
    """Return whether a pattern covers the whole of a tool's name.

    It takes linear time: the model chooses the name, so no name may be slow.

    Args:
        pattern: ``*`` stands for any run of characters, also none; every other character
            stands for itself, and case counts.
        tool_name: The name as the model wrote it.
    """
    if "*" not in pattern:
        return tool_name == pattern
    first, *between, last = pattern.split("*")
    position, end = len(first), len(tool_name) - len(last)
    if position > end or not tool_name.startswith(first) or not tool_name.endswith(last):
        return False
    for part in between:
        found = tool_name.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True
