"""What the contract's tests stand on: they play a script, compare, and do not let themselves be changed."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import pytest
from repeatguard_core import RepeatGuardConfig

from repeatguard_testing._checks import (
    ContractError,
    Stopped,
    check_deliveries,
    check_invariants,
    check_requests,
    check_stops,
    check_untouched,
)
from repeatguard_testing._driver import BaseDriver, Driver, MakeGuard, Options, Request, SyncDriver
from repeatguard_testing._oracle import Expected, due_reminders, expected_deliveries, expected_requests
from repeatguard_testing._scenarios import SCENARIOS
from repeatguard_testing._script import Capability, Script, needs_of, needs_streamed

__all__ = ["ContractBase"]

_HINT: Final = "the contract's tests stand as they are; what the framework lacks is declared in the driver's `lacks`"


class ContractBase:
    """Plays scripts on one adapter, and refuses to be changed.

    Attributes:
        driver: Plays scripts in the adapter's framework.
    """

    driver: ClassVar[Driver | SyncDriver]

    def __init_subclass__(cls) -> None:
        """Refuse a class that changes the contract."""
        ours = [base for base in cls.__mro__ if base.__module__.startswith(__package__ or "")]
        of_the_contract = {name for base in ours for name in vars(base) if not name.startswith("__")}
        owners = {name: next(base for base in cls.__mro__ if name in vars(base)) for name in of_the_contract}
        changed = sorted(name for name, owner in owners.items() if owner not in ours)
        if changed:
            msg = f"{cls.__name__} changes {', '.join(changed)}; {_HINT}"
            raise TypeError(msg)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Play every scenario both ways, and see that nobody skips one."""
        for mark in metafunc.definition.iter_markers():
            if mark.name in {"skip", "skipif", "xfail"}:
                msg = f"{metafunc.definition.nodeid} is marked {mark.name}; {_HINT}"
                raise pytest.UsageError(msg)
        if not isinstance(getattr(self, "driver", None), BaseDriver) or not getattr(self.driver, "name", ""):
            msg = f"{type(self).__name__}.driver must be an instance of a Driver that has a name"
            raise pytest.UsageError(msg)
        if "scenario" in metafunc.fixturenames:
            metafunc.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
        if "streamed" in metafunc.fixturenames:
            metafunc.parametrize("streamed", [False, True], ids=["plain", "streamed"])

    def check(
        self,
        script: Script,
        config: RepeatGuardConfig,
        rule: str,
        *,
        streamed: bool = False,
        untracked: Callable[[str], bool] | None = None,
        **options: Any,
    ) -> Sequence[Request]:
        """Play a script with the guard and without it, and check everything about it."""
        due = due_reminders(script, config, untracked)
        self.needs(*(needs_streamed(script.needs) if streamed else script.needs), *needs_of(config))
        stopped: list[Stopped] = []
        guard = self.maker(config, untracked)
        requests = self.play(script, guard, streamed=streamed, on_stop=lambda *stop: stopped.append(stop), **options)  # pyright: ignore[reportUnknownLambdaType]
        unguarded = self.play(script, None, streamed=streamed, **options)
        try:
            # A framework can show one call for all that have the same id: then only what is new tells.
            if options.get("call_ids", "unique") == "unique":
                self.compare(script, config, rule, requests, untracked, stopped, unguarded)
            else:
                check_deliveries(requests, expected_deliveries(script, config, due), rule)
            check_untouched(requests, unguarded, up_to=_requests_before_an_end(due))
        except ContractError as error:
            error.args = (f"{error}\n\nThe script:\n{script}\n\nThe configuration:\n{config!r}",)
            raise
        return requests

    @staticmethod
    def compare(  # noqa: PLR0913, PLR0917 - what was asked for, and what came of it
        script: Script,
        config: RepeatGuardConfig,
        rule: str,
        requests: Sequence[Request],
        untracked: Callable[[str], bool] | None = None,
        stopped: Sequence[Stopped] = (),
        unguarded: Sequence[Request] = (),
    ) -> None:
        """Check the requests that a script has led to, and where the guard has ended runs."""
        check_invariants(requests, unguarded)
        due = due_reminders(script, config, untracked)
        ends = [each.reminder(config) for each in due if each.stops]
        check_stops(stopped, [(end.tool_name, end.count, end.arguments) for end in ends])
        if Capability.HANDOFF in script.needs:
            check_deliveries(requests, expected_deliveries(script, config, due), rule)
        else:
            check_requests(requests, expected_requests(script, config, due), rule)

    def maker(self, config: RepeatGuardConfig, untracked: Callable[[str], bool] | None = None) -> MakeGuard:
        """Make a function that makes guards."""
        return lambda: self.driver.guard(config, untracked=untracked)

    def play(self, script: Script, make_guard: MakeGuard | None, **options: Any) -> Sequence[Request]:
        """Play a script once, and notice if that has no end."""
        bounded = within_bounds(script, Options(**options))
        if isinstance(self.driver, SyncDriver):
            return self.driver.play(script, make_guard, bounded)
        return asyncio.run(self.driver.play(script, make_guard, bounded))

    def play_despite(self, script: Script, make_guard: MakeGuard, fault: str) -> Sequence[Request]:
        """Play a script, with a fault that must not end the run."""
        try:
            return self.play(script, make_guard)
        except Exception as error:
            raise ContractError("S2", f"{fault} ended the run: {error!r}") from error

    def needs(self, *capabilities: Capability | None) -> None:
        """Skip the test, with the reason, if the framework lacks what it takes."""
        for capability in capabilities:
            if capability is not None and capability in self.driver.lacks:
                pytest.skip(f"{self.driver.name} lacks {capability.name}: {self.driver.lacks[capability]}")


def _requests_before_an_end(due: Sequence[Expected]) -> int | None:
    """Count the requests up to the first end of a run; None if none ends."""
    return next((each.turn + 1 for each in due if each.stops), None)


def within_bounds(script: Script, options: Options) -> Options:
    """Have a script's models fail the test once they have been asked far more often than the script has turns.

    Args:
        script: The script.
        options: How to play it.

    Returns:
        The same options, but for `pause` and `wait`.
    """
    delegations = sum(call.tool == "delegate" for turn in script.turns for call in turn.calls)
    bound = 3 * (len(script.turns) + delegations * len(script.delegated)) + 10
    requests = itertools.count(1)

    def count() -> None:
        if next(requests) > bound:
            # Not an exception that a framework may take for the model's, and ask again.
            pytest.fail(f"S1: there were more than {bound} requests, and the script has no end:\n{script}")

    async def pause() -> None:
        count()
        await options.pause()

    def wait() -> None:
        count()
        options.wait()

    return replace(options, pause=pause, wait=wait)
