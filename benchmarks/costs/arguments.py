"""Arguments of calls, in sizes from small to very large, as text that comes from a wire."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["SHAPES", "Arguments"]

_LINES: Final = 'def area(width, height):\n    """Give the area."""\n    return width * height  # in mm²\n\n'


def _one_text(size: int) -> dict[str, Any]:
    return {"content": (_LINES * (size // len(_LINES) + 1))[:size], "path": "src/shapes/area.py"}


def _small_values(size: int) -> dict[str, Any]:
    """Nest small values until they are about as long as wanted, written as JSON."""
    rows: list[dict[str, Any]] = []
    left = size
    for number in itertools.count(1):
        row = {
            "sku": f"A-{number:06}",
            "price": round(number * 1.37, 2),
            "count": number % 50,
            "is_new": number % 3 == 0,
            "note": None,
            "size": {"width": number % 90, "height": number % 70, "unit": "mm"},
            "tags": ["steel", "sheet", f"lot {number % 12}"],
        }
        rows.append(row)
        left -= len(json.dumps(row)) + 2
        if left <= 0:
            break
    return {"rows": rows, "table": "parts"}


#: What the arguments hold between their first and their last member.
SHAPES: Final[dict[str, dict[str, Any]]] = {
    "100 B": {"path": "src/shapes/area.py", "start_line": 120, "query": "width"},
    "1 kB": {**_small_values(600), **_one_text(250)},
    "100 kB, one text": _one_text(96_000),
    "100 kB, small values": _small_values(100_000),
    "1 MB, one text": _one_text(960_000),
    "1 MB, small values": _small_values(1_000_000),
}


class Arguments:
    """Makes the arguments of one shape, each time as new objects.

    Args:
        shape: One of the names of `SHAPES`.
    """

    def __init__(self, shape: str) -> None:
        self._inner = SHAPES[shape]
        self._body = json.dumps(self._inner)[1:-1]
        self._numbers = itertools.count(1_000_000)
        self._orders = itertools.cycle(list(self._shuffled()))

    @property
    def size(self) -> int:
        """How many characters they have."""
        return len(self.same())

    def new_at_the_front(self) -> str:
        """Make arguments that differ from all others in their first member."""
        return self._text(next(self._numbers), 0)

    def new_at_the_end(self) -> str:
        """Make arguments that differ from all others in their last member, and in nothing before it."""
        return self._text(0, next(self._numbers))

    def same(self) -> str:
        """Make the same arguments as always, spelled the same."""
        return self._text(0, 0)

    def shuffled(self) -> str:
        """Make the same arguments as always, their keys in another order than the last time."""
        order = next(self._orders)
        return "".join([order[:1], order[1:]])

    def shuffled_value(self) -> Any:
        """Make what the shuffled text stands for."""
        return json.loads(next(self._orders))

    def _text(self, first: int, last: int) -> str:
        return f'{{"attempt": {first}, {self._body}, "version": {last}}}'

    def _shuffled(self) -> Iterator[str]:
        source = random.Random(0)  # noqa: S311 - nothing is to be kept secret
        whole = json.loads(self.same())
        texts: set[str] = set()
        while len(texts) < 4:  # noqa: PLR2004 - a few
            text = json.dumps(_in_another_order(whole, source))
            if text not in texts:
                texts.add(text)
                yield text


def _in_another_order(value: Any, source: random.Random) -> Any:
    if isinstance(value, dict):
        return {key: _in_another_order(value[key], source) for key in source.sample(list(value), len(value))}
    if isinstance(value, list):
        return [_in_another_order(each, source) for each in value]
    return value
