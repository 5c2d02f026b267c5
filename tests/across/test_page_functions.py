"""The functions that the pages define are called, each with a scripted model in place of a real one."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from tests.across.pages import ROOT, name, run_pages, save_files, shown

pytestmark = pytest.mark.usefixtures("as_a_user_has_it")

#: Calls a page's function, which has been handed over with all that the page has made by then.
Play: TypeAlias = Callable[[Any, dict[str, Any]], Awaitable[None]]


class Defined(NamedTuple):
    """A function of a page.

    Attributes:
        page: The page.
        function: The function's name.
        number: How many of that name stand before it on the page.
        block: The number of its block.
    """

    page: str
    function: str
    number: int
    block: int


def _plays() -> dict[tuple[str, str, int], Play]:
    """Find who calls what, in tests/<adapter>/page_functions.py."""
    found: dict[tuple[str, str, int], Play] = {}
    for file in sorted(ROOT.glob("tests/*/page_functions.py")):
        plays = importlib.import_module(f"tests.{file.parent.name}.page_functions").PLAYS
        assert not set(plays) & set(found)
        found |= plays
    return found


#: Who calls what: the page, the function's name and how many of that name stand before it.
PLAYS: Final = _plays()


def _defined() -> Iterator[Defined]:
    for page in run_pages():
        seen: dict[str, int] = {}
        for block, (code, _) in enumerate(shown(page)):
            for statement in ast.parse(code).body:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                    number = seen.setdefault(statement.name, 0)
                    seen[statement.name] += 1
                    yield Defined(name(page), statement.name, number, block)


DEFINED: Final = list(_defined())


def test_every_function_is_played() -> None:
    """None is left out, and none is played that is gone."""
    assert {defined[:3] for defined in DEFINED} == set(PLAYS)


@pytest.mark.filterwarnings("ignore:Intervention handler on_response:RuntimeWarning")  # the page says how, and why
@pytest.mark.parametrize("defined", DEFINED, ids=lambda defined: f"{defined.page}-{defined.function}-{defined.number}")
async def test_a_function_does_what_the_page_says(defined: Defined) -> None:
    """Behind the blocks that stand before it, as a reader would have run them."""
    page: Path = next(each for each in run_pages() if name(each) == defined.page)
    save_files(page)
    made: dict[str, Any] = {}
    for code, _ in list(shown(page))[: defined.block + 1]:
        exec(compile(code, defined.page, "exec"), made)  # noqa: S102 - the page's own code
    await PLAYS[defined[:3]](made[defined.function], made)
