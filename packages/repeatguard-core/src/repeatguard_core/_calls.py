"""Calls, and when two of them are identical."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from repeatguard_core._canonical import (
    NO_ARGUMENTS,
    canonical_arguments,
    digest_of_call,
    digest_of_text,
    drop_arguments,
)
from repeatguard_core._reminder import UNKNOWN_CALL, QuotedCall

if TYPE_CHECKING:
    from repeatguard_core._ladder import Ladder
    from repeatguard_core._rules import ToolRules

__all__ = ["ComparedCall", "NotedCall", "PastCall", "ToolCall"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model asked for.

    Attributes:
        name: The tool's name as the model wrote it.
        arguments: JSON text or the Python value it stands for; None where there are none.
        result: What the model is told that came of it: text, or any value. None where that is not
            known, or not known yet. It is looked at only where ``on_changed_result`` says so.
    """

    name: str
    arguments: object = None
    result: object = None


class _Arguments:
    """What a call is about, worked out as far as somebody has asked."""

    __slots__ = ("_canonical", "_compared", "_digest", "_ignored", "_quoted", "text", "tool_name")

    def __init__(self, call: ToolCall, ignored: frozenset[str]) -> None:
        self.tool_name = call.name
        self._ignored = ignored
        self._digest: str | None = None
        self._canonical: str | None = None
        self._compared: str | None = None
        self._quoted: QuotedCall | None = None
        if type(call.arguments) is str:
            self.text = call.arguments  # text never changes, so work on it can wait
        else:
            self.text = self._canonical = canonical_arguments(call.arguments)
            self._compared = canonical_arguments(drop_arguments(ignored, call.arguments)) if ignored else self.text

    @property
    def canonical(self) -> str:
        if self._canonical is None:
            self._canonical = canonical_arguments(self.text)
        return self._canonical

    @property
    def digest(self) -> str:
        if self._digest is None:
            compared = self.text if self._compared is None else self._compared
            self._digest = digest_of_call(self.tool_name, compared, self._ignored)
        return self._digest

    def is_spelled_like(self, other: _Arguments) -> bool:
        return self.text == other.text and self.tool_name == other.tool_name

    @property
    def quoted(self) -> QuotedCall:
        if self._quoted is None:
            self._quoted = QuotedCall.of(self.tool_name, self.canonical)
        return self._quoted


class ComparedCall:
    """A call as the chain compares it, with all of its arguments.

    Args:
        call: The call.
        rules: What the configuration says about its tool.

    Attributes:
        rules: What the configuration says about its tool.
        result: The digest of what came of it; None where that is not known, or is not compared.
    """

    __slots__ = ("_arguments", "result", "rules")

    def __init__(self, call: ToolCall, rules: ToolRules) -> None:
        self.rules = rules
        self._arguments = _Arguments(call, rules.ignored_arguments)
        is_compared = rules.on_changed_result != "count" and call.result is not None
        self.result = _digest_of_result(call.result) if is_compared else None

    @property
    def digest(self) -> str:
        """Tells the call from any that is not identical."""
        return self._arguments.digest

    @property
    def begins_anew_with_another_result(self) -> bool:
        """Whether it begins a new chain if its result is not that of the identical call before it."""
        policy = self.rules.on_changed_result
        if policy == "defer":
            return self.digest == digest_of_call(self._arguments.tool_name, NO_ARGUMENTS)
        return policy == "reset"

    def learn_from(self, earlier: PastCall) -> None:
        """Spare working out what is known already, if an earlier call has the very same arguments."""
        if isinstance(earlier, ComparedCall):
            mine, known = self._arguments, earlier._arguments  # noqa: SLF001 - it is one of ours
            if mine.is_spelled_like(known) or (not self.rules.ignored_arguments and mine.digest == known.digest):
                self._arguments = known

    def is_identical_to(self, other: PastCall) -> bool:
        """Tell whether another call is of the same tool with the same arguments."""
        return self.digest == other.digest

    def has_another_result_than(self, other: PastCall) -> bool:
        """Tell whether the results of both are known and differ."""
        return self.result is not None and other.result is not None and self.result != other.result

    @property
    def ladder(self) -> Ladder:
        """What happens at which count."""
        return self.rules.ladder

    @property
    def quoted(self) -> QuotedCall:
        """What a reminder can say about it."""
        return self._arguments.quoted

    def noted(self, chars: int | None) -> NotedCall:
        """Keep no more than later calls are compared with and a reminder may quote.

        Args:
            chars: How many characters of the arguments a reminder may quote; None if none will quote any.
        """
        quoted = UNKNOWN_CALL if chars is None else self.quoted.shortened(chars)
        return NotedCall(self.digest, self.result, self.rules.ladder, quoted)


class NotedCall(NamedTuple):
    """A call of which no more is kept than it takes to compare later ones with it and to name it.

    Attributes:
        digest: Tells it from any call that is not identical.
        result: Its result's digest, or None.
        ladder: What happens at which count; None if that is not known.
        quoted: What a reminder can say about it.
    """

    digest: str
    result: str | None = None
    ladder: Ladder | None = None
    quoted: QuotedCall = UNKNOWN_CALL


PastCall: TypeAlias = ComparedCall | NotedCall


def _digest_of_result(result: object) -> str:
    return digest_of_text(result if isinstance(result, str) else canonical_arguments(result))
