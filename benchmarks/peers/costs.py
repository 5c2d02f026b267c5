"""What a guard costs: time by the size of arguments, growth over a run, and what it keeps.

Time is that of the processor, so that other programs matter less.
"""

from __future__ import annotations

import gc
import io
import random
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from itertools import islice
from statistics import median
from time import process_time
from typing import Final, NamedTuple

from benchmarks.peers.driver import Call, Driver
from benchmarks.peers.results import Costs, Time

__all__ = ["CALLS_OF_A_RUN", "ROUNDS", "SIZES", "STRETCH", "YOUNG", "measure"]

#: How many characters arguments have, and how many calls a round makes with such.
SIZES: Final = {100: 20, 1_000: 12, 100_000: 6, 1_000_000: 4}
ROUNDS: Final = 7
CALLS_OF_A_RUN: Final = 10_000
#: How many calls are timed at the end of a run, and how many a run has seen that is near its beginning.
STRETCH: Final = 100
YOUNG: Final = 40

Make = Callable[[], Driver]


class _Spent(NamedTuple):
    preparing: float
    observing: float


def measure(ours: Make, make: Make) -> Costs:
    """Measure a guard, and ours beside it.

    Args:
        ours: Makes ours.
        make: Makes the guard.

    Returns:
        What it costs.
    """
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        times = [_time(ours, make, size, count) for size, count in SIZES.items()]
        return Costs(times=times, growth=_growth(make), kept_bytes=_kept(make))


def _calls(size: int, count: int, seed: int = 0) -> Iterator[Call]:
    """Make calls of one tool, each with words of its own, and results of their own."""
    dice = random.Random(seed)  # noqa: S311 - it is no secret
    for number in range(count):
        words = dice.randbytes(size).hex(" ", 4)[: size - len('{"query": ""}')]
        yield Call("search", f'{{"query": "{words}"}}', f"{dice.randbytes(12).hex(' ', 2)} {number}")


def _time(ours: Make, make: Make, size: int, count: int) -> Time:
    calls = list(_calls(size, count))
    spent: dict[Make, list[_Spent]] = {ours: [], make: []}
    for _ in range(ROUNDS):
        for each, rounds in spent.items():
            rounds.append(_round(each, calls))
    us, they = [median(sum(each) for each in rounds) / count for rounds in (spent[ours], spent[make])]
    prepared = median(each.observing for each in spent[make]) / count
    return Time(
        size=size,
        ratio=_rounded(they / us),
        ratio_prepared=_rounded(prepared / us),
        ours_microseconds=_rounded(us * 1e6),
    )


def _round(make: Make, calls: Sequence[Call]) -> _Spent:
    driver = make()
    try:
        gc.collect()
        start = process_time()
        prepared = [driver.prepare(call) for call in calls]
        between = process_time()
        for each in prepared:
            driver.observe(each)
        return _Spent(between - start, process_time() - between)
    finally:
        driver.close()


def _growth(make: Make) -> float:
    """Compare a run that is near its end with one near its beginning, by the same calls."""
    old, young = make(), make()
    times: dict[Driver, list[float]] = {old: [], young: []}
    try:
        calls = _calls(100, CALLS_OF_A_RUN)
        for call in islice(calls, CALLS_OF_A_RUN - STRETCH):
            old.observe(old.prepare(call))
        for call in _calls(100, YOUNG, seed=1):
            young.observe(young.prepare(call))
        for call in calls:
            for driver, spent in times.items():
                start = process_time()
                driver.observe(driver.prepare(call))
                spent.append(process_time() - start)
    finally:
        young.close()
        old.close()
    return _rounded(median(times[old]) / median(times[young]))


def _kept(make: Make) -> int:
    make().close()  # what is imported, or made once, is not kept of a run
    gc.collect()
    tracemalloc.start()
    driver = make()
    try:
        for call in _calls(100, CALLS_OF_A_RUN):
            driver.observe(driver.prepare(call))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        driver.close()


def _rounded(figure: float) -> float:
    """Keep two digits, which is more than rounds agree on."""
    return float(f"{figure:.2g}")
