"""A plain run: what a model that repeats itself is sent, request by request."""

from __future__ import annotations

import copy
import inspect
import itertools
import logging
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from agents import Agent, AgentHooks, RunConfig, RunHooks, Runner, function_tool
from repeatguard_core import is_reminder
from repeatguard_openai_agents import RepeatGuardConfig, RepeatGuardHooks

from tests.openai_agents.scripted_model import Request, ScriptedModel, call, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.items import TResponseInputItem
    from repeatguard_core import Reminder


@function_tool
def get_status(job: str = "") -> str:
    """Look a job up."""
    return f"{job} pending"


@function_tool
def update_plan() -> str:
    """Note a step."""
    return "noted"


async def run(
    model: ScriptedModel,
    guard: RunHooks[Any] | None,
    *,
    prompt: str | list[TResponseInputItem] = "go",
    streamed: bool = False,
    agent_hooks: AgentHooks[Any] | None = None,
) -> list[TResponseInputItem]:
    """Run an agent to its end, and give back the conversation as the SDK keeps it."""
    agent = Agent(name="agent", model=model, tools=[get_status, update_plan], hooks=agent_hooks)
    return await run_agent(agent, guard, prompt=prompt, streamed=streamed)


async def run_agent(
    agent: Agent[Any],
    hooks: RunHooks[Any] | None,
    *,
    prompt: str | list[TResponseInputItem] = "go",
    streamed: bool = False,
) -> list[TResponseInputItem]:
    """Run this agent to its end."""
    options: dict[str, Any] = {"hooks": hooks, "max_turns": 50, "run_config": RunConfig(tracing_disabled=True)}
    if not streamed:
        return (await Runner.run(agent, prompt, **options)).to_input_list()
    result = Runner.run_streamed(agent, prompt, **options)
    async for _ in result.stream_events():
        pass
    return result.to_input_list()


def repeating(times: int, arguments: str = '{"job": "7"}') -> ScriptedModel:
    """Make a model that makes the same call so many times, and then answers."""
    return ScriptedModel([*([call("get_status", arguments)] for _ in range(times)), [say("done")]])


def reminders(request: Request) -> list[tuple[int, str]]:
    """List the reminders in a request, with their places."""
    texts = [(index, item.get("content")) for index, item in enumerate(request) if item.get("role") == "user"]
    return [(index, text) for index, text in texts if isinstance(text, str) and is_reminder(text)]


def without_reminders(request: Request) -> Request:
    """Give a request as it would have been without the guard."""
    places = {index for index, _ in reminders(request)}
    return [item for index, item in enumerate(request) if index not in places]


def assert_append_only(requests: Sequence[Request]) -> None:
    """M5: each request stands unchanged at the front of the next."""
    for earlier, later in itertools.pairwise(requests):
        assert later[: len(earlier)] == earlier


both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["run", "run_streamed"])


@pytest.mark.rules("D1", "M1", "M2", "M5", "C1")
@both_ways
async def test_a_loop_is_reminded_at_three_five_and_eight(streamed: bool) -> None:  # noqa: FBT001
    """Each reminder follows its results, and is at its place in all later requests."""
    model = repeating(9)
    await run(model, RepeatGuardHooks(), streamed=streamed)
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert_append_only(model.requests)
    last = model.requests[-1]
    places = [index for index, _ in reminders(last)]
    assert [last[index - 1]["type"] for index in places] == ["function_call_output"] * 3
    assert [sum(item.get("type") == "function_call" for item in last[:index]) for index in places] == [3, 5, 8]
    texts = [text for _, text in reminders(last)]
    assert "3 times in a row" in texts[0]
    assert '- tool: get_status\n- consecutive_calls: 5\n- arguments: {"job":"7"}\n' in texts[1]
    assert "- consecutive_calls: 8\n" in texts[2]


@pytest.mark.rules("M1")
@both_ways
async def test_a_reminder_is_a_plain_user_message(streamed: bool) -> None:  # noqa: FBT001
    """It has a role and a text, and no key that a provider would refuse."""
    model = repeating(3)
    await run(model, RepeatGuardHooks(), streamed=streamed)
    assert set(model.requests[-1][-1]) == {"role", "content"}
    assert model.requests[-1][-1]["role"] == "user"


