"""What the model reads: a reminder's wording and how it is kept in form."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

__all__ = [
    "UNKNOWN_CALL",
    "Due",
    "QuotedCall",
    "Reminder",
    "RepeatLoopError",
    "Wording",
    "compose",
    "describe",
    "is_reminder",
    "on_one_line",
    "template_fault",
]

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

_FIRST_OF_CYCLE: Final = (
    "You have gone through the same {length} tool calls with the same arguments {count} times in a row. "
    "If you are waiting for something to change, go on. "
    "If not, use the results you have: try another way, or finish."
)

_LATER_OF_CYCLE: Final = """\
You keep going through the same cycle of {length} tool calls with the same arguments:
{calls}
- consecutive_rounds: {count}
Unless you are waiting for something to change, try another way, or finish with what you know and say what is \
missing."""

#: As long as a name may be with most providers; a longer one is cut in the text.
_TOOL_NAME_CHARS: Final = 64

#: What could end a line or cannot be encoded: control characters, line and paragraph separators, surrogates.
_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SHORT_ESCAPES: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}

#: What a template may hold.
_FIELDS: Final = ("tool", "count", "arguments")


@dataclass(frozen=True, slots=True)
class Reminder:
    """One reminder that has fallen due: what it is about, and the text for the model.

    Attributes:
        tool_name: The tool's name as the model wrote it; of a cycle, that of its last call.
        count: How many identical calls there were in a row, or how often a cycle came in a row.
        threshold: The threshold that was reached; of a further reminder, the highest one.
        is_first: Whether it is the lowest threshold, whose text is the short one.
        arguments: The preview: the canonical arguments on one line, cut to the configured length.
            Of a cycle, a line for each call, with the tool's name and the arguments.
        text: What the model reads.
        tool_names: The tools' names in order: one, or those of a cycle.
        stops: Whether the run is to end in place of the reminder, as ``stop_after`` says.

    Fulfils M2, M3, M4, M7, M8, X1, X4, X5 and X6.
    """

    tool_name: str
    count: int
    threshold: int
    is_first: bool
    arguments: str
    text: str
    tool_names: tuple[str, ...] = ()
    stops: bool = False


class RepeatLoopError(Exception):
    """A run has ended because the same calls came ``stop_after`` times in a row.

    All calls were made, and their results are in the conversation.

    Args:
        reminder: What it is about.

    Attributes:
        reminder: What it is about.
        tool_name: The tool's name; of a cycle, that of its last call.
        count: How often the call, or the cycle, came in a row.
        arguments: The preview of the arguments, as in a reminder. The error's text does not have it.

    Fulfils X5.
    """

    def __init__(self, reminder: Reminder) -> None:
        self.reminder = reminder
        self.tool_name = reminder.tool_name
        self.count = reminder.count
        self.arguments = reminder.arguments
        super().__init__(f"{describe(reminder)}, which is stop_after={reminder.threshold}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy it by what it is about."""
        return type(self), (self.reminder,)


@dataclass(frozen=True, slots=True)
class QuotedCall:
    """What a reminder can say about a call.

    Attributes:
        name: The tool's name.
        arguments: The canonical arguments, or as many characters of them as a reminder may quote.
        length: How many characters there are in all.
    """

    name: str
    arguments: str
    length: int


#: Of a call that is out of sight no more is known than that it was the same.
UNKNOWN_CALL: Final = QuotedCall("(out of sight)", "", 0)


@dataclass(frozen=True, slots=True)
class Wording:
    """Templates that take the place of the usual texts; None where there is none."""

    first: str | None = None
    later: str | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """What a reminder is about.

    Attributes:
        calls: The call that keeps coming, or the calls of a cycle, in order.
        count: How often they came in a row.
        threshold: The threshold that was reached.
        is_first: Whether it is the lowest threshold.
        stops: Whether the run is to end in place of the reminder.
    """

    calls: Sequence[QuotedCall]
    count: int
    threshold: int
    is_first: bool
    stops: bool


