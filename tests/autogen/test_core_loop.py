"""A guarded client: in the core's own loop, in loops of the user's, and as a client like any other."""

from __future__ import annotations

import json
from typing import Any

import pytest
from autogen_core import AgentId, DefaultInterventionHandler, SingleThreadedAgentRuntime
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tool_agent import ToolAgent, tool_agent_caller_loop
from autogen_core.tools import FunctionTool
from repeatguard_autogen import GuardedClient, Reminder, RepeatGuardConfig, RepeatGuardHandler

from tests.autogen.driver import Denying
from tests.autogen.scripted_client import (
    ScriptedClient,
    assert_append_only,
    both_ways,
    call,
    counts,
    reminders,
    repeating,
    words,
)
from tests.autogen.teams import fail, get_status

TOOLS: list[Any] = [
    FunctionTool(get_status, "Look a job up."),
    FunctionTool(fail, "Fail."),
    FunctionTool(get_status, "Look it up.", name="forbidden"),
]


async def loop(client: ChatCompletionClient, *handlers: Any, runtime: Any = None) -> list[LLMMessage]:
    """Run the core's loop to its end."""
    runtime = runtime or SingleThreadedAgentRuntime(intervention_handlers=list(handlers))
    await ToolAgent.register(runtime, "tools", lambda: ToolAgent("Runs tools.", TOOLS))
    runtime.start()
    try:
        task: list[LLMMessage] = [UserMessage(content="go", source="user")]
        return await tool_agent_caller_loop(runtime, AgentId("tools", "default"), client, task, TOOLS)
    finally:
        await runtime.stop()  # after a denied call it would never get idle


class Passing(DefaultInterventionHandler):
    """A handler of the user's that changes nothing, and remembers what it saw."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def on_send(self, message: Any, **_: Any) -> Any:
        self.seen.append(message.name)
        return message


@pytest.mark.rules("D8", "S1", "S5")
@pytest.mark.parametrize("order", ["before", "after"])
async def test_a_call_that_another_handler_denies(order: str) -> None:
    """Before the guard or after it: the call is denied as without the guard, and counts like any other."""
    guard = RepeatGuardHandler()
    client = repeating(3, ("forbidden", "{}"))
    handlers = [Denying(), guard] if order == "before" else [guard, Denying()]
    messages = await loop(guard.client(client), *handlers)
    assert counts(client) == [0, 0, 0, 1]
    results = [message for message in messages if isinstance(message, FunctionExecutionResultMessage)]
    assert all(result.content[0].is_error and result.content[0].content != "pending" for result in results)


@pytest.mark.rules("S1", "S5")
async def test_other_handlers_see_what_they_see_without_the_guard() -> None:
    """Every call, once, in order."""
    passing = Passing()
    guard = RepeatGuardHandler()
    await loop(guard.client(repeating(4)), guard, passing)
    assert passing.seen == ["get_status"] * 4


@pytest.mark.rules("D1", "M1")
async def test_the_guards_own_runtime() -> None:
    """It serves loops as well as teams."""
    guard = RepeatGuardHandler()
    client = repeating(3)
    await loop(guard.client(client), runtime=guard.runtime())
    assert counts(client) == [0, 0, 0, 1]


@pytest.mark.rules("S1")
async def test_the_loop_gives_back_what_it_gives_back_without_the_guard() -> None:
    """The reminders are in no list of the user's."""
    guard = RepeatGuardHandler()
    client = repeating(5)
    messages = await loop(guard.client(client))
    assert words(messages) == ["call", "result"] * 5 + ["answer"]
    assert counts(client) == [0, 0, 0, 1, 1, 2]
    assert_append_only(client.requests)


@pytest.mark.rules("M1", "M5", "S1", "S6")
@both_ways
async def test_a_loop_of_the_users_own(streamed: bool) -> None:  # noqa: FBT001
    """Streamed or not, the list that it passes stays as it is, and each reminder is announced once."""
    seen: list[Reminder] = []
    client = repeating(6)
    guarded = RepeatGuardHandler(on_reminder=seen.append).client(client)
    messages: list[LLMMessage] = [SystemMessage(content="Be brief."), UserMessage(content="go", source="user")]
    answer: Any = None
    while not (answer and isinstance(answer.content, str)):
        before = list(messages)
        if streamed:
            *_, answer = [part async for part in guarded.create_stream(messages, tools=TOOLS)]
        else:
            answer = await guarded.create(messages, tools=TOOLS)
        assert messages == before
        messages.append(AssistantMessage(content=answer.content, source="me"))
        if not isinstance(answer.content, str):
            results = [FunctionExecutionResult(content="", name=c.name, call_id=c.id) for c in answer.content]
            messages.append(FunctionExecutionResultMessage(content=results))
    assert words(client.requests[-1])[1:] == [
        *["call", "result"] * 3,
        "reminder",
        *["call", "result"] * 2,
        "reminder",
        "call",
        "result",
    ]
    assert counts(client) == [0, 0, 0, 1, 1, 2, 2]
    assert [reminder.count for reminder in seen] == [3, 5]
    assert_append_only(client.requests)
    assert client.options[0] == {"tools": TOOLS}


