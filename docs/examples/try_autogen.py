"""An AutoGen team that is stuck in a loop, without repeatguard and with it.

By default a scripted model plays the one that is stuck, so no key is needed and every run is the
same. To see a real model in its place, install ``autogen-ext[openai]``, set OPENAI_API_KEY and
name the model:

    OPENAI_API_KEY=... REPEATGUARD_MODEL=gpt-4.1-mini python try_autogen.py
"""

from __future__ import annotations

import asyncio
import os
import textwrap
import warnings
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall, SingleThreadedAgentRuntime
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    UserMessage,
)
from repeatguard_autogen import RepeatGuardHandler

QUESTION = "Has the export finished? Tell me how many rows it has."
BUDGET = 12

# AutoGen's own, as soon as a runtime has any handler at all.
warnings.filterwarnings("ignore", "Intervention handler on_response returned None", RuntimeWarning)


def get_status(job: str) -> str:
    """Look up the status of a job."""
    return f"{job}: pending (0 rows)"


class StuckModel(ChatCompletionClient):
    """Asks for the status again and again, until the latest message spells out what it is doing."""

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        content: str | list[FunctionCall] = [FunctionCall(f"call_{len(messages)}", '{"job": "export"}', "get_status")]
        if "consecutive_calls" in str(messages[-1].content):
            content = "The export is still pending, with 0 rows so far. I will not wait any longer."
        return CreateResult(finish_reason="unknown", content=content, usage=self.total_usage(), cached=False)

    def create_stream(self, messages: Sequence[LLMMessage], **options: Any) -> AsyncGenerator[str | CreateResult, None]:
        raise NotImplementedError("this example does not stream")

    async def close(self) -> None:
        pass

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def total_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def count_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        return 0

    def remaining_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        return 0

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False
        )


class Recorder(UnboundedChatCompletionContext):
    """A context of the user's: it keeps what the model was sent, and works inside the guard as before."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[list[LLMMessage]] = []

    async def get_messages(self) -> list[LLMMessage]:
        messages = await super().get_messages()
        self.requests.append(list(messages))
        return messages


def make_client() -> ChatCompletionClient:
    """Make the client: the scripted one, or a real one."""
    if "REPEATGUARD_MODEL" not in os.environ:
        return StuckModel()
    from autogen_ext.models.openai import OpenAIChatCompletionClient  # noqa: PLC0415 - only a real model needs it

    return OpenAIChatCompletionClient(model=os.environ["REPEATGUARD_MODEL"])


async def run(runtime: SingleThreadedAgentRuntime) -> int:
    """Run the team, print the conversation as the model saw it, and count the requests it took."""
    recorder = Recorder()
    agent = AssistantAgent("exporter", make_client(), tools=[get_status], model_context=recorder)
    answer = TextMessageTermination("exporter")
    team = RoundRobinGroupChat([agent], max_turns=BUDGET, runtime=runtime, termination_condition=answer)
    runtime.start()
    result = await team.run(task=QUESTION)
    await runtime.stop_when_idle()
    for message in recorder.requests[-1]:
        print_message(message)
    if result.stop_reason and "Maximum" in result.stop_reason:
        print(f"  (the budget of {BUDGET} requests is used up, and there is no answer)\n")
    else:
        print(f"  assistant  {(await recorder.get_messages())[-1].content}\n")
        recorder.requests.pop()
    return len(recorder.requests)


def print_message(message: LLMMessage) -> None:
    """Print one message of a conversation."""
    if isinstance(message, AssistantMessage):
        for call in message.content:
            print(f"  call       {call.name}({call.arguments})" if isinstance(call, FunctionCall) else f"  {call}")
    elif isinstance(message, FunctionExecutionResultMessage):
        for result in message.content:
            print(f"  result     {result.content}")
    elif isinstance(message, UserMessage):
        lines = [short for line in str(message.content).splitlines() for short in textwrap.wrap(line, 86)]
        print(f"  user       {lines[0]}")
        for line in lines[1:]:
            print(f"             {line}")


async def main() -> None:
    """Run the same team twice."""
    print("WITHOUT repeatguard, the conversation as the model saw it:\n")
    without = await run(SingleThreadedAgentRuntime())
    print("WITH repeatguard, the conversation as the model saw it:\n")
    guarded = await run(RepeatGuardHandler().runtime())
    print(f"Model requests: {without} without repeatguard, {guarded} with it.")


if __name__ == "__main__":
    asyncio.run(main())
