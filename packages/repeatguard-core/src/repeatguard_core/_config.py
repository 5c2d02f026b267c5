"""The configuration that every adapter takes, and how it loads."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field, ValidationError, field_validator, model_validator

from repeatguard_core._faults import fault, in_plain_words
from repeatguard_core._patterns import matches
from repeatguard_core._rules import RuleBook
from repeatguard_core._settings import (
    Integer,
    NamesByPattern,
    OnChangedResult,
    Patterns,
    RemindEvery,
    Settings,
    StopAfter,
    Thresholds,
    ToolEntries,
    ToolSettings,
)
from repeatguard_core._templates import template_fault

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["RepeatGuardConfig"]

_PYPROJECT: Final = "pyproject.toml"
_NO_TABLE_NEEDED: Final = "; write one, or make RepeatGuardConfig() for the defaults"
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
            one: ``"count"`` takes no notice, ``"reset"`` starts counting anew, and ``"defer"``
            reminds two calls later (of a call without arguments it starts anew).
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

    Fulfils C1, C2, C3, C4, D7, X1, X2, X3, X4, X5 and X6.
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
    first_reminder: str | None = None
    later_reminder: str | None = None
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
            FileNotFoundError: There is no such file.
            OSError: It cannot be read.
            ValueError: The file is not TOML, has no such table, or a setting in it is
                wrong (then it is pydantic's ``ValidationError``). The message names the file.

        Fulfils C3.
        """
        file = Path(path)
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8-sig"))
        except FileNotFoundError as error:
            msg = f"no such file: {file.absolute()}; it would hold the table [{_table_name(file)}]"
            raise FileNotFoundError(msg) from error
        except (ValueError, RecursionError) as error:
            msg = f"{file} is not valid TOML: {error}"
            raise ValueError(msg) from error
        settings = _table(document, _table_name(file))
        if settings is None:
            hint = _misplaced(document, file) or _misspelled(document)
            msg = f"{file} has no table [{_table_name(file)}]{hint or _NO_TABLE_NEEDED}"
            raise ValueError(msg)
        if _misplaced(document, file):  # what stands there would be without effect
            right, wrong = _table_name(file), _other_name(file)
            msg = f"{file} has two tables for repeatguard; move what is in [{wrong}] into [{right}]"
            raise ValueError(msg)
        if _has_stray_tools(document):  # as above
            msg = f"{file} has settings of single tools outside its table; head each with [[{_table_name(file)}.tools]]"
            raise ValueError(msg)
        try:
            return cls.model_validate(settings)
        except ValidationError as error:
            raise in_plain_words(error, f"{file}, table [{_table_name(file)}]") from None

    def tracks(self, tool_name: str) -> bool:
        """Tell whether calls of a tool are watched under this configuration (D7).

        Args:
            tool_name: The name as the model wrote it.

        Returns:
            True if a pattern of ``include`` covers it, or there is none, and no pattern of
            ``exclude`` does.
        """
        if self.exclude and any(matches(pattern, tool_name) for pattern in self.exclude):
            return False
        return not self.include or any(matches(pattern, tool_name) for pattern in self.include)

    @field_validator("first_reminder", "later_reminder")
    @classmethod
    def _check_template(cls, template: str | None) -> str | None:
        wrong = None if template is None else template_fault(template)
        if wrong:
            msg = f"{wrong}; here {template!r}"
            raise ValueError(msg)
        return template

    @model_validator(mode="after")
    def _refuse_what_can_never_act(self) -> Self:
        wrong = next(RuleBook(self).faults(), None)
        if wrong:
            raise fault(wrong)
        return self


def _table_name(file: Path) -> str:
    return "tool.repeatguard" if file.name == _PYPROJECT else "repeatguard"


def _other_name(file: Path) -> str:
    """Give the table's name in the other kind of file."""
    return "repeatguard" if file.name == _PYPROJECT else "tool.repeatguard"


def _table(document: Mapping[str, object], dotted_name: str) -> object:
    """Find a table, or None."""
    value: object = document
    for key in dotted_name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _misplaced(document: Mapping[str, object], file: Path) -> str:
    """Add a hint if the table is there under the name that belongs in the other kind of file."""
    other = _other_name(file)
    if _table(document, other) is None:
        return ""
    return f"; it has [{other}], which is the name for other files: rename it"


def _has_stray_tools(document: Mapping[str, object]) -> bool:
    """Tell whether entries of ours, with nothing that is not ours, stand outside the table."""
    names = ToolSettings.model_fields.keys()
    for place in ("tools", "tool.tools"):
        tables = _table(document, place)
        for table in tables if isinstance(tables, list) else ():
            if isinstance(table, Mapping) and "match" in table and len(table) > 1 and table.keys() <= names:
                return True
    return False


def _misspelled(document: Mapping[str, object]) -> str:
    """Add a hint if the file has a table of nearly that name."""
    tables = [(name, name, table) for name, table in document.items()]
    for outer, holder in document.items():
        if isinstance(holder, Mapping) and difflib.get_close_matches(outer.lower(), ["tool"], cutoff=0.75):
            tables += [(str(name), f"{outer}.{name}", table) for name, table in holder.items()]
    names = {name.lower(): f"[{place}]" for name, place, table in tables if isinstance(table, Mapping)}
    near = difflib.get_close_matches("repeatguard", names, n=1, cutoff=0.75)
    return f"; is {names[near[0]]} a misspelling of it?" if near else ""
