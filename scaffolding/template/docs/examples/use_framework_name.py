"""The guard in a Framework Name agent, with the settings of repeatguard.toml.

No key is needed: the model is the scripted one of try_framework_name.py, which has to lie beside this
file. For a real one, set OPENAI_API_KEY and change the line that makes the model. repeatguard.toml
has to lie here either way.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from repeatguard_framework_name import Reminder, RepeatGuard, RepeatGuardConfig, RepeatLoopError

CONFIG = RepeatGuardConfig.from_toml(Path(__file__).with_name("repeatguard.toml"))
TOOL = {
    "name": "get_status",
    "description": "Look up the status of a job.",
    "parameters": {"type": "object", "properties": {"job": {"type": "string"}}, "required": ["job"]},
}


def get_status(job: str) -> str:
    """Look up the status of a job."""
    return f"{job}: pending (0 rows)"


def show(reminder: Reminder) -> None:
    """Print what the model is told, and when."""
    print(f"At call {reminder.count} of {reminder.tool_name}:\n{reminder.text}\n")


def run(client: Any, messages: list[dict[str, Any]], guard: RepeatGuard) -> str:
    """Ask the model until it answers. Replace this by the framework."""
    while True:
        guard(messages)
        tools = [{"type": "function", "function": TOOL}]
        response = client.chat.completions.create(model="gpt-4.1-mini", messages=messages, tools=tools)
        messages.append(response.choices[0].message.model_dump(exclude_none=True))
        calls = messages[-1].get("tool_calls")
        if not calls:
            return str(messages[-1]["content"])
        for call in calls:
            content = get_status(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})


def main() -> None:
    """Ask the agent about a job that does not get done."""
    model = import_module("try_framework_name").StuckModel()  # a real one: model = import_module("openai").OpenAI()
    guard = RepeatGuard(CONFIG, on_reminder=show)
    question = {"role": "user", "content": "Has the export finished? How many rows has it?"}
    try:
        answer = run(model, [question], guard)
    except RepeatLoopError as end:
        print(f"The run has ended: {end}")
    else:
        print(f"The answer: {answer}")


if __name__ == "__main__":
    main()
