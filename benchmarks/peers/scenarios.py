"""The scenarios: what a model does, and what it is told, up to the end."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import islice, permutations
from typing import Final, TypeAlias

from benchmarks.peers.driver import Call

__all__ = ["SCENARIOS", "Event", "Say", "Scenario"]


class Say(Enum):
    """What happens beside calls."""

    USER = "the user speaks"
    RUN = "another run begins"


#: The calls of one response, or what happens beside calls.
Event: TypeAlias = "tuple[Call, ...] | Say"


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a guard is shown.

    Attributes:
        name: The name in the results.
        title: The head of its column.
        shows: What happens in it.
        events: All that happens, in order.
    """

    name: str
    title: str
    shows: str
    events: tuple[Event, ...]


READ: Final = Call("read_file", '{"path": "notes.txt", "limit": 100}', "Milk, bread and two lemons.")


def _each(calls: Iterable[Call]) -> tuple[Event, ...]:
    """Put every call into a response of its own."""
    return tuple((call,) for call in calls)


def _shuffled() -> Iterable[Call]:
    """Give eight orders of the same keys: no two alike, and no cycle."""
    pairs = [("path", "notes.txt"), ("limit", 100), ("start", 0), ("mode", "text")]
    for order in islice(permutations(pairs), 0, 24, 3):
        yield Call("read_file", json.dumps(dict(order)), READ.result)


def _todo(number: int) -> Call:
    return Call("todo", json.dumps({"done": number, "note": f"step {number}"}), f"{number} done")


_OTHER: Final = Call("list_files", '{"folder": "archive"}', "april.txt, may.txt, june.txt")
_BOOKED: Final = [call for number in range(8) for call in (_todo(number), READ)][1:]
_PERCENT: Final = (4, 11, 23, 38, 52, 67, 81, 96)
_POLL: Final = [Call("job_status", '{"job": "export"}', f"running, {percent} % done") for percent in _PERCENT]
_CITIES: Final = ("Oslo", "Lima", "Accra", "Hanoi", "Quito", "Riga", "Dakar", "Perth")
_GOODS: Final = ("2 lamps", "1 chair", "9 cups", "4 books", "3 pens", "7 maps", "5 keys", "8 rugs")
_ORDERS: Final = [
    Call("get_order", json.dumps({"order": 9007199254740990 + last}), f"{_GOODS[last]} for {city}")
    for last, city in enumerate(_CITIES)
]
_PAGE: Final = "The quick brown fox jumps over the lazy dog. " * 50
_WRITES: Final = [
    Call("write_file", json.dumps({"path": "out.txt", "text": f"{_PAGE}The end comes in {city}."}), f"Saved for {city}")
    for city in _CITIES
]
_SURROGATE: Final = Call("search", '{"query": "\\ud83d"}', "Nothing found.")
_DEEP: Final = Call("search", f'{{"query": {"[" * 3000}{"]" * 3000}}}', "Nothing found.")
_BROKEN: Final = Call("read_file", '{"path": "notes.txt', "The arguments are no JSON.")

SCENARIOS: Final = (
    Scenario("identical", "the same call", "12 identical calls with the same result", _each([READ] * 12)),
    Scenario(
        "shuffled_keys",
        "keys shuffled",
        "8 calls whose arguments differ in the order of their keys alone",
        _each(_shuffled()),
    ),
    Scenario("broken_json", "broken JSON", "8 calls with the same text, which is no JSON", _each([_BROKEN] * 8)),
    Scenario(
        "denied",
        "one denied",
        "8 identical calls, of which the user denies the second",
        _each([READ, Call(READ.name, READ.arguments, "The user denied this call.", denied=True), *[READ] * 6]),
    ),
    Scenario("batch", "one response", "one response with 5 identical calls", ((READ,) * 5,)),
    Scenario("alternation", "A B A B", "two calls in turn, 12 in all", _each([READ, _OTHER] * 6)),
    Scenario(
        "bookkeeping",
        "`todo` between",
        "8 identical calls with a `todo` call between every two, whose arguments differ; 15 in all",
        _each(_BOOKED),
    ),
    Scenario("poll", "a poll", "8 identical calls with another result each time", _each(_POLL)),
    Scenario(
        "steer",
        "the user speaks",
        "2 identical calls, words of the user's, 2 more of the calls",
        (*_each([READ] * 2), Say.USER, *_each([READ] * 2)),
    ),
    Scenario(
        "two_runs",
        "two runs",
        "2 identical calls in one run, and 1 in the next, with one guard",
        (*_each([READ] * 2), Say.RUN, *_each([READ])),
    ),
    Scenario(
        "ids",
        "64-bit ids",
        "8 different calls, whose only argument is an integer of 16 digits that differs in the last one",
        _each(_ORDERS),
    ),
    Scenario(
        "long_arguments",
        "long arguments",
        "8 different calls with 2,300 characters of arguments, which differ in the last word",
        _each(_WRITES),
    ),
    Scenario(
        "surrogate",
        "half a pair",
        "8 identical calls with half of a surrogate pair in a string",
        _each([_SURROGATE] * 8),
    ),
    Scenario("deep", "3,000 deep", "8 identical calls with 3,000 brackets, one in the other", _each([_DEEP] * 8)),
)