@pytest.mark.rules("S1")
@both_ways
async def test_apart_from_reminders_nothing_changes(streamed: bool) -> None:  # noqa: FBT001
    """The same script gives the same requests and the same result as without the guard."""
    script = [[call("get_status", '{"job": "7"}')] for _ in range(6)] + [[say("done")]]
    guarded, plain = ScriptedModel(script), ScriptedModel(script)
    kept = await run(guarded, RepeatGuardHooks(), streamed=streamed)
    assert kept == await run(plain, None, streamed=streamed)
    assert [without_reminders(request) for request in guarded.requests] == plain.requests


@pytest.mark.rules("D9", "M1", "M5")
@both_ways
async def test_parallel_calls(streamed: bool) -> None:  # noqa: FBT001
    """Equal calls of one batch count, and the reminder waits for all results of the batch."""
    batch = [call("get_status"), call("get_status"), call("get_status"), call("update_plan")]
    model = ScriptedModel([batch, [call("update_plan")], [say("done")]])
    await run(model, RepeatGuardHooks(), streamed=streamed)
    types = [item.get("type", item.get("role")) for item in model.requests[1]]
    assert types == ["user", *["function_call"] * 4, *["function_call_output"] * 4, "user"]
    assert [index for index, _ in reminders(model.requests[2])] == [9]
    assert_append_only(model.requests)


@pytest.mark.rules("D10")
async def test_one_message_a_batch() -> None:
    """Of several reminders due in a batch the last is given."""
    model = ScriptedModel([[call("get_status") for _ in range(5)], [say("done")]])
    await run(model, RepeatGuardHooks())
    (reminder,) = reminders(model.requests[-1])
    assert "- consecutive_calls: 5\n" in reminder[1]


@pytest.mark.rules("D6", "D7")
async def test_excluded_calls_are_passed_over() -> None:
    """A bookkeeping call between two polls does not hide that the polls are the same."""
    for guard in (
        RepeatGuardHooks(RepeatGuardConfig(exclude=("update_*",))),
        RepeatGuardHooks(untracked=lambda name: name == "update_plan"),
    ):
        names = ["get_status", "update_plan"] * 3
        model = ScriptedModel([*([call(name)] for name in names), [say("done")]])
        await run(model, guard)
        assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 0, 0, 1, 1]
        assert_append_only(model.requests)


@pytest.mark.rules("D2", "D3")
async def test_spellings_of_the_same_arguments() -> None:
    """What the model wrote is compared by meaning."""
    turns = [[call("get_status", text)] for text in ('{"job": "7"}', '{ "job":"7" }', '{"job": "\\u0037"}')]
    model = ScriptedModel([*turns, [say("done")]])
    await run(model, RepeatGuardHooks())
    assert len(reminders(model.requests[-1])) == 1


@pytest.mark.rules("D8")
async def test_calls_with_invalid_arguments_count() -> None:
    """A call that never reached its tool is a call all the same."""
    model = repeating(3, '{"job": 7')
    await run(model, RepeatGuardHooks())
    assert len(reminders(model.requests[-1])) == 1


@pytest.mark.rules("D11", "M5", "M6")
@both_ways
async def test_a_further_run_on_the_same_conversation(streamed: bool) -> None:  # noqa: FBT001
    """Its new message starts a new chain; the reminders of the earlier run are back at their places."""
    guard = RepeatGuardHooks()
    first = repeating(3)
    kept = await run(first, guard, streamed=streamed)
    second = repeating(3)
    await run(second, guard, prompt=[*kept, {"role": "user", "content": "again, please"}], streamed=streamed)
    assert [len(reminders(request)) for request in second.requests] == [1, 1, 1, 2]
    assert_append_only([*first.requests, *second.requests])
    assert "3 times in a row" in reminders(second.requests[-1])[1][1]


@pytest.mark.rules("D12", "S3")
async def test_a_run_of_its_own_starts_at_one() -> None:
    """One guard, two runs: the second knows nothing of the first."""
    guard = RepeatGuardHooks()
    await run(repeating(2), guard)
    model = repeating(2)
    await run(model, guard)
    assert reminders(model.requests[-1]) == []


