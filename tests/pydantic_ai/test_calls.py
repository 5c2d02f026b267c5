"""D8, D9, M1: every kind of call counts once, and the reminder comes after whatever answers it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, model_validator
from pydantic_ai import (
    Agent,
    ModelRequestNode,
    ModelRetry,
    RunContext,
    Tool,
    ToolOutput,
    UsageLimitExceeded,
    UsageLimits,
    capture_run_messages,
)
from pydantic_ai import messages as messages_module
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolReturn,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.run import AgentRun
from pydantic_graph import End
from repeatguard_pydantic_ai import Reminder, RepeatGuardConfig

from tests.pydantic_ai.agents import agent, assert_prefixes, loop, marks_in
from tests.pydantic_ai.scripted_model import ScriptedModel, call, lines

# An event of the framework's own, for calls that a provider runs, warns of itself in releases before 2.0.
pytestmark = pytest.mark.filterwarnings("ignore:`BuiltinTool(Call|Result)Event` is deprecated:DeprecationWarning")

CONFIG = RepeatGuardConfig(thresholds=(2, 4))
OF_FOUR_CALLS = [[], [], [5], [5], [5, 10]]

# They are called "built-in" before release 2.0.
PREFIX = "Native" if hasattr(messages_module, "NativeToolCallPart") else "Builtin"
NativeCall: Any = getattr(messages_module, f"{PREFIX}ToolCallPart")
NativeReturn: Any = getattr(messages_module, f"{PREFIX}ToolReturnPart")


def retries(q: int) -> str:
    """Ask the model to try again."""
    msg = "not like that"
    raise ModelRetry(msg)


def returns(q: int) -> str:
    """Return something."""
    return "no rows"


@pytest.mark.rules("D8", "M1", "M5")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("returns", '{"q": 1}'),
        ("returns", {"q": 1}),
        ("returns", '{"q": "text"}'),
        ("returns", '{"q": '),
        ("returns", None),
        ("retries", '{"q": 1}'),
        ("unknown", '{"q": 1}'),
    ],
)
async def test_what_becomes_of_a_call_does_not_matter(form: Any, tool: str, arguments: Any) -> None:
    """Whether it returns, fails, is invalid or unknown, each counts once."""
    model = ScriptedModel(*[call(tool, arguments) for _ in range(4)])
    await agent(model, form(CONFIG), tools=[returns, retries]).run("go")
    assert model.reminders == OF_FOUR_CALLS
    assert_prefixes(model.requests)


@pytest.mark.rules("D9", "D10", "M1")
async def test_a_batch(form: Any) -> None:
    """Three at once are a count of three; of two thresholds that they pass the last reminds, after all results."""
    model = ScriptedModel([call("returns"), call("retries"), *loop(4, "returns")])
    result = await agent(model, form(CONFIG), tools=[returns, retries]).run("go")
    assert model.reminders == [[], [13]]
    assert [mark["count"] for mark in marks_in(result.all_messages())] == [4]


# --- words beside the results ----------------------------------------------------------------


@pytest.mark.rules("D11", "M1", "M5")
async def test_words_that_a_tool_returns_are_no_new_material(form: Any) -> None:
    """`ToolReturn` puts them beside the result with the role of the user, and the chain goes on."""

    def shows(q: int) -> ToolReturn:
        return ToolReturn("no rows", content=["look at this", "and this"])

    model = ScriptedModel(*loop(4, "shows"))
    await agent(model, form(CONFIG), tools=[shows]).run("go")
    assert model.reminders == [[], [], [7], [7], [7, 14]]
    assert_prefixes(model.requests)


@pytest.mark.rules("D11", "M1", "M5")
@pytest.mark.parametrize("steered_at", [2, 3])
async def test_a_steer_is_new_material(form: Any, steered_at: int) -> None:
    """What the user says while a run is on its way comes after the reminder, and starts a new chain."""
    if not hasattr(AgentRun, "enqueue"):
        pytest.skip("this release cannot tell a run anything")
    model = ScriptedModel(*loop(4, "returns"))
    async with agent(model, form(CONFIG), tools=[returns]).iter("go") as run:
        requests = 0
        node: Any = run.next_node
        while not isinstance(node, End):
            if Agent.is_model_request_node(node):
                requests += 1
                if requests == steered_at:
                    run.enqueue("try fetch")
            node = await run.next(node)
    assert model.reminders == {2: [[], [], [], [8], [8]], 3: [[], [], [5], [5], [5, 11]]}[steered_at]
    assert_prefixes(model.requests)


@pytest.mark.rules("D11")
async def test_a_system_prompt_that_comes_late_is_no_new_material(form: Any) -> None:
    """Neither are instructions that change with every request."""
    model = ScriptedModel(*loop(4, "returns"))
    guarded = agent(model, form(CONFIG), tools=[returns])

    @guarded.instructions
    def instructions(ctx: RunContext[Any]) -> str:
        return f"this is request {ctx.run_step}"

    await guarded.run("go")
    assert model.reminders == OF_FOUR_CALLS


# --- outputs ---------------------------------------------------------------------------------


class Table(BaseModel):
    """An output that is never right."""

    q: int

    @model_validator(mode="after")
    def refuse(self) -> Table:
        """Refuse all but one."""
        if self.q != 0:
            msg = "not that one"
            raise ValueError(msg)
        return self


@pytest.mark.rules("D8", "M5")
async def test_a_loop_of_outputs_that_are_refused(form: Any) -> None:
    """A call of an output tool counts like any other."""
    model = ScriptedModel(*loop(4, "give"), call("give", {"q": 0}))
    result = await agent(model, form(CONFIG), output_type=ToolOutput(Table, name="give")).run("go")
    assert model.reminders == OF_FOUR_CALLS
    assert result.output == Table(q=0)


@pytest.mark.rules("D8")
async def test_an_answer_that_is_refused(form: Any) -> None:
    """Words are no call: what the framework answers them with neither counts nor resets."""
    model = ScriptedModel(call("returns"), "an answer", call("returns"))
    guarded = agent(model, form(CONFIG), tools=[returns])

    @guarded.output_validator
    def refuse(output: str) -> str:
        if output == "an answer":
            msg = "another one"
            raise ModelRetry(msg)
        return output

    await guarded.run("go")
    assert model.reminders == [[], [], [], [7]]


@pytest.mark.rules("D10", "D11")
async def test_what_is_due_when_a_run_ends_is_not_due_in_the_next(form: Any) -> None:
    """The last output of a run ended a loop; nobody needs to hear of it."""
    model = ScriptedModel([call("give", {"q": 0}), call("give", {"q": 0})], call("give", {"q": 0}))
    guarded = agent(model, form(CONFIG), output_type=ToolOutput(Table, name="give"))
    first = await guarded.run("go")
    await guarded.run("again", message_history=first.all_messages())
    assert model.reminders == [[], []]


@pytest.mark.rules("M1", "S1")
@pytest.mark.parametrize("end_strategy", ["early", "exhaustive"])
async def test_calls_beside_an_output(form: Any, end_strategy: str) -> None:
    """Whether they are still run is the framework's affair; the run ends as it would."""
    model = ScriptedModel(*loop(2, "returns"), [call("give", {"q": 0}), call("returns")])
    guarded = agent(
        model, form(CONFIG), tools=[returns], output_type=ToolOutput(Table, name="give"), end_strategy=end_strategy
    )
    result = await guarded.run("go")
    assert model.reminders == [[], [], [5]]
    assert result.output == Table(q=0)


