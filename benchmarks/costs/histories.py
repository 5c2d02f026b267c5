"""Conversations of any length, for every framework to put into messages of its own."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = ["LAST", "Answer", "Call", "Result", "Step", "Turn", "User", "conversation", "turn"]

#: After so many turns the model answers, and the user asks for something else.
_TURNS_TO_AN_ANSWER: Final = 20
#: Of so many turns the last three are one call, made again and again.
_TURNS_TO_A_LOOP: Final = 15
_LOOP: Final = 3
#: The last turn of every conversation, some turns behind a loop and behind the user's last message.
LAST: Final = 600_008


@dataclass(frozen=True, slots=True)
class User:
    """What the user says."""

    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model answers."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the model makes."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Result:
    """What the model is told that came of a call."""

    id: str
    name: str
    text: str


Step: TypeAlias = User | Answer | Call | Result
Turn: TypeAlias = tuple[Call, Result]


def turn(number: int, *, loops: bool = True) -> Turn:
    """Make a turn: a call of about 100 bytes, and a result of 500 bytes to 1 kB.

    Args:
        number: Its number, by which it differs from most others.
        loops: Whether some turns in a row are the same call; otherwise no two turns are.
    """
    place = number % _TURNS_TO_A_LOOP
    which = number - max(0, place - (_TURNS_TO_A_LOOP - _LOOP)) if loops else number
    arguments = json.dumps({"path": f"src/module_{which:07}.py", "query": "def area", "start_line": which % 900})
    text = f"{number:07}: 400 lines, 12 matches. " + "    return width * height  # in mm\n" * (14 + number % 14)
    call_id = f"call_{number:010}_abcdefgh"
    return Call(call_id, "search_file", arguments), Result(call_id, "search_file", text)


def conversation(messages: int) -> list[Step]:
    """Make a conversation that ends with a result, so that a request follows.

    However long it is, it ends in the same way: turn `LAST` is its last one.

    Args:
        messages: How many messages it has; an even number of at least 4.
    """
    beginning: list[Step] = [User("Here is the repository."), User("Where is the area of a shape worked out?")]
    backwards: list[Step] = []
    for number in itertools.count(LAST, -1):
        if len(beginning) + len(backwards) >= messages:
            break
        backwards += reversed(turn(number))
        if number % _TURNS_TO_AN_ANSWER == 0 and len(beginning) + len(backwards) < messages - 2:
            backwards += [User(f"And in part {number}?"), Answer("In src/shapes/area.py, in the function area. " * 4)]
    return [*beginning, *reversed(backwards)]
