"""Documents that show figures: a part of them is written by what measured."""

from __future__ import annotations

__all__ = ["put_between"]


def put_between(document: str, name: str, part: str) -> str:
    """Replace what a document has between its two markers of a name.

    Args:
        document: The document.
        name: The name that the markers have.
        part: What is to stand there.

    Returns:
        The document with it.

    Raises:
        ValueError: The markers are not there.
    """
    first, last = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, begin, rest = document.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        msg = f"there is no {first} with {last} behind it"
        raise ValueError(msg)
    return f"{before}{begin}\n{part}\n{end}{after}"
