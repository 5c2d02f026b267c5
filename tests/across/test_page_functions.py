"""The functions that the pages define are called, each with a scripted model in place of a real one."""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pytest
from agents import Agent as OpenAIAgent
from autogen_agentchat.agents import AssistantAgent
from autogen_core import SingleThreadedAgentRuntime
from autogen_core.tool_agent import ToolAgent
from autogen_core.tools import FunctionTool, Tool
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolReturnPart, UserPromptPart
from repeatguard_core import RepeatChain, ToolCall

from tests.across.pages import name, run_pages, save_files, shown
from tests.autogen import scripted_client
from tests.autogen.teams import get_status as autogen_tool
from tests.openai_agents import scripted_model as openai_model
from tests.openai_agents.tools import get_status as openai_tool
from tests.pydantic_ai import scripted_model as pydantic_model

pytestmark = pytest.mark.usefixtures("as_a_user_has_it")

#: Calls a page's function, which has been handed over with all that the page has made by then.
Play: TypeAlias = Callable[[Any, dict[str, Any]], Awaitable[None]]


class Defined(NamedTuple):
    """A function of a page.

    Attributes:
        page: The page.
        function: The function's name.
        number: How many of that name stand before it on the page.
        block: The number of its block.
    """

    page: str
    function: str
    number: int
    block: int


async def _openai_answer(answer: Any, _made: dict[str, Any]) -> None:
    turns = [*([openai_model.call("get_status")] for _ in range(6)), [openai_model.say("done")]]
    model = openai_model.ScriptedModel(turns)
    assert await answer(OpenAIAgent(name="agent", model=model, tools=[openai_tool]), "go") == "done"
    assert len(openai_model.reminders(model.requests[-1])) == 2


async def _pydantic_make_agent(make_agent: Any, _made: dict[str, Any]) -> None:
    model = pydantic_model.ScriptedModel(*(pydantic_model.call("look") for _ in range(6)))
    agent = make_agent(model.model)
    agent.tool_plain(_look, name="look")
    await agent.run("go")
    assert len(model.reminders[-1]) == 2


async def _pydantic_load(load: Any, _made: dict[str, Any]) -> None:
    assert load().model.model_name == "gpt-4.1-mini"


async def _pydantic_reminders(reminders: Any, made: dict[str, Any]) -> None:
    model = pydantic_model.ScriptedModel(*(pydantic_model.call("look") for _ in range(6)))
    agent = made["Agent"](model.model, capabilities=[made["RepeatGuard"]()])
    agent.tool_plain(_look, name="look")
    result = await agent.run("go")
    assert [each["count"] for each in reminders(result.all_messages())] == [3, 5]


async def _pydantic_answer(answer: Any, made: dict[str, Any]) -> None:
    """The run ends at the twelfth call, and one that goes on from there has an answer."""
    model = pydantic_model.ScriptedModel(*(pydantic_model.call("look") for _ in range(12)))
    made["agent"].tool_plain(_look, name="look")
    with made["agent"].override(model=model.model):
        assert await answer("go") == "done"
    assert len(model.requests) == 13


async def _pydantic_keep_recent(keep_recent: Any, _made: dict[str, Any]) -> None:
    prompt = ModelRequest([UserPromptPart("go")])
    turns = [(ModelResponse([TextPart(str(n))]), ModelRequest([ToolReturnPart("look", n, f"{n}")])) for n in range(9)]
    kept = keep_recent([prompt, *(message for turn in turns for message in turn)])
    assert kept[0] is prompt
    assert kept[1] is turns[6][0]


async def _autogen_make_team(make_team: Any, _made: dict[str, Any]) -> None:
    client = scripted_client.repeating(20, ("get_status", "{}"))
    await make_team([_worker(client)]).run(task="go")
    assert scripted_client.counts(client) == [0] * 3 + [1] * 2 + [2] * 3 + [3] * 12


async def _autogen_answer_on_a_runtime(answer: Any, _made: dict[str, Any]) -> None:
    """Told at the third call and the sixth, as the block sets it."""
    client = scripted_client.repeating(20, ("get_status", "{}"))
    await answer([_worker(client)], "go")
    assert scripted_client.counts(client) == [0] * 3 + [1] * 3 + [2] * 14


