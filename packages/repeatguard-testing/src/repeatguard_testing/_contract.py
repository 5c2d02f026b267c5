"""The tests that every adapter must pass. An adapter's author inherits them and gives them a driver."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final, NoReturn, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from repeatguard_core import Reminder, RepeatGuardConfig

from repeatguard_testing._base import ContractBase
from repeatguard_testing._checks import (
    ContractError,
    check_untouched,
    reminders_in,
)
from repeatguard_testing._driver import MakeGuard, Options, Request, SyncDriver
from repeatguard_testing._probes import (
    Barrier,
    FaultyConfig,
    Meeting,
    PlantedError,
    check_logged_once,
    is_caused_by,
    logged,
    reachable,
)
from repeatguard_testing._scenarios import AT_TWO_AND_FOUR, DONE, ONE, TRUE, Scenario
from repeatguard_testing._script import Call, Capability, Run, Script, Turn
from repeatguard_testing._strategies import configured_scripts

__all__ = ["AdapterContract"]

_Test = TypeVar("_Test", bound=Callable[..., None])
_LOOP: Final = Script((Run("go", (*[Turn((ONE,))] * 5, DONE)),))
_EXAMPLES: Final = 40


def _shows(*rules: str) -> Callable[[_Test], _Test]:
    """Name the rules that a test holds an adapter to."""

    def mark(test: _Test) -> _Test:
        test.rules = (*getattr(test, "rules", ()), *rules)  # type: ignore[attr-defined]
        return test

    return mark


def _lacks(lacks: Collection[Capability], *, streamed: bool) -> frozenset[Capability]:
    """Return what a random script may not need; of a streamed one, what a streamed response lacks."""
    invalid = streamed and Capability.INVALID_ARGUMENTS_STREAMED in lacks
    return frozenset({*lacks, *([Capability.INVALID_ARGUMENTS] if invalid else [])})


class AdapterContract(ContractBase):
    """Holds one adapter to the rules. Inherit from it, call the class ``Test…``, and set `driver`.

    The tests are the same for every adapter: a class that overrides, removes or skips one is
    refused. What a framework truly lacks is declared in `Driver.lacks`.

    Attributes:
        driver: Plays scripts in the adapter's framework.
    """

    @_shows("M1", "M5", "M6", "S1")
    def test_scenario(self, scenario: Scenario, streamed: bool) -> None:  # noqa: FBT001
        """The model is sent what the scenario says, and nothing else changes."""
        self.check(scenario.script, scenario.config, scenario.rules[0], streamed=streamed)

    @_shows("D1", "D2", "D3", "D4", "D6", "D8", "D9", "D10", "D11", "M1", "M2", "M3", "M4", "M5", "M6", "S1")
    @_shows("X1", "X2", "X3", "X4", "X5")
    def test_random_scripts(self, streamed: bool) -> None:  # noqa: FBT001
        """Whatever happens, the model is sent what an oracle says."""
        self.needs(Capability.STREAMING if streamed else None)

        @settings(
            max_examples=int(os.environ.get("REPEATGUARD_EXAMPLES", _EXAMPLES)),
            deadline=None,
            phases=set(Phase) - {Phase.explain},
            report_multiple_bugs=False,
            verbosity=Verbosity.quiet,  # the error has the script, which reads better than the calls that make it
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(configured_scripts(_lacks(self.driver.lacks, streamed=streamed)))
        def check(drawn: tuple[RepeatGuardConfig, Script]) -> None:
            config, script = drawn
            self.check(script, config, "D1", streamed=streamed)

        check()

    def test_declarations(self) -> None:
        """There is a reason for whatever the framework lacks."""
        for capability, reason in self.driver.lacks.items():
            assert reason.strip(), f"there is no reason why {self.driver.name} lacks {capability.name}"

    @_shows("D6")
    def test_bookkeeping_tools(self) -> None:
        """A tool that ``untracked`` names is passed over."""
        note = Call("note", "{}")
        script = Script((Run("go", (*(Turn((call,)) for call in (ONE, note, ONE, note, note)), DONE)),))
        self.check(script, AT_TWO_AND_FOUR, "D6", untracked=lambda name: name == "note")

    @_shows("C3")
    def test_configuration_from_a_file(self, tmp_path: Path) -> None:
        """The file that configures one adapter configures every other."""
        file = tmp_path / "guard.toml"
        file.write_text("[repeatguard]\nthresholds = [4, 2]\narguments_preview_chars = 3\n", encoding="utf-8")
        self.check(_LOOP, RepeatGuardConfig.from_toml(file), "C3")

    @_shows("S6", "M6")
    def test_every_reminder_is_announced(self, streamed: bool) -> None:  # noqa: FBT001
        """Once to ``on_reminder`` and once in the log, without arguments."""
        self.needs(Capability.STREAMING if streamed else None)
        seen: list[Reminder] = []
        script = _LOOP
        if Capability.FURTHER_RUN not in self.driver.lacks:
            from_storage = Capability.STORED_CONVERSATION not in self.driver.lacks
            script = Script((*_LOOP.runs, Run("thanks", (DONE,), from_storage=from_storage)))
        with logged() as records:
            self.play(script, lambda: self.driver.guard(AT_TWO_AND_FOUR, on_reminder=seen.append), streamed=streamed)
        counts = [reminder.count for reminder in seen]
        if counts != [2, 4]:
            raise ContractError("S6", f"on_reminder was to be called at the counts 2 and 4, and was at {counts}")
        fields = [tuple(vars(record).get(name) for name in ("tool", "count", "threshold")) for record in records]
        if fields != [("search", 2, 2), ("search", 4, 4)] or any(record.levelno != logging.INFO for record in records):
            raise ContractError("S6", f"two records at INFO were to be logged, with their fields, and were: {fields}")

    @_shows("S2", "M5")
    @pytest.mark.parametrize("where", ["untracked", "on_reminder"])
    def test_a_fault_of_the_users_functions(self, where: str) -> None:
        """It is logged once with its traceback, and the run goes on, guarded."""

        def fail(_: object) -> NoReturn:
            raise PlantedError

        guard = self.driver.guard(AT_TWO_AND_FOUR, **{where: fail})
        with logged() as records:
            requests = self.play_despite(_LOOP, lambda: guard, f"a fault in {where}")
        self.compare(_LOOP, AT_TWO_AND_FOUR, "S2", requests)
        check_logged_once(records, f"a fault in {where}")

    @_shows("S2", "S1")
    def test_a_fault_of_the_guards_own(self) -> None:
        """It is logged with its traceback, and the run goes on as without the guard."""
        guard = self.driver.guard(FaultyConfig())
        with logged() as records:
            requests = self.play_despite(_LOOP, lambda: guard, "a fault inside the guard")
        check_untouched(requests, self.play(_LOOP, None))
        check_logged_once(records, "a fault inside the guard")

    @_shows("S5")
    def test_a_hook_of_the_users(self) -> None:
        """It is called before each request, as without the guard."""
        self.needs(Capability.USER_HOOKS)
        calls: list[int] = []

        def hook() -> None:
            calls.append(1)

        requests = self.play(_LOOP, self.maker(AT_TWO_AND_FOUR), user_hook=hook)
        self.compare(_LOOP, AT_TWO_AND_FOUR, "S5", requests)
        if len(calls) != len(requests):
            raise ContractError("S5", f"the user's hook was called {len(calls)} times for {len(requests)} requests")

    @_shows("S5")
    def test_an_exception_of_the_users_hook(self) -> None:
        """It ends the run with the guard if it does without."""
        self.needs(Capability.USER_HOOKS)

        def hook() -> None:
            raise PlantedError

        def outcome(make_guard: MakeGuard | None) -> bool:
            try:
                self.play(_LOOP, make_guard, user_hook=hook)
            except Exception as error:  # noqa: BLE001 - a framework may wrap what it lets through
                return is_caused_by(error, PlantedError)
            return False

        if outcome(None) and not outcome(self.maker(AT_TWO_AND_FOUR)):
            raise ContractError("S5", "an exception of the user's hook ends the run without the guard, but not with it")

    @_shows("M6")
    def test_wired_twice(self, streamed: bool) -> None:  # noqa: FBT001
        """A guard that sees each request twice reminds once."""
        self.needs(Capability.WIRED_TWICE)
        guard = self.driver.guard(AT_TWO_AND_FOUR)
        requests = self.play(_LOOP, lambda: guard, streamed=streamed, wired_twice=True)
        self.compare(_LOOP, AT_TWO_AND_FOUR, "M6", requests)

    @_shows("D12", "S3")
    def test_one_run_after_the_other(self) -> None:
        """The second run on one guard knows nothing of the first."""
        guard = self.driver.guard(AT_TWO_AND_FOUR)
        short = Script((Run("go", (Turn((ONE,)), DONE)),))
        for _ in range(4):
            self.compare(short, AT_TWO_AND_FOUR, "D12", self.play(short, lambda: guard))

    @_shows("D12")
    def test_runs_at_once(self, streamed: bool) -> None:  # noqa: FBT001
        """Runs that take turns on one guard in one event loop do not mix."""
        self.needs(Capability.CONCURRENT_RUNS, Capability.STREAMING if streamed else None)
        driver = self.driver
        if isinstance(driver, SyncDriver):
            pytest.skip(f"{driver.name} has no event loop, which test_runs_in_threads does without")
        guard = self.driver.guard(AT_TWO_AND_FOUR)

        async def play_all() -> list[Sequence[Request]]:
            options = Options(streamed=streamed, pause=Barrier(3).wait)
            return await asyncio.gather(*(driver.play(_LOOP, lambda: guard, options) for _ in range(3)))

        for requests in asyncio.run(play_all()):
            self.compare(_LOOP, AT_TWO_AND_FOUR, "D12", requests)

    @_shows("D12")
    def test_runs_in_threads(self) -> None:
        """Runs that take turns on one guard in threads do not mix."""
        self.needs(Capability.THREADS)
        guard = self.driver.guard(AT_TWO_AND_FOUR)
        meeting = Meeting(3)

        async def pause() -> None:
            meeting.wait()

        def play() -> Sequence[Request]:
            try:
                return self.play(_LOOP, lambda: guard, pause=pause, wait=meeting.wait)
            finally:
                meeting.leave()

        with ThreadPoolExecutor(3) as pool:
            playing = [pool.submit(play) for _ in range(3)]
        for future in playing:
            self.compare(_LOOP, AT_TWO_AND_FOUR, "D12", future.result())

    @_shows("D8", "M5", "M6")
    def test_reused_call_ids(self, streamed: bool) -> None:  # noqa: FBT001
        """A call counts once, though it has the id of the one before."""
        self.needs(Capability.REUSED_CALL_IDS)
        self.check(_LOOP, AT_TWO_AND_FOUR, "D8", streamed=streamed, call_ids="constant")

    @_shows("D8", "M5", "M6")
    @pytest.mark.parametrize("call_ids", ["constant", "restarting"])
    def test_reused_call_ids_of_others(self, call_ids: str, streamed: bool) -> None:  # noqa: FBT001
        """A call counts once, though its id is that of another, and its result is not another's."""
        self.needs(Capability.REUSED_CALL_IDS_OF_OTHERS)
        calls = (ONE, ONE, TRUE, ONE, ONE, ONE, ONE)
        script = Script((Run("go", (*(Turn((call,)) for call in calls), DONE)),))
        self.check(script, AT_TWO_AND_FOUR, "D8", streamed=streamed, call_ids=call_ids)
        if call_ids == "restarting" and Capability.PARALLEL_CALLS not in self.driver.lacks:
            script = Script((Run("go", (*[Turn((TRUE, ONE, ONE))] * 3, DONE)),))
            self.check(script, AT_TWO_AND_FOUR, "D8", streamed=streamed, call_ids=call_ids)
        answered = (Turn((replace(ONE, result=result),)) for result in ("a", "b", "b", "c", "c", "c", "c"))
        config = RepeatGuardConfig(thresholds=(2, 4), on_changed_result="reset")
        self.check(Script((Run("go", (*answered, DONE)),)), config, "D8", streamed=streamed, call_ids=call_ids)

    @_shows("D12", "M1", "M5")
    def test_nested_agents(self, streamed: bool) -> None:  # noqa: FBT001
        """The calls of an agent that is run as a tool are a conversation of their own."""
        delegate = Turn((Call("delegate", '{"q": 1}'),))
        script = Script((Run("go", (*[delegate] * 3, DONE)),), delegated=(*[Turn((ONE,))] * 4, DONE))
        requests = self.check(script, RepeatGuardConfig(thresholds=(5,)), "D12", streamed=streamed)
        reminded = [request.agent for request in requests if reminders_in(request)]
        if reminded:
            raise ContractError("D12", f"the calls of one agent were held against another: {reminded[0]} was reminded")
        requests = self.check(
            script, RepeatGuardConfig(thresholds=(2, 4), exclude=("delegate",)), "D12", streamed=streamed
        )
        inner = [len(reminders_in(request)) for request in requests if request.agent != "main"]
        if inner != [0, 0, 1, 1, 2] * 3:
            raise ContractError(
                "D12", f"each nested run was to be reminded in its third and its fifth request, and was as in {inner}"
            )

    @_shows("S3")
    def test_nothing_is_kept(self) -> None:
        """A guard that outlives its runs holds nothing of them."""
        call = Call("search", '{"q": "a planted word"}')
        guard = self.driver.guard(AT_TWO_AND_FOUR)
        self.play(Script((Run("go", (*[Turn((call,))] * 3, DONE)),)), lambda: guard)
        gc.collect()
        if any(isinstance(held, str) and "a planted word" in held for held in reachable(guard)):
            raise ContractError("S3", "the guard still holds the arguments of a call of a run that has ended")
