"""What a call costs: `RepeatChain.observe`, held against parsing its arguments and writing them again."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

from pydantic import BaseModel
from repeatguard_core import RepeatChain, ToolCall

from benchmarks.costs.arguments import SHAPES, Arguments
from benchmarks.costs.rounds import Pace, Ratio, Subject, measure

__all__ = ["KINDS", "CallCost", "calls"]

#: How a call's arguments relate to those of the call before.
KINDS: Final[dict[str, Callable[[Arguments], Any]]] = {
    "new, differs at the front": Arguments.new_at_the_front,
    "new, differs at the end": Arguments.new_at_the_end,
    "the same text": Arguments.same,
    "keys in another order": Arguments.shuffled,
    "as a parsed value": Arguments.shuffled_value,
}

#: At most how much a call is to cost; small arguments have no goal.
GOALS: Final = {"new, differs at the front": 1.3, "new, differs at the end": 1.3, "the same text": 0.1}
_BASELINE: Final = "baseline"
#: How many characters of arguments to keep ready at a time.
_READY: Final = 4_000_000


class CallCost(BaseModel, frozen=True):
    """What a call costs, as a multiple of parsing its arguments and writing them with their keys sorted.

    Attributes:
        arguments: The arguments' size and shape.
        kind: How they relate to those of the call before.
        ratio: The multiple.
        goal: At most how much it is to be; None if there is no goal.
    """

    arguments: str
    kind: str
    ratio: Ratio
    goal: float | None

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is met; None if there is none."""
        return None if self.goal is None else self.ratio.median <= self.goal


def calls(pace: Pace, shapes: Collection[str] = tuple(SHAPES)) -> Iterator[CallCost]:
    """Measure calls with arguments of these shapes.

    Args:
        pace: How long to measure each shape.
        shapes: Names of `SHAPES`.
    """
    for shape in shapes:
        arguments = Arguments(shape)
        most = max(1, min(1_000, _READY // arguments.size))
        subjects: dict[str, Subject[Any]] = {kind: _observing(make, arguments, most) for kind, make in KINDS.items()}
        subjects[_BASELINE] = Subject(_making(Arguments.new_at_the_front, arguments), _parse_and_write, most)
        seconds = measure(subjects, pace)
        for kind in KINDS:
            goal = None if shape == "100 B" else GOALS.get(kind)
            yield CallCost(arguments=shape, kind=kind, ratio=Ratio.of(seconds[kind], seconds[_BASELINE]), goal=goal)


def _parse_and_write(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True)


def _making(make: Callable[[Arguments], Any], arguments: Arguments) -> Callable[[int], list[Any]]:
    return lambda count: [make(arguments) for _ in range(count)]


def _observing(make: Callable[[Arguments], Any], arguments: Arguments, most: int) -> Subject[Any]:
    chain = RepeatChain()
    return Subject(_making(make, arguments), lambda each: chain.observe([ToolCall("write_file", each)]), most)
