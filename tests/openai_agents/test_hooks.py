"""The hooks themselves: how they are wired, and how they get on with hooks of the user's.

What a model is sent in all kinds of runs is the contract's business, in test_contract.py.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from agents import Agent, AgentHooks, ModelResponse, RunConfig, RunContextWrapper, RunHooks, Runner, Usage
from repeatguard_core.adapters import RunMemory
from repeatguard_openai_agents import RepeatGuardConfig, RepeatGuardHooks

from tests.openai_agents.scripted_model import Request, ScriptedModel, both_ways, call, reminders, run_to_the_end, say
from tests.openai_agents.tools import get_status, update_plan

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from repeatguard_core import Reminder


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
    result = await run_to_the_end(agent, prompt, guard, streamed=streamed)
    items: list[TResponseInputItem] = result.to_input_list()
    return items


def repeating(times: int, arguments: str = '{"job": "7"}') -> ScriptedModel:
    """Make a model that makes the same call so many times, and then answers."""
    return ScriptedModel([*([call("get_status", arguments)] for _ in range(times)), [say("done")]])


@pytest.mark.rules("M1")
@both_ways
async def test_a_reminder_is_a_plain_user_message(streamed: bool) -> None:  # noqa: FBT001
    """It has a role and a text, and no key that a provider would refuse."""
    model = repeating(3)
    await run(model, RepeatGuardHooks(), streamed=streamed)
    assert set(model.requests[-1][-1]) == {"role", "content"}
    assert model.requests[-1][-1]["role"] == "user"


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
        await run_to_the_end(first, "go", guard if guarded else run_hooks, streamed=streamed)
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
    await run_to_the_end(Agent(name="outer", model=outer_model, tools=[tool]), "go", guard, streamed=streamed)
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
    wrong: Any = RunHooks()
    with pytest.raises(TypeError, match="inner must be agent hooks"):
        RepeatGuardHooks().agent_hooks(wrong)


def test_a_guard_says_what_it_is() -> None:
    """Its representation shows the settings."""
    shown = "RepeatGuardHooks(config=RepeatGuardConfig(thresholds=(2,)))"
    assert repr(RepeatGuardHooks(RepeatGuardConfig(thresholds=(2,)))) == shown


@pytest.mark.rules("S5")
async def test_an_exception_of_the_users_hooks_goes_through() -> None:
    """It is theirs, and it ends the run as it would without the guard."""

    class Raising(RunHooks[Any]):
        async def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
            msg = "the user's"
            raise LookupError(msg)

    with pytest.raises(LookupError, match="the user's"):
        await run(repeating(1), RepeatGuardHooks(inner=Raising()))


@pytest.mark.rules("C3")
def test_the_configuration_is_the_cores() -> None:
    """A user names one package only."""
    from repeatguard_core import RepeatGuardConfig as Core  # noqa: PLC0415

    assert RepeatGuardConfig is Core


@pytest.mark.rules("M1", "D1")
def test_a_run_without_a_loop_of_the_callers() -> None:
    """`Runner.run_sync` is guarded like the others."""
    model = repeating(3)
    agent = Agent(name="agent", model=model, tools=[get_status])
    loop = asyncio.new_event_loop()  # run_sync would make one, and leave it open
    asyncio.set_event_loop(loop)
    try:
        Runner.run_sync(agent, "go", hooks=RepeatGuardHooks(), run_config=RunConfig(tracing_disabled=True))
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    assert [len(reminders(request)) for request in model.requests] == [0, 0, 0, 1]


@pytest.mark.rules("D12", "S3")
async def test_many_runs_at_once_leave_nothing_behind() -> None:
    """A hundred on one guard: each is reminded as if it were alone, and none is remembered."""
    guard = RepeatGuardHooks()
    models = [repeating(3) for _ in range(100)]
    await asyncio.gather(*(run(model, guard) for model in models))
    assert {len(reminders(model.requests[-1])) for model in models} == {1}
    gc.collect()
    assert not [held for held in gc.get_objects() if isinstance(held, RunMemory)]


def pickled(context: RunContextWrapper[Any]) -> RunContextWrapper[Any]:
    """Store a context and load it again."""
    loaded: RunContextWrapper[Any] = pickle.loads(pickle.dumps(context))  # noqa: S301 - its own data
    return loaded


@pytest.mark.rules("S1", "S3")
@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled])
async def test_a_run_s_context_can_be_copied_as_without_the_guard(duplicate: Any) -> None:
    """Also if a function of the guard's cannot be, and what the guard remembers is of no use elsewhere."""
    context: RunContextWrapper[Any] = RunContextWrapper({"job": 7})
    guard = RepeatGuardHooks(on_reminder=lambda _: None)
    items: list[Any] = [{"role": "user", "content": "go"}]
    await guard.on_llm_start(context, Agent(name="agent"), None, items)
    await guard.on_llm_end(context, Agent(name="agent"), ModelResponse([call("get_status")], Usage(), None))
    other = duplicate(context)
    assert other.context == {"job": 7}
    await guard.on_llm_start(other, Agent(name="agent"), None, items)
    assert items == [{"role": "user", "content": "go"}]
