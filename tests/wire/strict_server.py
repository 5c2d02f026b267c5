"""A local server that imitates the providers' APIs: it plays a script, and refuses what they would refuse."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from functools import partial
from types import TracebackType
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from typing_extensions import Self

from tests.wire.anthropic_api import BETA_MESSAGES, MESSAGES
from tests.wire.api import Api
from tests.wire.google_api import GENERATE, STREAM_GENERATE
from tests.wire.openai_apis import CHAT, RESPONSES
from tests.wire.shapes import Refusal
from tests.wire.turns import JsonObject, Turn

__all__ = ["StrictServer", "Turn"]


class StrictServer:
    """Serves the APIs of OpenAI, Anthropic and Google on this machine, streaming and not.

    At OpenAI that is Responses and Chat Completions, at Anthropic Messages, and at Google what
    Gemini's models are asked with.

    Used as a context manager, it serves from the beginning of the block to its end. A request that
    is well-formed is recorded and answered with the next turn of the script; one that is not gets
    status 400 and takes no turn.

    Args:
        turns: The script: for each request calls, as names and arguments, or a final text.

    Attributes:
        base_url: What to give to OpenAI's client; there from the beginning of the block.
        root_url: What to give to Anthropic's and to Google's, which add the version themselves.
        requests: The body of each accepted request.
        refusals: What was said of each other request.
    """

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self.requests: list[JsonObject] = []
        self.refusals: list[str] = []
        self._turns = iter(turns)
        app = Starlette(
            routes=[
                Route("/v1/responses", partial(self._answer, RESPONSES), methods=["POST"]),
                Route("/v1/chat/completions", partial(self._answer, CHAT), methods=["POST"]),
                Route("/v1/messages", self._answer_messages, methods=["POST"]),
                Route("/v1beta/models/{model}:generateContent", partial(self._answer, GENERATE), methods=["POST"]),
                Route(
                    "/v1beta/models/{model}:streamGenerateContent",
                    partial(self._answer, STREAM_GENERATE),
                    methods=["POST"],
                ),
            ]
        )
        self._server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", ws="none"))

    def __enter__(self) -> Self:
        # Named as TCP, it is one that asyncio sends without delay; otherwise each answer takes 40 ms longer.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.bind(("127.0.0.1", 0))
        # From here on a connection waits in a queue until the server takes it, so nobody waits for the start.
        listening.listen()
        self.root_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.base_url = f"{self.root_url}/v1"
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

    async def _answer_messages(self, request: Request) -> Response:
        is_beta = request.query_params.get("beta") == "true"
        return await self._answer(BETA_MESSAGES if is_beta else MESSAGES, request)

    async def _answer(self, api: Api, request: Request) -> Response:
        try:
            body = await _read(request)
            api.check(body)
        except Refusal as refusal:
            return self._refuse(api, 400, refusal.message, refusal.param)
        turn = next(self._turns, None)
        if turn is None:
            return self._refuse(api, 500, "The script has no further turn.", "")
        self.requests.append(body)
        whole = api.answer(turn, request.path_params.get("model") or body.get("model", ""))
        if api.always_streams or body.get("stream"):
            return StreamingResponse(api.stream(whole, body), media_type="text/event-stream")
        return JSONResponse(whole)

    def _refuse(self, api: Api, status: int, message: str, param: str) -> Response:
        self.refusals.append(message)
        return JSONResponse(api.error(status, message, param), status_code=status)


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
