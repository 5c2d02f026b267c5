"""What very many runs on one guard come to: each gets its own reminders, and nothing stays behind."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Final

from pydantic import BaseModel
from repeatguard_core import RepeatGuardConfig, is_reminder

from benchmarks.costs.frameworks import FRAMEWORKS
from benchmarks.costs.histories import Call, Result, Step, User

__all__ = ["CrossTalkError", "ScaleCost", "scale"]

#: The last of them quotes the arguments.
_THRESHOLDS: Final = (2, 3)
#: The size of the smallest object that Python has, in bytes.
_SMALLEST: Final = object().__sizeof__()


class CrossTalkError(AssertionError):
    """A run was not given its own reminders, or those of another run."""


class ScaleCost(BaseModel, frozen=True):
    """What very many runs on one guard come to.

    Attributes:
        framework: The framework.
        at_once: How many runs there were at any time.
        memory: After how many runs how many bytes were in use.
        bound: How many bytes a further run may add; less could not even be an object.
    """

    framework: str
    at_once: int
    memory: dict[int, int]
    bound: int = _SMALLEST

    @property
    def bytes_a_run(self) -> float:
        """How many bytes a run has added, from the first look at the memory to the last."""
        first, last = min(self.memory), max(self.memory)
        return (self.memory[last] - self.memory[first]) / (last - first)

    @property
    def is_met(self) -> bool:
        """Whether less has stayed behind than the bound."""
        return self.bytes_a_run < self.bound


def scale(looks: Sequence[int], at_once: int) -> Iterator[ScaleCost]:
    """Make runs on one guard in each framework, all of the same tool and every two with the same arguments.

    A run is one as the guard sees it, request by request; the framework's own part would only take time.

    Args:
        looks: After how many runs to look at the memory.
        at_once: How many runs there are at any time.

    Raises:
        CrossTalkError: A run had other reminders than its own.
    """
    for framework in FRAMEWORKS:
        guard = framework.new_guard(RepeatGuardConfig(thresholds=_THRESHOLDS))
        tracemalloc.start()
        try:
            memory: dict[int, int] = {}
            for first in range(0, max(looks), at_once):
                asyncio.run(_runs(framework, guard, range(first, first + at_once)))
                if (done := first + at_once) in looks:
                    gc.collect()
                    memory[done] = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        yield ScaleCost(framework=framework.NAME, at_once=at_once, memory=memory)


async def _runs(framework: ModuleType, guard: object, numbers: Sequence[int]) -> None:
    await asyncio.gather(*(_run(framework, guard, number) for number in numbers))


async def _run(framework: ModuleType, guard: object, number: int) -> None:
    part = f"part_{number // 2:06}"
    arguments = f'{{"path": "{part}", "query": "area", "start_line": 1}}'
    steps: list[Step] = [User("Where is it?")]
    for turn in range(_THRESHOLDS[-1]):
        call_id = f"call_{number}_{turn}"
        steps += [Call(call_id, "search_file", arguments), Result(call_id, "search_file", "Nothing.")]
    request: Sequence[object] = ()
    for request in framework.sent(guard, steps):  # noqa: B007 - the last one has all reminders
        await asyncio.sleep(0)  # all other runs take their turns
    reminders = [text for text in framework.user_texts(request) if is_reminder(text)]
    if not (
        len(reminders) == len(_THRESHOLDS)
        and part in reminders[-1]
        and f"consecutive_calls: {_THRESHOLDS[-1]}" in reminders[-1]
    ):
        msg = f"run {number} of {framework.NAME} was given {reminders}"
        raise CrossTalkError(msg)
