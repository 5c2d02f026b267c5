"""Settings in a TOML file: where they stand, and what is said if they do not stand there."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["read_table", "table_name"]

_PYPROJECT: Final = "pyproject.toml"
_NO_TABLE_NEEDED: Final = "; write one, or make RepeatGuardConfig() for the defaults"


def read_table(file: Path, entry_keys: Collection[str]) -> object:
    """Read the settings in a TOML file, unchecked.

    Args:
        file: The file.
        entry_keys: The settings that an entry of ``tools`` can have.

    Raises:
        FileNotFoundError: The file does not exist.
        OSError: It cannot be read.
        ValueError: It is not TOML, has no table of settings, or has settings in other places as well.
    """
    name = table_name(file)
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        msg = f"no such file: {file.absolute()}; it would hold the table [{name}]"
        raise FileNotFoundError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"{file} is not valid TOML: {error}"
        raise ValueError(msg) from error
    settings = _table(document, name)
    other = "repeatguard" if file.name == _PYPROJECT else "tool.repeatguard"
    is_elsewhere = _table(document, other) is not None
    if settings is None:
        hint = f"; it has [{other}], which is the name for other files: rename it" if is_elsewhere else ""
        msg = f"{file} has no table [{name}]{hint or _misspelled(document) or _NO_TABLE_NEEDED}"
        raise ValueError(msg)
    if is_elsewhere:  # what stands there would be without effect
        msg = f"{file} has two tables for repeatguard; move what is in [{other}] into [{name}]"
        raise ValueError(msg)
    if _has_stray_entries(document, entry_keys):  # as above
        msg = f"{file} has settings of single tools outside its table; head each with [[{name}.tools]]"
        raise ValueError(msg)
    return settings


def table_name(file: Path) -> str:
    """Return the name of the table that holds the settings in a file."""
    return "tool.repeatguard" if file.name == _PYPROJECT else "repeatguard"


def _table(document: Mapping[str, object], dotted_name: str) -> object:
    """Return a table, or None."""
    value: object = document
    for key in dotted_name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _has_stray_entries(document: Mapping[str, object], entry_keys: Collection[str]) -> bool:
    """Return whether entries of ours, with nothing that is not ours, stand outside the table."""
    for place in ("tools", "tool.tools"):
        tables = _table(document, place)
        for table in tables if isinstance(tables, list) else ():
            if isinstance(table, Mapping) and "match" in table and len(table) > 1 and set(table) <= set(entry_keys):
                return True
    return False


def _misspelled(document: Mapping[str, object]) -> str:
    """Return a hint if the file has a table of nearly that name."""
    tables = [(name, name, table) for name, table in document.items()]
    for outer, holder in document.items():
        if isinstance(holder, Mapping) and difflib.get_close_matches(outer.lower(), ["tool"], cutoff=0.75):
            tables += [(str(name), f"{outer}.{name}", table) for name, table in holder.items()]
    names = {name.lower(): f"[{place}]" for name, place, table in tables if isinstance(table, Mapping)}
    near = difflib.get_close_matches("repeatguard", names, n=1, cutoff=0.75)
    return f"; is {names[near[0]]} a misspelling of it?" if near else ""
