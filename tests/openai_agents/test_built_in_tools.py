"""Shells, patches, computers and hosted MCP servers: tools whose calls have a form of their own."""

from __future__ import annotations

from typing import Any

import pytest
from agents import Agent, ApplyPatchTool, Computer, ComputerTool, HostedMCPTool, LocalShellTool, ShellTool
from agents.editor import ApplyPatchResult
from openai.types.responses import ResponseOutputItem
from pydantic import TypeAdapter
from repeatguard_core import Reminder
from repeatguard_openai_agents import RepeatGuardConfig, RepeatGuardHooks

from tests.openai_agents.scripted_model import ScriptedModel, both_ways, reminders, run_to_the_end, say


class Editor:
    """Patches nothing."""

    def patch(self, operation: Any) -> ApplyPatchResult:
        """Say that it is done."""
        return ApplyPatchResult(status="completed", output="patched")

    create_file = update_file = delete_file = patch


class Screen(Computer):
    """A computer with a screen that never changes."""

    @property
    def environment(self) -> Any:
        return "browser"

    @property
    def dimensions(self) -> tuple[int, int]:
        return 1, 1

    def screenshot(self) -> str:
        return ""

    def nothing(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    click = double_click = scroll = type = wait = move = keypress = drag = nothing


async def run_nothing(_: Any) -> str:
    """Run nothing."""
    return "pending"


def approve(_: Any) -> Any:
    """Approve whatever is asked for."""
    return {"approve": True}


MCP: Any = {"type": "mcp", "server_label": "s", "server_url": "http://localhost", "require_approval": "always"}
TOOLS: list[Any] = [
    ShellTool(executor=run_nothing),
    LocalShellTool(executor=run_nothing),
    ApplyPatchTool(editor=Editor()),
    ComputerTool(computer=Screen()),
    HostedMCPTool(tool_config=MCP, on_approval_request=approve),
]


def shell_call(about: str) -> dict[str, Any]:
    """Make a call of the shell."""
    return {"type": "shell_call", "action": {"commands": [about]}, "status": "completed"}


def local_shell_call(about: str) -> dict[str, Any]:
    """Make a call of the older shell."""
    return {
        "type": "local_shell_call",
        "action": {"type": "exec", "command": [about], "env": {}},
        "status": "completed",
    }


def apply_patch_call(about: str) -> dict[str, Any]:
    """Make a call to patch a file."""
    operation = {"type": "update_file", "path": about, "diff": "@@"}
    return {"type": "apply_patch_call", "operation": operation, "status": "completed"}


def computer_call(about: str) -> dict[str, Any]:
    """Make a call to type something."""
    action = {"type": "type", "text": about}
    return {"type": "computer_call", "action": action, "pending_safety_checks": [], "status": "completed"}


def mcp_approval_request(about: str) -> dict[str, Any]:
    """Ask for the approval of a call of a hosted server."""
    return {"type": "mcp_approval_request", "server_label": "s", "name": "look", "arguments": f'{{"q": "{about}"}}'}


@pytest.mark.rules("D1", "D8", "M1", "M5")
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (shell_call, "shell"),
        (local_shell_call, "local_shell"),
        (apply_patch_call, "apply_patch"),
        (computer_call, "computer"),
        (mcp_approval_request, "s.look"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@both_ways
async def test_calls_of_built_in_tools_count(make: Any, name: str, streamed: bool) -> None:  # noqa: FBT001
    """Two equal ones are a count of two, and the reminder stands behind what the SDK answered."""
    adapter: TypeAdapter[ResponseOutputItem] = TypeAdapter(ResponseOutputItem)

    def call(number: int, about: str) -> ResponseOutputItem:
        ids = (
            {"id": f"id_{number}"} if make is mcp_approval_request else {"id": f"id_{number}", "call_id": f"c_{number}"}
        )
        return adapter.validate_python({**make(about), **ids})

    seen: list[Reminder] = []
    model = ScriptedModel([[call(1, "x")], [call(2, "x")], [call(3, "y")], [say("done")]])
    guard = RepeatGuardHooks(RepeatGuardConfig(thresholds=(2,)), on_reminder=seen.append)
    agent = Agent(name="agent", model=model, tools=TOOLS)
    await run_to_the_end(agent, "go", guard, streamed=streamed)
    assert [reminder.tool_name for reminder in seen] == [name]
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 1, 1]
    assert model.requests[3][: len(model.requests[2])] == model.requests[2]
    assert str(model.requests[2][-2]["type"]).endswith(("_call_output", "mcp_approval_response"))
