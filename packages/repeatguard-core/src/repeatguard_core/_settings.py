"""Settings of all tools and of single tools: what they have in common, and how errors in them are worded."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler  # of early releases it is here alone
from pydantic_core import PydanticCustomError

from repeatguard_core._policy import OnChangedResult
from repeatguard_core._values import Names, Thresholds, entries, integer_or_never

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails, InitErrorDetails
    from typing_extensions import Self

__all__ = ["Settings", "ToolEntries", "ToolSettings", "error_in_words", "plain_error"]

#: What stands beside a configuration, since it is code.
_ARGUMENTS_OF_GUARDS: Final = ("untracked", "on_reminder")


class Settings(BaseModel, frozen=True, extra="forbid", hide_input_in_errors=True):
    """Settings that name what they do not know, and show what differs from the defaults."""

    _subject: ClassVar[str] = "repeatguard"

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
    def _use_plain_errors(cls, settings: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(settings)
        except ValidationError as error:
            raise plain_error(error) from None

    @model_validator(mode="before")
    @classmethod
    def _reject_unknown_settings(cls, settings: object) -> object:
        if isinstance(settings, Mapping):
            unknown = [
                f"{name} (here {value!r}) is no setting of {cls._subject}; {cls._hint(str(name))}"
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

    _subject: ClassVar[str] = "single tools"

    match: Annotated[str, Field(min_length=1)]
    thresholds: Thresholds | None = None
    on_changed_result: OnChangedResult | None = None
    ignore_arguments: Names | None = None
    remind_every: Annotated[int | Literal["never"] | None, integer_or_never(1)] = None
    stop_after: Annotated[int | Literal["never"] | None, integer_or_never(3)] = None

    @model_validator(mode="after")
    def _require_some_setting(self) -> ToolSettings:
        if all(value is None for name, value in self if name != "match"):
            msg = f"the entry for {self.match!r} sets nothing; set something beside match, or leave the entry out"
            raise error_in_words(msg)
        return self


ToolEntries: TypeAlias = Annotated[Sequence[ToolSettings], BeforeValidator(entries), AfterValidator(tuple)]


def error_in_words(words: Any, kind: Any = "value_error") -> PydanticCustomError:
    """Make an error that pydantic reports in its own words alone.

    Args:
        words: What is wrong: the value, the limit and the way out.
        kind: What pydantic calls such an error.
    """
    return PydanticCustomError(kind, words)


def plain_error(error: ValidationError, title: str | None = None) -> ValidationError:
    """Say what pydantic says, without its web links and headings: each line has the value and the limit.

    Args:
        error: What pydantic has found.
        title: What is wrong; left out, as in the error.

    Returns:
        An error of the same type, with the same places, kinds and values.
    """
    lines: list[InitErrorDetails] = [
        {"type": error_in_words(_message(each), each["type"]), "loc": each["loc"], "input": each["input"]}
        for each in error.errors()
    ]
    return ValidationError.from_exception_data(title or error.title, lines, hide_input=True)


def _message(each: ErrorDetails) -> str:
    own = each.get("ctx", {}).get("error")
    if isinstance(own, ValueError):  # a validator's, which names the value
        return str(own)
    # Of pydantic's own kinds there is a page on the web; a line without one has been made here.
    return f"{each['msg']}; here {each['input']!r}" if "url" in each else each["msg"]
