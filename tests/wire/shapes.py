"""Holds JSON to the types that the installed `openai` and `anthropic` packages declare for requests.

The packages' types are generated from the providers' own descriptions of their APIs, so what an API
knows stands there and not here.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NoReturn, cast, get_args, get_origin

from typing_extensions import is_typeddict

from tests.wire.declared import UNIONS, arms_of, fields_of

__all__ = ["Refusal", "check_shape"]

_LISTS: Final = (list, Sequence, Iterable)
_SCALARS: Final[Mapping[Any, tuple[type, ...]]] = {
    str: (str,),
    int: (int,),
    float: (int, float),
    bool: (bool,),
    types.NoneType: (types.NoneType,),
}


class Refusal(Exception):  # noqa: N818
    """Why a request is refused.

    Attributes:
        message: What is said of it.
        param: The path to what is wrong.
    """

    def __init__(self, message: str, param: str) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


def check_shape(value: object, expected: Any, path: str = "") -> None:
    """Hold a JSON value to a type, and everything in it to the types in that.

    Args:
        value: The value.
        expected: The type: a TypedDict, or what the fields of one are declared as.
        path: Where the value stands in the request.

    Raises:
        Refusal: The value is not of that type; it has, for one, a key that is not declared.
        TypeError: The type is of a kind that this function does not know.
    """
    origin: Any = get_origin(expected)
    if is_typeddict(expected):
        _check_object(value, expected, path)
    elif origin in UNIONS:
        _check_union(value, expected, path)
    elif origin is Literal:
        _check_literal(value, get_args(expected), path)
    elif origin in _LISTS:
        _check_list(value, get_args(expected)[0], path)
    elif origin is dict:
        _check_mapping(value, get_args(expected)[1], path)
    elif expected in _SCALARS:
        if type(value) not in _SCALARS[expected]:
            _refuse_type(value, path)
    elif expected not in (object, Any):
        msg = f"{path} is declared as {expected!r}, which is of an unknown kind"
        raise TypeError(msg)


def _check_object(value: object, expected: Any, path: str) -> None:
    fields = fields_of(expected)
    given = _as_object(value, path)
    # What kind of object it is comes first: a key is only right or wrong for a kind.
    for name in sorted(given, key=lambda name: not (name in fields and fields[name].is_tag)):
        place = f"{path}.{name}".lstrip(".")
        if name not in fields:
            _refuse(f"Unknown parameter: '{place}'.", place)
        check_shape(given[name], fields[name].expected, place)
    for name, field in fields.items():
        if field.is_required and name not in given:
            place = f"{path}.{name}".lstrip(".")
            _refuse(f"Missing required parameter: '{place}'.", place)


def _check_union(value: object, expected: Any, path: str) -> None:
    """Accept what one arm accepts; otherwise say what the likeliest one has against it."""
    likeliest_first = sorted(arms_of(expected), key=lambda arm: _likeness(value, arm), reverse=True)
    refusals = (_refusal_of(value, arm, path) for arm in likeliest_first)
    refusal = next(refusals)
    if refusal is not None and None not in refusals:
        raise refusal


def _refusal_of(value: object, arm: Any, path: str) -> Refusal | None:
    try:
        check_shape(value, arm, path)
    except Refusal as refusal:
        return refusal
    return None


def _likeness(value: object, arm: Any) -> tuple[int, int, int]:
    """Tell how likely a value was meant to be of one arm of a union."""
    if not is_typeddict(arm) or not isinstance(value, dict):
        return (isinstance(value, list) and get_origin(arm) in _LISTS, 0, 0)
    fields = fields_of(arm)
    known = cast("dict[str, object]", value).keys() & fields.keys()
    tags = sum(value[name] in get_args(fields[name].expected) for name in known if fields[name].is_tag)
    return (1, tags, len(known))


def _check_literal(value: object, supported: tuple[object, ...], path: str) -> None:
    if not any(value == each and type(value) is type(each) for each in supported):
        listed = ", ".join(repr(each) for each in supported)
        _refuse(f"Invalid value: {value!r}. Supported values are: {listed}.", path)


def _check_list(value: object, expected: Any, path: str) -> None:
    if not isinstance(value, list):
        _refuse_type(value, path)
    for index, each in enumerate(cast("list[object]", value)):
        check_shape(each, expected, f"{path}[{index}]")


def _check_mapping(value: object, expected: Any, path: str) -> None:
    for key, each in _as_object(value, path).items():
        check_shape(each, expected, f"{path}.{key}")


def _as_object(value: object, path: str) -> dict[str, object]:
    if not isinstance(value, dict):
        _refuse_type(value, path)
    return cast("dict[str, object]", value)


def _refuse_type(value: object, path: str) -> NoReturn:
    _refuse(f"Invalid type for '{path}': got {type(value).__name__}.", path)


def _refuse(message: str, path: str) -> NoReturn:
    raise Refusal(message, path)
