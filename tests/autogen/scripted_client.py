"""A model client that plays a script and records what it was sent, request by request."""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from itertools import count, pairwise
from typing import Any, TypeAlias
from uuid import uuid4

import pytest
from autogen_core import Component, FunctionCall
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    UserMessage,
)
from pydantic import BaseModel
from repeatguard_core import is_reminder

Request: TypeAlias = "list[LLMMessage]"
Answer: TypeAlias = "str | list[FunctionCall] | CreateResult"
Turn: TypeAlias = "Answer | Callable[[Request], Answer]"

#: Ids must be unique in a conversation, also where processes take turns.
_PROCESS = uuid4().hex[:8]
_numbers = count(1)

both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


def call(name: str = "get_status", arguments: str = "{}") -> FunctionCall:
    """Make a call with an id of its own."""
    return FunctionCall(id=f"call_{_PROCESS}_{next(_numbers)}", name=name, arguments=arguments)


def result(content: str | list[FunctionCall], thought: str | None = None) -> CreateResult:
    """Make a response."""
    return CreateResult(
        finish_reason="stop" if isinstance(content, str) else "function_calls",
        content=content,
        usage=RequestUsage(prompt_tokens=1, completion_tokens=1),
        cached=False,
        thought=thought,
    )


class _Config(BaseModel):
    turns: int


class ScriptedClient(ChatCompletionClient, Component[_Config]):
    """Answers each request with the next turn of a script."""

    component_type = "model"
    component_config_schema = _Config
    component_provider_override = "tests.autogen.scripted_client.ScriptedClient"

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self._turns = iter(turns)
        self.requests: list[Request] = []
        self.options: list[dict[str, Any]] = []
        self.fails: Callable[[], bool] = lambda: False
        self.closed = False

    def _play(self, messages: Sequence[LLMMessage], options: dict[str, Any]) -> CreateResult:
        request = copy.deepcopy(list(messages))
        self.requests.append(request)
        self.options.append(options)
        if self.fails():
            msg = "the model is away"
            raise ConnectionError(msg)
        turn = next(self._turns)
        answer = turn(request) if callable(turn) else turn
        return answer if isinstance(answer, CreateResult) else result(answer)

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        return self._play(messages, options)

    async def create_stream(
        self, messages: Sequence[LLMMessage], **options: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        answer = self._play(messages, options)
        if isinstance(answer.content, str):
            middle = len(answer.content) // 2
            yield answer.content[:middle]
            yield answer.content[middle:]
        yield answer

    async def close(self) -> None:
        self.closed = True

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=1, completion_tokens=2)

    def total_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=3, completion_tokens=4)

    def count_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        return len(messages)

    def remaining_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        return 10 - len(messages)

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=True,
            family=ModelFamily.UNKNOWN,
            structured_output=True,
            multiple_system_messages=False,
        )

    def _to_config(self) -> _Config:
        return _Config(turns=3)

    @classmethod
    def _from_config(cls, config: _Config) -> ScriptedClient:
        return repeating(config.turns)


def repeating(times: int, *calls: tuple[str, str]) -> ScriptedClient:
    """Make a client whose model makes the same calls so many times, and then answers."""
    batch = calls or (("get_status", '{"job": "7"}'),)
    return ScriptedClient([*([call(*each) for each in batch] for _ in range(times)), "done"])


def words(request: Sequence[LLMMessage]) -> list[str]:
    """Tell what follows what in a request."""
    written: list[str] = []
    for message in request:
        if isinstance(message, UserMessage):
            is_ours = isinstance(message.content, str) and is_reminder(message.content)
            written.append("reminder" if is_ours else message.source)
        elif isinstance(message, AssistantMessage):
            is_answer = isinstance(message.content, str)
            written += ["answer"] if is_answer else ["call"] * len(message.content)
        elif isinstance(message, FunctionExecutionResultMessage):
            written += ["result"] * len(message.content)
    return written


def reminders(request: Sequence[LLMMessage]) -> list[str]:
    """List the texts of the reminders in a request."""
    texts = [message.content for message in request if isinstance(message, UserMessage)]
    return [text for text in texts if isinstance(text, str) and is_reminder(text)]


def counts(client: ScriptedClient) -> list[int]:
    """Count the reminders in each request."""
    return [len(reminders(request)) for request in client.requests]


def assert_append_only(requests: Sequence[Request]) -> None:
    """M5: each request stands unchanged at the front of the next."""
    for earlier, later in pairwise(requests):
        assert later[: len(earlier)] == earlier
