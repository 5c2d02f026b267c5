"""Teams for the tests: what agents and teams are made of, and how a team is run in each way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeAlias

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_core import SingleThreadedAgentRuntime
from autogen_core.models import ChatCompletionClient
from repeatguard_autogen import RepeatGuardHandler

#: Takes a runtime (None: each team has one of its own), and makes the team.
MakeTeam: TypeAlias = Callable[[Any], Any]

#: When a run that has not ended hangs, in seconds.
SOON = 60

#: How a team is guarded: with a runtime of the guard's, of the user's, attached, and in every way at once.
WIRINGS = ("runtime", "user's runtime", "attached", "attached on a runtime", "every way")
wirings = pytest.mark.parametrize("wiring", WIRINGS)


def get_status(job: str = "") -> str:
    """Look a job up."""
    return "pending"


def update_plan() -> str:
    """Note a step."""
    return "noted"


def fail() -> str:
    """Fail."""
    msg = "it failed"
    raise RuntimeError(msg)


def agent_with(client: ChatCompletionClient, name: str = "worker", **settings: Any) -> AssistantAgent:
    """Make an agent with tools."""
    settings.setdefault("tools", [get_status, update_plan, fail])
    return AssistantAgent(name, client, **settings)


@contextlib.asynccontextmanager
async def started(runtime: SingleThreadedAgentRuntime | None) -> AsyncGenerator[None]:
    """Run a runtime, if there is one, until it is idle; one that hangs fails the test."""
    if runtime is None:
        yield
        return
    runtime.start()
    try:
        yield
    finally:
        await asyncio.wait_for(runtime.stop_when_idle(), SOON)


def wire(guard: RepeatGuardHandler | None, wiring: str, make_team: MakeTeam) -> tuple[Any, Any]:
    """Make a team that is guarded in some way, and the runtime to start for it."""
    runtimes: dict[str, Callable[[], Any]] = {
        "runtime": lambda: guard and guard.runtime(),
        "user's runtime": lambda: SingleThreadedAgentRuntime(intervention_handlers=[guard] if guard else None),
        "attached": lambda: None,
        "attached on a runtime": SingleThreadedAgentRuntime,
        "every way": lambda: guard and guard.runtime(),
    }
    runtime = runtimes[wiring]()
    team = make_team(runtime)
    if guard and wiring not in {"runtime", "user's runtime"}:
        guard.attach(team)
    return team, runtime


async def run_team(team: Any, runtime: Any, task: Any = "go", *, streamed: bool = False) -> TaskResult:
    """Run a team to its end."""
    async with started(runtime):
        if not streamed:
            result: TaskResult = await asyncio.wait_for(team.run(task=task), SOON)
            return result
        *_, last = [message async for message in team.run_stream(task=task)]
        assert isinstance(last, TaskResult)
        return last
