"""The functions on the pages about Pydantic AI, each called with a scripted model in place of a real one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolReturnPart, UserPromptPart

from tests.pydantic_ai import scripted_model


async def _make_agent(make_agent: Any, _made: dict[str, Any]) -> None:
    model = scripted_model.ScriptedModel(*(scripted_model.call("look") for _ in range(6)))
    agent = make_agent(model.model)
    agent.tool_plain(_look, name="look")
    await agent.run("go")
    assert len(model.reminders[-1]) == 2


async def _load(load: Any, _made: dict[str, Any]) -> None:
    assert load().model.model_name == "gpt-4.1-mini"


async def _reminders(reminders: Any, made: dict[str, Any]) -> None:
    model = scripted_model.ScriptedModel(*(scripted_model.call("look") for _ in range(6)))
    agent = made["Agent"](model.model, capabilities=[made["RepeatGuard"]()])
    agent.tool_plain(_look, name="look")
    result = await agent.run("go")
    assert [each["count"] for each in reminders(result.all_messages())] == [3, 5]


async def _answer(answer: Any, made: dict[str, Any]) -> None:
    """The run ends at the twelfth call, and one that goes on from there has an answer."""
    model = scripted_model.ScriptedModel(*(scripted_model.call("look") for _ in range(12)))
    made["agent"].tool_plain(_look, name="look")
    with made["agent"].override(model=model.model):
        assert await answer("go") == "done"
    assert len(model.requests) == 13


async def _keep_recent(keep_recent: Any, _made: dict[str, Any]) -> None:
    prompt = ModelRequest([UserPromptPart("go")])
    turns = [(ModelResponse([TextPart(str(n))]), ModelRequest([ToolReturnPart("look", n, f"{n}")])) for n in range(9)]
    kept = keep_recent([prompt, *(message for turn in turns for message in turn)])
    assert kept[0] is prompt
    assert kept[1] is turns[6][0]


def _look(q: int) -> str:
    """Look."""
    return f"nothing at {q}"


#: Who calls what: the page, the function's name and how many of that name stand before it.
PLAYS: Final[dict[tuple[str, str, int], Callable[[Any, dict[str, Any]], Awaitable[None]]]] = {
    ("docs/pydantic-ai.md", "load", 0): _load,
    ("docs/pydantic-ai.md", "reminders", 0): _reminders,
    ("docs/pydantic-ai.md", "answer", 0): _answer,
    ("docs/pydantic-ai.md", "keep_recent", 0): _keep_recent,
    ("docs/quickstart.md", "make_agent", 0): _make_agent,
}
