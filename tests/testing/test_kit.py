"""The kit itself: it catches what is broken, each for its own reason, and does not let itself be weakened."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from pathlib import Path
from typing import Any

import pytest
from repeatguard_core import RepeatGuardConfig
from repeatguard_testing import (
    RULES,
    SCENARIOS,
    AdapterContract,
    Call,
    Called,
    Capability,
    ContractError,
    Driver,
    Options,
    Other,
    Request,
    Returned,
    Run,
    Said,
    Script,
    ScriptPlayer,
    Turn,
    Wrote,
)
from repeatguard_testing._checks import check_deliveries, check_invariants, check_requests, check_untouched
from repeatguard_testing._oracle import due_reminders
from repeatguard_testing._probes import PlantedError

from tests.testing.broken import BROKEN
from tests.testing.reference import ReferenceDriver


def attempt(driver: Driver, name: str, tmp_path: Path) -> None:
    """Run one test of the contract, or one scenario, on an adapter."""
    contract: Any = type("Contract", (AdapterContract,), {"driver": driver})()
    for scenario in SCENARIOS:
        if scenario.name == name:
            contract.test_scenario(scenario, streamed=False)
            return
    test = getattr(contract, name)
    given: dict[str, Any] = {
        "streamed": False,
        "where": "untracked",
        "tmp_path": tmp_path,
        "call_ids": "constant",
    }
    test(**{parameter: given[parameter] for parameter in inspect.signature(test).parameters})


@pytest.mark.parametrize(
    ("driver", "name", "words"),
    BROKEN,
    ids=lambda value: getattr(getattr(value, "guard_class", None), "__name__", None),
)
def test_a_broken_adapter_is_caught_for_its_own_reason(
    driver: ReferenceDriver, name: str, words: str, tmp_path: Path
) -> None:
    """With a sentence that says what is wrong, where the reference passes."""
    with pytest.raises(ContractError, match=f"(?s){words}"):
        attempt(driver, name, tmp_path)
    attempt(ReferenceDriver(), name, tmp_path)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_oracle_agrees_with_what_was_written_by_hand(scenario: Any) -> None:
    """The scenarios' reminders are written down one by one, and the oracle works them out."""
    due = due_reminders(scenario.script, scenario.config)
    assert tuple((each.turn, each.count) for each in due) == scenario.reminders
    assert tuple(each.turn for each in due if each.stops) == scenario.stops


def test_scenarios_name_rules_that_exist_and_have_names_of_their_own() -> None:
    """A name finds one scenario."""
    assert {rule for scenario in SCENARIOS for rule in scenario.rules} <= set(RULES)
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)


def test_random_scripts_shrink_to_a_script_that_one_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest script that shows the fault, in words."""
    monkeypatch.setenv("REPEATGUARD_EXAMPLES", "5000")  # it ends with the first that shows it
    (driver, *_) = next(row for row in BROKEN if row[0].guard_class.__name__ == "MissesDeniedCalls")
    contract: Any = type("Contract", (AdapterContract,), {"driver": driver})()
    with pytest.raises(ContractError) as caught:
        contract.test_random_scripts(streamed=False)
    script = str(caught.value).partition("The script:\n")[2].partition("\n\nThe configuration:")[0]
    assert "forbidden" in script
    assert len(script.splitlines()) <= 5, script


def _nothing(*_: Any, **__: Any) -> None:
    """Check nothing."""


@pytest.mark.parametrize(
    "change",
    [
        {"test_nested_agents": None},
        {"test_scenario": _nothing},
        {"test_nothing_is_kept": pytest.mark.skip(reason="later")(_nothing)},
        {"pytest_generate_tests": _nothing},
        {"play": _nothing},
    ],
    ids=list,
)
def test_a_class_that_changes_the_contract_is_refused(change: dict[str, Any]) -> None:
    """Overriding and removing are the same thing, and helpers count as well."""
    with pytest.raises(
        TypeError, match=f"TestMine changes {next(iter(change))}; the contract's tests stand as they are"
    ):
        type("TestMine", (AdapterContract,), {"driver": ReferenceDriver(), **change})


def test_a_class_in_between_that_changes_the_contract_is_refused() -> None:
    """It comes first when a test is looked up."""
    mixin = type("Mixin", (), {"test_nested_agents": _nothing})
    with pytest.raises(TypeError, match="TestMine changes test_nested_agents"):
        type("TestMine", (mixin, AdapterContract), {"driver": ReferenceDriver()})
    between = type("Between", (AdapterContract,), {"driver": ReferenceDriver()})
    assert type("TestMine", (between,), {"driver": ReferenceDriver()})


CLASS = """
import pytest
from repeatguard_testing import AdapterContract, Capability
from tests.testing.reference import ReferenceDriver