@pytest.mark.rules("S1", "S6")
async def test_a_usage_limit_ends_the_run_as_without_a_guard(form: Any) -> None:
    """And whatever was announced stands in what was captured."""
    told: list[int] = []

    def tell(reminder: Reminder) -> None:
        told.append(reminder.count)

    model = ScriptedModel(*loop(9, "returns"))
    guarded = agent(model, form(CONFIG, on_reminder=tell), tools=[returns])
    with capture_run_messages() as captured, pytest.raises(UsageLimitExceeded):
        await guarded.run("go", usage_limits=UsageLimits(request_limit=3))
    assert [mark["count"] for mark in marks_in(captured)] == told == [2]
    assert len(model.requests) == 3


# --- calls that the provider runs ------------------------------------------------------------


def searched_by_the_provider(number: int, *, is_paired: bool = True) -> list[Any]:
    """Make a call that the provider has run, or is still running."""
    native = NativeCall("web_search", {"q": 1}, tool_call_id=f"native_{number}", provider_name="function")
    result = NativeReturn("web_search", "nothing", tool_call_id=f"native_{number}", provider_name="function")
    return [native, result] if is_paired else [native]


def native_model(requests: list[list[str]], *responses: list[Any]) -> FunctionModel:
    """Make a model whose provider runs calls."""
    left = iter(responses)

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        requests.append(lines(messages))
        return ModelResponse(next(left, [TextPart("done")]))

    return FunctionModel(respond)


