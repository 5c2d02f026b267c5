"""What the strict server answers, seen with Anthropic's own client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeAlias

import pytest
from anthropic import AsyncAnthropic, BadRequestError, InternalServerError
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent
from pydantic import TypeAdapter

from tests.wire.strict_server import StrictServer

#: Asks once, and gives back what was answered: calls or a text, and the ids that came with them.
Ask: TypeAlias = "Callable[[AsyncAnthropic], Awaitable[tuple[Any, list[str]]]]"

CALLS = [("look", '{"q": "größer"}'), ("look", "{}"), ("plan", "")]
ANSWERED = [("look", {"q": "größer"}), ("look", {}), ("plan", {})]
MESSAGES: list[Any] = [{"role": "user", "content": "go"}]
BODY: Any = {"model": "m", "max_tokens": 9, "messages": MESSAGES}


def read(message: Message | BetaMessage) -> tuple[Any, list[str]]:
    """Take out of a message what the script says."""
    calls = [block for block in message.content if block.type == "tool_use"]
    texts = [block.text for block in message.content if block.type == "text"]
    assert message.stop_reason == ("tool_use" if calls else "end_turn")
    answered = [(call.name, call.input) for call in calls] or "".join(texts)
    return answered, [message.id, *(call.id for call in calls)]


async def ask(client: AsyncAnthropic) -> tuple[Any, list[str]]:
    """Ask for a whole message."""
    return read(await client.messages.create(**BODY))


async def ask_streamed(client: AsyncAnthropic) -> tuple[Any, list[str]]:
    """Ask for a stream, and let the client put it together."""
    async with client.messages.stream(**BODY) as stream:
        return read(await stream.get_final_message())


async def ask_beta(client: AsyncAnthropic) -> tuple[Any, list[str]]:
    """Ask the API in beta for a whole message."""
    return read(await client.beta.messages.create(**BODY))


async def ask_beta_streamed(client: AsyncAnthropic) -> tuple[Any, list[str]]:
    """Ask the API in beta for a stream, and let the client put it together."""
    async with client.beta.messages.stream(**BODY) as stream:
        return read(await stream.get_final_message())


def check_type(expected: Any, made: Any) -> None:
    """Check what the client made without checking."""
    adapter: TypeAdapter[Any] = TypeAdapter(expected)
    adapter.validate_json(made.to_json())


all_ways = pytest.mark.parametrize("ask", [ask, ask_streamed, ask_beta, ask_beta_streamed])
both_apis = pytest.mark.parametrize("is_beta", [False, True], ids=["messages", "beta"])


@pytest.fixture
def server() -> Iterator[StrictServer]:
    """A server with a script of two turns."""
    with StrictServer([CALLS, "done: ✓"]) as running:
        yield running


@pytest.fixture
async def client(server: StrictServer) -> AsyncIterator[AsyncAnthropic]:
    """Anthropic's client, which takes the server for Anthropic's."""
    async with AsyncAnthropic(base_url=server.root_url, api_key="x", max_retries=0) as made:
        yield made


@all_ways
async def test_the_client_gets_what_the_script_says(server: StrictServer, client: AsyncAnthropic, ask: Ask) -> None:
    """Turn by turn, and all ids are different."""
    (first, ids), (second, more_ids) = await ask(client), await ask(client)
    assert [first, second] == [ANSWERED, "done: ✓"]
    assert len({*ids, *more_ids}) == len([*ids, *more_ids])
    assert [body["messages"] for body in server.requests] == [MESSAGES] * 2


@all_ways
async def test_a_script_that_has_ended_is_no_answer(server: StrictServer, client: AsyncAnthropic, ask: Ask) -> None:
    """One request too many is an error, and not a request."""
    await ask(client)
    await ask(client)
    with pytest.raises(InternalServerError, match="no further turn"):
        await ask(client)
    assert len(server.requests) == 2
    assert server.refusals == ["The script has no further turn."]


@all_ways
async def test_a_refusal_takes_no_turn(
    server: StrictServer, client: AsyncAnthropic, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client sees an error of the request, and the next request gets the turn."""
    monkeypatch.setitem(MESSAGES[0], "role", "guard")
    with pytest.raises(BadRequestError, match="Invalid value: 'guard'"):
        await ask(client)
    monkeypatch.undo()
    assert (await ask(client))[0] == ANSWERED
    assert len(server.refusals) == len(server.requests) == 1


@both_apis
async def test_answers_are_of_the_clients_types(client: AsyncAnthropic, is_beta: bool) -> None:  # noqa: FBT001
    """Nothing is missing that the client's types promise, though the client itself does not check that."""
    for _ in range(2):
        if is_beta:
            check_type(BetaMessage, await client.beta.messages.create(**BODY))
        else:
            check_type(Message, await client.messages.create(**BODY))


@both_apis
async def test_events_are_of_the_clients_types(client: AsyncAnthropic, is_beta: bool) -> None:  # noqa: FBT001
    """Every event of a stream, from the first to the last."""
    messages: Any = client.beta.messages if is_beta else client.messages
    for _ in range(2):
        events = [event async for event in await messages.create(**BODY, stream=True)]
        for event in events:
            check_type(BetaRawMessageStreamEvent if is_beta else RawMessageStreamEvent, event)
        assert [events[0].type, events[-1].type] == ["message_start", "message_stop"]


async def test_arguments_come_in_pieces(client: AsyncAnthropic) -> None:
    """Which together are JSON, or nothing at all for a call without arguments."""
    given: list[list[str]] = [[], [], []]
    async for event in await client.messages.create(**BODY, stream=True):
        if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            given[event.index].append(event.delta.partial_json)
    assert [len(pieces) for pieces in given] == [3, 1, 1]
    assert json.loads("".join(given[0])) == {"q": "größer"}
    assert given[1:] == [[""], [""]]