class Mine(ReferenceDriver):
    name = "mine"
    lacks = {lacks}

{mark}
class TestMine(AdapterContract):
    driver = {driver}

def test_something_else():
    pass
"""


@pytest.fixture
def run_contract(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a contract in a test run of its own."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2])

    def run(mark: str = "", lacks: str = "{}", *arguments: str, driver: str = "Mine()") -> pytest.RunResult:
        filled = CLASS.replace("{mark}", mark).replace("{lacks}", lacks).replace("{driver}", driver)
        pytester.makepyfile(test_mine=filled)
        return pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:cov", "-p", "no:asyncio", *arguments)

    return run


@pytest.mark.parametrize("mark", ["@pytest.mark.skip", "@pytest.mark.skipif(False, reason='')", "@pytest.mark.xfail"])
def test_a_class_that_is_skipped_is_refused(run_contract: Any, mark: str) -> None:
    """A mark on the class or the module would silence the contract."""
    for spelled in (mark, mark.replace("@", "pytestmark = ")):
        result = run_contract(spelled)
        assert result.ret != pytest.ExitCode.OK
        result.stdout.fnmatch_lines(["*is marked *; the contract's tests stand as they are;*"])
        assert result.parseoutcomes().get("passed", 0) <= 1


def test_what_a_framework_lacks_is_in_the_report(run_contract: Any) -> None:
    """With the reason, and with the rules that could not be checked for it."""
    lacks = "{Capability.HANDOFF: 'it has one agent', Capability.DENIED_CALL: 'nobody approves anything'}"
    result = run_contract("", lacks)
    assert result.ret == pytest.ExitCode.OK
    assert result.parseoutcomes()["skipped"] == 12
    result.stdout.fnmatch_lines(
        [
            "*repeatguard: rules and adapters*",
            "rule * mine",
            "D1 * passed",
            "M7 * the core's",
            "mine lacks DENIED_CALL: nobody approves anything",
            "mine lacks HANDOFF: it has one agent",
        ]
    )


@pytest.mark.parametrize("option", [("-n", "1"), ("-p", "no:repeatguard")])
def test_the_report_comes_by_the_plugin(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, option: tuple[str, str]
) -> None:
    """Also where other processes run the tests, without a line in a conftest; and it can be left out."""
    pytester.makepyfile(test_mine=CLASS.format(mark="", lacks="{}", driver="Mine()"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    result = pytester.runpytest_subprocess("-p", "no:randomly", "-p", "no:asyncio", "-k", "nothing_is_kept", *option)
    assert result.parseoutcomes()["passed"] == 1
    assert result.stdout.str().count("repeatguard: rules and adapters") == (option[0] == "-n")


def test_a_lack_without_a_reason_is_refused(run_contract: Any) -> None:
    """A reason is what makes it more than a skipped test."""
    result = run_contract("", "{Capability.HANDOFF: ' '}", "-k", "declarations")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*there is no reason why mine lacks HANDOFF*"])


def test_a_rule_that_could_not_be_checked_is_lacking(run_contract: Any) -> None:
    """It is not called checked."""
    lacks = "{Capability.USER_HOOKS: 'there are none'}"
    run_contract("", lacks).stdout.fnmatch_lines(["S5 * lacking", "mine lacks USER_HOOKS: there are none"])


@pytest.mark.parametrize("driver", ["Mine", "None", "type('Nameless', (Mine,), {'name': ''})()"])
def test_a_class_without_a_proper_driver_is_refused(run_contract: Any, driver: str) -> None:
    """In one sentence."""
    result = run_contract("", "{}", driver=driver)
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*TestMine.driver must be an instance of a Driver that has a name*"])


def test_without_further_runs_the_rest_is_checked(run_contract: Any) -> None:
    """What is announced, for one."""
    result = run_contract("", "{Capability.FURTHER_RUN: 'one run, one conversation'}", "-k", "announced")
    assert result.parseoutcomes()["passed"] == 2


def test_a_failure_is_in_the_report(run_contract: Any) -> None:
    """By rule and adapter."""
    broken = "ReferenceDriver.guard_class = __import__('tests.testing.broken', fromlist=['x']).IgnoresUntracked"
    try:
        result = run_contract(broken, "{}", "-k", "bookkeeping or nothing_is_kept")
    finally:
        from tests.testing.reference import ReferenceGuard  # noqa: PLC0415

        ReferenceDriver.guard_class = ReferenceGuard
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["D6 * 1 FAILED", "S3 * 1 passed"])


def test_a_conversation_that_is_not_the_scripts_is_noticed() -> None:
    """Also without any reminder."""
    said, wrote = Request((Said("go"),)), Request((Said("go"), Wrote("x")))
    with pytest.raises(ContractError, match="S1: at entry 2 of request 1 the conversation has <model: x> in place of"):
        check_requests([wrote], [said.entries], "D1")
    with pytest.raises(ContractError, match="S1: there were 1 requests to the main agent, not 2"):
        check_requests([said], [said.entries, wrote.entries], "D1")
    with pytest.raises(ContractError, match="S1: there were 2 requests with the guard and 1 without"):
        check_untouched([said, said], [said])
    with pytest.raises(ContractError, match=r"S1: without its reminders, request 1 .* entries were added or dropped"):
        check_untouched([wrote], [said])


def test_a_framework_may_wrap_what_a_hook_raises(tmp_path: Path) -> None:
    """It went through all the same."""

    class Wrapping(ReferenceDriver):
        async def play(self, script: Script, make_guard: Any, options: Any) -> Any:
            try:
                return await super().play(script, make_guard, options)
            except Exception as error:
                msg = "a hook failed"
                raise RuntimeError(msg) from error

    attempt(Wrapping(), "test_an_exception_of_the_users_hook", tmp_path)


def test_an_end_that_nothing_asks_for_is_noticed() -> None:
    """By what it was about, in a test that knows of no end."""

    class Ending(ReferenceDriver):
        def guard(self, config: RepeatGuardConfig, **options: Any) -> Any:
            return super().guard(config.model_copy(update={"stop_after": 5}), **options)

    contract: Any = type("Contract", (AdapterContract,), {"driver": Ending()})()
    with pytest.raises(AssertionError, match=r'the guard ended a run after search\({"q":1}\) had come 5 times'):
        contract.test_every_reminder_is_announced(streamed=False)


def test_entries_read_like_a_conversation() -> None:
    """What a failure quotes."""
    entries = (Said("a"), Wrote("b"), Called("c", "{}"), Returned("c", "d"), Other("e"))
    assert [str(entry) for entry in entries] == ["user: a", "model: b", "call: c({})", "result of c: d", "other: e"]


def test_a_script_reads_like_one() -> None:
    """What is printed when an adapter fails."""
    call = Call("search", '{"q": 1}')
    invalid = Call("search", '{"q": ')
    script = Script(
        (
            Run("go", (Turn((call, call), text="hm", resumes=True), Turn((call,), hands_over=True), Turn(text="done"))),
            Run("again", (Turn((call,), steer="stop"), Turn(text="bye")), from_storage=True),
            Run("more", (Turn((invalid,), overheard="hm", keeps=2), Turn((call,), sums_up=True), Turn(text="bye"))),
        ),
        delegated=(Turn(text="inner"),),
        is_kept_elsewhere=True,
    )
    assert str(script).splitlines() == [
        "(each request shows only what is new)",
        "user: go",
        'model: "hm" + search({"q": 1}) + search({"q": 1})',
        "(stored, loaded, goes on)",
        'model: search({"q": 1}) + hands over',
        'model: "done"',
        "(stored and loaded)",
        "user: again",
        'model: search({"q": 1})',
        "user, in between: stop",
        'model: "bye"',
        "user: more",
        'model: search({"q": )',
        "another agent, in between: hm",
        "(from here on, 2 responses are kept)",
        'model: search({"q": 1})',
        "(summed up)",
        'model: "bye"',
        "the other agent, each time:",
        '  model: "inner"',
    ]
    assert script.needs == {
        Capability.PARALLEL_CALLS,
        Capability.TEXT_BESIDE_CALLS,
        Capability.RESUMED_RUN,
        Capability.HANDOFF,
        Capability.FURTHER_RUN,
        Capability.STORED_CONVERSATION,
        Capability.STEERING,
        Capability.INVALID_ARGUMENTS,
        Capability.OTHER_AGENTS_WORDS,
        Capability.CUT_HISTORY,
        Capability.SUMMED_UP_HISTORY,
        Capability.KEPT_ELSEWHERE,
    }


def test_the_reference_is_checked_under_other_configurations_too() -> None:
    """The oracle knows inclusion as well."""
    script = Script((Run("go", (Turn((Call("search"), Call("fetch"), Call("search"))), Turn(text="done"))),))
    config = RepeatGuardConfig(thresholds=(2,), include=("sea*",))
    assert [(due.turn, due.count) for due in due_reminders(script, config)] == [(0, 2)]


def contract_of(driver: Any) -> Any:
    """Make the contract's tests for a driver."""
    return type("Contract", (AdapterContract,), {"driver": driver})()


