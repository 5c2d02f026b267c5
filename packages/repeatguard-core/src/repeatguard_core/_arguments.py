"""When are two sets of arguments the same? Arguments in, one canonical text out.

Two paths lead to the same text. JSON text is decoded and written again by the standard
library's C code. What the C code would refuse, or would write less than exactly, goes
through `_write`, which spells the same values the same way and any other value too.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections import UserList
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from itertools import chain
from typing import Final, cast

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from repeatguard_core._numbers import TOO_MANY_ZEROS, Verbatim, decode_number, spell, spell_literal
from repeatguard_core._texts import JSON_SPACE, means_nothing, not_json, on_a_deep_stack

__all__ = [
    "JSON_SPACE",
    "NO_ARGUMENTS",
    "canonical_arguments",
    "means_nothing",
    "not_json",
    "on_a_deep_stack",
    "without",
]

NO_ARGUMENTS: Final = "{}"
_DECODER: Final = json.JSONDecoder(parse_float=decode_number)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":"))

#: A value that is written in more pieces than this shares parts with itself, over and over.
_MAX_PIECES: Final = 1_000_000


def canonical_arguments(arguments: object) -> str:
    """Bring a call's arguments into one form, so that equal arguments are equal text.

    Keys are sorted at every depth. Numbers go by their value: ``1``, ``1.0`` and ``1e0``
    are one number, and integers of any size are exact. Strings and the order of lists
    stay as they are.

    Args:
        arguments: What the model sent, as JSON text or as the Python value that the text
            stands for. ``None``, blank text, ``"null"``, ``"{}"`` and an empty mapping all
            mean that there are no arguments. Text that is not JSON stands for itself,
            trimmed. Values that JSON does not know (dates, sets, models, any object) are
            welcome.

    Returns:
        The canonical text. It is made for comparing, and fit for reading.

    Raises:
        Nothing, whatever the arguments are.

    Fulfils D2, D3, D4 and D5.
    """
    if issubclass(type(arguments), str):  # isinstance would run the value's own code
        return _canonical_text(str.strip(cast("str", arguments), JSON_SPACE))
    if arguments is None:
        return NO_ARGUMENTS
    try:
        return _write(arguments)
    except Exception:  # noqa: BLE001 - a value's own code runs in here, and D5 says never raise
        return object.__repr__(arguments)


def without(names: AbstractSet[str], arguments: object, canonical: str) -> str:
    """Leave some arguments out of the comparison (X3).

    Args:
        names: The arguments' names. Only the outermost ones are looked at.
        arguments: What the model sent, as for `canonical_arguments`.
        canonical: Their canonical form.

    Returns:
        The canonical form of what is left; of what is no object, the canonical form as it is.

    Raises:
        Nothing, whatever the arguments are.
    """
    if not names or not canonical.startswith("{"):
        return canonical
    try:
        if isinstance(arguments, Mapping):
            return canonical_arguments({key: arguments[key] for key in arguments if _key_text(key) not in names})
        return on_a_deep_stack(_canonical_without, names, canonical)
    except Exception:  # noqa: BLE001 - as above
        return canonical


def _canonical_without(names: AbstractSet[str], canonical: str) -> str:
    members = json.loads(canonical, parse_float=Verbatim, parse_int=Verbatim)
    return _write({name: value for name, value in members.items() if name not in names})


def _canonical_text(text: str) -> str:
    if means_nothing(text):
        return NO_ARGUMENTS
    try:
        return on_a_deep_stack(_canonical_json, text)
    except RecursionError:
        return text


def _canonical_json(text: str) -> str:
    try:
        if TOO_MANY_ZEROS not in text:
            return _ENCODER.encode(_DECODER.decode(text))
    except json.JSONDecodeError:
        return not_json(text)
    except ValueError:
        pass
    try:
        return _write(json.loads(text, parse_float=spell_literal, parse_int=spell_literal))
    except ValueError:
        return not_json(text)


@dataclasses.dataclass(frozen=True, slots=True)
class _End:
    """The end of a container. It keeps the container alive, for an id is only unique that long."""

    container: object
    bracket: str


def _write(root: object) -> str:
    """Write any value in canonical form. Depth is a matter of memory here, never of the stack."""
    written: list[str] = []
    pending: list[object] = [root]
    open_containers: set[int] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, _End):
            open_containers.remove(id(value.container))
            written.append(value.bracket)
        elif (scalar := _scalar(value)) is not None:
            written.append(scalar)
        elif id(value) in open_containers:
            written.append("<cycle>")
        else:
            start, inside, end = _take_apart(value)
            if len(written) > _MAX_PIECES:
                return object.__repr__(root)
            written.append(start)
            open_containers.add(id(value))
            pending.append(_End(value, end))
            pending.extend(reversed(inside))
    return "".join(written)


def _scalar(value: object) -> str | None:
    """Spell a value that JSON knows and that holds no others; None for any other value."""
    if isinstance(value, Verbatim):
        return value
    if value is None or isinstance(value, bool | str):
        return _ENCODER.encode(value)
    if isinstance(value, int):
        return spell(Decimal(value))
    if isinstance(value, float):
        return spell(Decimal(repr(float(value)))) if math.isfinite(value) else _ENCODER.encode(float(value))
    return None


def _take_apart(value: object) -> tuple[str, list[object], str]:
    """Split a value into the text before it, what it holds, and the text after it."""
    try:
        if isinstance(value, Mapping):
            return "{", _members(value), "}"
        if isinstance(value, list | tuple | UserList):
            return "[", _separate([element] for element in value), "]"
        if isinstance(value, AbstractSet):
            return "[", _separate([Verbatim(text)] for text in sorted(map(_write, value))), "]"
        return "", [_unwrap(value)], ""
    except Exception:  # noqa: BLE001 - mappings, fields and serializers of the user's that raise
        return "", [_describe(value)], ""


def _members(mapping: Mapping[object, object]) -> list[object]:
    members = [((_key_text(key), type(key).__qualname__), value) for key, value in mapping.items()]
    members.sort(key=lambda member: member[0])
    return _separate([Verbatim(_ENCODER.encode(key) + ":"), value] for (key, _), value in members)


def _key_text(key: object) -> str:
    """Turn a key into a string, which is all that JSON has for keys."""
    if isinstance(key, str):
        return key
    text = _write(key)
    return str(json.loads(text)) if text.startswith('"') else text


def _separate(groups: Iterable[list[object]]) -> list[object]:
    """Put a comma between groups of things to write."""
    comma: object = Verbatim(",")
    return list(chain.from_iterable(([comma, *group] if index else group) for index, group in enumerate(groups)))


def _unwrap(value: object) -> object:
    """Put a value that JSON does not know in terms of values that it knows."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal) and value.is_finite():
        return spell(value)
    fields = _fields(value)
    if fields is not None:
        return fields
    # pydantic would exhaust an iterator, and it is not ours to use up.
    return _describe(value) if isinstance(value, Iterator) else to_jsonable_python(value, fallback=_describe)


def _fields(value: object) -> object:
    """List what an object holds, or answer None."""
    if isinstance(value, BaseModel):
        return {**vars(value), **(value.model_extra or {})}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if type(value).__repr__ is object.__repr__ and hasattr(value, "__dict__"):
        # Its repr would be an address, and addresses are used again.
        return [Verbatim(f"<{type(value).__qualname__}>"), vars(value)]
    return None


def _describe(value: object) -> Verbatim:
    try:
        return Verbatim(f"<{value!r}>")
    except Exception:  # noqa: BLE001 - a user's __repr__ may do anything
        return Verbatim(object.__repr__(value))
