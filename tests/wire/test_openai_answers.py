"""What the strict server answers, seen with OpenAI's own client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest
from openai import BadRequestError, InternalServerError, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tests.wire.strict_server import StrictServer, Turn

#: Asks once, and gives back what was answered in the script's terms, with the ids that came with it.
Ask: TypeAlias = "Callable[[OpenAI], tuple[Turn, list[str]]]"

CALLS = [("look", '{"q": "größer"}'), ("look", "{}"), ("plan", "")]
ITEMS: list[Any] = [{"role": "user", "content": "go"}]


def in_turn(response: Response) -> tuple[Turn, list[str]]:
    """Put a response into the script's terms."""
    calls = [item for item in response.output if item.type == "function_call"]
    turn: Turn = [(call.name, call.arguments) for call in calls] or response.output_text
    return turn, [response.id, *(str(item.id) for item in response.output), *(call.call_id for call in calls)]


def in_turn_of_chat(completion: ChatCompletion) -> tuple[Turn, list[str]]:
    """Put a completion into the script's terms."""
    message = completion.choices[0].message
    calls = [call for call in message.tool_calls or () if call.type == "function"]
    turn: Turn = [(call.function.name, call.function.arguments) for call in calls] or message.content or ""
    assert completion.choices[0].finish_reason == ("tool_calls" if calls else "stop")
    return turn, [completion.id, *(call.id for call in calls)]


def ask_responses(client: OpenAI) -> tuple[Turn, list[str]]:
    """Ask for a whole response."""
    return in_turn(client.responses.create(model="m", input=ITEMS))


def ask_responses_streamed(client: OpenAI) -> tuple[Turn, list[str]]:
    """Ask for a stream, and let the client put it together."""
    with client.responses.stream(model="m", input=ITEMS) as stream:
        return in_turn(stream.get_final_response())


def ask_chat(client: OpenAI) -> tuple[Turn, list[str]]:
    """Ask for a whole completion."""
    return in_turn_of_chat(client.chat.completions.create(model="m", messages=ITEMS))


def ask_chat_streamed(client: OpenAI) -> tuple[Turn, list[str]]:
    """Ask for a stream of chunks, and let the client put it together."""
    with client.chat.completions.stream(model="m", messages=ITEMS) as stream:
        return in_turn_of_chat(stream.get_final_completion())


def check_type(expected: Any, made: Any) -> None:
    """Check what the client made without checking."""
    adapter: TypeAdapter[Any] = TypeAdapter(expected)
    adapter.validate_json(made.to_json())


all_ways = pytest.mark.parametrize("ask", [ask_responses, ask_responses_streamed, ask_chat, ask_chat_streamed])


@pytest.fixture
def server() -> Iterator[StrictServer]:
    """A server with a script of two turns."""
    with StrictServer([CALLS, "done: ✓"]) as running:
        yield running


@pytest.fixture
def client(server: StrictServer) -> Iterator[OpenAI]:
    """OpenAI's client, which takes the server for OpenAI's."""
    with OpenAI(base_url=server.base_url, api_key="x", max_retries=0) as made:
        yield made


@all_ways
def test_the_client_gets_what_the_script_says(client: OpenAI, ask: Ask) -> None:
    """Turn by turn, and all ids are different."""
    (first, ids), (second, more_ids) = ask(client), ask(client)
    assert [first, second] == [CALLS, "done: ✓"]
    assert len({*ids, *more_ids}) == len([*ids, *more_ids])


@all_ways
def test_a_script_that_has_ended_is_no_answer(server: StrictServer, client: OpenAI, ask: Ask) -> None:
    """One request too many is an error, and not a request."""
    ask(client)
    ask(client)
    with pytest.raises(InternalServerError, match="no further turn"):
        ask(client)
    assert len(server.requests) == 2
    assert server.refusals == ["The script has no further turn."]


@all_ways
def test_a_refusal_takes_no_turn(
    server: StrictServer, client: OpenAI, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client sees an error of the request, and the next request gets the turn."""
    monkeypatch.setitem(ITEMS[0], "role", "guard")
    with pytest.raises(BadRequestError, match="Invalid value: 'guard'"):
        ask(client)
    monkeypatch.undo()
    assert ask(client)[0] == CALLS
    assert len(server.refusals) == len(server.requests) == 1


@pytest.mark.parametrize("kind", ["responses", "chat"])
def test_answers_are_of_the_clients_types(client: OpenAI, kind: str) -> None:
    """Nothing is missing that the client's types promise, though the client itself does not check that."""
    for _ in range(2):
        if kind == "chat":
            check_type(ChatCompletion, client.chat.completions.create(model="m", messages=ITEMS))
        else:
            check_type(Response, client.responses.create(model="m", input=ITEMS))


def test_events_are_of_the_clients_types(client: OpenAI) -> None:
    """Every event of a stream of responses; they are numbered."""
    for _ in range(2):
        events = list(client.responses.create(model="m", input=ITEMS, stream=True))
        for event in events:
            check_type(ResponseStreamEvent, event)
        assert [event.sequence_number for event in events] == list(range(len(events)))
        assert [events[0].type, events[-1].type] == ["response.created", "response.completed"]


@pytest.mark.parametrize("with_usage", [False, True])
def test_chunks_are_of_the_clients_types(client: OpenAI, with_usage: bool) -> None:  # noqa: FBT001
    """Every chunk of a stream of chat; the usage comes last, and only if it is asked for."""
    for _ in range(2):
        options: Any = {"include_usage": with_usage}
        stream = client.chat.completions.create(model="m", messages=ITEMS, stream=True, stream_options=options)
        chunks = list(stream)
        for chunk in chunks:
            check_type(ChatCompletionChunk, chunk)
        assert [chunk.usage is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [with_usage]
