"""Conversations that go on: stored, resumed, cut, steered, cancelled, failed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    HandoffInputData,
    ModelRetrySettings,
    ModelSettings,
    RunConfig,
    Runner,
    RunState,
    SQLiteSession,
    handoff,
)
from agents.extensions import handoff_filters
from agents.memory import OpenAIResponsesCompactionSession
from agents.run_config import CallModelData, ModelInputData
from openai.types.responses import ResponseOutputItem
from repeatguard_core import Reminder
from repeatguard_openai_agents import RepeatGuardConfig, RepeatGuardHooks

from tests.openai_agents.scripted_model import Request, ScriptedModel, both_ways, call, reminders, run_to_the_end, say
from tests.openai_agents.tools import delete, get_status

TOOLS: list[Any] = [get_status, delete]


ROOT = Path(__file__).parents[2]


def repeating(times: int, tool: str = "get_status") -> ScriptedModel:
    """Make a model that makes the same call so many times, and then answers."""
    return ScriptedModel([*([call(tool)] for _ in range(times)), [say("done")]])


def agent_with(model: ScriptedModel, **settings: Any) -> Agent[Any]:
    """Make an agent."""
    return Agent(name="agent", model=model, tools=TOOLS, **settings)


def assert_append_only(*requests: Request) -> None:
    """M5: each request stands unchanged at the front of the next."""
    for earlier, later in pairwise(requests):
        assert later[: len(earlier)] == earlier


@pytest.mark.rules("M5", "M6", "D11")
@both_ways
async def test_a_session_in_a_file(tmp_path: Path, streamed: bool) -> None:  # noqa: FBT001
    """Later runs, each with everything made anew from the file, begin with what was sent before."""
    requests: list[Request] = []
    for _ in range(3):
        session = SQLiteSession("conversation", tmp_path / "sessions.db")
        model = repeating(3)
        await run_to_the_end(agent_with(model), "go", RepeatGuardHooks(), streamed=streamed, session=session)
        session.close()
        requests += model.requests
    assert_append_only(*requests)
    assert [len(reminders(request)) for request in requests] == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3]


IN_A_PROCESS_OF_ITS_OWN = """
import asyncio, json, sys
from agents import SQLiteSession
from repeatguard_openai_agents import RepeatGuardHooks
from tests.openai_agents.scripted_model import run_to_the_end
from tests.openai_agents.test_conversations import agent_with, repeating

session = SQLiteSession("conversation", sys.argv[1])
model = repeating(3)
asyncio.run(run_to_the_end(agent_with(model), "go", RepeatGuardHooks(), session=session))
session.close()
print(json.dumps(model.requests))
"""


@pytest.mark.rules("M5", "D11")
def test_a_session_that_another_process_takes_up(tmp_path: Path) -> None:
    """What it sends begins with what the first one sent."""
    command = [sys.executable, "-c", IN_A_PROCESS_OF_ITS_OWN, str(tmp_path / "sessions.db")]
    printed = [subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout for _ in range(2)]
    requests: list[Request] = [request for each in printed for request in json.loads(each)]
    assert_append_only(*requests)
    assert [len(reminders(request)) for request in requests] == [0, 0, 0, 1, 1, 1, 1, 2]


@pytest.mark.rules("D8", "D11", "M5")
@pytest.mark.parametrize("through_json", [False, True], ids=["in process", "through JSON"])
@pytest.mark.parametrize("approved", [False, True], ids=["rejected", "approved"])
@both_ways
async def test_approvals(approved: bool, through_json: bool, streamed: bool) -> None:  # noqa: FBT001
    """A call that waits for approval counts once, and the count goes on through every resume."""
    model = repeating(5, "delete")
    agent = agent_with(model)
    guard = RepeatGuardHooks()
    result = await run_to_the_end(agent, "go", guard, streamed=streamed)
    while result.interruptions:
        state = result.to_state()
        if through_json:
            state = await RunState.from_json(agent, json.loads(json.dumps(state.to_json())))
            guard = RepeatGuardHooks()
        for item in state.get_interruptions():
            (state.approve if approved else state.reject)(item)
        result = await run_to_the_end(agent, state, guard, streamed=streamed)
    assert result.final_output == "done"
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 1, 1, 2]
    assert_append_only(*model.requests)


@pytest.mark.rules("D11", "M5")
@pytest.mark.skipif(not hasattr(RunState, "add_input"), reason="add_input came with release 0.20")
async def test_input_added_to_a_resumed_run() -> None:
    """A steer by the SDK's own means: new material, behind the results and what is due."""
    model = repeating(4)
    agent = agent_with(model)
    guard = RepeatGuardHooks(RepeatGuardConfig(thresholds=(2,)))
    result = Runner.run_streamed(agent, "go", hooks=guard, run_config=RunConfig(tracing_disabled=True))
    async for _ in result.stream_events():
        if len(model.requests) == 2:
            result.cancel(mode="after_turn")
    state = result.to_state()
    state.add_input("look again")
    await run_to_the_end(agent, state, guard)
    assert_append_only(*model.requests)
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 1, 1, 2]
    ((first, _), _) = reminders(model.requests[-1])
    assert model.requests[-1][first + 1]["content"] == "look again"


