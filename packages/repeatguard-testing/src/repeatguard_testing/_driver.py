"""What an adapter's author writes: a driver that plays scripts in the framework."""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias

from repeatguard_core import Reminder, RepeatGuardConfig

from repeatguard_testing._script import Capability, Script

__all__ = [
    "BaseDriver",
    "Called",
    "Driver",
    "Entry",
    "MakeGuard",
    "Options",
    "Other",
    "Request",
    "Returned",
    "Said",
    "SyncDriver",
    "Wrote",
]


@dataclass(frozen=True, slots=True)
class Said:
    """A message with the role of the user: the user's words, another agent's, or a reminder.

    Attributes:
        text: What it says.
        agent: The name of the agent whose words they are, where the framework tells; "" for the user's.
            It is not compared.
    """

    text: str
    agent: str = field(default="", compare=False)

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
    """A call of the model. A handoff is the call of a tool named "handoff".

    Attributes:
        tool: The tool's name.
        arguments: What the model has written.
        call_id: The call's id, if your driver needs it; it is not compared.
    """

    tool: str
    arguments: str
    call_id: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"call: {self.tool}({self.arguments})"


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call was answered with: the tool's result, or what the framework says in its place.

    Attributes:
        tool: The tool's name.
        content: The text.
        call_id: The call's id, if your driver needs it; it is not compared.
    """

    tool: str
    content: str
    call_id: str = field(default="", compare=False)

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


def _wait() -> None:
    """Let nobody else have a turn."""


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
        call_ids: The ids of the model's calls: each has one of its own, all have the same, or they begin
            again in each response.
        pause: The model awaits this before each response, so that runs can take turns.
        wait: What the model calls in place of that where it cannot await, as in a `SyncDriver`.
        on_stop: Called when the guard ends a run, with the tool's name, the count and the quoted
            arguments, as the framework's user gets them.
    """

    streamed: bool = False
    wired_twice: bool = False
    user_hook: Callable[[], None] | None = None
    call_ids: Literal["unique", "constant", "restarting"] = "unique"
    pause: Callable[[], Awaitable[None]] = _pause
    wait: Callable[[], None] = _wait
    on_stop: Callable[[str, int, str], None] = _no_stop


#: Makes a guard. A driver calls it when it starts to play, and again where a process would start anew.
MakeGuard: TypeAlias = Callable[[], Any]


class BaseDriver(abc.ABC):
    """What a `Driver` and a `SyncDriver` have in common.

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


class Driver(BaseDriver):
    """Plays scripts in one framework, with a scripted model in place of a real one.

    Attributes:
        name: The adapter's name in the report.
        lacks: What the framework truly lacks, and why. A scenario that needs it is not played,
            which the report says together with the reason.
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


class SyncDriver(BaseDriver):
    """Plays scripts in a framework that knows no async functions.

    Several runs at once in one event loop are not tried then; threads are.

    Attributes:
        name: The adapter's name in the report.
        lacks: What the framework truly lacks, and why, as for a `Driver`.
    """

    @abc.abstractmethod
    def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        """Play a script, and record what the model is sent, as `Driver.play` does.

        Args:
            script: What the model does and what happens.
            make_guard: Makes the guard to wire; None means to play without one.
            options: How to play it. The model calls ``options.wait()`` before each response.

        Returns:
            Every request, in order, complete with what the guard put into it.

        Raises:
            Exception: What ``options.user_hook`` raises, if the framework lets it through.
        """
