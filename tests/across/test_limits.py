"""What the pages say of the frameworks' own limits is what the newest releases do."""

from __future__ import annotations

import inspect
from typing import Any

from agents.run import DEFAULT_MAX_TURNS
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import MagenticOneGroupChat, RoundRobinGroupChat, SelectorGroupChat, Swarm
from pydantic_ai import UsageLimits

from tests.across.pages import ROOT, rows


def default(made: Any, argument: str) -> Any:
    """Give an argument's default."""
    return inspect.signature(made).parameters[argument].default


def test_what_may_end_a_run_before_the_guard_does() -> None:
    """The row of the page on changing the framework."""
    (row,) = [row for row in rows(ROOT / "docs/changing-framework.md", "What to look at") if "own limit" in row[0]]
    assert [default(team, "max_turns") for team in (RoundRobinGroupChat, SelectorGroupChat, Swarm)] == [None] * 3
    turns, iterations = default(MagenticOneGroupChat, "max_turns"), default(AssistantAgent, "max_tool_iterations")
    assert row[1:] == [
        f"`max_turns`, {DEFAULT_MAX_TURNS} by default",
        f"`UsageLimits`, {UsageLimits().request_limit} requests by default",
        (
            f"a team has none by default (`MagenticOneGroupChat` has {turns} turns); "
            f"an agent's turn has `max_tool_iterations`, {iterations} by default"
        ),
    ]
