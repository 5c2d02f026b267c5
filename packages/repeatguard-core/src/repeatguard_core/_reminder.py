"""What the model reads: a reminder's wording and how it is kept in form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Reminder", "compose", "is_reminder", "on_one_line"]

_HEADER: Final = "[repeatguard] Automated notice, not a message from the user."

_FIRST: Final = (
    "You have made the same tool call with the same arguments {count} times in a row. "
    "If you are waiting for something to change, go on. "
    "If not, use the results you have: try another way, or finish."
)

_LATER: Final = """\
You keep making the same tool call with the same arguments:
- tool: {tool}
- consecutive_calls: {count}
- arguments: {arguments}
Unless you are waiting for something to change, try another way, or finish with what you know and say what is \
missing."""

#: As long as a name may be with most providers; a longer one is cut in the text.
_TOOL_NAME_CHARS: Final = 64

#: What could end a line or cannot be encoded: control characters, line and paragraph separators, surrogates.
_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SHORT_ESCAPES: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


@dataclass(frozen=True, slots=True)
class Reminder:
    """One reminder that has fallen due: what it is about, and the text for the model.

    Attributes:
        tool_name: The tool's name as the model wrote it.
        count: How many identical calls there were in a row.
        threshold: The threshold that the count reached.
        is_first: Whether it is the lowest threshold, whose text is the short one.
        arguments: The preview: the canonical arguments on one line, cut to the configured length.
        text: What the model reads.

    Fulfils M2, M3, M4, M7 and M8.
    """

    tool_name: str
    count: int
    threshold: int
    is_first: bool
    arguments: str
    text: str


def compose(*, tool_name: str, count: int, is_first: bool, arguments: str, preview_chars: int) -> Reminder:
    """Word the reminder for a chain that has just reached a threshold.

    Args:
        tool_name: The tool's name as the model wrote it.
        count: The threshold that was reached, which is the number of calls.
        is_first: Whether it is the lowest threshold.
        arguments: The canonical arguments, whole.
        preview_chars: How many characters of them to quote, at least 1.

    Returns:
        The reminder, text included.
    """
    preview = _cut(on_one_line(arguments), preview_chars)
    tool = _cut(on_one_line(tool_name), _TOOL_NAME_CHARS)
    wording = _FIRST if is_first else _LATER
    text = f"{_HEADER}\n{wording.format(tool=tool, count=count, arguments=preview)}"
    return Reminder(tool_name, count, count, is_first, preview, text)


def is_reminder(text: str) -> bool:
    """Tell whether a text is one of this package's reminders.

    An adapter uses it to know its own messages again in a conversation that it is handed,
    also where nothing but the text has been kept.

    Args:
        text: A message's text.

    Returns:
        True if the first line is the reminders' header.
    """
    return text.lstrip().partition("\n")[0].rstrip() == _HEADER


def on_one_line(text: str) -> str:
    """Escape whatever could end a line or keep the text from being encoded as UTF-8 (M4).

    Args:
        text: Any text, hostile text included.

    Returns:
        The text on one line, its other characters unchanged.
    """
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… (+{len(text) - limit} more chars)"
