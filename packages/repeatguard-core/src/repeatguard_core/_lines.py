"""Keeping whatever a call holds on its line, and short enough (M3, M4)."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["UNSAFE", "cut", "on_one_line", "tool_on_one_line"]

#: As long as a name may be with most providers; a longer one is cut in the text.
_TOOL_NAME_CHARS: Final = 64

#: What could end a line or cannot be encoded: control characters, line and paragraph separators, surrogates.
UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SHORT_ESCAPES: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def on_one_line(text: str) -> str:
    """Escape whatever could end a line or keep the text from being encoded as UTF-8 (M4).

    Args:
        text: Any text, hostile text included.

    Returns:
        The text on one line, its other characters unchanged.
    """
    return UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"


def tool_on_one_line(name: str) -> str:
    """Put a tool's name on one line, and cut it where it is longer than most providers allow.

    Args:
        name: The name as the model wrote it.
    """
    return cut(on_one_line(name), _TOOL_NAME_CHARS)


def cut(text: str, limit: int, unseen: int = 0) -> str:
    """Cut a text, and say how much there is more.

    Args:
        text: The text, or as much of it as there is.
        limit: How many characters of it to keep.
        unseen: How many characters come behind it that are not there.
    """
    more = max(len(text) - limit, 0) + unseen
    return f"{text[:limit]}… (+{more} more chars)" if more else text
