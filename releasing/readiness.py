"""Tells whether a version is ready to be published."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keepachangelog

__all__ = ["NotReadyError", "notes_of"]

_NOT_YET = "not on the package index"


class NotReadyError(Exception):
    """Says what has to be done before the version can be published."""


def notes_of(root: Path, version: str, tag: str | None = None) -> str:
    """Check that a version is ready, and give its notes: its section of the changes.

    Args:
        root: The repository's folder.
        version: The version of all packages.
        tag: The tag that the release is made from, if there is one already.

    Returns:
        What the section says, in Markdown.

    Raises:
        NotReadyError: If the tag is another version's, the section is missing, empty, not dated or not the newest, or
            a page still says that the packages are not published.
    """
    if tag not in {None, f"v{version}"}:
        message = f"The tag is {tag}, but the packages are {version}: the tag has to be v{version}."
        raise NotReadyError(message)
    notes = _section(root / "CHANGELOG.md", version)
    outdated = [page.relative_to(root).as_posix() for page in _pages(root) if _NOT_YET in _words(page)]
    if outdated:
        message = f"These pages say that the packages are {_NOT_YET}: {', '.join(outdated)}."
        raise NotReadyError(message)
    return notes


def _section(changes: Path, version: str) -> str:
    sections: dict[str, Any] = keepachangelog.to_raw_dict(str(changes))
    if next(iter(sections), None) != version:
        message = f'{changes.name} has to begin, after "Unreleased", with "## {version} - YYYY-MM-DD".'
        raise NotReadyError(message)
    section = sections[version]
    try:
        dt.date.fromisoformat(section["metadata"]["release_date"] or "")
    except ValueError:
        message = f"{changes.name} gives no date of the form YYYY-MM-DD for {version}."
        raise NotReadyError(message) from None
    notes = str(section.get("raw", "")).strip()
    if not notes:
        message = f"{changes.name} says nothing about {version}."
        raise NotReadyError(message)
    return notes


def _pages(root: Path) -> Iterator[Path]:
    yield root / "README.md"
    yield from sorted(root.glob("docs/**/*.md"))
    yield from sorted(root.glob("packages/*/README.md"))


def _words(page: Path) -> str:
    """Read a page as one line, since a sentence may be broken anywhere."""
    return " ".join(page.read_text(encoding="utf-8").split())
