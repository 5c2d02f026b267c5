"""The functions on the pages about OpenAI Agents SDK, each called with a scripted model in place of a real one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from agents import Agent

from tests.openai_agents import scripted_model
from tests.openai_agents.tools import get_status


async def _answer(answer: Any, _made: dict[str, Any]) -> None:
    turns = [*([scripted_model.call("get_status")] for _ in range(6)), [scripted_model.say("done")]]
    model = scripted_model.ScriptedModel(turns)
    assert await answer(Agent(name="agent", model=model, tools=[get_status]), "go") == "done"
    assert len(scripted_model.reminders(model.requests[-1])) == 2


#: Who calls what: the page, the function's name and how many of that name stand before it.
PLAYS: Final[dict[tuple[str, str, int], Callable[[Any, dict[str, Any]], Awaitable[None]]]] = {
    ("README.md", "answer", 0): _answer,
    ("docs/openai-agents.md", "answer", 0): _answer,
    ("docs/openai-agents.md", "answer", 1): _answer,
    ("docs/quickstart.md", "answer", 0): _answer,
}
