"""Conversations that the server keeps: a request shows only what is new."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from agents import Agent, RunConfig, handoff
from repeatguard_core import Reminder
from repeatguard_openai_agents import RepeatGuardConfig, RepeatGuardHooks

from tests.openai_agents.scripted_model import Request, ScriptedModel, both_ways, call, reminders, run_to_the_end, say
from tests.openai_agents.tools import delete, get_status


def scripted(*turns: Any) -> ScriptedModel:
    """Make a model whose responses have names, as a server's have."""
    model = ScriptedModel([*turns, [say("done")]])
    model.response_ids = map(str, count(1))
    return model


def kinds(request: Request) -> list[str]:
    """Say what a request is made of."""
    ours = {index for index, _ in reminders(request)}
    return [
        "reminder" if index in ours else str(item.get("type", item.get("role"))) for index, item in enumerate(request)
    ]


modes = pytest.mark.parametrize(
    "mode",
    [{"conversation_id": "c"}, {"previous_response_id": "r"}, {"auto_previous_response_id": True}],
    ids=lambda mode: next(iter(mode)),
)


@pytest.mark.rules("D1", "D10", "D11", "M1", "M5", "M6", "S6")
@modes
@both_ways
async def test_a_loop(mode: dict[str, Any], streamed: bool) -> None:  # noqa: FBT001
    """A reminder is sent once, in the delta that brings the results, and the server keeps it."""
    seen: list[Reminder] = []
    model = scripted(*([call("get_status")] for _ in range(9)))
    agent = Agent(name="agent", model=model, tools=[get_status])
    guard = RepeatGuardHooks(on_reminder=seen.append)
    await run_to_the_end(agent, "go", guard, streamed=streamed, **mode)
    result, reminded = ["function_call_output"], ["function_call_output", "reminder"]
    assert [kinds(request) for request in model.requests] == [
        ["user"],
        *(reminded if number in {3, 5, 8} else result for number in range(1, 10)),
    ]
    assert [reminder.count for reminder in seen] == [3, 5, 8]
    assert "- consecutive_calls: 8\n" in model.requests[8][-1]["content"]


@pytest.mark.rules("D9", "D6", "M1", "M6")
@both_ways
async def test_parallel_calls_and_both_hooks(streamed: bool) -> None:  # noqa: FBT001
    """The reminder waits for all results; wired twice, it is given once."""
    model = scripted(
        [call("get_status"), call("get_status")], [call("get_status")], [call("get_status", '{"job": "2"}')]
    )
    guard = RepeatGuardHooks(RepeatGuardConfig(thresholds=(2, 3)))
    agent = Agent(name="agent", model=model, tools=[get_status], hooks=guard.agent_hooks())
    await run_to_the_end(agent, "go", guard, streamed=streamed, conversation_id="c")
    assert [kinds(request) for request in model.requests] == [
        ["user"],
        ["function_call_output", "function_call_output", "reminder"],
        ["function_call_output", "reminder"],
        ["function_call_output"],
    ]


@pytest.mark.rules("D11", "D12")
@both_ways
async def test_a_further_run_starts_a_new_chain(streamed: bool) -> None:  # noqa: FBT001
    """Its message is new material, and one run's calls are not held against another."""
    guard = RepeatGuardHooks(RepeatGuardConfig(thresholds=(2,)))
    model = scripted([call("get_status")], [say("done")], [call("get_status")], [call("get_status")])
    agent = Agent(name="agent", model=model, tools=[get_status])
    for _ in range(2):
        await run_to_the_end(agent, "go", guard, streamed=streamed, conversation_id="c")
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 0, 1]


@pytest.mark.rules("D12")
@both_ways
async def test_a_handoff_starts_a_new_chain(streamed: bool) -> None:  # noqa: FBT001
    """The second agent's first call is its first, and what was due is dropped."""
    model = scripted(
        [call("get_status")],
        [call("get_status"), call("transfer_to_second")],
        [call("get_status")],
        [call("get_status")],
    )
    second = Agent(name="second", model=model, tools=[get_status])
    first = Agent(name="first", model=model, tools=[get_status], handoffs=[handoff(second)])
    guard = RepeatGuardHooks(RepeatGuardConfig(thresholds=(2,)))
    await run_to_the_end(first, "go", guard, streamed=streamed, conversation_id="c")
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 0, 1]


@pytest.mark.rules("D11", "S1")
@both_ways
async def test_a_run_that_is_resumed_goes_on_counting(streamed: bool) -> None:  # noqa: FBT001
    """Nothing of what went before is in sight, and the run's context may be a copy."""
    model = scripted(*([call("delete")] for _ in range(3)))
    agent = Agent(name="agent", model=model, tools=[delete])
    guard = RepeatGuardHooks(RepeatGuardConfig(thresholds=(2,)))
    result = await run_to_the_end(agent, "go", guard, streamed=streamed, conversation_id="c")
    while result.interruptions:
        state = result.to_state()
        for item in state.get_interruptions():
            state.reject(item)
        result = await run_to_the_end(agent, state, guard, streamed=streamed)
    assert result.final_output == "done"
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 1, 0]


@pytest.mark.rules("D12")
async def test_a_state_that_is_resumed_twice_is_two_runs() -> None:
    """Each goes on from where the state was taken."""
    guard = RepeatGuardHooks(RepeatGuardConfig(thresholds=(3,)))
    model = scripted(*([call("delete")] for _ in range(4)))
    agent = Agent(name="agent", model=model, tools=[delete])
    result = await run_to_the_end(agent, "go", guard, conversation_id="c")
    states = [result.to_state(), result.to_state()]
    for state in states:
        for item in state.get_interruptions():
            state.reject(item)
    # Older releases share the context between a run and its states, and so the memory.
    is_copied = states[0]._context is not states[1]._context
    for state in states:
        model.requests.clear()
        resumed = await run_to_the_end(agent, state, guard)
        for item in resumed.interruptions:
            again = resumed.to_state()
            again.reject(item)
            await run_to_the_end(agent, again, guard)
        assert not is_copied or [len(reminders(request)) for request in model.requests] == [0, 0]


@pytest.mark.rules("S1")
async def test_the_server_is_sent_nothing_twice() -> None:
    """Apart from the reminders, every request is as without the guard."""
    script = [[call("get_status")] for _ in range(6)]
    guarded, plain = scripted(*script), scripted(*script)
    for model, hooks in ((guarded, RepeatGuardHooks()), (plain, None)):
        agent = Agent(name="agent", model=model, tools=[get_status])
        await run_to_the_end(agent, "go", hooks, conversation_id="c", run_config=RunConfig(tracing_disabled=True))
    for with_guard, without in zip(guarded.requests, plain.requests, strict=True):
        places = {index for index, _ in reminders(with_guard)}
        assert [item for index, item in enumerate(with_guard) if index not in places] == without
