"""Reads what the installed clients' types declare."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from os import PathLike
from typing import IO, Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import NotRequired, Required, get_type_hints

__all__ = ["UNIONS", "Field", "arms_of", "fields_of"]

_WRAPPERS: Final = (Annotated, NotRequired, Required)
UNIONS: Final = (Union, types.UnionType)
#: What a client takes beside what it declares as JSON, and turns into that.
_NO_JSON: Final = (bytes, IO, PathLike)


class Field(NamedTuple):
    """What a key of an object is declared as."""

    expected: Any
    is_required: bool

    @property
    def is_tag(self) -> bool:
        """Whether it tells one kind of object from another."""
        return get_origin(self.expected) is Literal


@functools.cache
def fields_of(expected: Any) -> dict[str, Field]:
    """Give the keys of a TypedDict."""
    hints = get_type_hints(expected, include_extras=True)
    return {name: _read_field(annotation) for name, annotation in hints.items()}


def _read_field(annotation: Any) -> Field:
    origin: Any = get_origin(annotation)
    if origin not in _WRAPPERS:
        return Field(annotation, is_required=False)
    inner = _read_field(get_args(annotation)[0])
    return inner._replace(is_required=inner.is_required or origin is Required)


def arms_of(expected: Any) -> Iterator[Any]:
    """Give what a union consists of, as far as that is JSON."""
    origin: Any = get_origin(expected)
    if origin in UNIONS:
        for arm in get_args(expected):
            yield from arms_of(arm)
    elif origin is Annotated:
        yield from arms_of(get_args(expected)[0])
    elif not (origin in _NO_JSON or expected in _NO_JSON or _is_model(expected)):
        yield expected


def _is_model(expected: Any) -> bool:
    return isinstance(expected, type) and issubclass(expected, BaseModel)