def reminders(requests: list[list[str]]) -> list[list[int]]:
    """For each request, where in it reminders stand."""
    return [[i for i, line in enumerate(request) if line.startswith("[repeatguard]")] for request in requests]


@pytest.mark.rules("D8", "D9", "M1", "M5")
async def test_calls_that_the_provider_runs_count_in_their_place(form: Any) -> None:
    """A batch of both kinds is reminded of behind our results."""
    requests: list[list[str]] = []
    batch = [[*searched_by_the_provider(n), *searched_by_the_provider(n + 9), call("returns")] for n in range(2)]
    await agent(native_model(requests, *batch), form(CONFIG), tools=[returns]).run("go")
    assert reminders(requests) == [[], [7], [7, 14]]
    assert_prefixes(requests)


@pytest.mark.rules("M1", "M5")
async def test_no_reminder_while_the_provider_is_at_it(form: Any) -> None:
    """A call of the provider's without a result forbids words in between; what was due is dropped, and counts on."""
    requests: list[list[str]] = []
    responses = [
        [call("returns")],
        [call("returns"), *searched_by_the_provider(1, is_paired=False)],
        [call("returns")],
        [call("returns")],
    ]
    guard = form(RepeatGuardConfig(thresholds=(2, 4), exclude=("web_search",)))
    await agent(native_model(requests, *responses), guard, tools=[returns]).run("go")
    assert [len(places) for places in reminders(requests)] == [0, 0, 0, 0, 1]


@pytest.mark.rules("D6", "D7")
async def test_a_toolsets_names_are_the_models(form: Any) -> None:
    """Patterns are held against the name that the model calls, prefixes included."""
    model = ScriptedModel(*loop(2, "db_returns"), *loop(2, "returns"))
    tools = [Tool(returns, name="db_returns"), returns]
    await agent(model, form(RepeatGuardConfig(thresholds=(2,), exclude=("db_*",))), tools=tools).run("go")
    assert [len(places) for places in model.reminders] == [0, 0, 0, 0, 1]


@pytest.mark.rules("M1", "S1")
async def test_a_response_that_was_suspended_is_taken_up_as_it_is(form: Any) -> None:
    """The provider goes on with that very response, so nothing may come between, also if a reminder was due before."""
    if "_resume_suspended" not in ModelRequestNode.__dataclass_fields__:
        pytest.skip("this release takes up no suspended responses")
    parts = loop(2, "returns")
    history: list[ModelMessage] = [ModelRequest([UserPromptPart("go")])]
    for part in parts:
        history += [ModelResponse([part]), ModelRequest([ToolReturnPart("returns", "no rows", part.tool_call_id)])]
    history.append(ModelResponse([TextPart("wait")], state="suspended"))
    requests: list[list[str]] = []
    await agent(native_model(requests), form(CONFIG), tools=[returns]).run(message_history=history)
    assert requests
    assert reminders(requests) == [[]]
