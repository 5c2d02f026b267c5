"""JSON values, their many spellings, and an oracle of its own for which of them are equal."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, TypeAlias

from hypothesis import strategies as st

#: None, booleans, strings, decimals of any size (the only numbers), lists and dictionaries.
Value: TypeAlias = Any

numbers: st.SearchStrategy[Decimal] = st.one_of(
    st.integers(-20, 20).map(Decimal),
    st.integers(2**53 - 5, 2**53 + 5).map(Decimal),
    st.integers().map(Decimal),
    st.tuples(st.integers(), st.integers(-400, 400)).map(lambda drawn: Decimal(f"{drawn[0]}e{drawn[1]}")),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda number: Decimal(repr(number))),
)
scalars: st.SearchStrategy[Value] = st.none() | st.booleans() | numbers | st.text(max_size=10)
any_value: st.SearchStrategy[Value] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


def same_value(left: Value, right: Value) -> bool:
    """Decide equality by JSON's own types, numbers by value."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_value(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_value, left, right))
    return type(left) is type(right) and bool(left == right)


@st.composite
def spelling(draw: st.DrawFn, value: Value) -> str:
    """Write a value as JSON, in one of its many spellings."""
    space = draw(st.sampled_from(["", " ", "\n\t"]))
    if isinstance(value, dict):
        members = draw(st.permutations(list(value.items())))
        written = [f"{draw(spelling(key))}{space}:{draw(spelling(inner))}" for key, inner in members]
        return f"{{{space}{(space + ',').join(written)}{space}}}"
    if isinstance(value, list):
        return f"[{space}{(space + ',').join(draw(spelling(inner)) for inner in value)}{space}]"
    if isinstance(value, Decimal):
        return draw(number_spelling(value))
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def number_spelling(draw: st.DrawFn, number: Decimal) -> str:
    """Write a number in one of its many spellings."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    zeros = draw(st.integers(0, 3))
    coefficient = "-" * sign + str(int("".join(map(str, digits))) * 10**zeros)
    exponent -= zeros
    spellings = [f"{coefficient}e{exponent}", f"{coefficient}.0E{exponent}"]
    if exponent == 0:
        spellings.append(coefficient)
    if -30 < exponent < 30:
        plain = format(Decimal(f"{coefficient}e{exponent}"), "f")
        spellings += [plain, f"{plain}00" if "." in plain else f"{plain}.00"]
    return draw(st.sampled_from(spellings))


@st.composite
def changed_somewhere(draw: st.DrawFn, value: Value) -> Value:
    """Change one thing in a value; now and then the change leaves it equal."""
    if isinstance(value, list) and value and draw(st.booleans()):
        index = draw(st.integers(0, len(value) - 1))
        return [*value[:index], draw(changed_somewhere(value[index])), *value[index + 1 :]]
    if isinstance(value, dict) and value and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: draw(changed_somewhere(value[key]))}
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        last = (digits[-1] + draw(st.integers(0, 9))) % 10
        return Decimal((draw(st.sampled_from([sign, 1 - sign])), (*digits[:-1], last), int(exponent)))
    if isinstance(value, str):
        return value + draw(st.sampled_from([" ", "\u0301", "x"]))
    if isinstance(value, list):
        return [*value, None]
    return draw(scalars)
