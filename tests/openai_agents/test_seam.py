"""The seam that the adapter lives by: the SDK's own documentation does not promise it, so a test has to."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import pytest
from agents import Agent, AgentHooks, RunHooks

from tests.openai_agents.scripted_model import ScriptedModel, both_ways, run_to_the_end, say

ADDED = {"role": "user", "content": "added by a hook"}
RELEASE = importlib.metadata.version("openai-agents")


class Adding(RunHooks[Any]):
    """Adds a message in place."""

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: list[Any]) -> None:
        input_items.append(ADDED)


class AddingForOneAgent(AgentHooks[Any]):
    """Adds a message in place."""

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: list[Any]) -> None:
        input_items.append(ADDED)


@pytest.mark.rules("M1")
@pytest.mark.parametrize("wiring", ["run hooks", "agent hooks"])
@both_ways
async def test_the_list_that_hooks_are_given_is_the_list_that_the_model_gets(wiring: str, streamed: bool) -> None:  # noqa: FBT001
    """What `on_llm_start` adds to ``input_items`` in place reaches the model, and is gone after the request."""
    model = ScriptedModel([[say("done")], [say("done")]])
    run_hooks = Adding() if wiring == "run hooks" else None
    agent = Agent(name="agent", model=model, hooks=None if run_hooks else AddingForOneAgent())
    result = await run_to_the_end(agent, "go", run_hooks, streamed=streamed)
    assert model.requests[0][-1:] == [ADDED], (
        f"openai-agents {RELEASE} no longer passes the list that {wiring} are given in on_llm_start on to the model: "
        "a message that was added to it in place did not arrive. Reminders cannot be delivered that way any more; "
        "until the adapter has another way, openai-agents must be required below this release."
    )
    assert ADDED not in result.to_input_list(), (
        f"openai-agents {RELEASE} keeps what a hook adds to input_items in on_llm_start. The adapter puts earlier "
        "reminders back in each request because the SDK used to forget them; it must now leave that to the SDK."
    )
