"""The tools of the agents in these tests."""

from __future__ import annotations

from agents import function_tool


@function_tool
def get_status(job: str = "") -> str:
    """Look a job up."""
    return "pending"


@function_tool
def update_plan() -> str:
    """Note a step."""
    return "noted"


@function_tool(needs_approval=True)
def delete(path: str = "") -> str:
    """Delete a file."""
    return "deleted"
