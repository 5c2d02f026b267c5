"""What the general settings and those of one tool have in common: how each value is checked."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationError,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler  # of early releases it is here alone

from repeatguard_core._faults import fault, in_plain_words
from repeatguard_core._thresholds import validated_thresholds

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "Integer",
    "Names",
    "NamesByPattern",
    "OnChangedResult",
    "Patterns",
    "RemindEvery",
    "Settings",
    "StopAfter",
    "Thresholds",
    "ToolEntries",
    "ToolSettings",
]

OnChangedResult: TypeAlias = Literal["count", "reset", "defer"]


#: What stands beside a configuration, since it is code.
_ARGUMENTS_OF_GUARDS: Final = ("untracked", "on_reminder")


def _refuse_no_integer(value: Any) -> Any:
    if isinstance(value, bool | float):
        msg = f"it must be an integer, and {value!r} is a {type(value).__name__}"
        raise ValueError(msg)  # noqa: TRY004 - pydantic reports a ValueError and lets a TypeError through
    return value


def _refuse_never(value: Any) -> Any:
    if value == "never":
        msg = "'never' is for entries of tools; leave it out, and it never happens"
        raise ValueError(msg)
    return value


def _checked_list(values: Any, of: str) -> Any:
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


def _checked_tables(values: Any) -> Any:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        hint = "; in TOML write [[…tools]] with two brackets" if isinstance(values, Mapping) else ""
        msg = f"a list of entries is wanted, not {values!r}{hint}"
        raise ValueError(msg)  # noqa: TRY004 - as above
    return tuple(values)


def _checked_mapping(values: Any) -> Any:
    if not isinstance(values, Mapping):
        msg = (
            f"a mapping from patterns of tools to names of arguments is wanted, not {values!r}; "
            "for every tool write {'*': ['name']}"
        )
        raise ValueError(msg)  # noqa: TRY004 - as above
    return values


def _integer_or_never(least: int) -> BeforeValidator:
    def check(value: Any) -> Any:
        is_integer = isinstance(value, int) and not isinstance(value, bool) and value >= least
        if value is not None and value != "never" and not is_integer:
            msg = f'it must be an integer of at least {least}, or "never", and not {value!r}'
            raise ValueError(msg)
        return value

    return BeforeValidator(check)


class _FrozenMapping(Mapping[str, Sequence[str]]):
    """A mapping that does not change, so that a configuration is hashable (C4)."""

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


Integer: TypeAlias = Annotated[int, BeforeValidator(_refuse_no_integer)]
RemindEvery: TypeAlias = Annotated[Annotated[Integer, Field(ge=1)] | None, BeforeValidator(_refuse_never)]
StopAfter: TypeAlias = Annotated[Integer | None, BeforeValidator(_refuse_never)]
# Any sequence may be given; what is kept is a tuple.
Thresholds: TypeAlias = Annotated[Sequence[int], BeforeValidator(validated_thresholds), AfterValidator(tuple)]
Patterns: TypeAlias = Annotated[
    Sequence[str], BeforeValidator(lambda values: _checked_list(values, "pattern")), AfterValidator(tuple)
]
Names: TypeAlias = Annotated[
    Sequence[str],
    BeforeValidator(lambda values: _checked_list(values, "name")),
    Field(min_length=1),
    AfterValidator(tuple),
]
NamesByPattern: TypeAlias = Annotated[
    Mapping[Annotated[str, Field(min_length=1)], Names],
    BeforeValidator(_checked_mapping),
    AfterValidator(_FrozenMapping),
    PlainSerializer(dict, return_type=dict[str, tuple[str, ...]]),
]


class Settings(BaseModel, frozen=True, extra="forbid", hide_input_in_errors=True):
    """Settings that name what they do not know, and show what differs from the defaults."""

    whose: ClassVar[str] = "repeatguard"

    def __str__(self) -> str:
        return repr(self)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            field = type(self).model_fields.get(name or "")
            if (
                field is None
                or field.is_required()
                or value != field.get_default(call_default_factory=True, validated_data={})
            ):
                yield name, value

    @model_validator(mode="wrap")
    @classmethod
    def _say_faults_plainly(cls, settings: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(settings)
        except ValidationError as error:
            raise in_plain_words(error) from None

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_settings(cls, settings: object) -> object:
        if isinstance(settings, Mapping):
            unknown = [
                f"{name} (here {value!r}) is no setting of {cls.whose}; {cls._hint(str(name))}"
                for name, value in settings.items()
                if name not in cls.model_fields
            ]
            if unknown:
                raise ValueError(". ".join(unknown))
        return settings

    @classmethod
    def _hint(cls, name: str) -> str:
        if name in _ARGUMENTS_OF_GUARDS:
            return "give it to the guard, beside the configuration"
        near = difflib.get_close_matches(name, cls.model_fields, n=1)
        return f"did you mean {near[0]}?" if near else f"there are {', '.join(cls.model_fields)}"


class ToolSettings(Settings, frozen=True):
    """Settings for the tools that a pattern covers, where they differ from the general ones.

    What is left out is as for every other tool.

    Attributes:
        match: Pattern of the tools' names: ``*`` is the only wildcard, case counts, and the whole
            name must match. The first entry that matches a tool is the one that counts.
        thresholds: As in `RepeatGuardConfig`.
        on_changed_result: As in `RepeatGuardConfig`.
        ignore_arguments: Names of arguments that are left out of the comparison, beside those
            that the general setting names.
        remind_every: As in `RepeatGuardConfig`; ``"never"`` for silence.
        stop_after: As in `RepeatGuardConfig`; ``"never"`` to let such calls go on.

    Raises:
        ValueError: A setting is wrong or unknown, or there is none beside ``match``.
    """

    whose: ClassVar[str] = "single tools"

    match: Annotated[str, Field(min_length=1)]
    thresholds: Thresholds | None = None
    on_changed_result: OnChangedResult | None = None
    ignore_arguments: Names | None = None
    remind_every: Annotated[int | Literal["never"] | None, _integer_or_never(1)] = None
    stop_after: Annotated[int | Literal["never"] | None, _integer_or_never(3)] = None

    @model_validator(mode="after")
    def _refuse_an_entry_without_effect(self) -> ToolSettings:
        if all(value is None for name, value in self if name != "match"):
            msg = f"the entry for {self.match!r} sets nothing; set something beside match, or leave the entry out"
            raise fault(msg)
        return self


ToolEntries: TypeAlias = Annotated[Sequence[ToolSettings], BeforeValidator(_checked_tables), AfterValidator(tuple)]
