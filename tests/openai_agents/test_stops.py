"""Where the guard ends a run: what reaches the caller, and how things go on."""

from __future__ import annotations

import copy
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, AgentHooks, RunHooks, Runner, SQLiteSession, handoff
from agents.exceptions import AgentsException, MaxTurnsExceeded
from repeatguard_core import RepeatLoopError as CoreRepeatLoopError
from repeatguard_openai_agents import RepeatGuardConfig, RepeatGuardHooks, RepeatLoopError, ToolSettings

from tests.openai_agents.scripted_model import ScriptedModel, both_ways, call, reminders, run_to_the_end, say
from tests.openai_agents.tools import delete, get_status

AT_THREE = RepeatGuardConfig(thresholds=(2,), stop_after=3)
JOB = '{"job": "secret"}'
PAGE = Path(__file__).parents[2] / "docs/openai-agents.md"

modes = pytest.mark.parametrize("mode", [{}, {"conversation_id": "c"}], ids=["in sight", "kept by the server"])


def repeating(times: int = 9, tool: str = "get_status") -> ScriptedModel:
    """Make a model that makes the same call so many times, and then answers."""
    return ScriptedModel([*([call(tool, JOB if tool == "get_status" else "{}")] for _ in range(times)), [say("done")]])


def agent_with(model: ScriptedModel, **settings: Any) -> Agent[Any]:
    """Make an agent."""
    settings.setdefault("tools", [get_status, delete])
    return Agent(name="agent", model=model, **settings)


@pytest.mark.rules("X5", "X1")
@pytest.mark.parametrize(("calls", "turns"), [(1, 9), (3, 25)], ids=["one call", "a cycle of three"])
async def test_it_takes_one_turn_more_than_the_calls(calls: int, turns: int) -> None:
    """The end comes in place of a request, which the SDK's own limit has to allow; the page has these numbers."""
    hooks = RepeatGuardHooks(RepeatGuardConfig(thresholds=(3, 5), stop_after=8))
    for limit, error in ((turns - 1, MaxTurnsExceeded), (turns, RepeatLoopError)):
        model = ScriptedModel([[call("get_status", f'{{"job": "{number % calls}"}}')] for number in range(30)])
        with pytest.raises(error):
            await Runner.run(agent_with(model), "go", hooks=hooks, max_turns=limit)
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"that is {turns} for one call" in page or f"and {turns} for a cycle of three" in page


async def run_to_its_end(agent: Agent[Any], start: Any, hooks: RunHooks[Any] | None, **options: Any) -> RepeatLoopError:
    """Run an agent up to where the guard ends the run."""
    with pytest.raises(RepeatLoopError) as caught:
        await run_to_the_end(agent, start, hooks, **options)
    return caught.value


def ends(caplog: pytest.LogCaptureFixture) -> list[Any]:
    """List the ends that have been logged, by their counts."""
    records = [record for record in caplog.records if record.name == "repeatguard"]
    return [vars(record)["count"] for record in records if record.levelno == logging.WARNING]


@pytest.mark.rules("X5")
@modes
@both_ways
async def test_the_error(mode: dict[str, Any], streamed: bool, caplog: pytest.LogCaptureFixture) -> None:  # noqa: FBT001
    """It is the SDK's kind of exception, with the run up to the last result, and says nothing of arguments."""
    seen: list[Any] = []
    model = repeating()
    guard = RepeatGuardHooks(AT_THREE, on_reminder=seen.append)
    end = await run_to_its_end(agent_with(model), "go", guard, streamed=streamed, **mode)
    assert isinstance(end, AgentsException)
    assert isinstance(end, CoreRepeatLoopError)
    assert (end.tool_name, end.count, end.arguments) == ("get_status", 3, '{"job":"secret"}')
    assert "get_status" in str(end)
    assert "3 times" in str(end)
    assert "secret" not in str(end)
    kept = [item.get("type", item.get("role")) for item in end.input_items()]
    assert kept == ["user", *["function_call", "function_call_output"] * 3]
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 1]
    assert [reminder.count for reminder in seen] == [2]
    assert ends(caplog) == [3]


@pytest.mark.rules("X5")
async def test_the_error_can_be_stored() -> None:
    """A copy says the same."""
    end = await run_to_its_end(agent_with(repeating()), "go", RepeatGuardHooks(AT_THREE))
    for other in (copy.copy(end), pickle.loads(pickle.dumps(end))):  # noqa: S301 - its own data
        assert type(other) is RepeatLoopError
        assert (other.stop, str(other), other.run_data) == (end.stop, str(end), None)


@pytest.mark.rules("X5")
@both_ways
async def test_the_errors_items_are_those_of_a_result(streamed: bool) -> None:  # noqa: FBT001
    """But for the ids, had the run ended by itself, and in a list that is the caller's."""

    def without_ids(items: list[Any]) -> list[dict[str, Any]]:
        return [{key: value for key, value in item.items() if key not in {"id", "call_id"}} for item in items]

    end = await run_to_its_end(agent_with(repeating()), "go", RepeatGuardHooks(AT_THREE), streamed=streamed)
    result = await run_to_the_end(agent_with(repeating(3)), "go", None, streamed=streamed)
    assert without_ids(end.input_items()) == without_ids(result.to_input_list()[:-1])
    end.input_items().clear()
    assert len(end.input_items()) == 7
    with pytest.raises(ValueError, match=r"run_data is None, .* from the error that the Runner raised"):
        copy.copy(end).input_items()


