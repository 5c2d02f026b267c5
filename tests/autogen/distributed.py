"""Agents for AutoGen's distributed runtime, and a process that hosts some of them.

python -m tests.autogen.distributed ADDRESS tools|assistant
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from typing import Any, cast

from autogen_agentchat.agents import AssistantAgent
from autogen_core import (
    AgentId,
    AgentRuntime,
    FunctionCall,
    MessageContext,
    RoutedAgent,
    message_handler,
    try_get_known_serializers_for_type,
)
from autogen_core.models import AssistantMessage, FunctionExecutionResult, FunctionExecutionResultMessage, UserMessage
from autogen_core.tool_agent import ToolAgent
from autogen_core.tools import FunctionTool
from autogen_ext.runtimes.grpc import GrpcWorkerAgentRuntime
from repeatguard_autogen import RepeatGuardHandler

from tests.autogen.scripted_client import repeating, words
from tests.autogen.teams import get_status

TOOLS = AgentId("tools", "default")
#: An agent on one machine whose tools run on another, and an agent of AgentChat's that has its own.
KINDS = ("remote", "local")


@dataclass
class Task:
    """What a user asks for."""

    words: str


@dataclass
class Sent:
    """What the model was sent, request by request, as JSON."""

    requests: str


class RemoteToolUser(RoutedAgent):
    """Keeps its messages in a guarded context, and lets another agent run its tools."""

    def __init__(self) -> None:
        super().__init__("Uses tools.")
        self._context = RepeatGuardHandler().context()

    @message_handler
    async def work(self, message: Task, ctx: MessageContext) -> Sent:
        """Call tools until the model answers."""
        client = repeating(5)
        await self._context.add_message(UserMessage(content=message.words, source="user"))
        while True:
            response = await client.create(await self._context.get_messages())
            await self._context.add_message(AssistantMessage(content=response.content, source="worker"))
            if isinstance(response.content, str):
                return sent(client)
            results = [await self.send_message(each, TOOLS) for each in response.content]
            results = cast("list[FunctionExecutionResult]", results)
            await self._context.add_message(FunctionExecutionResultMessage(content=results))


class LocalToolUser(RoutedAgent):
    """Passes its tasks on to an agent of AgentChat's."""

    def __init__(self) -> None:
        super().__init__("Uses an assistant.")

    @message_handler
    async def work(self, message: Task, ctx: MessageContext) -> Sent:
        """Let the assistant call tools until its model answers."""
        client = repeating(5)
        context = RepeatGuardHandler().context()
        assistant = AssistantAgent("worker", client, tools=[get_status], model_context=context)
        await assistant.run(task=message.words)
        for _ in range(5):
            await assistant.run()
        return sent(client)


def sent(client: Any) -> Sent:
    """Put what a model was sent into a message."""
    return Sent(json.dumps([words(request) for request in client.requests]))


def know_messages(runtime: AgentRuntime) -> None:
    """Tell a runtime how the messages are sent."""
    for kind in (Task, Sent, FunctionCall, FunctionExecutionResult):
        runtime.add_message_serializer(try_get_known_serializers_for_type(kind))


async def register(runtime: AgentRuntime, role: str) -> None:
    """Register one machine's agents."""
    know_messages(runtime)
    if role == "tools":
        tools: list[Any] = [FunctionTool(get_status, "Look a job up.")]
        await ToolAgent.register(runtime, "tools", lambda: ToolAgent("Runs tools.", tools))
        await LocalToolUser.register(runtime, "local", LocalToolUser)
    else:
        await RemoteToolUser.register(runtime, "remote", RemoteToolUser)


async def main(address: str, role: str) -> None:
    """Host agents until the standard input ends."""
    runtime = GrpcWorkerAgentRuntime(address)
    await runtime.start()
    await register(runtime, role)
    print("ready", flush=True)  # noqa: T201 - whoever has started this process waits for it
    await asyncio.to_thread(sys.stdin.read)
    await runtime.stop()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