@pytest.mark.rules("M6")
@both_ways
async def test_wired_twice_the_guard_reminds_once(
    streamed: bool,  # noqa: FBT001
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As run hooks and as agent hooks at the same time."""
    seen: list[Reminder] = []
    guard = RepeatGuardHooks(on_reminder=seen.append)
    model = repeating(6)
    with caplog.at_level(logging.INFO, logger="repeatguard"):
        await run(model, guard, streamed=streamed, agent_hooks=guard.agent_hooks())
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 1, 1, 2, 2]
    assert [reminder.count for reminder in seen] == [3, 5]
    assert len(caplog.records) == 2


@pytest.mark.rules("S6")
@both_ways
async def test_each_reminder_is_announced_once(
    streamed: bool,  # noqa: FBT001
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Logged and handed to ``on_reminder``, though it is put back in every later request."""
    seen: list[Reminder] = []
    with caplog.at_level(logging.INFO, logger="repeatguard"):
        await run(repeating(9), RepeatGuardHooks(on_reminder=seen.append), streamed=streamed)
    assert [(reminder.tool_name, reminder.count) for reminder in seen] == [("get_status", count) for count in (3, 5, 8)]
    assert [record.__dict__["count"] for record in caplog.records] == [3, 5, 8]


@pytest.mark.rules("S2", "M5")
async def test_faults_of_the_users_functions_do_not_reach_the_run(caplog: pytest.LogCaptureFixture) -> None:
    """The run goes on, guarded, and each fault is logged once with its traceback."""

    def fail(value: object) -> NoReturn:
        raise LookupError(value)

    model = repeating(6)
    await run(model, RepeatGuardHooks(untracked=fail, on_reminder=fail))
    assert len(reminders(model.requests[-1])) == 2
    assert_append_only(model.requests)
    assert sorted(record.getMessage().split()[4].strip(",") for record in caplog.records) == [
        "on_reminder",
        "untracked",
    ]
    assert all(record.exc_info for record in caplog.records)


@pytest.mark.rules("S2")
async def test_a_fault_of_the_guards_own_does_not_reach_the_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The run goes on unguarded, and the fault is logged."""

    def fail(*args: object) -> None:
        msg = "a fault of our own"
        raise ArithmeticError(msg)

    monkeypatch.setattr("repeatguard_openai_agents._hooks.find_reminders", fail)
    model = repeating(4)
    await run(model, RepeatGuardHooks())
    assert reminders(model.requests[-1]) == []
    assert "a fault of our own" in caplog.text


class Recording:
    """Records every hook that is called, with what it is given."""

    def __init__(self) -> None:
        self.called: list[tuple[str, dict[str, str]]] = []

    def __getattribute__(self, name: str) -> Any:
        hook = super().__getattribute__(name)
        if not name.startswith("on_"):
            return hook

        async def record(*args: Any, **kwargs: Any) -> None:
            given = inspect.signature(hook).bind(*args, **kwargs).arguments
            shown = {key: getattr(value, "name", type(value).__name__) for key, value in given.items()}
            self.called.append((name, shown))
            await hook(*args, **kwargs)

        return record


class RecordingRunHooks(Recording, RunHooks[Any]):
    """Run hooks of the user's."""


class RecordingAgentHooks(Recording, AgentHooks[Any]):
    """Agent hooks of the user's."""


@pytest.mark.rules("S5")
@both_ways
async def test_hooks_of_the_users_are_called_as_without_the_guard(streamed: bool) -> None:  # noqa: FBT001
    """Every method, in the same order, with the same arguments, handoff included."""

    async def record(*, guarded: bool) -> list[list[tuple[str, dict[str, str]]]]:
        run_hooks, first_hooks, second_hooks = RecordingRunHooks(), RecordingAgentHooks(), RecordingAgentHooks()
        guard = RepeatGuardHooks(inner=run_hooks)
        model = ScriptedModel([[call("get_status")], [call("transfer_to_second")], [call("get_status")], [say("done")]])
        hooks = [guard.agent_hooks(mine) if guarded else mine for mine in (first_hooks, second_hooks)]
        second = Agent(name="second", model=model, tools=[get_status], hooks=hooks[1])
        first = Agent(name="first", model=model, tools=[get_status], hooks=hooks[0], handoffs=[second])
        await run_agent(first, guard if guarded else run_hooks, streamed=streamed)
        return [run_hooks.called, first_hooks.called, second_hooks.called]

    guarded = await record(guarded=True)
    assert guarded == await record(guarded=False)
    of_run, of_first, of_second = ({name for name, _ in called} for called in guarded)
    assert of_run == {name for name in dir(RunHooks) if name.startswith("on_")}
    assert of_first | of_second == {name for name in dir(AgentHooks) if name.startswith("on_")}


@pytest.mark.rules("S5")
async def test_hooks_of_the_users_see_the_reminder() -> None:
    """They come after the guard, so they see what the model will see."""
    seen: list[Request] = []

    class Seeing(RunHooks[Any]):
        async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: list[Any]) -> None:
            seen.append(list(input_items))

    model = repeating(3)
    await run(model, RepeatGuardHooks(inner=Seeing()))
    assert seen == model.requests


