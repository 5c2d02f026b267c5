"""Recorded conversations: how they are read, and how they are cut up for the chain."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from repeatguard_core import ToolCall

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CYCLE", "Label", "Trajectory", "read"]

#: The label of a loop that goes through several calls.
CYCLE: Final = "loop-cycle"


class _Record(BaseModel):
    """A part of the file; what it holds beyond the fields that are read is passed over."""

    model_config = ConfigDict(frozen=True)


class User(_Record):
    """A message of the user's."""

    kind: Literal["user"]


class AssistantText(_Record):
    """What the model wrote beside its calls."""

    kind: Literal["assistant_text"]


class Call(_Record):
    """A call that the model asked for.

    Attributes:
        id: What its result refers to; a recording may lack it, or use it twice.
        name: The tool's name.
        arguments: The arguments as recorded.
        batch: Calls in a row with the same number came in one response.
    """

    kind: Literal["call"]
    id: str | None = None
    name: str
    arguments: Any = None
    batch: int


class Result(_Record):
    """What the model was told that came of a call.

    Attributes:
        id: The call's.
        content: Its text, which may have been cut.
        hash: Tells the whole text from any other.
    """

    kind: Literal["result"]
    id: str | None = None
    content: str | None = None
    hash: str | None = None

    @property
    def compared(self) -> str | None:
        """What stands for the result: the hash, where there is one."""
        return self.content if self.hash is None else self.hash


class Label(_Record):
    """What a reader found a chain to be.

    Attributes:
        label: What it was, in a word.
        note: What the reader noted.
        tool: The tool's name; of a cycle the names of its calls, with a slash between them.
        segment: Where it is: which of the stretches of calls between the user's messages.
        start: The number of its first call in the segment.
        length: How many calls it has.
    """

    label: str
    note: str = ""
    tool: str
    segment: Annotated[int, Field(ge=0)]
    start: Annotated[int, Field(ge=0)]
    length: Annotated[int, Field(ge=1)]

    @property
    def tools(self) -> list[str]:
        """The names of the calls that come again and again, in order."""
        return self.tool.split("/") if self.label == CYCLE else [self.tool]

    @property
    def rounds(self) -> int:
        """How often it came in a row: for a single call as many times as it has calls."""
        return self.length // len(self.tools)

    def holds(self, segment: int, call: int) -> bool:
        """Tell whether a call belongs to the chain.

        Args:
            segment: The number of the call's segment.
            call: The call's number in the segment.
        """
        return segment == self.segment and self.start <= call < self.start + self.length


class Trajectory(_Record):
    """One recorded conversation.

    Attributes:
        source: Which collection it comes from.
        events: What happened, in order.
        labels: What a reader found in it.
    """

    source: str
    events: tuple[Annotated[User | AssistantText | Call | Result, Field(discriminator="kind")], ...]
    labels: tuple[Label, ...] = ()

    def segments(self) -> list[list[list[ToolCall]]]:
        """Give the calls with their results: by segment, and in it by response.

        A segment is a stretch of calls with no message of the user's between them. A result belongs
        to the oldest call of its id that has none yet.

        Raises:
            ValueError: A result belongs to no call.
        """
        segments: list[list[tuple[Call, int]]] = []
        waiting: defaultdict[str | None, deque[int]] = defaultdict(deque)
        results: dict[int, str | None] = {}
        goes_on = False
        for number, event in enumerate(self.events):
            if isinstance(event, User):
                goes_on = False
            elif isinstance(event, Call):
                if not goes_on:
                    segments.append([])
                    goes_on = True
                segments[-1].append((event, number))
                waiting[event.id].append(number)
            elif isinstance(event, Result):
                if not waiting[event.id]:
                    msg = f"the result {event.id!r} (event {number}) belongs to no call"
                    raise ValueError(msg)
                results[waiting[event.id].popleft()] = event.compared
        return [
            [
                [ToolCall(call.name, call.arguments, results.get(number)) for call, number in batch]
                for _, batch in groupby(segment, lambda each: each[0].batch)
            ]
            for segment in segments
        ]

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        """Refuse a label that does not fit the calls: it would make the figures wrong without a word."""
        segments = [[call.name for batch in segment for call in batch] for segment in self.segments()]
        for label in self.labels:
            names = segments[label.segment][label.start :][: label.length] if label.segment < len(segments) else []
            tools = label.tools
            if names != [tools[index % len(tools)] for index in range(label.length)]:
                msg = (
                    f"the label {label.label!r} says that {label.length} calls of {label.tool} begin at call "
                    f"{label.start} of segment {label.segment}, and there are {names}"
                )
                raise ValueError(msg)
        return self


def read(path: Path) -> Iterator[tuple[int, Trajectory]]:
    """Read a file of JSON lines, a trajectory a line.

    Args:
        path: The file.

    Yields:
        The line's number, from 1 on, and the trajectory. Blank lines are passed over.

    Raises:
        OSError: The file cannot be read.
        ValueError: A line is no trajectory, or its labels do not fit its calls. The message has the
            line's number.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.strip():
            try:
                trajectory = Trajectory.model_validate_json(line)
            except ValidationError as error:
                msg = f"{path.name}, line {number}: {error}"
                raise ValueError(msg) from error
            yield number, trajectory
