"""Does a pattern cover a tool's name? The one wildcard is ``*``."""

from __future__ import annotations

__all__ = ["matches"]


def matches(pattern: str, tool_name: str) -> bool:
    """Tell whether a pattern covers the whole of a tool's name (D7).

    It takes linear time: the name is the model's to choose, so no choice may be slow.

    Args:
        pattern: ``*`` stands for any run of characters, also none; every other character
            stands for itself, and case counts.
        tool_name: The name as the model wrote it.

    Returns:
        True if the whole name fits.
    """
    if "*" not in pattern:
        return tool_name == pattern
    first, *between, last = pattern.split("*")
    position, end = len(first), len(tool_name) - len(last)
    if position > end or not tool_name.startswith(first) or not tool_name.endswith(last):
        return False
    for part in between:
        found = tool_name.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True
