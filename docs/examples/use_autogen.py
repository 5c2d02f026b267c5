"""The guard in an AutoGen team, with the settings of repeatguard.toml.

No key is needed: the model is the scripted one of try_autogen.py, which has to lie beside this file.
For a real one, install ``autogen-ext[openai]``, set OPENAI_API_KEY and change the line that makes the
client. repeatguard.toml has to lie here either way.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMessageTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import ChatCompletionClient
from repeatguard_autogen import Reminder, RepeatGuardConfig, RepeatGuardHandler

CONFIG = RepeatGuardConfig.from_toml(Path(__file__).with_name("repeatguard.toml"))


def real_client() -> ChatCompletionClient:
    """Make a client for a model of OpenAI's."""
    return ChatCompletionClient.load_component(
        {"provider": "OpenAIChatCompletionClient", "config": {"model": "gpt-4.1-mini"}}
    )


def get_status(job: str) -> str:
    """Look up the status of a job."""
    return f"{job}: pending (0 rows)"


def show(reminder: Reminder) -> None:
    """Print what the model is told, and when."""
    print(f"At call {reminder.count} of {reminder.tool_name}:\n{reminder.text}\n")


async def main() -> None:
    """Ask the team about a job that does not get done."""
    client = import_module("try_autogen").StuckModel()  # a real one: client = real_client()
    agent = AssistantAgent("exporter", client, tools=[get_status])
    guard = RepeatGuardHandler(CONFIG, on_reminder=show)
    end = guard.termination()
    team = RoundRobinGroupChat([agent], termination_condition=end | TextMessageTermination("exporter"))
    guard.attach(team)
    result = await team.run(task="Has the export finished? How many rows has it?")
    if end.last_stop:
        print(f"The run has ended: {end.last_stop}")
    elif isinstance(answer := result.messages[-1], TextMessage):
        print(f"The answer: {answer.content}")


if __name__ == "__main__":
    asyncio.run(main())
