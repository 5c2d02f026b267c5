"""Where the guard's time goes, for what misses its goal."""

from __future__ import annotations

import cProfile
import pstats
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel
from repeatguard_core import RepeatChain, ToolCall

from benchmarks.costs.arguments import Arguments
from benchmarks.costs.frameworks import openai_agents

__all__ = ["Profile", "profiles"]

_BUILT_IN: Final = "~"
_OURS: Final = "repeatguard_"
#: Parts with a smaller share of the time are not listed.
_LEAST: Final = 0.03


class Profile(BaseModel, frozen=True):
    """Where the time of something goes.

    Attributes:
        what: What was done.
        shares: Shares of the time, the largest first, by module of ours, or by library.
    """

    what: str
    shares: dict[str, float]


def profiles(calls: int, messages: int) -> Iterator[Profile]:
    """Profile calls with arguments of 1 kB, and a first request in the OpenAI Agents SDK.

    Args:
        calls: How many calls to make.
        messages: How many messages the request has.
    """
    arguments = Arguments("1 kB")
    for kind, make in (("new arguments", arguments.new_at_the_front), ("the same arguments again", arguments.same)):
        chain = RepeatChain()
        batches = [[ToolCall("write_file", make())] for _ in range(calls)]
        yield _profile(f"A call with {kind}, 1 kB", chain.observe, batches)
    way, subject = next(iter(openai_agents.requesting(messages).items()))
    yield _profile(f"{openai_agents.NAME}, {way}, {messages:,} messages", subject.act, subject.prepare(1))


def _profile(what: str, act: Callable[[Any], object], inputs: Sequence[Any]) -> Profile:
    profiler = cProfile.Profile()
    profiler.enable()
    for each in inputs:
        act(each)
    profiler.disable()
    seconds: Counter[str] = Counter()
    stats: Any = pstats.Stats(profiler)
    for (file, _, _), (_, _, own, _, _) in stats.stats.items():
        seconds[_part(file)] += own
    whole = seconds.total()
    shares = {part: round(own / whole, 3) for part, own in seconds.most_common() if own >= _LEAST * whole}
    return Profile(what=what, shares=shares)


def _part(file: str) -> str:
    """Name the module of ours, or the library."""
    if file == _BUILT_IN:
        return "Python's own functions in C"
    package = Path(file).parent.name
    return f"`{package}.{Path(file).stem}`" if package.startswith(_OURS) else f"`{package}`"
