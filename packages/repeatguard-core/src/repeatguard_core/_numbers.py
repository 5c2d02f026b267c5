"""How numbers are spelled in canonical arguments: one number, one spelling."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Final

__all__ = ["TOO_MANY_ZEROS", "Verbatim", "decode_number", "number_of", "spell", "spell_literal"]

#: A whole number with more zeros at its end is written with an exponent, so that no short
#: literal makes a long text. The C code cannot do that, hence the search for so many zeros.
_MAX_ZEROS: Final = 20
TOO_MANY_ZEROS: Final = "0" * (_MAX_ZEROS + 1)


class Verbatim(str):
    """Text to write as it stands, where a plain ``str`` is a string to be quoted."""

    __slots__ = ()


def decode_number(literal: str) -> int | float:
    """Decode a JSON number into one that the C encoder spells canonically, or raise ValueError."""
    number = float(literal)
    if repr(number) == literal and not number.is_integer():
        return number
    spelling = spell_literal(literal)
    return number if repr(number) == spelling else int(spelling)


def number_of(literal: str) -> int | float | bytes:
    """Give one value for all spellings of a JSON number, or raise ValueError.

    It is the spelling as bytes, which JSON has nothing of, where Python has no number that it would do
    to compare with.
    """
    try:
        return decode_number(literal)
    except ValueError:
        return spell_literal(literal).encode()


def spell_literal(literal: str) -> Verbatim:
    """Spell a JSON number exactly, or raise ValueError if it is beyond what a decimal can hold."""
    try:
        return spell(Decimal(literal))
    except InvalidOperation:
        msg = f"the exponent is beyond what a decimal number can hold: {literal[:40]}"
        raise ValueError(msg) from None


def spell(number: Decimal) -> Verbatim:
    """Spell a finite number. Equal numbers have one spelling, different numbers have two."""
    sign, coefficient, exponent = number.as_tuple()
    padded = "".join(map(str, coefficient)).lstrip("0")
    digits = padded.rstrip("0")
    zeros = int(exponent) + len(padded) - len(digits)
    if not digits:
        return Verbatim("0")
    if 0 <= zeros <= _MAX_ZEROS:
        return Verbatim("-" * sign + digits + "0" * zeros)
    shortest = repr(float(number))
    if zeros < 0 and Decimal(shortest) == number:
        return Verbatim(shortest)
    return Verbatim("-" * sign + f"{digits}e{zeros}")
