"""M1, M5, D12 and S3: every way to run an agent, several agents, and many runs."""

from __future__ import annotations

import asyncio
import gc
import inspect
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage
from pydantic_ai.run import AgentRunResultEvent
from pydantic_graph import End
from repeatguard_core.adapters import RunMemory
from repeatguard_pydantic_ai import RepeatGuard, RepeatGuardConfig

from tests.pydantic_ai.agents import agent, assert_prefixes, loop, marks_in, reminders_in, search
from tests.pydantic_ai.scripted_model import ScriptedModel, call
from tests.pydantic_ai.wiring import as_capabilities

CONFIG = RepeatGuardConfig(thresholds=(2, 4))

#: For each request of a run with four identical calls, where in it the reminders stand.
OF_FOUR_CALLS = [[], [], [5], [5], [5, 10]]


async def by_run(guarded: Agent[Any, Any]) -> list[ModelMessage]:
    """Wait for the end."""
    return (await guarded.run("go")).all_messages()


async def by_run_with_handler(guarded: Agent[Any, Any]) -> list[ModelMessage]:
    """Have the events handled while it runs."""

    async def handle(ctx: RunContext[Any], events: Any) -> None:
        async for _ in events:
            pass

    return (await guarded.run("go", event_stream_handler=handle)).all_messages()


async def by_run_sync(guarded: Agent[Any, Any]) -> list[ModelMessage]:
    """Run it without a loop of one's own."""

    def run() -> list[ModelMessage]:
        # Outside any loop of its own, the framework makes one and leaves it open.
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            return guarded.run_sync("go").all_messages()
        finally:
            loop.close()

    return await asyncio.to_thread(run)


async def by_run_stream(guarded: Agent[Any, Any]) -> list[ModelMessage]:
    """Stream the answer."""
    async with guarded.run_stream("go") as result:
        async for _ in result.stream_text():
            pass
    return result.all_messages()


async def by_run_stream_events(guarded: Agent[Any, Any]) -> list[ModelMessage]:
    """Take the events."""
    messages: list[ModelMessage] = []
    events: Any = guarded.run_stream_events("go")
    if hasattr(events, "__aenter__"):
        async with events as entered:
            async for event in entered:
                if isinstance(event, AgentRunResultEvent):
                    messages = event.result.all_messages()
        return messages
    async for event in events:
        if isinstance(event, AgentRunResultEvent):
            messages = event.result.all_messages()
    return messages


async def by_iterating(guarded: Agent[Any, Any]) -> list[ModelMessage]:
    """Iterate over the nodes."""
    async with guarded.iter("go") as run:
        async for _ in run:
            pass
    return run.all_messages()


async def step_by_step(guarded: Agent[Any, Any]) -> list[ModelMessage]:
    """Drive the run from node to node."""
    async with guarded.iter("go") as run:
        node: Any = run.next_node
        while not isinstance(node, End):
            node = await run.next(node)
    return run.all_messages()


WAYS = [by_run, by_run_with_handler, by_run_sync, by_run_stream, by_run_stream_events, by_iterating, step_by_step]


@pytest.mark.rules("M1", "M5", "M6")
@pytest.mark.parametrize("way", WAYS)
async def test_every_way_to_run_an_agent(form: Any, way: Any) -> None:
    """The model is sent the same, and the history holds each reminder once."""
    model = ScriptedModel(*loop(4))
    messages = await way(agent(model, form(CONFIG)))
    assert model.reminders == OF_FOUR_CALLS
    assert_prefixes(model.requests)
    assert reminders_in(messages) == [5, 10]


@pytest.mark.rules("M1")
@pytest.mark.parametrize("calls", [2, 5])
async def test_a_guard_for_one_run(calls: int) -> None:
    """`RepeatGuard` may also be given to a run, and then guards no other."""
    model = ScriptedModel(*loop(calls), "done", *loop(calls))
    plain = agent(model)
    if "capabilities" not in inspect.signature(Agent.run).parameters:
        pytest.skip("this release takes capabilities for agents only")
    await plain.run("go", capabilities=as_capabilities([RepeatGuard(RepeatGuardConfig(thresholds=(calls,)))]))
    await plain.run("go")
    assert [len(places) for places in model.reminders] == [0] * calls + [1] + [0] * (calls + 1)


@pytest.mark.rules("D12")
@pytest.mark.parametrize("shares_usage", [False, True])
async def test_an_agent_that_another_one_runs_has_a_count_of_its_own(form: Any, shares_usage: bool) -> None:  # noqa: FBT001
    """One guard in both: neither's calls count for the other, also in one run."""
    guard = form(CONFIG)
    inner_model = ScriptedModel(*[each for _ in range(3) for each in (call("search"), "nothing")])
    inner = agent(inner_model, guard)

    async def delegate(ctx: RunContext[Any], q: int) -> str:
        result = await inner.run("a task", usage=ctx.usage if shares_usage else None)
        return str(result.output)

    model = ScriptedModel(*loop(3, "delegate"))
    await agent(model, guard, tools=[delegate, search]).run("go")
    assert inner_model.reminders == [[]] * 6
    assert model.reminders == [[], [], [5], [5]]


@pytest.mark.rules("D12", "S3")
async def test_many_runs_at_once(form: Any) -> None:
    """Runs that take turns on one guard and one agent all get their own reminders, and leave nothing behind."""
    before = memories()
    guard = form(CONFIG)
    models = [ScriptedModel(*loop(4)) for _ in range(50)]
    guarded = agent(models[0], guard)
    results = await asyncio.gather(*(guarded.run("go", model=each.model) for each in models))
    assert all(model.reminders == OF_FOUR_CALLS for model in models)
    assert all([mark["count"] for mark in marks_in(result.all_messages())] == [2, 4] for result in results)
    del results
    assert [memory for memory in memories() if memory not in before] == []


def memories() -> list[RunMemory]:
    """List what is remembered of runs, in this test and in those before it."""
    gc.collect()
    return [each for each in gc.get_objects() if isinstance(each, RunMemory)]