def test_a_script_that_never_ends_is_noticed(tmp_path: Path) -> None:
    """Though the framework asks the model again whatever that raises."""

    class Stubborn(ReferenceDriver):
        async def play(self, script: Script, make_guard: Any, options: Any) -> Any:
            while True:
                with contextlib.suppress(Exception):
                    await super().play(script, make_guard, options)

    with pytest.raises(pytest.fail.Exception, match="S1: there were more than 28 requests, and the script has no end"):
        contract_of(Stubborn()).test_configuration_from_a_file(tmp_path)


def test_a_model_that_is_asked_after_its_answer_says_so() -> None:
    """And is not taken for an iterator that has come to its end."""
    player = ScriptPlayer(Script((Run("go", (Turn(text="done"),)),)), Options())
    player.start(player.script.runs[0])
    assert player.respond_at_once([Said("go")]).text == "done"
    with pytest.raises(AssertionError, match='the model of main was asked again after its last turn: model: "done"'):
        player.respond_at_once([Said("go")])
    assert [request.agent for request in player.requests] == ["main", "main"]


def test_a_call_that_a_turn_does_not_have_is_an_error() -> None:
    """Of a kind that ends nothing in a framework which runs tools in threads."""
    with pytest.raises(LookupError, match=r'the turn has no call search\({"q":2}\): model: search'):
        Turn((Call("search", '{"q": 1}'),)).result_of("search", 2)