@pytest.mark.rules("D6", "S6", "M1", "M5")
@both_ways
async def test_agent_hooks_alone(streamed: bool) -> None:  # noqa: FBT001
    """They guard an agent as the run hooks do, with the same settings."""
    seen: list[Reminder] = []
    config = RepeatGuardConfig(thresholds=(2,))
    guard = RepeatGuardHooks(config, untracked=lambda name: name == "update_plan", on_reminder=seen.append)
    model = ScriptedModel([*([call(name)] for name in ("get_status", "update_plan", "get_status")), [say("done")]])
    await run(model, None, streamed=streamed, agent_hooks=guard.agent_hooks())
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 1]
    assert [reminder.count for reminder in seen] == [2]


@pytest.mark.rules("D12", "M1")
@both_ways
async def test_agents_as_tools(streamed: bool) -> None:  # noqa: FBT001
    """The hooks that ``as_tool`` is given guard the inner agent, in a conversation of its own."""
    guard = RepeatGuardHooks()
    inner_run = ([call("get_status")], [call("get_status")], [say("it is pending")])
    inner_model = ScriptedModel([copy.deepcopy(turn) for _ in range(3) for turn in inner_run])
    inner = Agent(name="inner", model=inner_model, tools=[get_status])
    tool = inner.as_tool("ask", "Ask the inner agent.", hooks=guard)
    outer_model = ScriptedModel([*([call("ask", '{"input": "it"}')] for _ in range(3)), [say("done")]])
    await run_agent(Agent(name="outer", model=outer_model, tools=[tool]), guard, streamed=streamed)
    assert [len(reminders(request)) for request in inner_model.requests] == [0] * 9
    assert [len(reminders(request)) for request in outer_model.requests] == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"config": {"thresholds": (3,)}}, "config must be a RepeatGuardConfig"),
        ({"inner": AgentHooks()}, "inner must be run hooks"),
    ],
)
def test_what_cannot_work_is_refused_at_once(arguments: dict[str, Any], words: str) -> None:
    """Not in the middle of a run."""
    with pytest.raises(TypeError, match=words):
        RepeatGuardHooks(**arguments)


@pytest.mark.rules("S5")
async def test_an_exception_of_the_users_hooks_goes_through() -> None:
    """It is theirs, and it ends the run as it would without the guard."""

    class Raising(RunHooks[Any]):
        async def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
            msg = "the user's"
            raise LookupError(msg)

    with pytest.raises(LookupError, match="the user's"):
        await run(repeating(1), RepeatGuardHooks(inner=Raising()))


@pytest.mark.rules("D12")
async def test_a_handoff_starts_a_new_chain() -> None:
    """One agent's calls are not held against another, and what was due for it is dropped."""
    model = ScriptedModel(
        [
            [call("get_status")],
            [call("get_status")],
            [call("get_status"), call("transfer_to_second")],
            [call("get_status")],
            [call("get_status")],
            [call("get_status")],
            [say("done")],
        ]
    )
    second = Agent(name="second", model=model, tools=[get_status])
    first = Agent(name="first", model=model, tools=[get_status], handoffs=[second])
    await Runner.run(first, "go", hooks=RepeatGuardHooks())
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 0, 0, 0, 1]


@pytest.mark.rules("C3")
def test_the_configuration_is_the_cores() -> None:
    """A user names one package only."""
    from repeatguard_core import RepeatGuardConfig as Core  # noqa: PLC0415

    assert RepeatGuardConfig is Core
