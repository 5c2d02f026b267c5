"""What goes over the wire: the SDK's own models and OpenAI's own client, against a server that is strict."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunHooks,
)
from openai import AsyncOpenAI, BadRequestError
from repeatguard_core import is_reminder
from repeatguard_openai_agents import RepeatGuardHooks

from tests.openai_agents.scripted_model import both_ways, run_to_the_end
from tests.openai_agents.tools import get_status, update_plan
from tests.wire.strict_server import StrictServer

LOOK = ("get_status", '{"job": "7"}')
PLAN = ("update_plan", "{}")

apis = pytest.mark.parametrize("api", [OpenAIResponsesModel, OpenAIChatCompletionsModel], ids=["responses", "chat"])


async def run(
    api: Any, server: StrictServer, hooks: RunHooks[Any], *, streamed: bool, prompt: str | list[Any] = "go"
) -> list[Any]:
    """Run an agent to its end, and give back the conversation as the SDK keeps it."""
    async with AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client:
        model = api(model="m", openai_client=client)
        agent = Agent(name="agent", instructions="Be brief.", model=model, tools=[get_status, update_plan])
        result = await run_to_the_end(agent, prompt, hooks, streamed=streamed)
        items: list[Any] = result.to_input_list()
        return items


def conversation(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Take the conversation out of a request, the instructions left out."""
    messages: list[dict[str, Any]] = body["input"] if "input" in body else body["messages"]
    return [message for message in messages if message.get("role") != "system"]


def outline(body: dict[str, Any]) -> list[str]:
    """Tell what follows what in a request, in words that do for both APIs."""
    return [word for message in conversation(body) for word in _words(message)]


def _words(message: dict[str, Any]) -> Iterator[str]:
    kind = message.get("type") or message.get("role")
    if kind == "user":
        yield "reminder" if is_reminder(message["content"]) else "user"
    elif message.get("tool_calls"):
        yield from ["call"] * len(message["tool_calls"])
    else:
        yield {"function_call": "call", "function_call_output": "result", "tool": "result"}.get(str(kind), "answer")


def assert_append_only(server: StrictServer) -> None:
    """M5: each request's conversation stands unchanged at the front of the next, and the rest stays the same."""
    for earlier, later in itertools.pairwise(server.requests):
        before = conversation(earlier)
        assert conversation(later)[: len(before)] == before
        changed = {key for key in earlier.keys() | later.keys() if earlier.get(key) != later.get(key)}
        assert changed <= {"input", "messages"}


@pytest.mark.rules("D1", "M1", "M5")
@apis
@both_ways
async def test_a_loop_is_reminded_on_the_wire(api: Any, streamed: bool) -> None:  # noqa: FBT001
    """At three, five and eight, right behind the result, and no request is refused."""
    with StrictServer([*[[LOOK]] * 9, "done"]) as server:
        await run(api, server, RepeatGuardHooks(), streamed=streamed)
    turn = ["call", "result"]
    expected = ["user", *turn * 3, "reminder", *turn * 2, "reminder", *turn * 3, "reminder", *turn]
    lengths = [1, 3, 5, 8, 10, 13, 15, 17, 20, 22]
    assert [outline(body) for body in server.requests] == [expected[:length] for length in lengths]
    assert_append_only(server)
    assert server.refusals == []


@pytest.mark.rules("M1")
@apis
@both_ways
async def test_a_reminder_is_a_plain_user_message_on_the_wire(api: Any, streamed: bool) -> None:  # noqa: FBT001
    """A role and a text, and nothing else, whatever the SDK makes of it on its way."""
    with StrictServer([*[[LOOK]] * 3, "done"]) as server:
        await run(api, server, RepeatGuardHooks(), streamed=streamed)
    last = conversation(server.requests[-1])[-1]
    assert set(last) == {"role", "content"}
    assert last["role"] == "user"
    assert "3 times in a row" in last["content"]


@pytest.mark.rules("D9", "M1", "M5")
@apis
@both_ways
async def test_a_reminder_stands_behind_all_results_of_a_batch(api: Any, streamed: bool) -> None:  # noqa: FBT001
    """Also where the call that it is about was answered before others of the batch."""
    with StrictServer([[LOOK, LOOK, LOOK, PLAN], [PLAN], "done"]) as server:
        await run(api, server, RepeatGuardHooks(), streamed=streamed)
    expected = ["user", *["call"] * 4, *["result"] * 4, "reminder", "call", "result"]
    assert [outline(body) for body in server.requests] == [expected[:1], expected[:10], expected]
    assert_append_only(server)
    assert server.refusals == []


@pytest.mark.rules("D11", "M5", "M6")
@apis
@both_ways
async def test_a_further_run_keeps_the_prefix_on_the_wire(api: Any, streamed: bool) -> None:  # noqa: FBT001
    """Carried on from what the SDK kept, which is without the reminders."""
    with StrictServer([*[[LOOK]] * 4, "done", *[[LOOK]] * 3, "done"]) as server:
        kept = await run(api, server, RepeatGuardHooks(), streamed=streamed)
        assert not any(is_reminder(str(item.get("content"))) for item in kept)
        prompt = [*kept, {"role": "user", "content": "again, please"}]
        await run(api, server, RepeatGuardHooks(), streamed=streamed, prompt=prompt)
    turn = ["call", "result"]
    first_run = ["user", *turn * 3, "reminder", *turn, "answer"]
    assert outline(server.requests[-1]) == [*first_run, "user", *turn * 3, "reminder"]
    assert_append_only(server)
    assert server.refusals == []


class MisplacedMessage(RunHooks[Any]):
    """A guard that is wrong about the place: its message does not stand behind all results.

    Args:
        items_behind: How many items of the batch come after the message.
    """

    def __init__(self, items_behind: int) -> None:
        self._items_behind = items_behind

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: list[Any]) -> None:
        if len(input_items) > 1:
            input_items.insert(len(input_items) - self._items_behind, {"role": "user", "content": "a reminder"})


@pytest.mark.parametrize("items_behind", [1, 2, 3], ids=["between results", "before the results", "between calls"])
@apis
@both_ways
async def test_a_misplaced_message_would_be_noticed(api: Any, streamed: bool, items_behind: int) -> None:  # noqa: FBT001
    """The server refuses it, so that the other tests here would fail."""
    with StrictServer([[LOOK, LOOK], "done"]) as server, pytest.raises(BadRequestError, match="tool"):
        await run(api, server, MisplacedMessage(items_behind), streamed=streamed)
    assert [outline(body) for body in server.requests] == [["user"]]
    assert len(server.refusals) == 1