@pytest.mark.rules("M5", "M6")
async def test_a_cancelled_run_is_carried_on() -> None:
    """What was sent before stands at the front of what is sent after."""
    guard = RepeatGuardHooks()
    model = repeating(9)
    result = Runner.run_streamed(agent_with(model), "go", hooks=guard, run_config=RunConfig(tracing_disabled=True))
    async for _ in result.stream_events():
        if len(model.requests) == 4:
            result.cancel(mode="after_turn")
    before = list(model.requests)
    assert 4 <= len(before) < 9
    again = repeating(2)
    carried_on = [*result.to_input_list(), {"role": "user", "content": "go on"}]
    await run_to_the_end(agent_with(again), carried_on, guard)
    assert_append_only(*before, *again.requests)


@pytest.mark.rules("M5", "M6", "S1")
@both_ways
async def test_the_sdk_tries_a_request_again(streamed: bool) -> None:  # noqa: FBT001
    """It is the same request, and its reminder is given and announced once."""
    seen: list[Reminder] = []
    failures = iter([False, False, False, True, False, False])

    def reply(item: ResponseOutputItem) -> Any:
        def turn(_: Request) -> list[ResponseOutputItem]:
            return [item]

        return turn

    model = ScriptedModel([*(reply(call("get_status")) for _ in range(3)), reply(say("done"))])
    model.fails = lambda: next(failures)

    async def always(_: Any) -> bool:
        return True

    retry = ModelRetrySettings(max_retries=1, policy=always, backoff={"initial_delay": 0, "jitter": False})
    agent = agent_with(model, model_settings=ModelSettings(retry=retry))
    await run_to_the_end(agent, "go", RepeatGuardHooks(on_reminder=seen.append), streamed=streamed)
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 1, 1]
    assert model.requests[3] == model.requests[4]
    assert [reminder.count for reminder in seen] == [3]


@pytest.mark.rules("S1")
@both_ways
async def test_an_error_of_the_models_ends_the_run_as_ever(streamed: bool) -> None:  # noqa: FBT001
    """And the conversation can be taken up again."""
    model = repeating(3)
    failures = iter([False, False, False, True])
    model.fails = lambda: next(failures)
    with pytest.raises(ConnectionError, match="the model is away"):
        await run_to_the_end(agent_with(model), "go", RepeatGuardHooks(), streamed=streamed)
    assert len(reminders(model.requests[-1])) == 1


def leave_out_what_is_new(data: HandoffInputData) -> HandoffInputData:
    """Pass on the history without the response that hands over, and its results."""
    return data.clone(new_items=())


def keep_the_last(number: int) -> Any:
    """Make a filter that keeps the user's message and the last few items."""

    def keep(data: CallModelData[Any]) -> ModelInputData:
        items = data.model_data.input
        return ModelInputData([*items[:1], *items[1:][-number:]], data.model_data.instructions)

    return keep


