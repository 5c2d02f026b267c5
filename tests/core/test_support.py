"""S2 and S6: what every adapter does beside the chain."""

from __future__ import annotations

import logging

import pytest
from repeatguard_core import AdapterSupport, Reminder, RepeatGuardConfig, ToolCall

CALL = ToolCall("run_sql", '{"secret": 1}')


def reminder_of(support: AdapterSupport) -> Reminder:
    """Let a reminder fall due."""
    reminder = support.new_chain().observe([CALL] * 3)
    assert reminder is not None
    return reminder


@pytest.mark.rules("S6")
def test_a_reminder_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """At INFO by the logger "repeatguard", with fields and without arguments."""
    support = AdapterSupport()
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
    support = AdapterSupport()
    reminder = support.new_chain().observe([ToolCall("a\nERROR b")] * 3)
    assert reminder is not None
    with caplog.at_level(logging.INFO, logger="repeatguard"):
        support.announce(reminder)
    assert "\n" not in caplog.records[0].getMessage()


@pytest.mark.rules("S6")
def test_a_reminder_is_handed_on() -> None:
    """To the function that the user gave."""
    seen: list[Reminder] = []
    support = AdapterSupport(on_reminder=seen.append)
    reminder = reminder_of(support)
    support.announce(reminder)
    assert seen == [reminder]


@pytest.mark.rules("S2")
def test_a_fault_of_on_reminder_stays_inside(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged with its traceback, once though it happens each time."""

    def fail(reminder: Reminder) -> None:
        msg = f"cannot tell of {reminder.tool_name}"
        raise LookupError(msg)

    support = AdapterSupport(on_reminder=fail)
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

    reminder_of(AdapterSupport(untracked=fail))
    (record,) = caplog.records
    assert "untracked" in record.getMessage()
    assert record.exc_info is not None


@pytest.mark.rules("S2")
def test_different_faults_are_all_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Only the same one from the same line is known already."""
    support = AdapterSupport()
    for error in (LookupError("a"), LookupError("b"), OSError("c")):
        with support.failing_open("something"):
            raise error
    assert [record.getMessage().rpartition("raised ")[2] for record in caplog.records] == [
        "LookupError('a')",
        "OSError('c')",
    ]


@pytest.mark.rules("S2")
def test_what_is_no_fault_goes_through() -> None:
    """A cancelled run or an interrupted program is not the guard's to stop."""
    with pytest.raises(KeyboardInterrupt), AdapterSupport().failing_open("something"):
        raise KeyboardInterrupt


@pytest.mark.rules("D6", "C1")
def test_settings_reach_the_chain() -> None:
    """The configuration and the untracked tools."""
    assert AdapterSupport().config == RepeatGuardConfig()
    support = AdapterSupport(RepeatGuardConfig(thresholds=(2,)), untracked=lambda name: name == "plan")
    reminder = support.new_chain().observe([CALL, ToolCall("plan"), CALL])
    assert reminder is not None
    assert reminder.count == 2


@pytest.mark.rules("C2")
def test_what_cannot_work_is_refused_at_once() -> None:
    """A mapping is no configuration, and an async function would never be awaited."""

    async def on_reminder(reminder: Reminder) -> None:
        """Do nothing, later."""

    with pytest.raises(TypeError, match=r"config must be a RepeatGuardConfig, not \{'thresholds': \(3,\)\}"):
        AdapterSupport({"thresholds": (3,)})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="on_reminder must be a plain function"):
        AdapterSupport(on_reminder=on_reminder)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.rules("S2")
def test_a_fault_of_the_users_logging_stays_inside() -> None:
    """A filter that raises would end the run."""
    logger = logging.getLogger("repeatguard")

    def fail(record: logging.LogRecord) -> bool:
        raise LookupError(record)

    logger.addFilter(fail)
    try:
        support = AdapterSupport()
        with support.failing_open("something"):
            raise LookupError
    finally:
        logger.removeFilter(fail)
