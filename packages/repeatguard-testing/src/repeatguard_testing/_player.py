"""What drivers have in common: where a script has come to, and what its models were sent."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar
from uuid import uuid4

from repeatguard_testing._driver import Entry, Options, Request
from repeatguard_testing._script import OTHER_AGENT, Run, Script, Turn, summary

__all__ = ["Role", "ScriptPlayer"]

_T = TypeVar("_T")


class Role:
    """What one model plays: its turns, and the one that it has come to.

    Attributes:
        agent: The agent's name, as in `Request`.
        turn: The turn that was played last; before the first one, a turn without anything.
        number: The number of that turn, counted from 0; before the first one -1.
    """

    def __init__(self, agent: str, turns: Sequence[Turn] = ()) -> None:
        self.agent = agent
        self.turn = Turn()
        self.number = -1
        self._turns = list(turns)

    def play(self) -> Turn:
        """Come to the next turn.

        Raises:
            AssertionError: There is none: the framework asks the model again after its answer.
        """
        if not self._turns:
            msg = f"the model of {self.agent} was asked again after its last turn: {self.turn}"
            raise AssertionError(msg)
        self.number += 1
        self.turn = self._turns.pop(0)
        return self.turn


class ScriptPlayer:
    """Plays one script: a driver's model asks it for each response, and its tools for what they answer.

    Tools that are made once for all scripts find the player with `current`.

    Args:
        script: The script.
        options: How to play it.

    Attributes:
        script: The script.
        options: How to play it.
        requests: What the models were sent so far, in order.
        main: What the models of the agents "main" and "second" play, one after the other.
        agent: Which of these two is in control.
        keeps: How many responses the next request may show, or None for all.
    """

    def __init__(self, script: Script, options: Options) -> None:
        self.script = script
        self.options = options
        self.requests: list[Request] = []
        self.main = Role("main")
        self.agent = "main"
        self.keeps: int | None = None
        self._run = Run("", ())
        self._summed_up = 0  # how many of the run's items a summary stands for
        self._summary: Any = None
        self._played = 0  # turns of the runs before
        self._delegations = itertools.count(1)
        self._prefix = f"call_{uuid4().hex[:8]}_"
        self._ids = itertools.count(1)
        _PLAYER.set(self)
        _ROLE.set(self.main)

    @staticmethod
    def current() -> ScriptPlayer:
        """Return the player that was made last in this context.

        Raises:
            LookupError: None was made.
        """
        return _PLAYER.get()

    @property
    def role(self) -> Role:
        """What the model plays whose tools are running: the main one's role, or within `delegation` another."""
        return _ROLE.get()

    @property
    def turn(self) -> Turn:
        """The turn that the main model has played last."""
        return self.main.turn

    @property
    def summary(self) -> str:
        """What takes the place of the conversation if the turn that was played last says so."""
        return summary(self._played + self.main.number)

    def start(self, run: Run) -> None:
        """Play a run next, whatever is left of the one before.

        Args:
            run: One of the script's runs.
        """
        self._played += len(self._run.turns)
        self._run = run
        self.main = Role("main", run.turns)
        self.agent = "main"
        self.keeps = None
        self._summed_up = 0
        _ROLE.set(self.main)

    def in_sight(self, items: Sequence[_T], *, is_models: Callable[[_T], bool], say: Callable[[str], _T]) -> list[_T]:
        """Return what is left of a conversation that is cut or summed up, as the script has it.

        Call it once before each request of the main agent, where a filter of the user's would act.

        Args:
            items: The framework's messages or items, from the run's beginning on; what stood here in
                place of others may stand there still.
            is_models: Whether the model has written an item.
            say: Makes a message with the role of the user.
        """
        if self.turn.sums_up:
            self._summed_up, self._summary = len(items), say(self.summary)
        if self._summed_up and not (items and items[0] == self._summary):
            items = [self._summary, *items[self._summed_up :]]
        written = [is_models(item) for item in items]
        starts = [n for n, is_its in enumerate(written) if is_its and not (n and written[n - 1])]
        if self.keeps is not None and len(starts) >= self.keeps:
            items = items[starts[-self.keeps] :]
        return list(items)

    @contextmanager
    def delegation(self) -> Generator[Role]:
        """Play the script's delegated turns, for as long as the tool "delegate" runs another agent.

        Yields:
            What the other agent's model plays.
        """
        role = Role(f"inner-{next(self._delegations)}", self.script.delegated)
        token = _ROLE.set(role)
        try:
            yield role
        finally:
            _ROLE.reset(token)

    async def respond(self, entries: Iterable[Entry], role: Role | None = None) -> Turn:
        """Record a request, and return the turn that is the response to it.

        Args:
            entries: What the model was sent.
            role: What the model plays; left out, what the main agent's does.
        """
        self._record(entries, role)
        await self.options.pause()
        return self._play(role)

    def respond_at_once(self, entries: Iterable[Entry], role: Role | None = None) -> Turn:
        """Record a request, and return the turn that is the response to it, where nothing can be awaited.

        Args:
            entries: What the model was sent.
            role: What the model plays; left out, what the main agent's does.
        """
        self._record(entries, role)
        self.options.wait()
        return self._play(role)

    def answer(self, tool: str, q: object = None) -> str:
        """Return what one of the returning tools answers.

        Args:
            tool: The tool's name.
            q: What it was given; None if nothing was.

        Raises:
            LookupError: The turn has no such call.
        """
        return self.role.turn.result_of(tool, q)

    def call_ids(self) -> Iterator[str]:
        """Return ids for the calls of one response, as the options say.

        Returns:
            An id for each call, in the model's order, without end.
        """
        numbers = {"constant": itertools.repeat(0), "restarting": itertools.count()}.get(self.options.call_ids)
        yield from (f"call_{number}" for number in numbers or ())
        yield from (f"{self._prefix}{number}" for number in self._ids)

    def _record(self, entries: Iterable[Entry], role: Role | None) -> None:
        self.requests.append(Request(tuple(entries), self.agent if role is None else role.agent))

    def _play(self, role: Role | None) -> Turn:
        if role is not None:
            return role.play()
        turn = self.main.play()
        self.agent = OTHER_AGENT[self.agent] if turn.hands_over else self.agent
        self.keeps = self.keeps if turn.keeps is None else turn.keeps
        return turn


_PLAYER: ContextVar[ScriptPlayer] = ContextVar("_PLAYER")
_ROLE: ContextVar[Role] = ContextVar("_ROLE")
