"""D7: which tools a pattern covers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repeatguard_core import RepeatGuardConfig


def covers(pattern: str, name: str) -> bool:
    """Tell whether a tool is watched when only this pattern is included."""
    return RepeatGuardConfig(include=(pattern,)).tracks(name)


@pytest.mark.rules("D7")
@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("run_sql", "run_sql"),
        ("run_*", "run_"),
        ("*_sql", "run_sql"),
        ("*", ""),
        ("*", "two\nlines"),
        ("a*a", "aa"),
        ("**", "x"),
        ("r*_s*l", "run_sql"),
        ("[ab]?.", "[ab]?."),
    ],
)
def test_a_pattern_covers(pattern: str, name: str) -> None:
    """``*`` stands for any run of characters, everything else for itself."""
    assert covers(pattern, name)


@pytest.mark.rules("D7")
@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("run_sql", "run_sql2"),
        ("sql", "run_sql"),
        ("run_*", "Run_sql"),
        ("a*a", "a"),
        ("*ab*ba*", "aba"),
        ("r?n", "run"),
        ("[ab]", "a"),
        ("a.c", "abc"),
    ],
)
def test_a_pattern_does_not_cover(pattern: str, name: str) -> None:
    """The whole name must match, case counts, and no other character is special."""
    assert not covers(pattern, name)


@pytest.mark.rules("D7")
@given(st.text("ab*.", min_size=1, max_size=8), st.text("ab.\n", max_size=12))
def test_patterns_against_regular_expressions(pattern: str, name: str) -> None:
    """Patterns mean what the regular expression with ``.*`` for ``*`` means."""
    expression = ".*".join(map(re.escape, pattern.split("*")))
    assert covers(pattern, name) == bool(re.fullmatch(expression, name, re.DOTALL))


@pytest.mark.rules("D7")
def test_exclusion_wins_over_inclusion() -> None:
    """A tool that both lists cover is left alone; one that neither covers is not included."""
    config = RepeatGuardConfig(include=("run_*",), exclude=("*_plan", "nothing"))
    assert [config.tracks(name) for name in ("run_sql", "run_plan", "search")] == [True, False, False]


@pytest.mark.rules("D7", "C1")
def test_by_default_every_tool_is_tracked() -> None:
    """Nothing is excluded, and everything is included."""
    assert RepeatGuardConfig().tracks("anything at all")
    assert RepeatGuardConfig(include=()).tracks("anything at all")
