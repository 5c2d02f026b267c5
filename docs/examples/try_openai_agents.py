"""An OpenAI Agents SDK agent that is stuck in a loop, without repeatguard and with it.

By default a scripted model plays the one that is stuck, so no key is needed and every run is the
same. To see a real model in its place, set OPENAI_API_KEY and name the model:

    OPENAI_API_KEY=... REPEATGUARD_MODEL=gpt-4.1-mini python try_openai_agents.py
"""

from __future__ import annotations

import asyncio
import copy
import os
import textwrap
from collections.abc import AsyncIterator
from typing import Any

from agents import (
    Agent,
    MaxTurnsExceeded,
    Model,
    ModelResponse,
    RunHooks,
    Runner,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from repeatguard_openai_agents import RepeatGuardHooks

QUESTION = "Has the export finished? Tell me how many rows it has."
BUDGET = 12


@function_tool
def get_status(job: str) -> str:
    """Look up the status of a job."""
    return f"{job}: pending (0 rows)"


class StuckModel(Model):
    """Asks for the status again and again, until the latest message spells out what it is doing."""

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002
        if "consecutive_calls" in str(input[-1].get("content")):
            answer = "The export is still pending, with 0 rows so far. I will not wait any longer."
            text = ResponseOutputText(type="output_text", text=answer, annotations=[])
            output: Any = ResponseOutputMessage(
                id="msg", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            output = ResponseFunctionToolCall(
                type="function_call", call_id=f"call_{len(input)}", name="get_status", arguments='{"job": "export"}'
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("this example does not stream")


class Recorder(RunHooks[Any]):
    """Hooks of the user's: they keep what the model was sent, and pass through the guard untouched."""

    def __init__(self) -> None:
        self.requests: list[list[Any]] = []

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: list[Any]) -> None:
        self.requests.append(copy.deepcopy(input_items))


async def run(hooks: RunHooks[Any], recorder: Recorder) -> int:
    """Run the agent, print the conversation as the model saw it, and count the requests it took."""
    model = os.environ.get("REPEATGUARD_MODEL") or StuckModel()
    agent = Agent(name="exporter", model=model, tools=[get_status])
    try:
        result = await Runner.run(agent, QUESTION, hooks=hooks, max_turns=BUDGET)
        end = f"assistant  {result.final_output}"
    except MaxTurnsExceeded:
        end = f"(the budget of {BUDGET} requests is used up, and there is no answer)"
    for item in recorder.requests[-1]:
        print_item(item)
    print(f"  {end}\n")
    return len(recorder.requests)


def print_item(item: dict[str, Any]) -> None:
    """Print one item of a conversation on a line, a message on as many as it has."""
    if item.get("type") == "function_call":
        print(f"  call       {item['name']}({item['arguments']})")
    elif item.get("type") == "function_call_output":
        print(f"  result     {item['output']}")
    elif item.get("role") == "user":
        lines = [short for line in str(item["content"]).splitlines() for short in textwrap.wrap(line, 86)]
        print(f"  user       {lines[0]}")
        for line in lines[1:]:
            print(f"             {line}")


async def main() -> None:
    """Run the same agent twice."""
    set_tracing_disabled(disabled=True)
    print("WITHOUT repeatguard, the conversation as the model saw it:\n")
    recorder = Recorder()
    without = await run(recorder, recorder)
    print("WITH repeatguard, the conversation as the model saw it:\n")
    recorder = Recorder()
    guarded = await run(RepeatGuardHooks(inner=recorder), recorder)
    print(f"Model requests: {without} without repeatguard, {guarded} with it.")


if __name__ == "__main__":
    asyncio.run(main())
