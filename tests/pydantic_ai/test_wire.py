"""What goes over the wire: the framework's own models and the providers' own clients, against servers that are strict.

The metadata of a reminder never does, so it is looked for in every body.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from google.genai import Client
from google.genai.types import HttpOptions
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturn, UserPromptPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from repeatguard_core import is_reminder

from tests.pydantic_ai.agents import agent
from tests.pydantic_ai.driver import stored
from tests.wire.strict_server import StrictServer

LOOK = ("look", '{"job": 7}')
PLAN = ("plan", "{}")


@asynccontextmanager
async def openai_chat(server: StrictServer) -> AsyncGenerator[Any]:
    """Connect Chat Completions."""
    async with AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client:
        yield OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))


@asynccontextmanager
async def openai_responses(server: StrictServer) -> AsyncGenerator[Any]:
    """Connect Responses."""
    async with AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client:
        yield OpenAIResponsesModel("m", provider=OpenAIProvider(openai_client=client))


@asynccontextmanager
async def anthropic(server: StrictServer) -> AsyncGenerator[Any]:
    """Connect Anthropic's Messages."""
    async with AsyncAnthropic(base_url=server.root_url, api_key="x", max_retries=0) as client:
        yield AnthropicModel("claude-opus-5", provider=AnthropicProvider(anthropic_client=client))


@asynccontextmanager
async def google(server: StrictServer) -> AsyncGenerator[Any]:
    """Connect Google's generateContent."""
    with Client(api_key="x", http_options=HttpOptions(base_url=server.root_url)) as client:
        async with client.aio:
            yield GoogleModel("gemini-3-flash", provider=GoogleProvider(client=client))


apis = pytest.mark.parametrize("api", [openai_chat, openai_responses, anthropic, google])
both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


def look(job: int) -> str:
    """Look at a job."""
    return "running"


def plan() -> str:
    """Note the plan."""
    return "noted"


def show(job: int) -> ToolReturn:
    """Show a job."""
    return ToolReturn("running", content="and here it is")


async def run(api: Any, server: StrictServer, *guards: Any, streamed: bool, **arguments: Any) -> list[ModelMessage]:
    """Run an agent to its end, and give its messages."""

    async def handle(_: Any, events: Any) -> None:
        async for _ in events:
            pass

    async with api(server) as model:
        guarded: Agent[Any, Any] = agent(model, *guards, tools=[look, plan, show], instructions="Be brief.")
        handler = handle if streamed else None
        result = await guarded.run(arguments.pop("prompt", "go"), event_stream_handler=handler, **arguments)
        messages: list[ModelMessage] = result.all_messages()
        return messages


def conversation(body: dict[str, Any]) -> list[Any]:
    """Take the conversation out of a body, piece by piece: a text, a call, a result."""
    pieces: list[Any] = []
    for message in next(body[key] for key in ("input", "messages", "contents") if key in body):
        if message.get("role") in {"system", "developer"}:
            continue
        content = message.get("content", message.get("parts"))
        if isinstance(content, list) and not any(kind in message for kind in ("tool_call_id", "call_id")):
            pieces += [{"role": message["role"], **piece} for piece in content]
        elif message.get("tool_calls"):
            pieces += message["tool_calls"]
        else:
            pieces.append(message)
    return pieces


def outline(body: dict[str, Any]) -> list[str]:
    """Tell what follows what, in words that do for all providers."""
    return [_word(piece) for piece in conversation(body)]


def _word(piece: dict[str, Any]) -> str:
    kind = piece.get("type")
    if kind in {"function", "function_call", "tool_use"} or "functionCall" in piece or "function_call" in piece:
        return "call"
    if (
        kind in {"function_call_output", "tool_result"}
        or piece.get("role") == "tool"
        or "functionResponse" in piece
        or "function_response" in piece
    ):
        return "result"
    text = next(str(piece[key]) for key in ("text", "content") if key in piece)
    return "reminder" if is_reminder(text) else str(piece["role"]).replace("model", "assistant")


