"""S4: within a run, a request reads what is new at the end of a conversation, and not all of it again."""

from __future__ import annotations

from typing import Any

import pytest
from agents import Agent, ModelResponse, RunContextWrapper, Usage
from openai.types.responses import ResponseFunctionToolCall
from repeatguard_openai_agents import RepeatGuardHooks

AGENT: Agent[Any] = Agent("agent")


class CountingItem(dict[str, Any]):
    """Counts how many of its kind are looked at."""

    looked_at = 0

    def get(self, key: str, default: Any = None, /) -> Any:
        CountingItem.looked_at += key == "type"
        return super().get(key, default)


def turn(number: int, *, same: bool) -> list[dict[str, Any]]:
    """Make a call and its result."""
    arguments = f'{{"q": {0 if same else number}}}'
    return [
        CountingItem(type="function_call", name="search", arguments=arguments, call_id=f"call_{number}"),
        CountingItem(type="function_call_output", output="no rows", call_id=f"call_{number}"),
    ]


def conversation(turns: int, *, same: bool) -> list[dict[str, Any]]:
    """Make a conversation with a loop at its front, and then more of it, or other calls."""
    loop = [item for number in range(8) for item in turn(number, same=True)]
    others = [item for number in range(8, turns) for item in turn(number, same=same)]
    return [CountingItem(role="user", content="go"), *loop, *others]


async def respond(guard: RepeatGuardHooks, context: RunContextWrapper[Any], made: list[dict[str, Any]]) -> None:
    """Let the model make a call."""
    output = [ResponseFunctionToolCall.model_validate(made[0])]
    await guard.on_llm_end(context, AGENT, ModelResponse(output=list(output), usage=Usage(), response_id=None))


async def request(
    guard: RepeatGuardHooks, context: RunContextWrapper[Any], items: list[dict[str, Any]]
) -> tuple[list[int], int]:
    """Send a request; return where reminders are in it, and how many items were looked at for them."""
    CountingItem.looked_at = 0
    sent: Any = list(items)
    await guard.on_llm_start(context, AGENT, None, sent)
    return [index for index, item in enumerate(sent) if type(item) is dict], CountingItem.looked_at


@pytest.mark.rules("S4", "M5")
@pytest.mark.parametrize("same", [True, False])
async def test_a_long_conversation_costs_no_more_than_a_short_one(same: bool) -> None:  # noqa: FBT001
    """From the second request on, as many items are looked at in ten thousand as in a hundred."""
    costs: dict[int, list[int]] = {}
    for turns in (50, 5_000):
        guard, context = RepeatGuardHooks(), RunContextWrapper[Any](None)
        items = conversation(turns, same=same)
        first, looked_at = await request(guard, context, items)
        assert first == [7, 12, 19]
        assert looked_at == len(items) + len(first)  # each result that a reminder comes after is looked at once more
        costs[turns] = []
        for number in range(turns, turns + 5):
            made = turn(number, same=same)
            await respond(guard, context, made)
            items += made
            places, looked_at = await request(guard, context, items)
            assert places == first
            costs[turns].append(looked_at)
    assert costs[50] == costs[5_000]
    assert max(costs[50]) <= 10  # what is new, what stood last, and the places of the three reminders


@pytest.mark.rules("S4", "M5", "M6")
async def test_reminders_are_found_again_where_the_history_was_cut() -> None:
    """They stand behind the same results; of those that are gone nothing is kept."""
    guard, context = RepeatGuardHooks(), RunContextWrapper[Any](None)
    items = conversation(50, same=False)
    assert await request(guard, context, items) == ([7, 12, 19], len(items) + 3)
    del items[1:9]  # the first four calls with their results, so that results stand where other results stood
    items += turn(50, same=False)
    await respond(guard, context, items[-2:])
    places, _ = await request(guard, context, items)
    assert places == [3, 10]
    items += turn(51, same=False)
    await respond(guard, context, items[-2:])
    assert (await request(guard, context, items))[0] == [3, 10]
    assert (await request(guard, context, items))[1] <= 8
