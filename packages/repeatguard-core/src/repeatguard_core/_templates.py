"""Words of the user's in place of the usual ones (X6)."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Final

from repeatguard_core._lines import UNSAFE

__all__ = ["Wording", "template_fault"]

#: What a template may hold.
_FIELDS: Final = ("tool", "count", "arguments")


@dataclass(frozen=True, slots=True)
class Wording:
    """Templates that take the place of the usual texts; None where there is none."""

    first: str | None = None
    later: str | None = None


def template_fault(template: str) -> str | None:
    """Say what is wrong with a template for a reminder's text (X6).

    Args:
        template: The text, with ``{tool}``, ``{count}`` and ``{arguments}`` where they belong.

    Returns:
        What is wrong, or None.
    """
    places = ", ".join(f"{{{field}}}" for field in _FIELDS)
    if not template.strip():
        return "there must be something for the model to read"
    if (unsafe := UNSAFE.search(template.replace("\n", "").replace("\t", ""))) is not None:
        return f"{unsafe[0]!a} is a character that it must not have"
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as error:
        return f"it is no template ({error}); a brace that is meant is written twice, {{{{ or }}}}"
    for _, field, spec, conversion in parsed:
        if field is not None and (field not in _FIELDS or spec or conversion):
            whole = field + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            return f"{{{whole}}} is none of {places}; a brace that is meant is written twice, {{{{ or }}}}"
    return None