async def _autogen_make_agent(make_agent: Any, _made: dict[str, Any]) -> None:
    """Its tools are for the reader to name, so the model is told of calls to one that there is not."""
    client = scripted_client.repeating(9)
    await make_agent(client).run(task="go")
    assert scripted_client.counts(client)[:4] == [0, 0, 0, 1]


async def _autogen_answer_of_the_loop(answer: Any, _made: dict[str, Any]) -> None:
    tools: list[Tool] = [FunctionTool(autogen_tool, "Looks a job up.", name="get_status")]
    runtime = SingleThreadedAgentRuntime()
    await ToolAgent.register(runtime, "tools", lambda: ToolAgent("Runs tools.", tools))
    client = scripted_client.repeating(6, ("get_status", "{}"))
    runtime.start()
    messages = await answer(runtime, client, tools, "go")
    await runtime.stop_when_idle()
    await runtime.close()
    assert scripted_client.counts(client) == [0, 0, 0, 1, 1, 2, 2]
    assert messages[-1].content == "done"


async def _autogen_answer_that_ends(answer: Any, _made: dict[str, Any]) -> None:
    client = scripted_client.repeating(20, ("get_status", "{}"))
    result = await answer([_worker(client)], "go")
    assert "get_status" in result.stop_reason
    assert len(client.requests) == 12


async def _autogen_tell(tell: Any, _made: dict[str, Any]) -> None:
    tell(RepeatChain().observe([ToolCall("get_status", "{}")] * 3))


#: Who calls what: the page, the function's name and how many of that name stand before it.
PLAYS: Final[dict[tuple[str, str, int], Play]] = {
    ("README.md", "answer", 0): _openai_answer,
    ("docs/autogen.md", "make_team", 0): _autogen_make_team,
    ("docs/autogen.md", "answer", 0): _autogen_answer_on_a_runtime,
    ("docs/autogen.md", "make_agent", 0): _autogen_make_agent,
    ("docs/autogen.md", "answer", 1): _autogen_answer_of_the_loop,
    ("docs/autogen.md", "answer", 2): _autogen_answer_that_ends,
    ("docs/autogen.md", "tell", 0): _autogen_tell,
    ("docs/openai-agents.md", "answer", 0): _openai_answer,
    ("docs/openai-agents.md", "answer", 1): _openai_answer,
    ("docs/pydantic-ai.md", "load", 0): _pydantic_load,
    ("docs/pydantic-ai.md", "reminders", 0): _pydantic_reminders,
    ("docs/pydantic-ai.md", "answer", 0): _pydantic_answer,
    ("docs/pydantic-ai.md", "keep_recent", 0): _pydantic_keep_recent,
    ("docs/quickstart.md", "answer", 0): _openai_answer,
    ("docs/quickstart.md", "make_agent", 0): _pydantic_make_agent,
    ("docs/quickstart.md", "make_team", 0): _autogen_make_team,
}


def _look(q: int) -> str:
    """Look."""
    return f"nothing at {q}"


def _worker(client: scripted_client.ScriptedClient) -> AssistantAgent:
    return AssistantAgent("worker", client, tools=[autogen_tool])


def _defined() -> Iterator[Defined]:
    for page in run_pages():
        seen: dict[str, int] = {}
        for block, (code, _) in enumerate(shown(page)):
            for statement in ast.parse(code).body:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                    number = seen.setdefault(statement.name, 0)
                    seen[statement.name] += 1
                    yield Defined(name(page), statement.name, number, block)


DEFINED: Final = list(_defined())


def test_every_function_is_played() -> None:
    """None is left out, and none is played that is gone."""
    assert {defined[:3] for defined in DEFINED} == set(PLAYS)


@pytest.mark.filterwarnings("ignore:Intervention handler on_response:RuntimeWarning")  # the page says how, and why
@pytest.mark.parametrize("defined", DEFINED, ids=lambda defined: f"{defined.page}-{defined.function}-{defined.number}")
async def test_a_function_does_what_the_page_says(defined: Defined) -> None:
    """Behind the blocks that stand before it, as a reader would have run them."""
    page: Path = next(each for each in run_pages() if name(each) == defined.page)
    save_files(page)
    made: dict[str, Any] = {}
    for code, _ in list(shown(page))[: defined.block + 1]:
        exec(compile(code, defined.page, "exec"), made)  # noqa: S102 - the page's own code
    await PLAYS[defined[:3]](made[defined.function], made)
