"""What the strict server answers, seen with Google's own client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeAlias

import httpx
import pytest
from google.genai import Client
from google.genai.errors import ClientError, ServerError
from google.genai.types import FinishReason, GenerateContentResponse, HttpOptions

from tests.wire.strict_server import StrictServer

#: Asks once, and gives back what was answered: calls or a text, and the ids that came with them.
Ask: TypeAlias = "Callable[[Client], Awaitable[tuple[Any, list[str]]]]"

CALLS = [("look", '{"q": "größer"}'), ("look", "{}"), ("plan", "")]
ANSWERED = [("look", {"q": "größer"}), ("look", {}), ("plan", {})]
CONTENTS: list[Any] = [{"role": "user", "parts": [{"text": "go"}]}]
METHODS = ["generateContent", "streamGenerateContent"]


def read(chunks: Sequence[GenerateContentResponse]) -> tuple[Any, list[str]]:
    """Put the chunks of an answer together, and take out what the script says."""
    candidates = [chunk.candidates[0] for chunk in chunks if chunk.candidates]
    assert [each.finish_reason for each in candidates] == [None] * (len(chunks) - 1) + [FinishReason.STOP]
    parts = [part for each in candidates if each.content for part in each.content.parts or ()]
    calls = [part.function_call for part in parts if part.function_call]
    answered = [(call.name, call.args) for call in calls] or "".join(part.text or "" for part in parts)
    (response_id,) = {chunk.response_id for chunk in chunks}
    return answered, [str(response_id), *(str(call.id) for call in calls)]


async def ask(client: Client) -> tuple[Any, list[str]]:
    """Ask for a whole answer."""
    return read([await client.aio.models.generate_content(model="m", contents=CONTENTS)])


async def ask_streamed(client: Client) -> tuple[Any, list[str]]:
    """Ask for a stream."""
    stream = await client.aio.models.generate_content_stream(model="m", contents=CONTENTS)
    return read([chunk async for chunk in stream])


both_ways = pytest.mark.parametrize("ask", [ask, ask_streamed])


@pytest.fixture
def server() -> Iterator[StrictServer]:
    """A server with a script of two turns."""
    with StrictServer([CALLS, "done: ✓"]) as running:
        yield running


@pytest.fixture
async def client(server: StrictServer) -> AsyncIterator[Client]:
    """Google's client, which takes the server for Google's."""
    with Client(api_key="x", http_options=HttpOptions(base_url=server.root_url)) as made:
        async with made.aio:
            yield made


@both_ways
async def test_the_client_gets_what_the_script_says(server: StrictServer, client: Client, ask: Ask) -> None:
    """Turn by turn, and all ids are different."""
    (first, ids), (second, more_ids) = await ask(client), await ask(client)
    assert [first, second] == [ANSWERED, "done: ✓"]
    assert len({*ids, *more_ids}) == len([*ids, *more_ids])
    assert [body["contents"] for body in server.requests] == [CONTENTS] * 2


@both_ways
async def test_a_script_that_has_ended_is_no_answer(server: StrictServer, client: Client, ask: Ask) -> None:
    """One request too many is an error, and not a request."""
    await ask(client)
    await ask(client)
    with pytest.raises(ServerError, match="no further turn"):
        await ask(client)
    assert len(server.requests) == 2
    assert server.refusals == ["The script has no further turn."]


@both_ways
async def test_a_refusal_takes_no_turn(
    server: StrictServer, client: Client, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client sees an error of the request, and the next request gets the turn."""
    monkeypatch.setitem(CONTENTS[0], "role", "guard")
    with pytest.raises(ClientError, match="no role 'guard'") as caught:
        await ask(client)
    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")
    monkeypatch.undo()
    assert (await ask(client))[0] == ANSWERED
    assert len(server.refusals) == len(server.requests) == 1


@pytest.mark.parametrize("method", METHODS)
def test_answers_are_of_the_clients_types(server: StrictServer, method: str) -> None:
    """Nothing is there that the client's types do not know, though the client itself leaves that out unseen."""
    for _ in range(2):
        answer = httpx.post(f"{server.root_url}/v1beta/models/m:{method}", json={"contents": CONTENTS})
        lines = answer.text.split("\r\n\r\n")[:-1] if method == METHODS[1] else [answer.text]
        for line in lines:
            whole = GenerateContentResponse.model_validate_json(line.removeprefix("data: "))
            assert whole.model_version == "m"
            assert whole.usage_metadata
