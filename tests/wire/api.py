"""What the server has to know of an API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.wire.turns import JsonObject, Turn

__all__ = ["Api"]


class Api(NamedTuple):
    """What an API wants, and how it answers.

    Attributes:
        check: Raises a Refusal for a body that is not well-formed.
        answer: Makes the whole answer, from a turn and the model's name.
        stream: Takes an answer apart, for the body that asked for it.
        error: Makes the body of an error, from the status, what is said, and the path to what is wrong.
        always_streams: Whether it streams also where the body does not say `stream`.
    """

    check: Callable[[JsonObject], None]
    answer: Callable[[Turn, str], JsonObject]
    stream: Callable[[JsonObject, JsonObject], Iterator[str]]
    error: Callable[[int, str, str], JsonObject]
    always_streams: bool = False
