"""What goes over the wire: AutoGen's own OpenAI client, against a server that is strict."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import AgentId, SingleThreadedAgentRuntime
from autogen_core.model_context import ChatCompletionContext, UnboundedChatCompletionContext
from autogen_core.models import LLMMessage, ModelFamily, ModelInfo, UserMessage
from autogen_core.tool_agent import ToolAgent, tool_agent_caller_loop
from autogen_core.tools import FunctionTool
from autogen_ext.models.openai import OpenAIChatCompletionClient
from openai import BadRequestError
from repeatguard_autogen import RepeatGuardHandler
from repeatguard_core import is_reminder

from tests.autogen.scripted_client import both_ways
from tests.autogen.teams import get_status, update_plan
from tests.wire.strict_server import StrictServer

LOOK = ("get_status", '{"job": "7"}')
PLAN = ("update_plan", "{}")
MODEL_INFO = ModelInfo(
    vision=False, function_calling=True, json_output=True, family=ModelFamily.UNKNOWN, structured_output=True
)
TOOLS = [FunctionTool(get_status, "Look a job up."), FunctionTool(update_plan, "Note a step.")]


@contextlib.asynccontextmanager
async def client_for(server: StrictServer) -> AsyncGenerator[OpenAIChatCompletionClient]:
    """Make AutoGen's own client, which takes an unknown model if it is told what it can do."""
    client = OpenAIChatCompletionClient(
        model="m", base_url=server.base_url, api_key="x", max_retries=0, model_info=MODEL_INFO
    )
    try:
        yield client
    finally:
        await client.close()


async def run(
    server: StrictServer, context: ChatCompletionContext, turns: int, *, streamed: bool, tasks: Sequence[str] = ("go",)
) -> None:
    """Run an agent for so many turns on each task."""
    tools: list[Any] = list(TOOLS)
    async with client_for(server) as client:
        agent = AssistantAgent(
            "worker",
            client,
            tools=tools,
            model_context=context,
            model_client_stream=streamed,
            system_message="Be brief.",
        )
        for task in tasks:
            for number in range(turns):
                async for _ in agent.run_stream(task=None if number else task):
                    pass


