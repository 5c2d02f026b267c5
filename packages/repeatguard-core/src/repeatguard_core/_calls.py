"""Calls, and when two of them are identical."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from repeatguard_core._arguments import canonical_arguments, without
from repeatguard_core._digests import digest_of
from repeatguard_core._reminder import UNKNOWN_CALL, QuotedCall

if TYPE_CHECKING:
    from repeatguard_core._ladder import Ladder
    from repeatguard_core._rules import ToolRules

__all__ = ["ComparedCall", "NotedCall", "PastCall", "ToolCall"]

_NO_ARGUMENTS: Final = canonical_arguments(None)


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


class ComparedCall:
    """A call as the chain compares it, with all of its arguments.

    Args:
        call: The call.
        rules: What the configuration says about its tool.
    """

    def __init__(self, call: ToolCall, rules: ToolRules) -> None:
        self.name = call.name
        self.rules = rules
        # Text never changes, so its canonical form can wait until a comparison needs it.
        self.text = call.arguments if type(call.arguments) is str else None
        if self.text is None:
            self.canonical = canonical_arguments(call.arguments)
            self.compared = without(rules.ignored_arguments, call.arguments, self.canonical)
        is_compared = rules.on_changed_result != "count" and call.result is not None
        self.result = _digest_of_result(call.result) if is_compared else None

    @cached_property
    def canonical(self) -> str:
        """The arguments, which a reminder quotes."""
        return canonical_arguments(self.text)

    @cached_property
    def compared(self) -> str:
        """The arguments without those that are left out of the comparison."""
        return without(self.rules.ignored_arguments, self.text, self.canonical)

    @cached_property
    def digest(self) -> str:
        """Tells the call from any that is not identical."""
        return digest_of(f"{len(self.name)} {self.name}{self.compared}")

    @property
    def begins_anew_with_another_result(self) -> bool:
        """Whether it begins a new chain if its result is not that of the identical call before it."""
        policy = self.rules.on_changed_result
        return policy == "reset" or (policy == "defer" and self.compared == _NO_ARGUMENTS)

    def learn_from(self, earlier: PastCall) -> None:
        """Spare working out what is known already, if an earlier call is spelled the same."""
        if not isinstance(earlier, ComparedCall) or self.text is None or self.name != earlier.name:
            return
        if self.text == earlier.text:
            vars(self).update({name: known for name, known in vars(earlier).items() if name in _WORKED_OUT})

    def is_identical_to(self, other: PastCall) -> bool:
        """Tell whether another call is of the same tool with the same arguments."""
        if isinstance(other, NotedCall):
            return self.digest == other.digest
        if self.name != other.name:
            return False
        return (self.text is not None and self.text == other.text) or self.compared == other.compared

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
        return QuotedCall(self.name, self.canonical, len(self.canonical))

    def noted(self, chars: int) -> NotedCall:
        """Keep no more than later calls are compared with and a reminder may quote.

        Args:
            chars: How many characters of the arguments a reminder may quote.
        """
        quoted = QuotedCall(self.name, self.canonical[:chars], len(self.canonical))
        return NotedCall(self.digest, self.result, self.ladder, quoted)


#: What a call works out from its text.
_WORKED_OUT: Final = frozenset({"canonical", "compared", "digest"})


@dataclass(frozen=True, slots=True)
class NotedCall:
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
    return digest_of(result if isinstance(result, str) else canonical_arguments(result))
