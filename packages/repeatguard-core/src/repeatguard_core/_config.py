"""The configuration that every adapter takes, how it loads, and what is wrong with one that could never act."""

from __future__ import annotations

import inspect
import os
import reprlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field, ValidationError, model_validator

from repeatguard_core._policy import OnChangedResult, Policies, Schedule, ToolPolicy, matches
from repeatguard_core._reminder import Wording
from repeatguard_core._settings import Settings, ToolEntries, ToolSettings, error_in_words, plain_error
from repeatguard_core._toml import read_table, table_name
from repeatguard_core._values import Integer, NamesByPattern, Patterns, RemindEvery, StopAfter, Template, Thresholds

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["RepeatGuardConfig", "ensure_config", "ensure_sync_callable", "policies", "wording"]

_LONGEST_CYCLE: Final = 16


class RepeatGuardConfig(Settings, frozen=True, extra="forbid"):
    """When to remind and about which tools: one configuration for every framework.

    It is immutable and hashable, so one object may serve any number of agents and threads,
    and it can stand as a field in settings of your own.

    Attributes:
        thresholds: The numbers of identical calls in a row at which the model is reminded,
            each an integer of at least 2. The lowest gives the short text, the others the
            detailed one. They are sorted for you.
        include: Patterns of the tools to watch; empty means every tool. ``*`` is the only
            wildcard, case counts, and the whole name must match.
        exclude: Patterns of tools to leave alone. Exclusion wins over inclusion.
        arguments_preview_chars: How many characters of the arguments a detailed reminder
            quotes, at least 1. Detection always looks at all of them.
        max_cycle_length: How many calls one round of a loop may have, from 1 to 16. With 1
            only identical calls in a row are a loop.
        on_changed_result: What it means if an identical call has another result than the last
            one: ``"count"`` ignores it, ``"reset"`` starts counting again, and ``"defer"``
            reminds two calls later (of a call without arguments it starts counting again).
        ignore_arguments: Patterns of tools, and for each the names of arguments that are left
            out of the comparison. Reminders quote them all the same.
        remind_every: After the highest threshold, remind again every so many repetitions, at
            least 1; None for silence.
        stop_after: End the run at this count, which is above the highest threshold; None for
            never. No call is blocked: the run ends before the next request.
        first_reminder: Text to put in place of the short one, with ``{tool}``, ``{count}`` and
            ``{arguments}`` where they belong.
        later_reminder: Text to put in place of the detailed one.
        tools: Settings of some tools that differ from these. The first entry that matches counts.

    Raises:
        ValueError: A setting is wrong or unknown, or could never act. The message names setting,
            value and limit (it is pydantic's ``ValidationError``, which is a ``ValueError``).
    """

    thresholds: Thresholds = (3, 5, 8)
    include: Patterns = ()
    exclude: Patterns = ()
    arguments_preview_chars: Annotated[Integer, Field(ge=1)] = 500
    max_cycle_length: Annotated[Integer, Field(ge=1, le=_LONGEST_CYCLE)] = 8
    on_changed_result: OnChangedResult = "count"
    ignore_arguments: NamesByPattern = Field(default_factory=dict, validate_default=True)
    remind_every: RemindEvery = None
    stop_after: StopAfter = None
    first_reminder: Template | None = None
    later_reminder: Template | None = None
    tools: ToolEntries = ()

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Self:
        """Load the configuration from a TOML file.

        Args:
            path: The file. In one named ``pyproject.toml`` the table is
                ``[tool.repeatguard]``, in any other it is ``[repeatguard]``.

        Returns:
            The configuration, checked like one built in Python.

        Raises:
            FileNotFoundError: The file does not exist.
            OSError: It cannot be read.
            ValueError: The file is not TOML, has no such table, or a setting in it is
                wrong (then it is pydantic's ``ValidationError``). The message names the file.
        """
        file = Path(path)
        settings = read_table(file, ToolSettings.model_fields)
        try:
            return cls.model_validate(settings)
        except ValidationError as error:
            raise plain_error(error, f"{file}, table [{table_name(file)}]") from None

    def tracks(self, tool_name: str) -> bool:
        """Return whether calls of a tool are watched under this configuration.

        Args:
            tool_name: The name as the model wrote it.

        Returns:
            True if a pattern of ``include`` covers it, or there is none, and no pattern of
            ``exclude`` does.
        """
        if self.exclude and any(matches(pattern, tool_name) for pattern in self.exclude):
            return False
        return not self.include or any(matches(pattern, tool_name) for pattern in self.include)

    @model_validator(mode="after")
    def _reject_ineffective_settings(self) -> Self:
        if error := next(_ineffective_settings(self), None):
            raise error_in_words(error)
        return self


def policies(config: RepeatGuardConfig) -> Policies:
    """Return what a configuration says about each tool."""
    schedule = Schedule(tuple(config.thresholds), config.remind_every, config.stop_after)
    general = ToolPolicy(schedule, config.on_changed_result, config.arguments_preview_chars)
    entries = [(entry.match, _with_entry(general, entry)) for entry in config.tools]
    return Policies(general, entries, config.ignore_arguments)


