"""What each setting accepts, and how it is checked and kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from repeatguard_core._reminder import template_error

__all__ = [
    "Integer",
    "Names",
    "NamesByPattern",
    "Patterns",
    "RemindEvery",
    "StopAfter",
    "Template",
    "Thresholds",
    "entries",
    "integer_or_never",
]

#: One call repeats nothing.
_LOWEST_THRESHOLD: Final = 2


def _require_integer(value: Any) -> Any:
    if isinstance(value, bool | float):
        msg = f"it must be an integer, and {value!r} is a {type(value).__name__}"
        raise ValueError(msg)  # noqa: TRY004 - pydantic reports a ValueError and lets a TypeError through
    return value


def _reject_never(value: Any) -> Any:
    if value == "never":
        msg = "'never' is for entries of tools; leave it out, and it never happens"
        raise ValueError(msg)
    return value


def _check_list(values: Any, of: str) -> Any:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        hint = f"; write [{values!r}]" if isinstance(values, str) else ""
        msg = f"a list of {of}s is wanted, not {values!r}{hint}"
        raise ValueError(msg)  # noqa: TRY004 - as above
    if isinstance(values, AbstractSet):
        values = sorted(values)
    if "" in (values := tuple(values)):
        msg = f"a {of} must have at least one character, and '' in {values!r} has none"
        raise ValueError(msg)
    return values


def _check_mapping(values: Any) -> Any:
    if not isinstance(values, Mapping):
        msg = (
            f"a mapping from patterns of tools to names of arguments is wanted, not {values!r}; "
            "for every tool write {'*': ['name']}"
        )
        raise ValueError(msg)  # noqa: TRY004 - as above
    return values


def integer_or_never(least: int) -> BeforeValidator:
    """Return a check that a value is an integer of at least ``least``, ``"never"`` or None."""

    def check(value: Any) -> Any:
        is_integer = isinstance(value, int) and not isinstance(value, bool) and value >= least
        if value is not None and value != "never" and not is_integer:
            msg = f'it must be an integer of at least {least}, or "never", and not {value!r}'
            raise ValueError(msg)
        return value

    return BeforeValidator(check)


def _check_thresholds(thresholds: object) -> tuple[int, ...]:
    if isinstance(thresholds, str | bytes | Mapping) or not isinstance(thresholds, Iterable):
        msg = f"thresholds must be a list of integers such as (3, 5, 8), not {thresholds!r}"
        raise ValueError(msg)  # noqa: TRY004 - pydantic reports a ValueError and lets a TypeError through
    accepted: list[int] = []
    for value in thresholds:
        if isinstance(value, bool) or not isinstance(value, int):
            msg = f"a threshold must be an integer, and {value!r} is a {type(value).__name__}"
            raise ValueError(msg)  # noqa: TRY004 - as above
        if value < _LOWEST_THRESHOLD:
            msg = f"a threshold must be at least {_LOWEST_THRESHOLD}, and {value} is below it: one call repeats nothing"
            raise ValueError(msg)
        if value in accepted:
            msg = f"each threshold must stand in the list once, and {value} is there twice"
            raise ValueError(msg)
        accepted.append(int(value))
    if not accepted:
        msg = "thresholds must hold at least one count, and () holds none; leave it out for the defaults"
        raise ValueError(msg)
    return tuple(sorted(accepted))


def entries(values: Any) -> Any:
    """Check a list of entries of tools, each of which is checked by its own type."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        hint = "; in TOML write [[…tools]] with two brackets" if isinstance(values, Mapping) else ""
        msg = f"a list of entries is wanted, not {values!r}{hint}"
        raise ValueError(msg)  # noqa: TRY004 - as above
    return tuple(values)


def _check_template(template: str) -> str:
    if error := template_error(template):
        msg = f"{error}; here {template!r}"
        raise ValueError(msg)
    return template


class _FrozenMapping(Mapping[str, Sequence[str]]):
    """A mapping that does not change, so that a configuration is hashable."""

    def __init__(self, members: Mapping[str, Sequence[str]]) -> None:
        self._members = dict(members)

    def __getitem__(self, key: str) -> Sequence[str]:
        return self._members[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __hash__(self) -> int:
        return hash(frozenset(self._members.items()))

    def __repr__(self) -> str:
        return repr(self._members)


Integer: TypeAlias = Annotated[int, BeforeValidator(_require_integer)]
RemindEvery: TypeAlias = Annotated[Annotated[Integer, Field(ge=1)] | None, BeforeValidator(_reject_never)]
StopAfter: TypeAlias = Annotated[Integer | None, BeforeValidator(_reject_never)]
# Any sequence may be given; what is kept is a tuple.
Thresholds: TypeAlias = Annotated[Sequence[int], BeforeValidator(_check_thresholds), AfterValidator(tuple)]
Patterns: TypeAlias = Annotated[
    Sequence[str], BeforeValidator(lambda values: _check_list(values, "pattern")), AfterValidator(tuple)
]
Names: TypeAlias = Annotated[
    Sequence[str],
    BeforeValidator(lambda values: _check_list(values, "name")),
    Field(min_length=1),
    AfterValidator(tuple),
]
NamesByPattern: TypeAlias = Annotated[
    Mapping[Annotated[str, Field(min_length=1)], Names],
    BeforeValidator(_check_mapping),
    AfterValidator(_FrozenMapping),
    PlainSerializer(dict, return_type=dict[str, tuple[str, ...]]),
]
Template: TypeAlias = Annotated[str, AfterValidator(_check_template)]
