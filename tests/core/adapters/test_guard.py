"""S2 and S6: what every adapter does beside the chain."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from repeatguard_core import Reminder, RepeatGuardConfig, ToolCall
from repeatguard_core.adapters import Guard

from tests.core.decisions import as_reminder, as_stop

CALL = ToolCall("run_sql", '{"secret": 1}')


def reminder_of(support: Guard) -> Reminder:
    """Make a reminder fall due."""
    return as_reminder(support.new_chain().observe([CALL] * 3))


@pytest.mark.rules("S6")
def test_a_reminder_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """At INFO by the logger "repeatguard", with fields and without arguments."""
    support = Guard()
    with caplog.at_level(logging.INFO, logger="repeatguard"):
        support.announce(reminder_of(support))
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("repeatguard", logging.INFO)
    assert [record.__dict__[field] for field in ("tool", "count", "threshold")] == ["run_sql", 3, 3]
    assert "run_sql" in record.getMessage()
    assert "secret" not in str(record.__dict__)


@pytest.mark.rules("S6", "M4")
def test_a_tools_name_cannot_forge_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Names are the model's to choose."""
    support = Guard()
    reminder = support.new_chain().observe([ToolCall("a\nERROR b")] * 3)
    assert reminder is not None
    with caplog.at_level(logging.INFO, logger="repeatguard"):
        support.announce(reminder)
    assert "\n" not in caplog.records[0].getMessage()


@pytest.mark.rules("S6", "X1")
def test_a_reminder_about_a_cycle_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """With the tools' names and the cycle's length."""
    support = Guard()
    reminder = support.new_chain().observe([CALL, ToolCall("fe\ntch")] * 3)
    assert reminder is not None
    with caplog.at_level(logging.INFO, logger="repeatguard"):
        support.announce(reminder)
    (record,) = caplog.records
    assert record.getMessage() == (
        r"reminded the model: a cycle of run_sql, fe\ntch called 3 times in a row with the same arguments (threshold=3)"
    )
    assert record.__dict__["cycle_length"] == 2


@pytest.mark.rules("X5", "S6")
def test_the_end_of_a_run_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """As a warning, without arguments, and it is no reminder to hand on."""
    seen: list[Reminder] = []
    support = Guard(RepeatGuardConfig(thresholds=(2,), stop_after=3), on_reminder=seen.append)
    support.announce(as_stop(support.new_chain().observe([CALL] * 3)))
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (
        logging.WARNING,
        "ended the run: run_sql called 3 times in a row with the same arguments (stop_after=3)",
    )
    assert "secret" not in str(record.__dict__)
    assert seen == []


@pytest.mark.rules("S6")
def test_a_reminder_is_handed_on() -> None:
    """To the function that the user gave."""
    seen: list[Reminder] = []
    support = Guard(on_reminder=seen.append)
    reminder = reminder_of(support)
    support.announce(reminder)
    assert seen == [reminder]


