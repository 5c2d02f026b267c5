"""The lines: what was measured, one sample each, in a file that can be carried on."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field, TypeAdapter

from benchmarks.effect.answers import NextStep
from benchmarks.effect.scenarios import Results

__all__ = ["AnyLine", "CacheLine", "CacheRequest", "LineFile", "RunLine", "StepLine", "digest_of", "read_lines"]


class Line(BaseModel, frozen=True, extra="forbid"):
    """What every line has.

    Attributes:
        scenario: The scenario's id.
        arm: The arm's name.
        repetition: The number of the repetition, from 0.
        seed: What the server was given to draw by.
        temperature: What it was given for that.
        model: The model's name.
        server: What the server says about itself.
        versions: The packages that made the line, with their versions.
        digest: Tells what was asked from anything else that might be asked under the same names.
    """

    scenario: str
    arm: str
    repetition: int
    seed: int
    temperature: float
    model: str
    server: str
    versions: dict[str, str]
    digest: str


class StepLine(Line, frozen=True):
    """One next step.

    Attributes:
        part: ``"stuck"`` or ``"poll"``.
        results: Whether a poll's results stay the same.
        k: How many identical calls the conversation held.
        message: The model's message as it came.
        finish_reason: Why it ended there.
        step: What the model did.
        is_right: Whether it was a right next step; None for polls.
        is_in_text: Whether a call was read from the text.
        is_shared: Whether the very same request had been answered before, for another arm.
        usage: The tokens as the server counted them.
        timings: The times as the server took them, if it says.
        seconds: How long the request took.
    """

    part: Literal["stuck", "poll"]
    results: Results
    k: int
    message: dict[str, Any]
    finish_reason: str | None
    step: NextStep
    is_right: bool | None
    is_in_text: bool
    is_shared: bool
    usage: dict[str, Any] | None
    timings: dict[str, Any] | None
    seconds: float


class RunLine(Line, frozen=True):
    """One whole run.

    Attributes:
        part: ``"run"``.
        kind: Whether it is a stuck scenario or a poll.
        results: Whether a poll's results stay the same.
        max_turns: The limit of turns.
        requests: How many requests there were.
        input_tokens: The tokens of all requests.
        output_tokens: The tokens of all responses.
        calls: Each call: the tool and the arguments.
        calls_in_text: How many of them were read from texts.
        reminders: How many reminders the guard gave.
        loops_entered: How often the same call came three times in a row.
        loops_left: How many of these loops the run left again.
        ending: How it ended: ``"answer"``, ``"limit"`` or the name of a fault.
        answer: The answer, if there was one.
        is_right: Whether it ended with a right answer.
        seconds: How long it took.
    """

    part: Literal["run"] = "run"
    kind: Literal["stuck", "poll"]
    results: Results
    max_turns: int
    requests: int
    input_tokens: int
    output_tokens: int
    calls: tuple[tuple[str, str], ...]
    calls_in_text: int
    reminders: int
    loops_entered: int
    loops_left: int
    ending: str
    answer: str | None
    is_right: bool
    seconds: float


class CacheRequest(BaseModel, frozen=True, extra="forbid"):
    """What the cache did for one request.

    Attributes:
        prompt: The tokens of the prompt.
        cached: Those that were read from the cache; None if the server does not say.
    """

    prompt: int
    cached: int | None

    @property
    def anew(self) -> int | None:
        """The tokens that were evaluated anew."""
        return None if self.cached is None else self.prompt - self.cached


class CacheLine(Line, frozen=True):
    """The requests of one growing conversation.

    Attributes:
        part: ``"cache"``.
        requests: The requests in order, each with one identical call more than the one before it.
    """

    part: Literal["cache"] = "cache"
    requests: tuple[CacheRequest, ...]


AnyLine: TypeAlias = Annotated[StepLine | RunLine | CacheLine, Field(discriminator="part")]
_LINE: TypeAdapter[AnyLine] = TypeAdapter(AnyLine)


def digest_of(asked: object) -> str:
    """Give a short text that tells what is asked from anything else."""
    text = json.dumps(asked, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_lines(paths: Iterable[Path]) -> Iterator[AnyLine]:
    """Read the lines of some files.

    Args:
        paths: The files; one whose name ends with ``.gz`` is packed.

    Raises:
        OSError: One cannot be read.
        ValueError: A line is none of ours. The message names it.
    """
    for path in paths:
        packed = path.read_bytes()
        whole = gzip.decompress(packed) if path.suffix == ".gz" else packed
        for number, text in enumerate(whole.split(b"\n"), 1):
            if text:
                yield _read_line(text, f"{path.name}, line {number}")


def _read_line(text: bytes, place: str) -> AnyLine:
    try:
        return _LINE.validate_json(text)
    except ValueError as error:
        msg = f"{place}: {error}"
        raise ValueError(msg) from error


class LineFile:
    """A file of lines that is added to. What stands in it need not be measured again.

    A last line that was cut off, since the program was ended while it wrote, is taken away.

    Args:
        path: The file; it need not exist.

    Raises:
        OSError: It cannot be read or written.
        ValueError: A line is none of ours.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()
        whole = path.read_bytes().rfind(b"\n") + 1
        if whole < path.stat().st_size:
            os.truncate(path, whole)
        self._steps: dict[str, StepLine] = {}
        self._known: set[tuple[str, ...]] = set()
        for line in read_lines([path]):
            self._note(line)

    def has(self, part: str, scenario: str, arm: str, digest: str) -> bool:
        """Tell whether a sample has been taken.

        Args:
            part: The part that it belongs to.
            scenario: The scenario's id.
            arm: The arm's name.
            digest: What was asked, repetition and seed included.
        """
        return (part, scenario, arm, digest) in self._known

    def same_request(self, digest: str) -> StepLine | None:
        """Give the line of a request that asked the very same, of whichever arm."""
        return self._steps.get(digest)

    def add(self, line: AnyLine) -> None:
        """Write a line."""
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(f"{line.model_dump_json()}\n")
        self._note(line)

    def _note(self, line: AnyLine) -> None:
        self._known.add((line.part, line.scenario, line.arm, line.digest))
        if isinstance(line, StepLine):
            self._steps.setdefault(line.digest, line)
