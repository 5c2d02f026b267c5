"""The endpoint that is asked: any that serves chat completions as OpenAI does."""

from __future__ import annotations

import importlib.metadata
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from openai import AsyncOpenAI, OpenAI
from typing_extensions import Self

from benchmarks.effect.conversations import Message

__all__ = ["API_KEY", "Answer", "Endpoint", "versions"]

#: The environment's variable that has the key, if one is needed.
API_KEY: Final = "OPENAI_API_KEY"

_PACKAGES: Final = ("repeatguard-core", "repeatguard-openai-agents", "openai-agents", "openai")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        message: The model's message.
        finish_reason: Why it ended there.
        server: What the server says about itself.
        usage: The tokens as the server counted them.
        timings: The times as the server took them, if it says.
        seconds: How long it took.
    """

    message: dict[str, Any]
    finish_reason: str | None
    server: str
    usage: dict[str, Any] | None
    timings: dict[str, Any] | None
    seconds: float


class Endpoint:
    """A model behind an endpoint.

    Args:
        base_url: The endpoint's address, up to and with the version.
        model: The model's name.
        temperature: How much is left to chance.
        max_tokens: How long a message may get.
        timeout: How many seconds a request may take.
    """

    def __init__(
        self, base_url: str, model: str, *, temperature: float = 0.7, max_tokens: int = 300, timeout: float = 600
    ) -> None:
        self.model = model
        self.temperature = temperature
        self.max_tokens = max_tokens
        self._settings: dict[str, Any] = {
            "base_url": base_url,
            "api_key": os.environ.get(API_KEY) or "none",
            "timeout": timeout,
        }
        self._client = OpenAI(**self._settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def request(
        self, messages: Sequence[Message], tools: Sequence[dict[str, Any]], seed: int, max_tokens: int | None = None
    ) -> dict[str, Any]:
        """Write a request.

        Args:
            messages: The conversation.
            tools: The tools' schemas.
            seed: What to draw by.
            max_tokens: How long the message may get; left out, the endpoint's own limit.
        """
        return {
            "model": self.model,
            "messages": list(messages),
            **({"tools": list(tools)} if tools else {}),
            "temperature": self.temperature,
            "seed": seed,
            "max_tokens": self.max_tokens if max_tokens is None else max_tokens,
        }

    def ask(self, request: dict[str, Any]) -> Answer:
        """Send a request.

        Args:
            request: The request.

        Raises:
            openai.OpenAIError: The endpoint did not answer, or refused.
        """
        start = time.perf_counter()
        raw = self._client.chat.completions.with_raw_response.create(**request)
        seconds = time.perf_counter() - start
        body = raw.parse().model_dump(mode="json", exclude_unset=True)
        choice = body["choices"][0]
        says = (raw.headers.get("server"), body.get("system_fingerprint"))
        return Answer(
            message=choice["message"],
            finish_reason=choice.get("finish_reason"),
            server=" ".join(each for each in says if each) or "unknown",
            usage=body.get("usage"),
            timings=body.get("timings"),
            seconds=round(seconds, 3),
        )

    @cached_property
    def server(self) -> str:
        """What the server says about itself; it is asked something short to find out."""
        return self.ask(self.request([{"role": "user", "content": "Hello"}], [], seed=0, max_tokens=1)).server

    def async_client(self) -> AsyncOpenAI:
        """Make a client for the SDK, which the caller closes."""
        return AsyncOpenAI(**self._settings)


@cache
def versions() -> dict[str, str]:
    """Name the packages that make the samples, with their versions."""
    return {name: importlib.metadata.version(name) for name in _PACKAGES}