def compose(due: Due, wording: Wording, *, preview_chars: int) -> Reminder:
    """Word the reminder that is due.

    Args:
        due: What it is about.
        wording: Templates that take the place of the usual texts.
        preview_chars: How many characters of all arguments to quote, at least 1.

    Returns:
        The reminder, text included.
    """
    calls, is_first = due.calls, due.is_first
    names = [_cut(on_one_line(call.name), _TOOL_NAME_CHARS) for call in calls]
    previews = _previews(calls, preview_chars)
    called = [f"{name} {preview}" for name, preview in zip(names, previews, strict=True)]
    is_cycle = len(calls) > 1
    fields: dict[str, object] = {
        "tool": f"a cycle of {', '.join(names)}" if is_cycle else names[0],
        "count": due.count,
        "arguments": "; ".join(called) if is_cycle else previews[0],
    }
    usual = (_FIRST_OF_CYCLE, _LATER_OF_CYCLE) if is_cycle else (_FIRST, _LATER)
    template = wording.first if is_first else wording.later
    if template is None:
        template = usual[not is_first]
        fields |= {"length": len(calls), "calls": "\n".join(f"- {each}" for each in called)}
    return Reminder(
        tool_name=calls[-1].name,
        count=due.count,
        threshold=due.threshold,
        is_first=is_first,
        arguments=str(fields["arguments"]),
        text=f"{_HEADER}\n{template.format(**fields)}",
        tool_names=tuple(call.name for call in calls),
        stops=due.stops,
    )


def template_fault(template: str) -> str | None:
    """Say what is wrong with a template for a reminder's text (X6).

    Args:
        template: The text, with ``{tool}``, ``{count}`` and ``{arguments}`` where they belong.

    Returns:
        What is wrong, or None.
    """
    places = ", ".join(f"{{{field}}}" for field in _FIELDS)
    if not template.strip():
        return "there must be something for the model to read"
    if (unsafe := _UNSAFE.search(template.replace("\n", "").replace("\t", ""))) is not None:
        return f"{unsafe[0]!a} is a character that it must not have"
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as error:
        return f"it is no template ({error}); a brace that is meant is written twice, {{{{ or }}}}"
    for _, field, spec, conversion in parsed:
        if field is not None and (field not in _FIELDS or spec or conversion):
            whole = field + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            return f"{{{whole}}} is none of {places}; a brace that is meant is written twice, {{{{ or }}}}"
    return None


def describe(reminder: Reminder) -> str:
    """Say in a log or an error what a reminder is about, without arguments.

    Args:
        reminder: The reminder.
    """
    what = "the same arguments"
    if len(reminder.tool_names) > 1:
        tools = ", ".join(_cut(on_one_line(name), _TOOL_NAME_CHARS) for name in reminder.tool_names)
        return f"a cycle of {tools} {reminder.count} times in a row with {what}"
    return (
        f"{_cut(on_one_line(reminder.tool_name), _TOOL_NAME_CHARS)} called {reminder.count} times in a row with {what}"
    )


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


def _previews(calls: Sequence[QuotedCall], chars: int) -> list[str]:
    """Quote the arguments of every call; what the short ones leave is shared among the long ones."""
    texts = [on_one_line(call.arguments) for call in calls]
    shares: dict[int, int] = {}
    for index in sorted(range(len(calls)), key=lambda index: calls[index].length):
        share = chars // (len(calls) - len(shares))
        shares[index] = min(len(texts[index]), share)
        chars -= shares[index]
    unseen = [call.length - len(call.arguments) for call in calls]
    return [_cut(text, shares[index], unseen[index]) for index, text in enumerate(texts)]


def _cut(text: str, limit: int, unseen: int = 0) -> str:
    more = max(len(text) - limit, 0) + unseen
    return f"{text[:limit]}… (+{more} more chars)" if more else text
