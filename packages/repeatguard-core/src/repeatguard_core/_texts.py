"""What arguments that come as text are: nothing, JSON, or other text."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

__all__ = ["JSON_SPACE", "means_nothing", "not_json", "on_a_deep_stack"]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

JSON_SPACE: Final = " \t\n\r"


def means_nothing(text: str) -> bool:
    """Tell whether a text without JSON's white space around it stands for no arguments (D3)."""
    return text == "null" or not text.strip()


def on_a_deep_stack(
    function: Callable[_Arguments, _Result], *args: _Arguments.args, **kwargs: _Arguments.kwargs
) -> _Result:
    """Call a function that parses; how deep it may get must not depend on who calls."""
    try:
        return function(*args, **kwargs)
    except RecursionError:
        # A thread's own stack is always the same.
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(function, *args, **kwargs).result()


def not_json(text: str) -> str:
    """Trim text that is not JSON; what only trimming would turn into JSON keeps its white space (D4)."""
    trimmed = text.strip()
    return text if trimmed != text and _is_json(trimmed) else trimmed


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