@pytest.mark.rules("D11", "S6", "M6")
@pytest.mark.parametrize("kept", [2, 4, 6])
@both_ways
async def test_a_history_that_is_cut_in_every_request(kept: int, streamed: bool) -> None:  # noqa: FBT001
    """The count goes on though earlier calls are out of sight, and each reminder is announced once."""
    seen: list[Reminder] = []
    model = repeating(9)
    guard = RepeatGuardHooks(on_reminder=seen.append)
    config = RunConfig(tracing_disabled=True, call_model_input_filter=keep_the_last(kept))
    await run_to_the_end(agent_with(model), "go", guard, streamed=streamed, run_config=config)
    assert [reminder.count for reminder in seen] == [3, 5, 8]
    counts = [len(reminders(request)) for request in model.requests]
    in_sight = [[c for c in (3, 5, 8) if 0 <= n - c < kept // 2] for n in range(10)]
    assert counts == [len(each) for each in in_sight]
    for request in model.requests:
        for index, _ in reminders(request):
            assert request[index - 1]["type"] == "function_call_output"


@pytest.mark.rules("D11", "M1", "S6")
@both_ways
async def test_a_note_that_a_filter_puts_at_the_end_of_every_request(streamed: bool) -> None:  # noqa: FBT001
    """It is never between two calls, so it interrupts no chain; the reminder stands before it."""
    note: Any = {"role": "user", "content": "(it is Monday)"}

    def add(data: CallModelData[Any]) -> ModelInputData:
        return ModelInputData([*data.model_data.input, note], data.model_data.instructions)

    seen: list[Reminder] = []
    model = repeating(9)
    config = RunConfig(tracing_disabled=True, call_model_input_filter=add)
    guard = RepeatGuardHooks(on_reminder=seen.append)
    await run_to_the_end(agent_with(model), "go", guard, streamed=streamed, run_config=config)
    assert [reminder.count for reminder in seen] == [3, 5, 8]
    assert_append_only(*[request[:-1] for request in model.requests])


@pytest.mark.rules("D11")
async def test_a_history_that_is_summed_up_while_the_run_goes_on() -> None:
    """A summary that the provider made is no new material."""
    summary: Any = {"type": "compaction", "id": "cmp", "encrypted_content": "x"}

    def sum_up(data: CallModelData[Any]) -> ModelInputData:
        items = data.model_data.input
        kept = items if len(items) <= 5 else [items[0], summary, *items[-2:]]
        return ModelInputData(kept, data.model_data.instructions)

    model = repeating(5)
    config = RunConfig(tracing_disabled=True, call_model_input_filter=sum_up)
    await run_to_the_end(agent_with(model), "go", RepeatGuardHooks(), run_config=config)
    assert ["consecutive_calls: 5" in text for _, text in reminders(model.requests[-1])] == [True]


@pytest.mark.rules("D11", "S1")
async def test_a_session_that_compacts() -> None:
    """The SDK's own compaction session works as without the guard; what it leaves is what counts."""

    class Compacted:
        usage = None
        output: Sequence[Any] = ({"type": "compaction", "id": "cmp", "encrypted_content": "x"},)

    class Client:
        responses = property(lambda self: self)
        compacted = 0

        async def compact(self, **_: Any) -> Compacted:
            self.compacted += 1
            return Compacted()

    client = Client()
    stored = SQLiteSession("conversation")
    session = OpenAIResponsesCompactionSession(
        "conversation",
        stored,
        client=client,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # all it calls is compact()
        compaction_mode="input",
        should_trigger_compaction=lambda _: True,
    )
    guard = RepeatGuardHooks()
    first = repeating(4)
    first.response_ids = map(str, count())
    await run_to_the_end(agent_with(first), "go", guard, session=session)
    assert client.compacted == 1
    assert len(reminders(first.requests[-1])) == 1
    model = repeating(3)
    await run_to_the_end(agent_with(model), "again", guard, session=session)
    stored.close()
    assert "compaction" in [item.get("type") for item in model.requests[0]]
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 1]


@pytest.mark.rules("D12", "M1", "M5")
@pytest.mark.parametrize("passed_on", ["whole history", "nested history", "no tool calls", "no handoff"])
@both_ways
async def test_handoffs(passed_on: str, streamed: bool) -> None:  # noqa: FBT001
    """However the history is passed on, the next agent has a count of its own."""
    model = ScriptedModel(
        [
            [call("get_status")],
            [call("get_status")],
            [call("get_status"), call("transfer_to_second")],
            *([call("get_status")] for _ in range(3)),
            [say("done")],
        ]
    )
    second = Agent(name="second", model=model, tools=TOOLS)
    ways: dict[str, dict[str, Any]] = {
        "whole history": {"nest_handoff_history": False},
        "nested history": {"nest_handoff_history": True},
        "no tool calls": {"input_filter": handoff_filters.remove_all_tools},
        "no handoff": {"input_filter": leave_out_what_is_new},
    }
    to_second: Any = handoff(second, **ways[passed_on])
    first = agent_with(model, handoffs=[to_second])
    await run_to_the_end(first, "go", RepeatGuardHooks(), streamed=streamed)
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 0, 0, 0, 1]
    assert_append_only(*model.requests[3:])
