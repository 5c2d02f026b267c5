"""What the model reads: a reminder's wording, and how whatever a call holds is kept in form."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

__all__ = [
    "UNKNOWN_CALL",
    "CallPreview",
    "Decision",
    "Reminder",
    "Stop",
    "Wording",
    "display_name",
    "escape_line",
    "is_reminder",
    "template_error",
]

#: As long as a name may be with most providers; a longer one is cut in the text.
_TOOL_NAME_CHARS: Final = 64

#: What could end a line or cannot be encoded: control characters, line and paragraph separators, surrogates.
_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SHORT_ESCAPES: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}

#: What a template may hold.
_TEMPLATE_FIELDS: Final = ("tool", "count", "arguments")

_HEADER: Final = "[repeatguard] Automated notice, not a message from the user."

_FIRST: Final = (
    "You have made the same tool call with the same arguments {count} times in a row. "
    "Go on with your task in another way: make a different call, or answer with what you have. "
    "Call again only if something is still in progress. Do not reply to this notice."
)

_LATER: Final = """\
You keep making the same tool call:
- tool: {tool}
- consecutive_calls: {count}
- arguments: {arguments}
Try another way, or answer with what you have. Call again only if something is still in progress. \
Do not reply to this notice."""

_FIRST_OF_CYCLE: Final = (
    "You have gone through the same {length} tool calls with the same arguments {count} times in a row. "
    "Go on with your task in another way: make a different call, or answer with what you have. "
    "Begin again only if something is still in progress. Do not reply to this notice."
)

_LATER_OF_CYCLE: Final = """\
You keep going through the same cycle of {length} tool calls:
{calls}
- consecutive_rounds: {count}
Try another way, or answer with what you have. Begin again only if something is still in progress. \
Do not reply to this notice."""


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
        agent_name: The name of the agent whose calls they are, as the framework has it; None if it
            has none, or the adapter does not know it. A chain knows no names.
    """

    tool_name: str
    count: int
    threshold: int
    is_first: bool
    arguments: str
    text: str
    tool_names: tuple[str, ...] = ()
    agent_name: str | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a run, which is due instead of a reminder once calls have come ``stop_after`` times in a row.

    Attributes:
        tool_name: The tool's name as the model wrote it; of a cycle, that of its last call.
        count: How many identical calls there were in a row, or how often a cycle came in a row.
        stop_after: The limit that was reached.
        arguments: The preview of the arguments, as in a reminder.
        tool_names: The tools' names in order: one, or those of a cycle.
        agent_name: The name of the agent whose calls they are, as the framework has it; None if it
            has none, or the adapter does not know it.
    """

    tool_name: str
    count: int
    stop_after: int
    arguments: str
    tool_names: tuple[str, ...] = ()
    agent_name: str | None = None


#: What can fall due after a batch of calls.
Decision: TypeAlias = Reminder | Stop


class CallPreview(NamedTuple):
    """What a reminder can say about a call.

    Attributes:
        name: The tool's name.
        arguments: The canonical arguments on one line, or as many characters of that as a reminder may quote.
        length: How many characters there are in all.
    """

    name: str
    arguments: str
    length: int

    @classmethod
    def of(cls, tool_name: str, arguments: str, max_chars: int) -> CallPreview:
        """Make the preview of a call.

        Args:
            tool_name: The tool's name.
            arguments: The canonical arguments.
            max_chars: How many characters to keep.
        """
        line = escape_line(arguments)
        return cls(tool_name, line[:max_chars], len(line))


#: Of a call that is out of sight no more is known than that it was the same.
UNKNOWN_CALL: Final = CallPreview("(out of sight)", "", 0)


@dataclass(frozen=True, slots=True)
class Wording:
    """How reminders are worded.

    Attributes:
        max_chars: How many characters of all arguments together to quote, at least 1.
        first: The template that takes the place of the short text, or None.
        later: The template that takes the place of the detailed text, or None.
    """

    max_chars: int
    first: str | None = None
    later: str | None = None

    def reminder(self, calls: Sequence[CallPreview], count: int, threshold: int, *, is_first: bool) -> Reminder:
        """Word a reminder.

        Args:
            calls: The call that keeps coming, or the calls of a cycle, in order.
            count: How often they came in a row.
            threshold: The threshold that was reached.
            is_first: Whether it is the lowest threshold.
        """
        is_cycle = len(calls) > 1
        quoted = self._quote(calls)
        tools = [display_name(call.name) for call in calls]
        fields: dict[str, object] = {
            "tool": f"{' → '.join(tools)} → …" if is_cycle else tools[0],
            "count": count,
            "arguments": "; ".join(quoted),
        }
        template = self.first if is_first else self.later
        if template is None:
            template = ((_FIRST_OF_CYCLE, _LATER_OF_CYCLE) if is_cycle else (_FIRST, _LATER))[not is_first]
            fields |= {"length": len(calls), "calls": "\n".join(f"- {each}" for each in quoted)}
        return Reminder(
            tool_name=calls[-1].name,
            count=count,
            threshold=threshold,
            is_first=is_first,
            arguments="; ".join(quoted),
            text=f"{_HEADER}\n{template.format(**fields)}",
            tool_names=tuple(call.name for call in calls),
        )

    def stop(self, calls: Sequence[CallPreview], count: int, stop_after: int) -> Stop:
        """Describe the end of a run.

        Args:
            calls: The call that keeps coming, or the calls of a cycle, in order.
            count: How often they came in a row.
            stop_after: The limit that was reached.
        """
        return Stop(
            calls[-1].name, count, stop_after, "; ".join(self._quote(calls)), tuple(call.name for call in calls)
        )

    def _quote(self, calls: Sequence[CallPreview]) -> list[str]:
        """Quote the arguments of a call, or each call of a cycle with its arguments."""
        previews = _share(calls, self.max_chars)
        if len(calls) == 1:
            return previews
        return [f"{display_name(call.name)} {preview}" for call, preview in zip(calls, previews, strict=True)]


def is_reminder(text: str) -> bool:
    """Return whether a text is one of this package's reminders.

    An adapter uses it to recognize its own messages in a conversation that it is handed,
    also where nothing but the text has been kept.

    Args:
        text: A message's text.

    Returns:
        True if the first line is the reminders' header.
    """
    return text.lstrip().partition("\n")[0].rstrip() == _HEADER


def template_error(template: str) -> str | None:
    """Say what is wrong with a template for a reminder's text; None if nothing is.

    Args:
        template: The text, with ``{tool}``, ``{count}`` and ``{arguments}`` where they belong.
    """
    places = ", ".join(f"{{{field}}}" for field in _TEMPLATE_FIELDS)
    if not template.strip():
        return "there must be something for the model to read"
    if (unsafe := _UNSAFE.search(template.replace("\n", "").replace("\t", ""))) is not None:
        return f"{unsafe[0]!a} is a character that it must not have"
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as error:
        return f"it is no template ({error}); a brace that is meant is written twice, {{{{ or }}}}"
    for _, field, spec, conversion in parsed:
        if field is not None and (field not in _TEMPLATE_FIELDS or spec or conversion):
            whole = field + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            return f"{{{whole}}} is none of {places}; a brace that is meant is written twice, {{{{ or }}}}"
    return None


def escape_line(text: str) -> str:
    """Escape whatever could end a line or keep the text from being encoded as UTF-8.

    Args:
        text: Any text, hostile text included.

    Returns:
        The text on one line, its other characters unchanged.
    """
    return _UNSAFE.sub(_escape, text)


def display_name(tool_name: str) -> str:
    """Put a tool's name on one line, and cut it where it is longer than most providers allow.

    Args:
        tool_name: The name as the model wrote it.
    """
    return _truncate(escape_line(tool_name), _TOOL_NAME_CHARS)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _truncate(text: str, limit: int, hidden: int = 0) -> str:
    """Cut a text, and say how much more there is; ``hidden`` characters have been cut before."""
    more = max(len(text) - limit, 0) + hidden
    return f"{text[:limit]}… (+{more} more chars)" if more else text


def _share(calls: Sequence[CallPreview], max_chars: int) -> list[str]:
    """Cut the arguments of every call; what the short ones leave is shared among the long ones."""
    shares: dict[int, int] = {}
    for index in sorted(range(len(calls)), key=lambda index: calls[index].length):
        share = max_chars // (len(calls) - len(shares))
        shares[index] = min(len(calls[index].arguments), share)
        max_chars -= shares[index]
    return [
        _truncate(call.arguments, shares[index], call.length - len(call.arguments)) for index, call in enumerate(calls)
    ]
