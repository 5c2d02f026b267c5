"""Whatever becomes of a call, it counts once."""

from __future__ import annotations

import contextlib
from itertools import count, pairwise
from typing import Any

import pytest
from agents import (
    Agent,
    CustomTool,
    ModelBehaviorError,
    RunConfig,
    ToolGuardrailFunctionOutput,
    function_tool,
    tool_input_guardrail,
    tool_namespace,
)
from openai.types.responses import (
    ResponseCustomToolCall,
    ResponseFunctionToolCall,
    ResponseFunctionWebSearch,
    ResponseOutputItem,
    ResponseReasoningItem,
)
from openai.types.responses.response_function_web_search import ActionSearch
from openai.types.responses.response_output_item import McpCall
from pydantic import BaseModel
from repeatguard_core import Reminder
from repeatguard_openai_agents import RepeatGuardConfig, RepeatGuardHooks

from tests.openai_agents.scripted_model import Request, ScriptedModel, both_ways, call, reminders, run_to_the_end, say
from tests.openai_agents.tools import get_status

TWO = RepeatGuardConfig(thresholds=(2,))


@tool_input_guardrail
def refuse(data: Any) -> ToolGuardrailFunctionOutput:
    """Refuse every call."""
    return ToolGuardrailFunctionOutput.reject_content("not today")


def counts(model: ScriptedModel) -> list[int]:
    """Count the reminders in each request."""
    return [len(reminders(request)) for request in model.requests]


async def run(model: ScriptedModel, tools: list[Any], *, streamed: bool = False, **options: Any) -> list[Reminder]:
    """Run an agent with a threshold of two, and give back what was announced."""
    seen: list[Reminder] = []
    agent = Agent(name="agent", model=model, tools=tools, **options.pop("settings", {}))
    await run_to_the_end(agent, "go", RepeatGuardHooks(TWO, on_reminder=seen.append), streamed=streamed, **options)
    return seen


@pytest.mark.rules("D8", "S1")
@both_ways
async def test_rejected_by_a_guardrail(streamed: bool) -> None:  # noqa: FBT001
    """The tool never ran, and what the guardrail says is the result."""
    tool = function_tool(lambda: "ok", name_override="refused", tool_input_guardrails=[refuse])
    model = ScriptedModel([[call("refused")], [call("refused")], [say("done")]])
    await run(model, [tool], streamed=streamed)
    assert counts(model) == [0, 0, 1]
    assert "not today" in str(model.requests[-1][-2]["output"])


@pytest.mark.rules("D8", "S1")
@both_ways
async def test_an_unknown_tool_that_ends_the_run(streamed: bool) -> None:  # noqa: FBT001
    """By default the SDK raises, with the guard as without it."""
    model = ScriptedModel([[call("missing")]])
    with pytest.raises(ModelBehaviorError, match="missing"):
        await run(model, [get_status], streamed=streamed)


@pytest.mark.rules("D8", "S1")
@both_ways
async def test_a_tool_whose_error_ends_the_run(streamed: bool) -> None:  # noqa: FBT001
    """The user has asked for it."""

    def fail() -> str:
        msg = "it failed"
        raise LookupError(msg)

    tool = function_tool(fail, failure_error_function=None)
    model = ScriptedModel([[call("get_status")], [call("fail")]])
    with pytest.raises(Exception, match="it failed"):
        await run(model, [get_status, tool], streamed=streamed)


@pytest.mark.rules("D8")
@both_ways
async def test_a_disabled_tool(streamed: bool) -> None:  # noqa: FBT001
    """To the model it looks as if it did not exist."""
    tool = function_tool(lambda: "ok", name_override="off", is_enabled=False)
    model = ScriptedModel([[call("off")], [call("off")], [say("done")]])
    config = RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model")
    await run(model, [tool], streamed=streamed, run_config=config)
    assert counts(model) == [0, 0, 1]


@pytest.mark.rules("D8", "M1")
@both_ways
async def test_a_run_that_stops_at_a_tool(streamed: bool) -> None:  # noqa: FBT001
    """There is no further request; the next run on the conversation has the reminder in its place."""
    model = ScriptedModel([[call("get_status"), call("get_status")], [say("done")]])
    agent = Agent(name="agent", model=model, tools=[get_status], tool_use_behavior="stop_on_first_tool")
    guard = RepeatGuardHooks(TWO)
    result = await run_to_the_end(agent, "go", guard, streamed=streamed)
    further = [*result.to_input_list(), {"role": "user", "content": "and now?"}]
    await run_to_the_end(agent, further, guard, streamed=streamed)
    assert counts(model) == [0, 1]
    assert [index for index, _ in reminders(model.requests[1])] == [5]


@pytest.mark.rules("D8", "S1")
@both_ways
async def test_structured_output(streamed: bool) -> None:  # noqa: FBT001
    """The answer's shape is the agent's business."""

    class Answer(BaseModel):
        rows: int

    model = ScriptedModel([[call("get_status")], [call("get_status")], [say('{"rows": 3}')]])
    agent = Agent(name="agent", model=model, tools=[get_status], output_type=Answer)
    result = await run_to_the_end(agent, "go", RepeatGuardHooks(TWO), streamed=streamed)
    assert result.final_output == Answer(rows=3)
    assert counts(model) == [0, 0, 1]