@pytest.mark.rules("S2")
def test_a_fault_of_on_reminder_stays_inside(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged with its traceback, once though it happens each time."""

    def fail(reminder: Reminder) -> None:
        msg = f"cannot tell of {reminder.tool_name}"
        raise LookupError(msg)

    support = Guard(on_reminder=fail)
    for _ in range(3):
        support.announce(reminder_of(support))
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "on_reminder" in record.getMessage()
    assert "cannot tell of run_sql" in record.getMessage()
    assert record.exc_info is not None
    assert record.exc_info[0] is LookupError


@pytest.mark.rules("S2", "D6")
def test_a_fault_of_untracked_stays_inside(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged once, and the tool counts as tracked."""

    def fail(name: str) -> bool:
        raise LookupError(name)

    reminder_of(Guard(untracked=fail))
    (record,) = caplog.records
    assert "untracked" in record.getMessage()
    assert record.exc_info is not None


@pytest.mark.rules("S2")
def test_different_faults_are_all_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Only the same one from the same line is known already."""
    support = Guard()
    for error in (LookupError("a"), LookupError("b"), OSError("c")):
        with support.failing_open("something"):
            raise error
    assert [record.getMessage() for record in caplog.records] == [
        f"repeatguard: a fault in something: {error}; the run goes on, and this fault is not logged again"
        for error in ("LookupError('a')", "OSError('c')")
    ]


@pytest.mark.rules("S2")
def test_what_is_no_fault_goes_through() -> None:
    """A cancelled run or an interrupted program is not the guard's to stop."""
    with pytest.raises(KeyboardInterrupt), Guard().failing_open("something"):
        raise KeyboardInterrupt


@pytest.mark.rules("D6", "C1")
def test_settings_reach_the_chain() -> None:
    """The configuration and the untracked tools."""
    assert Guard().config == RepeatGuardConfig()
    support = Guard(RepeatGuardConfig(thresholds=(2,)), untracked=lambda name: name == "plan")
    reminder = support.new_chain().observe([CALL, ToolCall("plan"), CALL])
    assert reminder is not None
    assert reminder.count == 2


async def later(_: object) -> bool:
    """Answer, some time later."""
    return True


class Later:
    """An object that is called like an async function."""

    async def __call__(self, _: object) -> bool:
        return True


@pytest.mark.rules("C2")
def test_a_mapping_is_no_configuration() -> None:
    """A guard that never fires must not come about silently."""
    wrong: Any = {"thresholds": (3,)}
    with pytest.raises(TypeError, match=r"must be a RepeatGuardConfig, not \{'thresholds': \(3,\)\}; .*from_toml"):
        Guard(wrong)


@pytest.mark.rules("C2")
def test_what_is_no_configuration_is_not_shown_whole() -> None:
    """It may be anything, with a key or a whole conversation in it."""

    class Settings:
        def __repr__(self) -> str:
            return "a secret"

    wrong: Any = Settings()
    with pytest.raises(TypeError, match=r"not a .*Settings; ") as refused:
        Guard(wrong)
    assert "secret" not in str(refused.value)
    wrong = ["x" * 1_000] * 1_000
    with pytest.raises(TypeError) as refused:
        Guard(wrong)
    assert len(str(refused.value)) < 500


@pytest.mark.rules("S2")
@pytest.mark.parametrize("name", ["untracked", "on_reminder"])
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (later, "is async, so it would never be awaited"),
        (Later(), "is async"),
        (["a"], r"must be a function, not \['a'\]"),
    ],
)
def test_what_is_no_plain_function_is_refused_at_once(name: str, function: Any, words: str) -> None:
    """Neither function can be awaited."""
    with pytest.raises(TypeError, match=f"{name} .*{words}"):
        Guard(**{name: function})


@pytest.mark.rules("S2", "D6")
def test_a_function_that_returns_something_to_await_is_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    """That cannot be seen before; the tool counts as tracked."""

    def hand_on(value: object) -> Any:
        return later(value)

    support = Guard(untracked=hand_on, on_reminder=hand_on)
    support.announce(reminder_of(support))
    assert [record.getMessage().split()[4].strip(":") for record in caplog.records if record.exc_info] == [
        "untracked",
        "on_reminder",
    ]


@pytest.mark.rules("S2")
def test_other_things_to_await_are_a_fault_as_well(caplog: pytest.LogCaptureFixture) -> None:
    """Not only coroutines."""

    class Promise:
        def __await__(self) -> Any:
            raise NotImplementedError

    def hand_on(_: object) -> Any:
        return Promise()

    support = Guard(on_reminder=hand_on)
    support.announce(reminder_of(support))
    assert "something to await" in caplog.text


@pytest.mark.rules("S2")
def test_a_fault_of_the_users_logging_stays_inside() -> None:
    """A filter that raises would end the run."""
    logger = logging.getLogger("repeatguard")

    def fail(record: logging.LogRecord) -> bool:
        raise LookupError(record)

    logger.addFilter(fail)
    try:
        support = Guard()
        with support.failing_open("something"):
            raise LookupError
    finally:
        logger.removeFilter(fail)
