"""A Pydantic AI agent that is stuck in a loop, without repeatguard and with it.

By default a scripted model plays the one that is stuck, so no key is needed and every run is the
same. To see a real model in its place, install the framework's extra for its provider, set the
provider's key and name the model:

    OPENAI_API_KEY=... REPEATGUARD_MODEL=openai:gpt-4.1-mini python try_pydantic_ai.py
"""

from __future__ import annotations

import asyncio
import os
import textwrap
from typing import Any

from pydantic_ai import Agent, UsageLimitExceeded, UsageLimits, capture_run_messages
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from repeatguard_pydantic_ai import RepeatGuard

QUESTION = "Has the export finished? Tell me how many rows it has."
BUDGET = 12


def get_status(job: str) -> str:
    """Look up the status of a job."""
    return f"{job}: pending (0 rows)"


def stuck(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Ask for the status again and again, until the latest message spells out what is going on."""
    if "consecutive_calls" in text_of(messages[-1].parts[-1]):
        answer = "The export is still pending, with 0 rows so far. I will not wait any longer."
        return ModelResponse(parts=[TextPart(answer)])
    return ModelResponse(parts=[ToolCallPart("get_status", '{"job": "export"}')])


async def run(*capabilities: Any) -> int:
    """Run the agent, print the conversation as it was kept, and count the requests it took."""
    model: Any = os.environ.get("REPEATGUARD_MODEL") or FunctionModel(stuck)
    agent = Agent(model, tools=[get_status], capabilities=list(capabilities))
    with capture_run_messages() as messages:
        try:
            await agent.run(QUESTION, usage_limits=UsageLimits(request_limit=BUDGET))
        except UsageLimitExceeded:
            outcome = f"  (the budget of {BUDGET} requests is used up, and there is no answer)\n"
        else:
            outcome = ""
    for message in messages:
        for part in message.parts:
            print_part(part)
    print(outcome)
    return sum(isinstance(message, ModelResponse) for message in messages)


def print_part(part: Any) -> None:
    """Print one part of a conversation on a line, a message on as many as it has."""
    if isinstance(part, ToolCallPart):
        print(f"  call       {part.tool_name}({part.args_as_json_str()})")
    elif part.part_kind == "tool-return":
        print(f"  result     {part.content}")
    else:
        role = "assistant" if isinstance(part, TextPart) else "user"
        lines = [short for line in text_of(part).splitlines() for short in textwrap.wrap(line, 86)]
        print(f"  {role:9}  {lines[0]}")
        for line in lines[1:]:
            print(f"             {line}")


def text_of(part: Any) -> str:
    """Give the text of a part; a reminder's is one with metadata."""
    content = getattr(part, "content", "")
    return content if isinstance(content, str) else "\n".join(item.content for item in content)


async def main() -> None:
    """Run the same agent twice."""
    print("WITHOUT repeatguard, the conversation as the framework kept it:\n")
    without = await run()
    print("WITH repeatguard, the conversation as the framework kept it:\n")
    guarded = await run(RepeatGuard())
    print(f"Model requests: {without} without repeatguard, {guarded} with it.")


if __name__ == "__main__":
    asyncio.run(main())
