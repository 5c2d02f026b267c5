"""When are two calls the same? Arguments in, one canonical text or one digest out.

There is one way: text is decoded to a value of which equal arguments have equal ones. The
digest packs that value, and the canonical text writes it. A Python value is written first,
and that text is taken like any other.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import marshal
import math
from collections import UserList
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from itertools import chain
from typing import Final

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from repeatguard_core._decoding import Verbatim, decode, format_number

__all__ = ["NO_ARGUMENTS", "canonical_arguments", "digest_of_call", "digest_of_text", "drop_arguments"]

NO_ARGUMENTS: Final = "{}"
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))

#: A value that is written in more pieces than this shares parts with itself, over and over.
_MAX_PIECES: Final = 1_000_000

#: In hexadecimal digits; enough that two different texts never share a digest.
_DIGEST_LENGTH: Final = 32
#: The version of the format that packs a value the same whoever else holds it.
_MARSHAL_VERSION: Final = 2


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
            accepted.

    Returns:
        The canonical text. It is made for comparing, and fit for reading.

    Raises:
        Nothing, whatever the arguments are.
    """
    if issubclass(type(arguments), str):  # isinstance would run the value's own code
        return _write_decoded(decode(arguments))  # type: ignore[arg-type] # mypy does not know issubclass
    if arguments is None:
        return NO_ARGUMENTS
    try:
        return _write(arguments)
    except Exception:  # noqa: BLE001 - a value's own code runs in here
        return object.__repr__(arguments)


def digest_of_call(tool_name: str, arguments: str, ignored: AbstractSet[str] = frozenset()) -> str:
    """Return a call's digest. Two calls have the same one exactly if they are identical.

    Args:
        tool_name: The tool's name.
        arguments: The arguments as text.
        ignored: Names of arguments to leave out. Only the outermost ones are looked at.

    Returns:
        32 hexadecimal digits.
    """
    value = decode(arguments)
    if ignored and isinstance(value, dict):
        members: dict[str, object] = value
        value = {name: member for name, member in members.items() if name not in ignored}
    try:
        packed = marshal.dumps(value, _MARSHAL_VERSION)  # type: ignore[arg-type] # what cannot be packed raises
    except ValueError:  # it is too deep, or holds text to be taken as it stands
        packed = marshal.dumps(_encode(_write_decoded(value)), _MARSHAL_VERSION)
    return _hash(packed + _encode(tool_name))  # what is packed says itself where it ends


def digest_of_text(text: str) -> str:
    """Return the digest of any text, lone surrogates included: 32 hexadecimal digits."""
    return _hash(_encode(text))


def drop_arguments(names: AbstractSet[str], arguments: object) -> object:
    """Leave some arguments out of a Python value; what is not a mapping stays as it is.

    Args:
        names: The arguments' names.
        arguments: The value.
    """
    try:
        if isinstance(arguments, Mapping):
            return {key: arguments[key] for key in arguments if _key_text(key) not in names}
    except Exception:  # noqa: BLE001, S110 - a mapping's own code runs in here
        pass
    return arguments


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGEST_LENGTH]


def _write_decoded(value: object) -> str:
    try:
        return _ENCODER.encode(value)
    except (TypeError, RecursionError):  # as when packing
        return _write(value)


@dataclasses.dataclass(frozen=True, slots=True)
class _Close:
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
        if isinstance(value, _Close):
            open_containers.remove(id(value.container))
            written.append(value.bracket)
        elif (scalar := _scalar(value)) is not None:
            written.append(scalar)
        elif id(value) in open_containers:
            written.append("<cycle>")
        else:
            start, inside, end = _open(value)
            if len(written) > _MAX_PIECES:
                return object.__repr__(root)
            written.append(start)
            open_containers.add(id(value))
            pending.append(_Close(value, end))
            pending.extend(reversed(inside))
    return "".join(written)


def _scalar(value: object) -> str | None:
    """Write a value that JSON knows and that holds no others; None for any other value."""
    if isinstance(value, Verbatim):
        return value.text
    if value is None or isinstance(value, bool | str):
        return _ENCODER.encode(value)
    if isinstance(value, int):
        return format_number(Decimal(value))
    if isinstance(value, float):
        return format_number(Decimal(repr(float(value)))) if math.isfinite(value) else _ENCODER.encode(float(value))
    return None


def _open(value: object) -> tuple[str, list[object], str]:
    """Split a value into the text before it, what it holds, and the text after it."""
    try:
        if isinstance(value, Mapping):
            return "{", _members(value), "}"
        if isinstance(value, list | tuple | UserList):
            return "[", _join([element] for element in value), "]"
        if isinstance(value, AbstractSet):
            return "[", _join([Verbatim(text)] for text in sorted(map(_write, value))), "]"
        return "", [_to_json_value(value)], ""
    except Exception:  # noqa: BLE001 - mappings, fields and serializers of the user's that raise
        return "", [_opaque(value)], ""


def _members(mapping: Mapping[object, object]) -> list[object]:
    members = [((_key_text(key), type(key).__qualname__), value) for key, value in mapping.items()]
    members.sort(key=lambda member: member[0])
    return _join([Verbatim(_ENCODER.encode(key) + ":"), value] for (key, _), value in members)


def _key_text(key: object) -> str:
    """Turn a key into a string, which is all that JSON has for keys."""
    if isinstance(key, str):
        return key
    text = _write(key)
    return str(json.loads(text)) if text.startswith('"') else text


def _join(groups: Iterable[list[object]]) -> list[object]:
    """Put a comma between groups of things to write."""
    comma: object = Verbatim(",")
    return list(chain.from_iterable(([comma, *group] if index else group) for index, group in enumerate(groups)))


def _to_json_value(value: object) -> object:
    """Put a value that JSON does not know in terms of values that it knows."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal) and value.is_finite():
        return Verbatim(format_number(value))
    fields = _fields(value)
    if fields is not None:
        return fields
    # pydantic would exhaust an iterator, and it is not ours to use up.
    return _opaque(value) if isinstance(value, Iterator) else to_jsonable_python(value, fallback=_opaque)


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


def _opaque(value: object) -> Verbatim:
    try:
        return Verbatim(f"<{value!r}>")
    except Exception:  # noqa: BLE001 - a user's __repr__ may do anything
        return Verbatim(object.__repr__(value))
