"""The guard in an OpenAI Agents SDK agent, with the settings of repeatguard.toml.

No key is needed: the model is the scripted one of try_openai_agents.py, which has to lie beside this
file. For a real one, set OPENAI_API_KEY and change the line that makes the model. repeatguard.toml
has to lie here either way.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path

from agents import Agent, Runner, function_tool, set_tracing_disabled
from repeatguard_openai_agents import Reminder, RepeatGuardConfig, RepeatGuardHooks, RepeatLoopError

CONFIG = RepeatGuardConfig.from_toml(Path(__file__).with_name("repeatguard.toml"))


@function_tool
def get_status(job: str) -> str:
    """Look up the status of a job."""
    return f"{job}: pending (0 rows)"


def show(reminder: Reminder) -> None:
    """Print what the model is told, and when."""
    print(f"At call {reminder.count} of {reminder.tool_name}:\n{reminder.text}\n")


async def main() -> None:
    """Ask the agent about a job that does not get done."""
    model = import_module("try_openai_agents").StuckModel()  # a real one: model = "gpt-4.1-mini"
    agent = Agent(name="exporter", model=model, tools=[get_status])
    guard = RepeatGuardHooks(CONFIG, on_reminder=show)
    try:
        result = await Runner.run(agent, "Has the export finished? How many rows has it?", hooks=guard)
    except RepeatLoopError as end:
        print(f"The run has ended: {end}")
    else:
        print(f"The answer: {result.final_output}")


if __name__ == "__main__":
    set_tracing_disabled(disabled=True)  # traces would go to the provider
    asyncio.run(main())
