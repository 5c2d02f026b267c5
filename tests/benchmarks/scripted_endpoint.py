"""A local endpoint for chat completions: a function plays the model, and a cache is played as well."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from repeatguard_core import is_reminder
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from benchmarks.effect.scenarios import Scenarios
from tests.wire.api import Api
from tests.wire.shapes import Refusal
from tests.wire.strict_server import StrictServer

Body = dict[str, Any]
Model = Callable[[Body], Body]

SCENARIOS = Scenarios.load()
BY_TASK = {each.task: each for each in (*SCENARIOS.stuck, *SCENARIOS.poll)}


class ScriptedEndpoint(StrictServer):
    """Serves chat completions: refuses what OpenAI would refuse, and lets a function answer the rest.

    Args:
        model: Gives the message that answers a request.
        has_timings: Whether the server says what llama.cpp says of its times.
        says_cached: Whether the usage has the cached tokens.
        fails_from: The number of the first request that gets an error.
    """

    def __init__(
        self, model: Model, *, has_timings: bool = False, says_cached: bool = True, fails_from: int | None = None
    ) -> None:
        super().__init__()
        self._model = model
        self._has_timings = has_timings
        self._says_cached = says_cached
        self._fails_from = fails_from

    async def _answer(self, api: Api, request: Request) -> Response:
        body = await request.json()
        try:
            api.check(body)
        except Refusal as refusal:
            self.refusals.append(refusal.message)
            return JSONResponse(api.error(400, refusal.message, refusal.param), status_code=400)
        if self._fails_from is not None and len(self.requests) >= self._fails_from:
            return JSONResponse(api.error(400, "out of order", ""), status_code=400)
        cached = max((_common(body, earlier) for earlier in self.requests), default=0)
        self.requests.append(body)
        message = self._model(body) if body.get("tools") else {"content": "Hello."}
        prompt = sum(map(_tokens, body["messages"]))
        usage: Body = {"prompt_tokens": prompt, "completion_tokens": 7, "total_tokens": prompt + 7}
        if self._says_cached:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        whole: Body = {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "system_fingerprint": "b1-scripted",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
                    "message": {"role": "assistant", "content": None, **message},
                }
            ],
            "usage": usage,
        }
        if self._has_timings:
            whole["timings"] = {"cache_n": cached, "prompt_n": prompt - cached, "predicted_ms": 1.5}
        return JSONResponse(whole)


def _tokens(message: Body) -> int:
    return len(json.dumps(message))


def _common(body: Body, earlier: Body) -> int:
    count = 0
    for message, other in zip(body["messages"], earlier["messages"], strict=False):
        if message != other:
            break
        count += _tokens(message)
    return count


def calling(name: str, arguments: str, number: int = 1) -> Body:
    """Make a message with a call."""
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"id": f"call_m{number}", "type": "function", "function": function}]}


def stubborn(body: Body) -> Body:
    """Make the scenario's call, whatever has been said."""
    call = BY_TASK[task_of(body)].call
    return calling(call.tool, call.text, len(body["messages"]))


def listening(body: Body) -> Body:
    """Make the scenario's call, until a reminder is the latest message; then answer."""
    if is_reminder(str(body["messages"][-1]["content"])):
        words = BY_TASK[task_of(body)].ending or ("It failed: unable to do it.",)
        return {"content": f"What I know: {words[0]}."}
    return stubborn(body)


def task_of(body: Body) -> str:
    """Find what the user asked."""
    return str(next(message["content"] for message in body["messages"] if message["role"] == "user"))
