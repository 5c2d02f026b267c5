"""What the model reads: a reminder's wording and how it is kept in form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from repeatguard_core._lines import cut, on_one_line, tool_on_one_line
from repeatguard_core._templates import Wording

__all__ = ["UNKNOWN_CALL", "Decision", "Due", "QuotedCall", "Reminder", "Stop", "compose", "is_reminder"]

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

    Fulfils M2, M3, M4, M7, M8, X1, X4 and X6.
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


class QuotedCall(NamedTuple):
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
    def of(cls, tool_name: str, arguments: str) -> QuotedCall:
        """Quote all of a call.

        Args:
            tool_name: The tool's name.
            arguments: The canonical arguments.
        """
        text = on_one_line(arguments)
        return cls(tool_name, text, len(text))

    def shortened(self, chars: int) -> QuotedCall:
        """Keep no more of it than a reminder may quote."""
        return QuotedCall(self.name, self.arguments[:chars], self.length)


#: Of a call that is out of sight no more is known than that it was the same.
UNKNOWN_CALL: Final = QuotedCall("(out of sight)", "", 0)


@dataclass(frozen=True, slots=True)
class Due:
    """What a reminder is about.

    Attributes:
        calls: The call that keeps coming, or the calls of a cycle, in order.
        count: How often they came in a row.
        threshold: The threshold that was reached.
        is_first: Whether it is the lowest threshold.
        stop_after: The limit that was reached if the run is to end, and None if the model is to be told.
    """

    calls: Sequence[QuotedCall]
    count: int
    threshold: int
    is_first: bool
    stop_after: int | None = None


def compose(due: Due, wording: Wording, *, preview_chars: int) -> Decision:
    """Word the reminder that is due, or describe the end of the run.

    Args:
        due: What it is about.
        wording: Templates that take the place of the usual texts.
        preview_chars: How many characters of all arguments to quote, at least 1.

    Returns:
        The reminder, text included; or the end of the run.
    """
    calls, is_first = due.calls, due.is_first
    names = [tool_on_one_line(call.name) for call in calls]
    previews = _previews(calls, preview_chars)
    called = [f"{name} {preview}" for name, preview in zip(names, previews, strict=True)]
    is_cycle = len(calls) > 1
    fields: dict[str, object] = {
        "tool": f"{' → '.join(names)} → …" if is_cycle else names[0],
        "count": due.count,
        "arguments": "; ".join(called) if is_cycle else previews[0],
    }
    arguments, tool_names = str(fields["arguments"]), tuple(call.name for call in calls)
    if due.stop_after is not None:
        return Stop(calls[-1].name, due.count, due.stop_after, arguments, tool_names)
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
        arguments=arguments,
        text=f"{_HEADER}\n{template.format(**fields)}",
        tool_names=tool_names,
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


def _previews(calls: Sequence[QuotedCall], chars: int) -> list[str]:
    """Quote the arguments of every call; what the short ones leave is shared among the long ones."""
    texts = [call.arguments for call in calls]
    shares: dict[int, int] = {}
    for index in sorted(range(len(calls)), key=lambda index: calls[index].length):
        share = chars // (len(calls) - len(shares))
        shares[index] = min(len(texts[index]), share)
        chars -= shares[index]
    unseen = [call.length - len(call.arguments) for call in calls]
    return [cut(text, shares[index], unseen[index]) for index, text in enumerate(texts)]