@pytest.mark.rules("D1", "D7", "D8")
@both_ways
async def test_a_tool_in_a_namespace(streamed: bool) -> None:  # noqa: FBT001
    """Its name has the namespace before it."""
    tools = tool_namespace(name="crm", description="The customers.", tools=[get_status])

    def in_crm() -> ResponseOutputItem:
        made = call("get_status")
        assert isinstance(made, ResponseFunctionToolCall)
        return made.model_copy(update={"namespace": "crm"})

    model = ScriptedModel([[in_crm()], [in_crm()], [say("done")]])
    seen = await run(model, list(tools), streamed=streamed)
    assert [reminder.tool_name for reminder in seen] == ["crm.get_status"]


@pytest.mark.rules("D8", "D9", "M1")
@both_ways
async def test_a_call_that_the_provider_runs(streamed: bool) -> None:  # noqa: FBT001
    """A search within a response counts among its calls, and needs no result of ours."""

    def search(number: int) -> ResponseFunctionWebSearch:
        action = ActionSearch(type="search", query="x")
        return ResponseFunctionWebSearch(id=f"ws_{number}", action=action, status="completed", type="web_search_call")

    model = ScriptedModel([[search(1), search(2), call("get_status")], [call("get_status")], [say("done")]])
    seen = await run(model, [get_status], streamed=streamed)
    assert [reminder.tool_name for reminder in seen] == ["web_search", "get_status"]
    assert [item.get("type", item.get("role")) for item in model.requests[1]] == [
        "user",
        "web_search_call",
        "web_search_call",
        "function_call",
        "function_call_output",
        "user",
    ]


def hosted(number: int) -> ResponseOutputItem:
    """Make a call that the provider has run."""
    return McpCall(id=f"mcp_{number}", arguments="{}", name="look", server_label="s", type="mcp_call", output="x")


def thought(number: int) -> ResponseOutputItem:
    """Make an item of reasoning."""
    return ResponseReasoningItem(id=f"rs_{number}", summary=[], type="reasoning")


@pytest.mark.rules("D8", "M1", "M5", "M6")
@pytest.mark.parametrize("mode", [{}, {"conversation_id": "c"}], ids=["in sight", "kept by the server"])
@pytest.mark.parametrize("twice", [False, True], ids=["", "two guards"])
async def test_responses_of_the_providers_calls_alone(mode: dict[str, Any], twice: bool) -> None:  # noqa: FBT001
    """They count, and the reminder comes behind the next results of ours: nothing else marks where they end."""
    turns = [
        [thought(1), hosted(1), thought(2)],
        [hosted(2)],
        [call("get_status")],
        [call("get_status")],
        [say("done")],
    ]
    model = ScriptedModel(turns)
    model.response_ids = map(str, count(1))
    hooks = RepeatGuardHooks(TWO).agent_hooks() if twice else None
    agent = Agent(name="agent", model=model, tools=[get_status], hooks=hooks)
    seen: list[Reminder] = []
    result = await run_to_the_end(agent, "go", RepeatGuardHooks(TWO, on_reminder=seen.append), **mode)
    new = [0, 0, 0, 1, 1]
    assert counts(model) == (new if mode else [sum(new[: n + 1]) for n in range(5)])
    if not twice:
        assert [reminder.tool_name for reminder in seen] == ["s.look", "get_status"]
    if not mode:
        further = ScriptedModel([[say("bye")]])
        agent = Agent(name="agent", model=further, tools=[get_status])
        prompt = [*result.to_input_list(), {"role": "user", "content": "and now?"}]
        await run_to_the_end(agent, prompt, RepeatGuardHooks(TWO))
        for earlier, later in pairwise([*model.requests, *further.requests]):
            assert later[: len(earlier)] == earlier


@pytest.mark.rules("D8")
@both_ways
async def test_a_custom_tool(streamed: bool) -> None:  # noqa: FBT001
    """Its input is free text, compared as such."""

    async def invoke(_: Any, text: str) -> str:
        return text

    def made(number: int, text: str) -> ResponseCustomToolCall:
        return ResponseCustomToolCall(call_id=f"c_{number}", name="shout", input=text, type="custom_tool_call")

    tool = CustomTool(name="shout", description="Shout.", on_invoke_tool=invoke)
    model = ScriptedModel([[made(1, "hey")], [made(2, " hey ")], [made(3, "ho")], [say("done")]])
    await run(model, [tool], streamed=streamed)
    assert counts(model) == [0, 0, 1, 1]


@pytest.mark.rules("S1", "S2")
@both_ways
async def test_call_ids_that_are_used_again(streamed: bool) -> None:  # noqa: FBT001
    """Some models give every call the same id: what is sent is what the SDK makes of it, and nothing raises."""

    def script() -> list[list[ResponseOutputItem]]:
        same = {"id": "fc", "call_id": "call"}
        made = [call("get_status", f'{{"job": "{number // 2}"}}') for number in range(4)]
        return [*([each.model_copy(update=same)] for each in made), [say("done")]]

    async def requests(hooks: RepeatGuardHooks | None) -> list[Request]:
        model = ScriptedModel(script())
        agent = Agent(name="agent", model=model, tools=[get_status])
        with contextlib.suppress(ModelBehaviorError):
            await run_to_the_end(agent, "go", hooks, streamed=streamed)
        return [[item for item in request if not reminders([item])] for request in model.requests]

    assert await requests(RepeatGuardHooks(TWO)) == await requests(None)