def conversation(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Take the conversation out of a request, the instructions left out."""
    return [message for message in body["messages"] if message["role"] != "system"]


def outline(body: dict[str, Any]) -> list[str]:
    """Tell what follows what in a request."""
    written: list[str] = []
    for message in conversation(body):
        if message["role"] == "user":
            written.append("reminder" if is_reminder(message["content"]) else "user")
        elif message.get("tool_calls"):
            written += ["call"] * len(message["tool_calls"])
        else:
            written.append({"tool": "result"}.get(message["role"], "answer"))
    return written


def assert_append_only(server: StrictServer) -> None:
    """M5: each request's conversation stands unchanged at the front of the next, and the rest stays the same."""
    for earlier, later in itertools.pairwise(server.requests):
        before = conversation(earlier)
        assert conversation(later)[: len(before)] == before
        changed = {key for key in earlier.keys() | later.keys() if earlier.get(key) != later.get(key)}
        assert changed <= {"messages"}


@pytest.mark.rules("D1", "M1", "M5")
@both_ways
async def test_a_loop_is_reminded_on_the_wire(streamed: bool) -> None:  # noqa: FBT001
    """At three, five and eight, right behind the result, and no request is refused."""
    with StrictServer([*[[LOOK]] * 9, "done"]) as server:
        await run(server, RepeatGuardHandler().context(), 10, streamed=streamed)
    turn = ["call", "result"]
    expected = ["user", *turn * 3, "reminder", *turn * 2, "reminder", *turn * 3, "reminder", *turn]
    lengths = [1, 3, 5, 8, 10, 13, 15, 17, 20, 22]
    assert [outline(body) for body in server.requests] == [expected[:length] for length in lengths]
    assert_append_only(server)
    assert server.refusals == []


@pytest.mark.rules("M1")
@both_ways
async def test_a_reminder_on_the_wire_has_a_name_that_is_allowed(streamed: bool) -> None:  # noqa: FBT001
    """A user's message with a text; AutoGen adds the source as its name, and nothing else."""
    with StrictServer([*[[LOOK]] * 3, "done"]) as server:
        await run(server, RepeatGuardHandler().context(), 4, streamed=streamed)
    last = conversation(server.requests[-1])[-1]
    assert last["role"] == "user"
    assert last.get("name", "repeatguard") == "repeatguard"
    assert set(last) <= {"role", "name", "content"}
    assert "3 times in a row" in last["content"]


@pytest.mark.rules("D9", "M1", "M5")
@both_ways
async def test_a_reminder_stands_behind_all_results_of_a_batch(streamed: bool) -> None:  # noqa: FBT001
    """Also where the call that it is about was answered before others of the batch."""
    with StrictServer([[LOOK, LOOK, LOOK, PLAN], [PLAN], "done"]) as server:
        await run(server, RepeatGuardHandler().context(), 3, streamed=streamed)
    expected = ["user", *["call"] * 4, *["result"] * 4, "reminder", "call", "result"]
    assert [outline(body) for body in server.requests] == [expected[:1], expected[:10], expected]
    assert_append_only(server)
    assert server.refusals == []


@pytest.mark.rules("D11", "M5", "M6")
@both_ways
async def test_a_further_task_keeps_the_prefix_on_the_wire(streamed: bool) -> None:  # noqa: FBT001
    """A count that starts anew, behind a conversation that stays as it was."""
    with StrictServer([*[[LOOK]] * 3, "done", *[[LOOK]] * 3, "done"]) as server:
        await run(server, RepeatGuardHandler().context(), 4, streamed=streamed, tasks=("go", "again"))
    turn = ["user", *["call", "result"] * 3, "reminder"]
    assert outline(server.requests[-1]) == [*turn, "answer", *turn]
    assert_append_only(server)
    assert server.refusals == []


@pytest.mark.rules("D1", "M1", "M5")
async def test_the_cores_loop_on_the_wire() -> None:
    """With a guarded client, and a ``ToolAgent`` that runs the calls."""
    runtime = SingleThreadedAgentRuntime()
    tools: list[Any] = list(TOOLS)
    await ToolAgent.register(runtime, "tools", lambda: ToolAgent("Runs tools.", tools))
    runtime.start()
    guard = RepeatGuardHandler()
    messages: list[LLMMessage] = []
    with StrictServer([*[[LOOK, PLAN]] * 2, *[[LOOK]] * 3, "done", *[[LOOK]] * 3, "done"]) as server:
        async with client_for(server) as client:
            for task in ("go", "again"):
                messages.append(UserMessage(content=task, source="user"))
                messages += await tool_agent_caller_loop(
                    runtime, AgentId("tools", "default"), guard.client(client), messages, tools
                )
    await runtime.stop()
    turn = ["call", "result"]
    first = ["user", *["call", "call", "result", "result"] * 2, *turn * 3, "reminder"]
    assert outline(server.requests[5]) == first
    assert outline(server.requests[-1]) == [*first, "answer", "user", *turn * 3, "reminder"]
    assert_append_only(server)
    assert server.refusals == []


class MisplacingContext(UnboundedChatCompletionContext):
    """A guard that is wrong about the place: its message comes before the results."""

    async def add_message(self, message: LLMMessage) -> None:
        if type(message).__name__ == "FunctionExecutionResultMessage":
            await super().add_message(UserMessage(content="a reminder", source="repeatguard"))
        await super().add_message(message)


@both_ways
async def test_a_misplaced_message_would_be_noticed(streamed: bool) -> None:  # noqa: FBT001
    """The server refuses it, so that the other tests here would fail."""
    with StrictServer([[LOOK, LOOK], "done"]) as server, pytest.raises(BadRequestError, match="tool"):
        await run(server, MisplacingContext(), 2, streamed=streamed)
    assert [outline(body) for body in server.requests] == [["user"]]
    assert len(server.refusals) == 1