@pytest.mark.rules("S1", "S5")
async def test_a_guarded_client_is_a_client_like_the_one_inside() -> None:
    """All else goes to the wrapped client, its own methods included."""
    inner = repeating(1)
    client: Any = RepeatGuardHandler().client(inner)
    assert client.model_info == client.capabilities == inner.model_info
    assert client.actual_usage() == inner.actual_usage()
    assert client.total_usage() == inner.total_usage()
    messages = [UserMessage(content="go", source="user")]
    assert (client.count_tokens(messages, tools=TOOLS), client.remaining_tokens(messages, tools=TOOLS)) == (1, 9)
    assert client.requests is inner.requests
    await client.close()
    assert inner.closed
    with pytest.raises(AttributeError, match="write_in_verse"):
        client.write_in_verse()
    with pytest.raises(AttributeError, match="_inner"):
        GuardedClient.__new__(GuardedClient)._inner  # noqa: B018 - as copying does, before there is anything


@pytest.mark.rules("S1", "S5")
@both_ways
async def test_an_error_of_the_users_client(streamed: bool) -> None:  # noqa: FBT001
    """It goes through."""
    inner = repeating(1)
    inner.fails = lambda: True
    client = RepeatGuardHandler().client(inner)
    with pytest.raises(ConnectionError, match="the model is away"):
        await anext(client.create_stream([])) if streamed else await client.create([])


@pytest.mark.rules("C3", "M1")
async def test_a_client_that_is_dumped_and_loaded() -> None:
    """Through JSON, with its settings."""
    config = RepeatGuardConfig(thresholds=(2,), include=("get_*",))
    dumped = json.dumps(RepeatGuardHandler(config).client(ScriptedClient()).dump_component().model_dump())
    client: Any = ChatCompletionClient.load_component(json.loads(dumped))
    assert isinstance(client, GuardedClient)
    assert client.guard.config == config
    await loop(client)
    assert [len(reminders(request)) for request in client.requests] == [0, 0, 1, 1]


@pytest.mark.rules("M6", "S6")
async def test_a_conversation_that_has_its_reminders_already() -> None:
    """What a context has kept is not added again, also where a reminder is the last message."""
    seen: list[Reminder] = []
    guard = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,)), on_reminder=seen.append)
    kept = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,))).context()
    for _ in range(2):
        each = call()
        await kept.add_message(AssistantMessage(content=[each], source="me"))
        result = FunctionExecutionResult(content="", name=each.name, call_id=each.id)
        await kept.add_message(FunctionExecutionResultMessage(content=[result]))
    messages = [message.model_copy() for message in await kept.get_messages()]
    client = ScriptedClient(["well", "well"])
    await guard.client(client).create(messages)
    await guard.client(client).create([*messages, UserMessage(content="go on", source="user")])
    assert counts(client) == [1, 1]
    assert seen == []


@pytest.mark.rules("S1")
async def test_a_request_without_messages() -> None:
    """It goes through."""
    client = ScriptedClient(["well"])
    answer = await RepeatGuardHandler().client(client).create([])
    assert isinstance(answer, CreateResult)
    assert client.requests == [[]]


@pytest.mark.rules("D12", "M5")
async def test_a_client_gives_what_is_held_at_the_agents_next_request() -> None:
    """And puts it back there, though nobody keeps it. The callback learns whose calls they are."""
    seen: list[Reminder] = []
    guard = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,)), on_reminder=seen.append)
    client = ScriptedClient(["well", "well"])
    calls = [call(), call(), call("transfer_to_b")]
    results = [FunctionExecutionResult(content="", name=each.name, call_id=each.id) for each in calls]
    messages: list[LLMMessage] = [
        AssistantMessage(content=calls, source="a"),
        FunctionExecutionResultMessage(content=results),
    ]
    await guard.client(client).create(messages)
    more: list[LLMMessage] = [AssistantMessage(content="well", source="a"), UserMessage(content="go on", source="user")]
    await guard.client(client).create([*messages, *more])
    assert [words(request) for request in client.requests] == [
        ["call"] * 3 + ["result"] * 3 + ["reminder"],
        ["call"] * 3 + ["result"] * 3 + ["reminder", "answer", "user"],
    ]
    assert [reminder.agent_name for reminder in seen] == ["a"]
