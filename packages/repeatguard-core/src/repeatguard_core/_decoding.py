"""Text to value: arguments decoded so that equal ones are equal values, down to the values' types."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, InvalidOperation
from operator import itemgetter
from typing import Final

__all__ = ["Verbatim", "decode", "format_number"]

#: JSON's white space.
_SPACE: Final = " \t\n\r"

#: A whole number with more zeros at its end is written with an exponent, so that no short
#: literal makes a long text. The C code cannot do that, hence the search for so many zeros.
_MAX_ZEROS: Final = 20
_LONG_ZERO_RUN: Final = "0" * (_MAX_ZEROS + 1)

_KEY: Final = itemgetter(0)


class Verbatim:
    """Text that is written as it stands: a number that Python cannot hold, or text that is not JSON.

    Code in C that packs or writes JSON values refuses it, so it is never mistaken for a string.

    Args:
        text: The text.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def decode(text: str) -> object:
    """Decode arguments.

    Args:
        text: Any text.

    Returns:
        Dictionaries, lists, strings, numbers, booleans and None, with the keys of dictionaries
        sorted. A number is an int or a float only if Python writes it as `format_number` does, so
        that numbers of the same value have the same type; otherwise it is `Verbatim`. Text that
        means "no arguments" is an empty dictionary. Text that is not JSON, or is nested too deeply
        for the parser, is `Verbatim`.
    """
    text = str.strip(text, _SPACE)
    if text == "null" or not text.strip():
        return {}
    try:
        return _decode(text)
    except RecursionError:
        pass
    try:
        # How deep it can be must not depend on the caller, and a thread's own stack is always the same.
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(_decode, text).result()
    except RecursionError:
        return Verbatim(text)


def _decode(text: str) -> object:
    for decoder in _DECODERS[_LONG_ZERO_RUN in text :]:
        try:
            value, end = decoder.raw_decode(text)
        except ValueError:
            continue
        if end == len(text):
            return value
    return Verbatim(_trim(text))


def _trim(text: str) -> str:
    """Trim text that is not JSON, unless that alone would make it JSON."""
    trimmed = text.strip()
    try:
        json.loads(trimmed, parse_int=str)
    except ValueError:
        return trimmed
    return text


def _parse_number(literal: str) -> int | float | Verbatim:
    number = float(literal)
    if repr(number) == literal and not number.is_integer():
        return number
    try:
        text = format_number(Decimal(literal))
    except InvalidOperation as error:
        msg = f"the exponent is beyond what a decimal number can hold: {literal[:40]}"
        raise ValueError(msg) from error
    if repr(number) == text:
        return number
    try:
        return int(text)
    except ValueError:
        return Verbatim(text)


def format_number(number: Decimal) -> str:
    """Write a finite number. Equal numbers have one form, different numbers have two."""
    sign, coefficient, exponent = number.as_tuple()
    padded = "".join(map(str, coefficient)).lstrip("0")
    digits = padded.rstrip("0")
    zeros = int(exponent) + len(padded) - len(digits)
    if not digits:
        return "0"
    if 0 <= zeros <= _MAX_ZEROS:
        return "-" * sign + digits + "0" * zeros
    shortest = repr(float(number))
    if zeros < 0 and Decimal(shortest) == number:
        return shortest
    return "-" * sign + f"{digits}e{zeros}"


def _sorted_members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return dict(sorted(pairs, key=_KEY))


#: The second is slower, and takes integers of any size.
_DECODERS: Final = (
    json.JSONDecoder(parse_float=_parse_number, object_pairs_hook=_sorted_members),
    json.JSONDecoder(parse_float=_parse_number, parse_int=_parse_number, object_pairs_hook=_sorted_members),
)
