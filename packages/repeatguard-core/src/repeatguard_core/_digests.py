"""Digests: enough to tell texts apart, and nothing of what they say."""

from __future__ import annotations

import hashlib
from typing import Final

__all__ = ["digest_of"]

#: In hexadecimal digits; enough that two different texts never share a digest.
_LENGTH: Final = 32


def digest_of(text: str) -> str:
    """Give a text's digest.

    Args:
        text: Any text, lone surrogates included.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH]