def wording(config: RepeatGuardConfig) -> Wording:
    """Return how a configuration words reminders."""
    return Wording(config.arguments_preview_chars, config.first_reminder, config.later_reminder)


def _with_entry(general: ToolPolicy, entry: ToolSettings) -> ToolPolicy:
    schedule = Schedule(
        tuple(entry.thresholds or general.schedule.thresholds),
        _override(general.schedule.remind_every, entry.remind_every),
        _override(general.schedule.stop_after, entry.stop_after),
    )
    on_changed_result = entry.on_changed_result or general.on_changed_result
    return ToolPolicy(schedule, on_changed_result, general.preview_chars, frozenset(entry.ignore_arguments or ()))


def _override(general: int | None, own: int | Literal["never"] | None) -> int | None:
    if own is None:
        return general
    return None if own == "never" else own


def _ineffective_settings(config: RepeatGuardConfig) -> Iterator[str]:
    """Say what of a configuration could never act."""
    tools = policies(config)
    if error := _schedule_error(tools.general.schedule):
        yield error
    for pattern in config.ignore_arguments:
        if untracked := _why_untracked(pattern, config):
            yield f"ignore_arguments for {pattern!r} would never act: {untracked}"
    for index, (pattern, policy) in enumerate(tools.entries):
        if error := _schedule_error(policy.schedule):
            yield (
                f"for the tools {pattern!r}: {error}; what their entry leaves out is as in the general "
                'settings, and "never" takes a general remind_every or stop_after back'
            )
        if untracked := _why_untracked(pattern, config):
            yield f"the settings for the tools {pattern!r} would never act: {untracked}"
        for earlier, _ in tools.entries[:index]:
            if matches(earlier, pattern):  # a wildcard covers whatever a wildcard may stand for
                way_out = "take one out" if earlier == pattern else "change their order"
                yield (
                    f"the settings for the tools {pattern!r} would never act: "
                    f"the entry for {earlier!r} comes first and covers them; {way_out}"
                )
    if config.later_reminder is not None and not any(schedule.reminds_again for schedule in tools.schedules):
        yield (
            "later_reminder would never act: there is one threshold, and remind_every is not set; "
            "set one more, or leave it out"
        )


def _schedule_error(schedule: Schedule) -> str | None:
    """Say what of a schedule could never act, or None."""
    highest, every, stop_after = schedule.thresholds[-1], schedule.remind_every, schedule.stop_after
    if stop_after is not None and stop_after <= highest:
        return (
            f"stop_after must be above the highest threshold, and {stop_after} is not above {highest} "
            f"(thresholds are {schedule.thresholds}); raise it, or set lower thresholds"
        )
    if stop_after is not None and every is not None and highest + every >= stop_after:
        return (
            f"remind_every={every} would never act: the run ends at stop_after={stop_after}, "
            f"and the first further reminder is due at {highest + every}; lower it, or raise stop_after"
        )
    return None


def _why_untracked(pattern: str, config: RepeatGuardConfig) -> str | None:
    """Say why no tool that a pattern covers is watched; None if some may be."""
    for excluding in config.exclude:
        if matches(excluding, pattern):
            return f"exclude has {excluding!r}; take one of the two out"
    if "*" not in pattern and not config.tracks(pattern):
        return f"include={tuple(config.include)!r} leaves it out; add it there"
    return None


def ensure_config(config: object) -> RepeatGuardConfig:
    """Return the configuration that was handed over, or the defaults if it was left out.

    Args:
        config: What was handed over.

    Raises:
        TypeError: It is not a configuration: a guard that never fires must not come about silently.
    """
    if config is None:
        return RepeatGuardConfig()
    if not isinstance(config, RepeatGuardConfig):
        msg = (
            f"config must be a RepeatGuardConfig, not {_shown(config)}; "
            "write RepeatGuardConfig(thresholds=(3, 6)), RepeatGuardConfig.from_toml(path) for a file, "
            "or RepeatGuardConfig.model_validate(mapping)"
        )
        raise TypeError(msg)
    return config


def ensure_sync_callable(name: str, function: object) -> None:
    """Make sure that a function can be called, and need not be awaited.

    Args:
        name: The argument's name.
        function: What was handed over; None is fine.

    Raises:
        TypeError: It is not a function, or is async.
    """
    if function is None:
        return
    if not callable(function):
        msg = f"{name} must be a function, not {_shown(function)}; leave it out if there is none"
        raise TypeError(msg)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        shown = getattr(function, "__qualname__", f"a {type(function).__qualname__}")
        msg = f"{name} must be a plain function, and {shown} is async, so it would never be awaited; make it plain"
        raise TypeError(msg)


def _shown(value: object) -> str:
    """Show a plain value in short; of any other no more than what it is, for it may hold what is nobody's business."""
    plain = (str, int, float, bool, dict, list, tuple)
    return reprlib.repr(value) if type(value) in plain else f"a {type(value).__qualname__}"
