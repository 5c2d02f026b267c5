"""Where a chain stands, as a short text that can be stored beside a reminder."""

from __future__ import annotations

import re
from typing import Final

from repeatguard_core._calls import ComparedCall, NotedCall

__all__ = ["read_checkpoint", "write_checkpoint"]

#: What it begins with; the number changes with what the text says.
_NAME: Final = "repeatguard-chain-1"
_FORM: Final = re.compile(f"{_NAME} (?P<count>[0-9]{{1,9}}) (?P<digest>none|[0-9a-f]{{64}})")


def write_checkpoint(call: ComparedCall | NotedCall | None, count: int) -> str:
    """Write down a chain.

    Args:
        call: The call that the next one is compared with, or None.
        count: How often it came in a row.

    Returns:
        The text; of the call no more than a digest.
    """
    return f"{_NAME} {count} {call.digest if call else 'none'}"


def read_checkpoint(text: str) -> tuple[NotedCall | None, int] | None:
    """Read what was written down.

    Args:
        text: Any text.

    Returns:
        The call and the count; or None if the text is no checkpoint, or one of another version.
    """
    match = _FORM.fullmatch(text)
    if match is None or (match["digest"] == "none") != (int(match["count"]) == 0):
        return None
    call = None if match["digest"] == "none" else NotedCall(match["digest"])
    return call, int(match["count"])
