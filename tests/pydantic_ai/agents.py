"""Agents for the tests, and what a test says of the requests that their models were sent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, TextContent, UserPromptPart
from repeatguard_core import is_reminder

from tests.pydantic_ai.scripted_model import ScriptedModel, call, text_of
from tests.pydantic_ai.wiring import wired


def search(q: int) -> str:
    """Search."""
    return "no rows"


def agent(model: Any, *guards: Any, tools: Sequence[Any] = (search,), **settings: Any) -> Agent[Any, Any]:
    """Make an agent with guards and other processors, in the order they are given in."""
    arguments: dict[str, Any] = {"retries": 100, "tools": tools, **wired(*guards), **settings}
    return Agent(model.model if isinstance(model, ScriptedModel) else model, **arguments)


def loop(calls: int, tool: str = "search") -> list[Any]:
    """Make identical calls, one a response."""
    return [call(tool) for _ in range(calls)]


def assert_prefixes(requests: Sequence[list[Any]]) -> None:
    """Each request is the beginning of the next."""
    assert len(requests) > 1
    for earlier, later in pairwise(requests):
        assert later[: len(earlier)] == earlier


def reminders_in(messages: Sequence[ModelMessage]) -> list[int]:
    """Find the messages that are reminders and nothing else."""
    return [index for index, message in enumerate(messages) if _is_reminder(message)]


def _is_reminder(message: ModelMessage) -> bool:
    return (
        isinstance(message, ModelRequest)
        and all(isinstance(part, UserPromptPart) for part in message.parts)
        and any(isinstance(part, UserPromptPart) and is_reminder(text_of(part)) for part in message.parts)
    )


def marks_in(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """List the metadata of the reminders, wherever they stand."""
    parts = (part for message in messages for part in message.parts if isinstance(part, UserPromptPart))
    items = (item for part in parts if not isinstance(part.content, str) for item in part.content)
    return [item.metadata["repeatguard"] for item in items if isinstance(item, TextContent) and item.metadata]
