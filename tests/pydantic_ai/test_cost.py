"""S4: however long a history is, a request reads a bounded number of messages from its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, SupportsIndex

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart, UserPromptPart
from repeatguard_pydantic_ai import RepeatGuard, RepeatGuardConfig, RepeatGuardProcessor

from tests.pydantic_ai.asking import added, note, sent
from tests.pydantic_ai.scripted_model import call

CONFIG = RepeatGuardConfig(exclude=("note",))
COMPARING = [RepeatGuardConfig(exclude=("note",), on_changed_result=policy) for policy in ("reset", "defer")]


class CountingHistory(list[ModelMessage]):
    """Counts which of its messages are looked at."""

    def __init__(self, messages: list[ModelMessage]) -> None:
        super().__init__(messages)
        self.looked_at: set[int] = set()

    def __getitem__(self, index: Any) -> Any:
        self.looked_at.update(range(len(self))[index] if isinstance(index, slice) else [range(len(self))[index]])
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[ModelMessage]:
        self.looked_at.update(range(len(self)))
        return super().__iter__()

    def __contains__(self, message: object) -> bool:
        raise NotImplementedError

    def index(self, message: Any, start: SupportsIndex = 0, stop: SupportsIndex = 0, /) -> int:
        raise NotImplementedError


def turn(tool: str, q: int) -> list[ModelMessage]:
    """Make a response with a call, and its result."""
    part = call(tool, {"q": q})
    return [
        ModelResponse([part], run_id="run"),
        ModelRequest([ToolReturnPart(tool, "no rows", part.tool_call_id)], run_id="run"),
    ]


def history(turns: int, *, tool: str, same: bool) -> list[ModelMessage]:
    """Make a history of many turns."""
    messages: list[ModelMessage] = [ModelRequest([UserPromptPart("go")], run_id="run")]
    for number in range(turns):
        messages += turn(tool, 0 if same else number)
    return messages


def look(guard: Any, messages: list[ModelMessage]) -> int:
    """Return how many messages are looked at for a request."""
    counting = CountingHistory(messages)
    assert sent(guard, counting) is counting
    return len(counting.looked_at)


@pytest.mark.rules("S4")
@pytest.mark.parametrize(("tool", "same"), [("search", True), ("search", False), ("note", True), ("note", False)])
@pytest.mark.parametrize("remembers", [True, False])
@pytest.mark.parametrize("config", [CONFIG, *COMPARING], ids=lambda config: config.on_changed_result)
def test_a_long_history_costs_no_more_than_a_short_one(
    config: RepeatGuardConfig,
    tool: str,
    same: bool,  # noqa: FBT001
    remembers: bool,  # noqa: FBT001
) -> None:
    """Of ten thousand messages as many are looked at as of a hundred, in both forms and in every request."""
    costs: dict[int, list[int]] = {}
    for turns in (50, 5_000):
        messages = history(turns, tool=tool, same=same)
        guard: Any = RepeatGuard(config) if remembers else RepeatGuardProcessor(config)
        costs[turns] = []
        for number in range(5):
            messages += turn(tool, 0 if same else 10_000 + number)
            if remembers:
                note(guard, messages[-2])
            costs[turns].append(look(guard, messages))
    assert costs[50] == costs[5_000]
    # As many calls as it takes to the last threshold, two more with "defer", and the calls that a cycle may have.
    assert max(costs[50]) <= 2 * (config.thresholds[-1] + 2 + config.max_cycle_length + 1)
    if remembers and tool == "search":
        assert max(costs[50][1:]) <= 6


@pytest.mark.rules("D6", "S4")
@pytest.mark.parametrize("form", [RepeatGuard, RepeatGuardProcessor])
def test_only_calls_that_count_are_searched_for(form: Any) -> None:
    """The way back through calls that do not count is gone only when a call that counts follows them."""
    guard = form(CONFIG)
    messages = [*history(1, tool="search", same=True), *history(1_000, tool="note", same=True)[1:]]
    assert look(guard, messages) <= 4
    for _ in range(2):
        messages += turn("search", 0)
    found = added(guard, messages)
    assert found is not None
    assert found.count == 3
