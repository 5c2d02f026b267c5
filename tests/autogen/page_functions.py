"""The functions on the pages about AutoGen, each called with a scripted model in place of a real one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from autogen_agentchat.agents import AssistantAgent
from autogen_core import SingleThreadedAgentRuntime
from autogen_core.tool_agent import ToolAgent
from autogen_core.tools import FunctionTool, Tool
from repeatguard_core import RepeatChain, ToolCall

from tests.autogen import scripted_client
from tests.autogen.teams import get_status


async def _make_team(make_team: Any, _made: dict[str, Any]) -> None:
    client = scripted_client.repeating(20, ("get_status", "{}"))
    await make_team([_worker(client)]).run(task="go")
    assert scripted_client.counts(client) == [0] * 3 + [1] * 2 + [2] * 3 + [3] * 12


async def _answer_on_a_runtime(answer: Any, _made: dict[str, Any]) -> None:
    """Told at the third call and the sixth, as the block sets it."""
    client = scripted_client.repeating(20, ("get_status", "{}"))
    await answer([_worker(client)], "go")
    assert scripted_client.counts(client) == [0] * 3 + [1] * 3 + [2] * 14


async def _make_agent(make_agent: Any, _made: dict[str, Any]) -> None:
    """Its tools are for the reader to name, so the model is told of calls to one that there is not."""
    client = scripted_client.repeating(9)
    await make_agent(client).run(task="go")
    assert scripted_client.counts(client)[:4] == [0, 0, 0, 1]


async def _answer_of_the_loop(answer: Any, _made: dict[str, Any]) -> None:
    tools: list[Tool] = [FunctionTool(get_status, "Looks a job up.", name="get_status")]
    runtime = SingleThreadedAgentRuntime()
    await ToolAgent.register(runtime, "tools", lambda: ToolAgent("Runs tools.", tools))
    client = scripted_client.repeating(6, ("get_status", "{}"))
    runtime.start()
    messages = await answer(runtime, client, tools, "go")
    await runtime.stop_when_idle()
    await runtime.close()
    assert scripted_client.counts(client) == [0, 0, 0, 1, 1, 2, 2]
    assert messages[-1].content == "done"


async def _answer_that_ends(answer: Any, _made: dict[str, Any]) -> None:
    client = scripted_client.repeating(20, ("get_status", "{}"))
    result = await answer([_worker(client)], "go")
    assert "get_status" in result.stop_reason
    assert len(client.requests) == 12


async def _tell(tell: Any, _made: dict[str, Any]) -> None:
    tell(RepeatChain().observe([ToolCall("get_status", "{}")] * 3))


def _worker(client: scripted_client.ScriptedClient) -> AssistantAgent:
    return AssistantAgent("worker", client, tools=[get_status])


#: Who calls what: the page, the function's name and how many of that name stand before it.
PLAYS: Final[dict[tuple[str, str, int], Callable[[Any, dict[str, Any]], Awaitable[None]]]] = {
    ("docs/autogen.md", "make_team", 0): _make_team,
    ("docs/autogen.md", "answer", 0): _answer_on_a_runtime,
    ("docs/autogen.md", "make_agent", 0): _make_agent,
    ("docs/autogen.md", "answer", 1): _answer_of_the_loop,
    ("docs/autogen.md", "answer", 2): _answer_that_ends,
    ("docs/autogen.md", "tell", 0): _tell,
    ("docs/quickstart.md", "make_team", 0): _make_team,
}
