"""Every rule is written down and checked, and no check names a rule that does not exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from repeatguard_testing import RULES, SCENARIOS, AdapterContract

ROOT = Path(__file__).parents[2]


def named_in_tests() -> Iterator[str]:
    """Find the rules that are named by ``pytest.mark.rules(...)`` in the repository's tests."""
    for file in ROOT.glob("tests/**/*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rules":
                for argument in node.args:
                    assert isinstance(argument, ast.Constant), f"a rule in {file} is not named literally"
                    yield str(argument.value)


def named_in_the_contract() -> Iterator[str]:
    """Find the rules that the contract's scenarios and tests name."""
    for scenario in SCENARIOS:
        yield from scenario.rules
    for name, test in vars(AdapterContract).items():
        if name.startswith("test_"):
            yield from getattr(test, "rules", ())


def named_in_the_code() -> Iterator[str]:
    """Find the rules that docstrings say they fulfil."""
    for file in ROOT.glob("packages/*/src/**/*.py"):
        for sentence in re.findall(r"Fulfils ([^.]*)\.", file.read_text(encoding="utf-8")):
            for first, last in re.findall(r"([A-Z]\d+)(?: to [A-Z](\d+))?", sentence):
                numbers = range(int(first[1:]), int(last or first[1:]) + 1)
                yield from (f"{first[0]}{number}" for number in numbers)


def test_the_rules_are_written_down() -> None:
    """The page and the kit have the same rules, in the same order."""
    page = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| ([A-Z]\d+) \|", page, re.MULTILINE) == list(RULES)


def test_every_rule_is_checked() -> None:
    """By a scenario, a test of the contract, or a test of the repository."""
    assert set(RULES) - set(named_in_tests()) - set(named_in_the_contract()) == set()


def test_every_rule_that_is_named_exists() -> None:
    """In tests, scenarios and docstrings."""
    assert {*named_in_tests(), *named_in_the_contract(), *named_in_the_code()} - set(RULES) == set()
