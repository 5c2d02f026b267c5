"""A local server that imitates OpenAI's API: it plays a script, and refuses what a provider would refuse."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, cast

import uvicorn
from openai.types.chat.completion_create_params import CompletionCreateParams
from openai.types.responses.response_create_params import ResponseCreateParams
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from typing_extensions import Self

from tests.wire.answers import JsonObject, Turn, chat_chunks, chat_completion, response, response_events
from tests.wire.order import check_items, check_messages
from tests.wire.shapes import Refusal, check_shape

__all__ = ["StrictServer", "Turn"]


class _Api(NamedTuple):
    """What one of the two APIs wants, and how it answers."""

    check: Callable[[JsonObject], None]
    answer: Callable[[Turn, str], JsonObject]
    stream: Callable[[JsonObject, JsonObject], Iterator[str]]


class StrictServer:
    """Serves `POST /v1/responses` and `POST /v1/chat/completions` on this machine, streaming and not.

    Used as a context manager, it serves from the beginning of the block to its end. A request that
    is well-formed is recorded and answered with the next turn of the script; one that is not gets
    status 400 and takes no turn.

    Args:
        turns: The script: for each request calls, as names and arguments, or a final text.

    Attributes:
        base_url: What to give to a client; there from the beginning of the block.
        requests: The body of each accepted request.
        refusals: What was said of each other request.
    """

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self.requests: list[JsonObject] = []
        self.refusals: list[str] = []
        self._turns = iter(turns)
        app = Starlette(
            routes=[
                Route("/v1/responses", partial(self._answer, _RESPONSES), methods=["POST"]),
                Route("/v1/chat/completions", partial(self._answer, _CHAT), methods=["POST"]),
            ]
        )
        self._server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", ws="none"))

    def __enter__(self) -> Self:
        # Named as TCP, it is one that asyncio sends without delay; otherwise each answer takes 40 ms longer.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.bind(("127.0.0.1", 0))
        # From here on a connection waits in a queue until the server takes it, so nobody waits for the start.
        listening.listen()
        self.base_url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._serve, args=[listening], name="strict server")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join()

    def _serve(self, listening: socket.socket) -> None:
        with listening:  # should the server not come up, connections are refused at once
            self._server.run(sockets=[listening])

    async def _answer(self, api: _Api, request: Request) -> Response:
        try:
            body = await _read(request)
            api.check(body)
        except Refusal as refusal:
            return self._refuse(400, refusal.message, refusal.param)
        turn = next(self._turns, None)
        if turn is None:
            return self._refuse(500, "The script has no further turn.", None)
        self.requests.append(body)
        whole = api.answer(turn, body.get("model", ""))
        if body.get("stream"):
            return StreamingResponse(api.stream(whole, body), media_type="text/event-stream")
        return JSONResponse(whole)

    def _refuse(self, status: int, message: str, param: str | None) -> Response:
        self.refusals.append(message)
        kind = "invalid_request_error" if status < 500 else "server_error"
        error = {"message": message, "type": kind, "param": param, "code": None}
        return JSONResponse({"error": error}, status_code=status)


async def _read(request: Request) -> JsonObject:
    try:
        body: Any = await request.json()
    except ValueError as error:
        message = "We could not parse the JSON body of your request."
        raise Refusal(message, "") from error
    if not isinstance(body, dict):
        message = "The body of a request must be an object."
        raise Refusal(message, "")
    return cast("JsonObject", body)


def _check_responses(body: JsonObject) -> None:
    check_shape(body, ResponseCreateParams)
    if body.get("conversation") or body.get("previous_response_id"):
        message = "Nothing is kept here: there is no earlier response or conversation."
        raise Refusal(message, "previous_response_id")
    if not isinstance(body.get("input"), str):
        check_items(body.get("input", ()))


def _stream_responses(whole: JsonObject, _: JsonObject) -> Iterator[str]:
    for event in response_events(whole):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _check_chat(body: JsonObject) -> None:
    check_shape(body, CompletionCreateParams)
    check_messages(body["messages"])


def _stream_chat(whole: JsonObject, body: JsonObject) -> Iterator[str]:
    options = body.get("stream_options") or {}
    for chunk in chat_chunks(whole, with_usage=bool(options.get("include_usage"))):
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"


_RESPONSES = _Api(_check_responses, response, _stream_responses)
_CHAT = _Api(_check_chat, chat_completion, _stream_chat)