@pytest.mark.rules("X5")
@both_ways
async def test_a_session_has_every_result(streamed: bool) -> None:  # noqa: FBT001
    """So a further run on it goes on, with its own count."""
    session = SQLiteSession("conversation")
    guard = RepeatGuardHooks(AT_THREE)
    await run_to_its_end(agent_with(repeating()), "go", guard, streamed=streamed, session=session)
    items = await session.get_items()
    assert [item.get("type") for item in items][1:] == ["function_call", "function_call_output"] * 3
    model = repeating(2)
    result = await run_to_the_end(agent_with(model), "try another way", guard, streamed=streamed, session=session)
    session.close()
    assert result.final_output == "done"
    assert [len(reminders(request)) for request in model.requests] == [1, 1, 2]


@pytest.mark.rules("X5")
async def test_without_anything_new_it_ends_again() -> None:
    """Nothing has changed; with the user's words behind it, the run goes on."""
    guard = RepeatGuardHooks(AT_THREE)
    end = await run_to_its_end(agent_with(repeating()), "go", guard)
    model = repeating(1)
    again = await run_to_its_end(agent_with(model), end.input_items(), guard)
    assert (again.stop, model.requests) == (end.stop, [])
    words: Any = {"role": "user", "content": "try another way"}
    result = await run_to_the_end(agent_with(model), [*end.input_items(), words], guard)
    assert result.final_output == "done"


@pytest.mark.rules("X5", "D8")
@both_ways
async def test_a_run_with_approvals(streamed: bool, caplog: pytest.LogCaptureFixture) -> None:  # noqa: FBT001
    """A resumed run ends as well."""
    model = repeating(tool="delete")
    guard = RepeatGuardHooks(AT_THREE)
    agent = agent_with(model)
    result = await run_to_the_end(agent, "go", guard, streamed=streamed)
    for _ in range(2):
        state = result.to_state()
        state.approve(*state.get_interruptions())
        result = await run_to_the_end(agent, state, guard, streamed=streamed)
    state = result.to_state()
    state.approve(*state.get_interruptions())
    end = await run_to_its_end(agent, state, guard, streamed=streamed)
    assert [item.get("type") for item in end.input_items()][1:] == ["function_call", "function_call_output"] * 3
    assert ends(caplog) == [3]


@pytest.mark.rules("X5", "M6", "S5")
@modes
@both_ways
async def test_wired_twice(mode: dict[str, Any], streamed: bool, caplog: pytest.LogCaptureFixture) -> None:  # noqa: FBT001
    """The end is logged once, and hooks of the user's never see the request that is not sent."""
    seen: list[str] = []

    class SeeingRun(RunHooks[Any]):
        async def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
            seen.append("run")

    class SeeingAgent(AgentHooks[Any]):
        async def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
            seen.append("agent")

    model = repeating()
    guard = RepeatGuardHooks(AT_THREE, inner=SeeingRun())
    agent = agent_with(model, hooks=guard.agent_hooks(SeeingAgent()))
    await run_to_its_end(agent, "go", guard, streamed=streamed, **mode)
    assert sorted(seen) == ["agent"] * 3 + ["run"] * 3
    assert len(model.requests) == 3
    assert ends(caplog) == [3]


@pytest.mark.rules("X5", "D12")
@pytest.mark.parametrize("goes_through", [False, True], ids=["told the model", "let through"])
async def test_a_nested_agent(goes_through: bool) -> None:  # noqa: FBT001
    """Its run ends; what becomes of the outer one is what ``as_tool`` says of failures."""
    guard = RepeatGuardHooks(AT_THREE)
    options: dict[str, Any] = {"failure_error_function": None} if goes_through else {}
    inner = agent_with(repeating())
    ask = inner.as_tool("ask", "Ask.", hooks=guard, **options)
    outer_model = ScriptedModel([[call("ask", '{"input": "it"}')], [say("done")]])
    outer = agent_with(outer_model, tools=[ask])
    if goes_through:
        end = await run_to_its_end(outer, "go", guard)
        assert (end.tool_name, len(outer_model.requests)) == ("get_status", 1)
    else:
        result = await run_to_the_end(outer, "go", guard)
        assert result.final_output == "done"
        assert "secret" not in str(outer_model.requests[1][-1])


@pytest.mark.rules("X5", "D12")
@modes
@both_ways
async def test_a_handoff(mode: dict[str, Any], streamed: bool) -> None:  # noqa: FBT001
    """An end that is due when another agent takes over is dropped, and the next agent has its own count."""
    turns = [[call("get_status")], [call("get_status")], [call("get_status"), call("transfer_to_second")]]
    model = ScriptedModel([*turns, *([call("get_status")] for _ in range(5))])
    second = Agent(name="second", model=model, tools=[get_status])
    first = agent_with(model, handoffs=[handoff(second)])
    end = await run_to_its_end(first, "go", RepeatGuardHooks(AT_THREE), streamed=streamed, **mode)
    assert end.count == 3
    assert len(model.requests) == 6


@pytest.mark.rules("X5", "X2")
@both_ways
async def test_settings_of_one_tool(streamed: bool) -> None:  # noqa: FBT001
    """A user imports them from this package."""
    config = RepeatGuardConfig(thresholds=(2,), tools=(ToolSettings(match="get_*", stop_after=4),))
    model = repeating()
    end = await run_to_its_end(agent_with(model), "go", RepeatGuardHooks(config), streamed=streamed)
    assert (end.count, len(model.requests)) == (4, 4)
