"""The configuration that every adapter takes, and how it loads."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, Field, field_validator, model_validator

from repeatguard_core._patterns import matches
from repeatguard_core._thresholds import validated_thresholds

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["RepeatGuardConfig"]

_PYPROJECT: Final = "pyproject.toml"


class RepeatGuardConfig(BaseModel, frozen=True, extra="forbid"):
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

    Raises:
        ValueError: A setting is wrong or unknown. The message names setting, value and
            limit (it is pydantic's ``ValidationError``, which is a ``ValueError``).

    Fulfils C1, C2, C3, C4 and D7.
    """

    # Any sequence may be given; what is kept is a tuple.
    thresholds: Annotated[Sequence[int], AfterValidator(tuple)] = (3, 5, 8)
    include: Annotated[Sequence[str], AfterValidator(tuple)] = ()
    exclude: Annotated[Sequence[str], AfterValidator(tuple)] = ()
    arguments_preview_chars: Annotated[int, Field(ge=1)] = 500

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
                wrong. The message names the file.

        Fulfils C3.
        """
        file = Path(path)
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8-sig"))
        except FileNotFoundError as error:
            msg = f"no such file: {file}; it would hold the table [{_table_name(file)}]"
            raise FileNotFoundError(msg) from error
        except (ValueError, RecursionError) as error:
            msg = f"{file} is not valid TOML: {error}"
            raise ValueError(msg) from error
        settings = _table(document, _table_name(file))
        if settings is None:
            msg = f"{file} has no table [{_table_name(file)}]{_misplaced(document, file)}"
            raise ValueError(msg)
        try:
            return cls.model_validate(settings)
        except ValueError as error:
            msg = f"{file}, table [{_table_name(file)}]: {error}"
            raise ValueError(msg) from error

    def tracks(self, tool_name: str) -> bool:
        """Tell whether calls of a tool are watched under this configuration (D7).

        Args:
            tool_name: The name as the model wrote it.

        Returns:
            True if a pattern of ``include`` covers it, or there is none, and no pattern of
            ``exclude`` does.
        """
        if any(matches(pattern, tool_name) for pattern in self.exclude):
            return False
        return not self.include or any(matches(pattern, tool_name) for pattern in self.include)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_settings(cls, settings: object) -> object:
        if isinstance(settings, Mapping):
            for name, value in settings.items():
                if name not in cls.model_fields:
                    near = difflib.get_close_matches(str(name), cls.model_fields, n=1)
                    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(cls.model_fields)}"
                    msg = f"{name} (here {value!r}) is no setting of repeatguard; {hint}"
                    raise ValueError(msg)
        return settings

    @field_validator("thresholds", mode="before")
    @classmethod
    def _check_thresholds(cls, thresholds: object) -> tuple[int, ...]:
        return validated_thresholds(thresholds)

    @field_validator("arguments_preview_chars", mode="before")
    @classmethod
    def _check_preview(cls, preview: Any) -> Any:
        if isinstance(preview, bool | float):
            msg = f"it must be an integer of at least 1, and {preview!r} is a {type(preview).__name__}"
            raise ValueError(msg)  # noqa: TRY004 - as above
        return preview

    @field_validator("include", "exclude", mode="before")
    @classmethod
    def _check_patterns(cls, patterns: Any) -> Any:
        if isinstance(patterns, str | Mapping):
            hint = f"; write [{patterns!r}]" if isinstance(patterns, str) else ""
            msg = f"a list of patterns is wanted, not {patterns!r}{hint}"
            raise ValueError(msg)  # noqa: TRY004 - pydantic reports a ValueError and lets a TypeError through
        if isinstance(patterns, AbstractSet):
            patterns = sorted(patterns)
        if isinstance(patterns, Iterable) and "" in (patterns := tuple(patterns)):
            msg = f"a pattern must have at least one character, and '' in {patterns!r} has none"
            raise ValueError(msg)
        return patterns


def _table_name(file: Path) -> str:
    return "tool.repeatguard" if file.name == _PYPROJECT else "repeatguard"


def _table(document: Mapping[str, object], dotted_name: str) -> object:
    """Find a table, or None."""
    value: object = document
    for key in dotted_name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _misplaced(document: Mapping[str, object], file: Path) -> str:
    """Add a hint if the table is there under the name that belongs in the other kind of file."""
    other = "repeatguard" if file.name == _PYPROJECT else "tool.repeatguard"
    return "" if _table(document, other) is None else f"; the one it has, [{other}], is not the name for this file"
