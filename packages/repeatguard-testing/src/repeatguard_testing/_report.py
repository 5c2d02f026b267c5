"""A report at the end of a test run: which rules were checked on which adapters, and what they lack."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final, cast

import pytest

from repeatguard_testing._rules import RULES

__all__ = ["Report"]

_NAME: Final = "repeatguard-report"


class Report:
    """Collects the outcomes of all contracts in a test run and prints them as one table."""

    def __init__(self) -> None:
        self._outcomes: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        self._lacking: set[str] = set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note with each test which adapter it checks, and for which rules."""
        for item in items:
            driver = getattr(getattr(item, "cls", None), "driver", None)
            if driver is None:
                continue
            parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
            sources = (parameters.get("scenario"), getattr(item, "function", None))
            rules = sorted({rule for source in sources for rule in getattr(source, "rules", ())})
            item.user_properties.append((_NAME, (driver.name, rules)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test's outcome."""
        for name, value in report.user_properties:
            if name != _NAME or (report.when != "call" and report.passed):
                continue
            adapter, rules = cast("tuple[str, list[str]]", value)
            if report.skipped:
                self._lacking.add(cast("tuple[str, int, str]", report.longrepr)[2].removeprefix("Skipped: "))
            for rule in rules:
                self._outcomes[rule][adapter].append(report.outcome)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the table."""
        adapters = sorted({adapter for outcomes in self._outcomes.values() for adapter in outcomes})
        if not adapters:
            return
        width = max(map(len, RULES.values()))
        columns = [max(len(adapter), len("100 passed")) for adapter in adapters]
        terminalreporter.section("repeatguard: rules and adapters")
        header = "  ".join(f"{adapter:{column}}" for adapter, column in zip(adapters, columns, strict=True))
        terminalreporter.write_line(f"{'rule':4} {'':{width}}  {header}".rstrip())
        for rule, title in RULES.items():
            cells = [_cell(self._outcomes[rule][adapter]) for adapter in adapters]
            row = "  ".join(f"{cell:{column}}" for cell, column in zip(cells, columns, strict=True))
            terminalreporter.write_line(f"{rule:4} {title:{width}}  {row}".rstrip())
        for line in sorted(self._lacking):
            terminalreporter.write_line(line)


def _cell(outcomes: list[str]) -> str:
    failed, passed = outcomes.count("failed"), outcomes.count("passed")
    if failed:
        return f"{failed} FAILED"
    if passed:
        return f"{passed} passed"
    return "lacking" if outcomes else "the core's"
