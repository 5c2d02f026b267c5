"""Calls, and when two of them are identical."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from repeatguard_core._arguments import canonical_arguments

__all__ = ["ComparedCall", "NotedCall", "ToolCall"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model asked for.

    Attributes:
        name: The tool's name as the model wrote it.
        arguments: JSON text or the Python value it stands for; None where there are none.
    """

    name: str
    arguments: object = None


class ComparedCall:
    """A call as the chain compares it."""

    def __init__(self, call: ToolCall) -> None:
        self.name = call.name
        # Text never changes, so its canonical form can wait until a comparison needs it.
        self.text = call.arguments if type(call.arguments) is str else None
        if self.text is None:
            self.canonical = canonical_arguments(call.arguments)

    @cached_property
    def canonical(self) -> str:
        return canonical_arguments(self.text)

    @property
    def digest(self) -> str:
        whole = f"{len(self.name)} {self.name}{self.canonical}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(whole).hexdigest()

    def is_identical_to(self, other: ComparedCall | NotedCall) -> bool:
        if isinstance(other, NotedCall):
            return self.digest == other.digest
        if self.name != other.name:
            return False
        return (self.text is not None and self.text == other.text) or self.canonical == other.canonical


@dataclass(frozen=True, slots=True)
class NotedCall:
    """A call of which a checkpoint has kept no more than the next one is compared with."""

    digest: str
