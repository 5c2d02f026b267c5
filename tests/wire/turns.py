"""What a script consists of, and what the answers of all APIs are made with."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

__all__ = ["JsonObject", "Turn", "new_id", "pieces"]

JsonObject: TypeAlias = "dict[str, Any]"
#: Calls, each as the tool's name and the arguments' JSON text, or a final text.
Turn: TypeAlias = "str | Sequence[tuple[str, str]]"

_NUMBERS = itertools.count(1)


def new_id(prefix: str) -> str:
    """Make an id that no answer has had."""
    return f"{prefix}{next(_NUMBERS)}"


def pieces(text: str) -> list[str]:
    """Split a text as a stream does; a client has to put it together again."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]