def assert_append_only(server: StrictServer) -> None:
    """M5: each request's conversation is the beginning of the next, and nothing else changes."""
    conversations = [conversation(body) for body in server.requests]
    for earlier, later in pairwise(conversations):
        assert [_comparable(piece) for piece in later[: len(earlier)]] == [_comparable(piece) for piece in earlier]
    for body in server.requests:
        assert "chain" not in json.dumps(body)
        assert "threshold" not in json.dumps(body)


def _comparable(piece: dict[str, Any]) -> dict[str, Any]:
    """Leave out what marks the end of a request for the provider's cache, and what only groups pieces."""
    return {key: value for key, value in piece.items() if key != "cache_control"}


@pytest.mark.rules("D1", "M1", "M5")
@apis
@both_ways
async def test_a_loop_is_reminded_on_the_wire(form: Any, api: Any, streamed: bool) -> None:  # noqa: FBT001
    """At three, five and eight, right behind the result, and no request is refused."""
    with StrictServer([*[[LOOK]] * 9, "done"]) as server:
        await run(api, server, form(), streamed=streamed)
    turn = ["call", "result"]
    expected = ["user", *turn * 3, "reminder", *turn * 2, "reminder", *turn * 3, "reminder", *turn]
    lengths = [1, 3, 5, 8, 10, 13, 15, 17, 20, 22]
    assert [outline(body) for body in server.requests] == [expected[:length] for length in lengths]
    assert_append_only(server)
    assert server.refusals == []


@pytest.mark.rules("D9", "M1", "M5")
@apis
@both_ways
async def test_a_reminder_stands_behind_all_results_of_a_batch(form: Any, api: Any, streamed: bool) -> None:  # noqa: FBT001
    """Also behind words that a tool returns beside its result."""
    with StrictServer([[LOOK, LOOK, LOOK, PLAN], [("show", '{"job": 7}')] * 3, [PLAN], "done"]) as server:
        await run(api, server, form(), streamed=streamed)
    first = ["user", *["call"] * 4, *["result"] * 4, "reminder"]
    second = [*first, *["call"] * 3, *["result"] * 3, *["user"] * 3, "reminder"]
    expected = [["user"], first, second, [*second, "call", "result"]]
    assert [outline(body) for body in server.requests] == expected
    assert_append_only(server)
    assert server.refusals == []


@pytest.mark.rules("M5", "M6", "D11")
@apis
@both_ways
async def test_a_further_run_keeps_the_prefix_on_the_wire(form: Any, api: Any, streamed: bool) -> None:  # noqa: FBT001
    """Carried on through JSON, with a new guard."""
    with StrictServer([*[[LOOK]] * 4, "done", *[[LOOK]] * 3, "done"]) as server:
        kept = await run(api, server, form(), streamed=streamed)
        await run(api, server, form(), streamed=streamed, prompt="again", message_history=stored(kept))
    turn = ["call", "result"]
    first = ["user", *turn * 3, "reminder", *turn, "assistant"]
    assert outline(server.requests[-1]) == [*first, "user", *turn * 3, "reminder"]
    assert_append_only(server)
    assert server.refusals == []


@pytest.mark.rules("M1")
@apis
async def test_a_reminder_is_the_users_plain_text_on_the_wire(form: Any, api: Any) -> None:
    """A role and a text: nothing of its metadata goes with it."""
    with StrictServer([*[[LOOK]] * 3, "done"]) as server:
        await run(api, server, form(), streamed=False)
    last = conversation(server.requests[-1])[-1]
    assert last["role"] == "user"
    assert set(last) - {"cache_control"} <= {"role", "content", "text", "type"}
    assert "3 times in a row" in json.dumps(last)


async def misplaced(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Put words between calls and results."""
    if not isinstance(messages[-2:][0], ModelResponse):
        return messages
    return [*messages[:-1], ModelRequest([UserPromptPart("hello")]), messages[-1]]


@apis
async def test_a_misplaced_message_would_be_noticed(api: Any) -> None:
    """The server refuses it, unless the framework itself has put the results first."""
    with StrictServer([[LOOK, LOOK], "done"]) as server:
        try:
            await run(api, server, misplaced, streamed=False)
        except ModelHTTPError:
            assert server.refusals
        else:
            assert outline(server.requests[-1]) == ["user", "call", "call", "result", "result", "user"]
