"""What an adapter's author writes: a driver that plays scripts in the framework."""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

from repeatguard_core import Reminder, RepeatGuardConfig

from repeatguard_testing._script import Capability, Script

__all__ = ["Called", "Driver", "Entry", "MakeGuard", "Options", "Other", "Request", "Returned", "Said", "Wrote"]


@dataclass(frozen=True, slots=True)
class Said:
    """A message with the role of the user: the user's words, or a reminder."""

    text: str

    def __str__(self) -> str:
        return f"user: {self.text}"


@dataclass(frozen=True, slots=True)
class Wrote:
    """Words of the model."""

    text: str

    def __str__(self) -> str:
        return f"model: {self.text}"


@dataclass(frozen=True, slots=True)
class Called:
    """A call of the model. A handoff is the call of a tool named "handoff"."""

    tool: str
    arguments: str

    def __str__(self) -> str:
        return f"call: {self.tool}({self.arguments})"


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call was answered with: the tool's result, or what the framework says in its place."""

    tool: str
    content: str

    def __str__(self) -> str:
        return f"result of {self.tool}: {self.content}"


@dataclass(frozen=True, slots=True)
class Other:
    """Anything that is none of the others. Instructions and a model's thoughts are left out of a request."""

    text: str

    def __str__(self) -> str:
        return f"other: {self.text}"


#: What may stand in a request.
Entry: TypeAlias = Said | Wrote | Called | Returned | Other


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as the model got it.

    Attributes:
        entries: The conversation, in order.
        agent: Whose model it went to: "main", the agent that the user runs; "second", the one
            that it hands over to; "inner-1", "inner-2" …, the runs of the one it delegates to.
    """

    entries: tuple[Entry, ...]
    agent: str = "main"


async def _pause() -> None:
    await asyncio.sleep(0)


def _no_stop(tool: str, count: int, arguments: str) -> None:
    msg = f"the guard ended a run after {tool}({arguments}) had come {count} times, and nothing here asks for that"
    raise AssertionError(msg)


@dataclass(frozen=True, slots=True)
class Options:
    """How a script is to be played.

    Attributes:
        streamed: Stream the model's responses.
        wired_twice: Wire the guard in two ways, or twice in one.
        user_hook: Wire this, too, as a user wires hooks, handlers or processors together with the
            guard; it is called before each request of the main agent.
        pause: The model awaits this before each response, so that runs can take turns.
        on_stop: Called when the guard ends a run, with the tool's name, the count and the quoted
            arguments, as the framework's user gets them.
    """

    streamed: bool = False
    wired_twice: bool = False
    user_hook: Callable[[], None] | None = None
    pause: Callable[[], Awaitable[None]] = _pause
    on_stop: Callable[[str, int, str], None] = _no_stop


#: Makes a guard. A driver calls it when it starts to play, and again where a process would start anew.
MakeGuard: TypeAlias = Callable[[], Any]


class Driver(abc.ABC):
    """Plays scripts in one framework, with a scripted model in place of a real one.

    Attributes:
        name: The adapter's name in the report.
        lacks: What the framework truly lacks, and why. A scenario that needs it is not played,
            which the report says together with the reason.
    """

    name: ClassVar[str]
    lacks: Mapping[Capability, str] = MappingProxyType({})

    @abc.abstractmethod
    def guard(
        self,
        config: RepeatGuardConfig,
        *,
        untracked: Callable[[str], bool] | None = None,
        on_reminder: Callable[[Reminder], None] | None = None,
    ) -> Any:
        """Make the adapter's guard, the way its users do.

        Args:
            config: The adapter's first argument.
            untracked: Passed on by keyword.
            on_reminder: Passed on by keyword.

        Returns:
            Whatever `play` needs to wire the guard.
        """

    @abc.abstractmethod
    async def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        """Play a script, and record what the model is sent.

        If the guard ends a run, pass that on to ``options.on_stop`` and leave out the turns that the
        run has left. A further run goes on from the conversation as the framework has it then.

        Args:
            script: What the model does and what happens. Take the turns of a run one by one: each
                is the response to one request.
            make_guard: Makes the guard to wire; None means to play without one.
            options: How to play it.

        Returns:
            Every request, in order, complete with what the guard put into it.

        Raises:
            Exception: What ``options.user_hook`` raises, if the framework lets it through.
        """
