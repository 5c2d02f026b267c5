"""What is wrong with a configuration, in words that need no page beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails, InitErrorDetails

__all__ = ["fault", "in_plain_words"]


def fault(words: Any, kind: Any = "value_error") -> PydanticCustomError:
    """Make an error that pydantic reports in its own words alone.

    Args:
        words: What is wrong: the value, the limit and the way out.
        kind: What pydantic calls such a fault.
    """
    return PydanticCustomError(kind, words)


def in_plain_words(error: ValidationError, title: str | None = None) -> ValidationError:
    """Say the same as pydantic, and nothing around it: each line has the value and the limit.

    Args:
        error: What pydantic has found.
        title: What is wrong; left out, as in the error.

    Returns:
        An error of the same type, with the same places, kinds and values.
    """
    lines: list[InitErrorDetails] = [
        {"type": fault(_words(each), each["type"]), "loc": each["loc"], "input": each["input"]}
        for each in error.errors()
    ]
    return ValidationError.from_exception_data(title or error.title, lines, hide_input=True)


def _words(each: ErrorDetails) -> str:
    own = each.get("ctx", {}).get("error")
    if isinstance(own, ValueError):  # a validator's, which names the value
        return str(own)
    # Of pydantic's own kinds there is a page on the web; a line without one has been made here.
    return f"{each['msg']}; here {each['input']!r}" if "url" in each else each["msg"]
