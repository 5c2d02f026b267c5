"""The cache: how many tokens of each request the server has to evaluate anew."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from repeatguard_core import RepeatGuardConfig

from benchmarks.effect.arms import NONE, Arm
from benchmarks.effect.conversations import INSTRUCTIONS, conversation, results_of
from benchmarks.effect.endpoint import Answer, Endpoint
from benchmarks.effect.lines import CacheLine, CacheRequest, LineFile, digest_of
from benchmarks.effect.samples import Sample

__all__ = ["CACHE_ARMS", "CacheSample", "cache_request"]

#: In "once", a reminder is in the request that it falls due for, and in no later one. In "last", it moves to the end.
CACHE_ARMS: Final = (
    NONE,
    Arm("guard", RepeatGuardConfig()),
    Arm("once", RepeatGuardConfig(), "once"),
    Arm("last", RepeatGuardConfig(), "last"),
)


@dataclass(frozen=True, slots=True)
class CacheSample(Sample):
    """One growing conversation.

    Attributes:
        turns: How many identical calls it comes to.
    """

    turns: int

    part: ClassVar[str] = "cache"

    def digest(self, endpoint: Endpoint) -> str:
        """Tell the conversation from any other."""
        last = conversation(self.scenario.task, self.scenario.call, self._results(self.turns), self.arm)
        return digest_of([endpoint.request(last, self.tools, self.seed, max_tokens=1), self.turns])

    def take(self, endpoint: Endpoint, file: LineFile) -> CacheLine:  # noqa: ARG002 - nothing is shared here
        """Send the conversation after each call.

        What stands first is new each time, so that nothing can be in the cache from elsewhere.
        """
        instructions = f"Conversation {secrets.token_hex(8)}. {INSTRUCTIONS}"
        requests: list[CacheRequest] = []
        server = "unknown"
        for turns in range(1, self.turns + 1):
            messages = conversation(
                self.scenario.task, self.scenario.call, self._results(turns), self.arm, instructions=instructions
            )
            answer = endpoint.ask(endpoint.request(messages, self.tools, self.seed, max_tokens=1))
            server = answer.server
            requests.append(cache_request(answer))
        return CacheLine(**self.common(endpoint, server), requests=tuple(requests))

    def _results(self, turns: int) -> list[str]:
        return results_of(self.scenario, turns, "same")


def cache_request(answer: Answer) -> CacheRequest:
    """Read what a server says about its cache.

    Args:
        answer: What came back. The times that llama.cpp takes say more than the usage, and come first.
    """
    usage: Mapping[str, Any] = answer.usage or {}
    timings: Mapping[str, Any] = answer.timings or {}
    if "cache_n" in timings and "prompt_n" in timings:
        cached, anew = int(timings["cache_n"]), int(timings["prompt_n"])
        return CacheRequest(prompt=cached + anew, cached=cached)
    details: Mapping[str, Any] = usage.get("prompt_tokens_details") or {}
    return CacheRequest(prompt=int(usage.get("prompt_tokens") or 0), cached=details.get("cached_tokens"))
