"""What a driver is: one guard, handed calls the way its documentation says, with its defaults."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Final

__all__ = ["UNSEEN", "Call", "Driver", "parsed", "parsed_or_text", "parsed_or_wrapped"]

#: What `Driver.prepare` gives for a call that the framework never hands to the guard.
UNSEEN: Final = object()


@dataclass(frozen=True, slots=True)
class Call:
    """A call, and what came of it.

    Attributes:
        name: The tool's name.
        arguments: JSON text as the model wrote it.
        result: What the model is told that came of it.
        denied: Whether the user denied it, so that the tool never ran.
    """

    name: str
    arguments: str
    result: str = "ok"
    denied: bool = False


class Driver(ABC):
    """One guard of a package.

    Attributes:
        package: What to install it by.
        guard: What it is called in the tables.
    """

    package: ClassVar[str]
    guard: ClassVar[str]

    @abstractmethod
    def prepare(self, call: Call) -> Any:
        """Bring a call into the shape that the guard takes.

        Args:
            call: The call.

        Returns:
            What `observe` takes, or `UNSEEN`.
        """

    @abstractmethod
    def observe(self, prepared: Any) -> str | None:
        """Hand over one call.

        Args:
            prepared: The call as `prepare` gave it.

        Returns:
            What the guard did, in a word, or None if it let the call pass in silence.
        """

    def observe_response(self, prepared: list[Any]) -> list[str | None]:
        """Hand over the calls of one response: one after another, unless the guard takes them at once.

        Args:
            prepared: The calls as `prepare` gave them.

        Returns:
            For each call what the guard did.
        """
        return [self.observe(each) for each in prepared]

    def tell_of_user(self) -> bool:
        """Tell the guard that the user spoke.

        Returns:
            Whether there is a way to.
        """
        return False

    def begin_run(self) -> bool:
        """Tell the guard that another run begins.

        Returns:
            Whether there is a way to, other than another guard.
        """
        return False

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Give back what the guard holds."""


def parsed(text: str) -> Any:
    """Parse arguments, for a guard that takes objects.

    Args:
        text: What the model wrote.

    Returns:
        The object, or None where the text is no JSON or too deep for the parser.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def parsed_or_text(call: Call) -> Any:
    """Give a call's arguments to a guard that takes any value.

    Args:
        call: The call.

    Returns:
        The object, or the text where it does not parse.
    """
    arguments = parsed(call.arguments)
    return call.arguments if arguments is None else arguments


def parsed_or_wrapped(call: Call) -> dict[str, Any]:
    """Give a call's arguments to a guard that takes dictionaries alone.

    Args:
        call: The call.

    Returns:
        The dictionary, or one that holds the text where it stands for none.
    """
    arguments = parsed(call.arguments)
    return arguments if isinstance(arguments, dict) else {"arguments": call.arguments}
