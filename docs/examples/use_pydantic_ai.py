"""The guard in a Pydantic AI agent, with the settings of repeatguard.toml.

No key is needed: the model is the scripted one of try_pydantic_ai.py, which has to lie beside this
file. For a real one, install the framework's extra for its provider, set the provider's key, such
as OPENAI_API_KEY, and change the line that makes the model. repeatguard.toml has to lie here either
way.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel
from repeatguard_pydantic_ai import Reminder, RepeatGuard, RepeatGuardConfig, RepeatLoopError

CONFIG = RepeatGuardConfig.from_toml(Path(__file__).with_name("repeatguard.toml"))


def get_status(job: str) -> str:
    """Look up the status of a job."""
    return f"{job}: pending (0 rows)"


def show(reminder: Reminder) -> None:
    """Print what the model is told, and when."""
    print(f"At call {reminder.count} of {reminder.tool_name}:\n{reminder.text}\n")


async def main() -> None:
    """Ask the agent about a job that does not get done."""
    model = FunctionModel(import_module("try_pydantic_ai").stuck)  # a real one: model = "openai:gpt-4.1-mini"
    agent = Agent(model, tools=[get_status], capabilities=[RepeatGuard(CONFIG, on_reminder=show)])
    try:
        result = await agent.run("Has the export finished? How many rows has it?")
    except RepeatLoopError as end:
        print(f"The run has ended: {end}")
    else:
        print(f"The answer: {result.output}")


if __name__ == "__main__":
    asyncio.run(main())