def test_a_thread_that_dies_says_why() -> None:
    """At once, while the others go on without it."""
    numbers = itertools.count()

    class Dying(ReferenceDriver):
        async def play(self, script: Script, make_guard: Any, options: Any) -> Any:
            if next(numbers) == 1:
                raise PlantedError
            return await super().play(script, make_guard, options)

    with pytest.raises(PlantedError):
        contract_of(Dying()).test_runs_in_threads()


def test_fewer_random_scripts_can_be_played(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer than usual, for a quick look."""
    monkeypatch.setenv("REPEATGUARD_EXAMPLES", "2")
    played: list[Script] = []

    class Counting(ReferenceDriver):
        async def play(self, script: Script, make_guard: Any, options: Any) -> Any:
            played.append(script)
            return await super().play(script, make_guard, options)

    contract_of(Counting()).test_random_scripts(streamed=False)
    assert 0 < len(played) <= 4


@pytest.mark.parametrize(
    ("lacking", "streamed"),
    [
        (Capability.INVALID_ARGUMENTS, False),
        (Capability.INVALID_ARGUMENTS_STREAMED, True),
        (Capability.INVALID_ARGUMENTS_IN_PARALLEL, False),
    ],
)
def test_invalid_arguments_are_left_out_where_they_cannot_be(lacking: Capability, streamed: bool) -> None:  # noqa: FBT001
    """Streamed, in parallel or at all, in scenarios and in random scripts."""
    played: list[Script] = []

    class Lacking(ReferenceDriver):
        lacks = {lacking: "it cannot"}  # noqa: RUF012 - it is never changed

        async def play(self, script: Script, make_guard: Any, options: Any) -> Any:
            played.append(script)
            return await super().play(script, make_guard, options)

    contract = contract_of(Lacking())
    contract.test_random_scripts(streamed=streamed)
    assert not [script for script in played if lacking in script.needs]
    scenario = next(scenario for scenario in SCENARIOS if scenario.name == "arguments that are not JSON, in a batch")
    with pytest.raises(pytest.skip.Exception, match=f"lacks {lacking.name}"):
        contract.test_scenario(scenario, streamed=streamed)


def test_a_rewritten_conversation_is_not_held_against_the_guard() -> None:
    """Only where the run without the guard has the same break."""
    before, after = Request((Said("go"), Wrote("x"))), Request((Said("go on"), Wrote("x")))
    check_invariants([before, after], [before, after])
    with pytest.raises(ContractError, match="M5: request 2 does not begin with request 1"):
        check_invariants([before, after], [before, Request((*before.entries, Wrote("y")))])


def test_a_handoff_that_goes_astray_is_noticed() -> None:
    """The requests go to the agents in the script's order."""
    main, second = Request((Said("go"),)), Request((Said("go"),), "second")
    check_deliveries([main, second], [("main", ""), ("second", "")], "D12")
    with pytest.raises(ContractError, match="S1: request 2 went to main, and should have gone to second"):
        check_deliveries([main, main], [("main", ""), ("second", "")], "D12")
    with pytest.raises(ContractError, match="S1: there were 1 requests to the two agents, not 2"):
        check_deliveries([main], [("main", ""), ("second", "")], "D12")


def test_tools_that_are_made_once_find_the_player() -> None:
    """It is the one that was made last."""
    player = ScriptPlayer(Script((Run("go", (Turn(text="done"),)),)), Options())
    assert ScriptPlayer.current() is player
    assert player.role.agent == "main"
