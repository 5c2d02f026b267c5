"""Requests and runs in AutoGen."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, Final

from autogen_core import FunctionCall
from autogen_core.model_context import ChatCompletionContext, UnboundedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    UserMessage,
)
from repeatguard_autogen import RepeatGuardHandler

from benchmarks.costs.histories import LAST, Answer, Call, Result, Step, User, conversation, turn
from benchmarks.costs.rounds import Subject, at_once

__all__ = ["NAME", "dumping", "requesting"]

NAME: Final = "AutoGen"
_AGENT: Final = "worker"


class PlayedClient(ChatCompletionClient):
    """A client whose model answers by a function of the request."""

    def __init__(self, answer: Callable[[Sequence[LLMMessage]], str | list[FunctionCall]]) -> None:
        self._answer = answer

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        """Answer."""
        content = self._answer(messages)
        reason: Any = "stop" if isinstance(content, str) else "function_calls"
        return CreateResult(finish_reason=reason, content=content, usage=self.total_usage(), cached=False)

    def create_stream(self, *_: Any, **__: Any) -> AsyncGenerator[str | CreateResult, None]:
        """Streams are not measured."""
        raise NotImplementedError

    async def close(self) -> None:
        """Have nothing to close."""

    def actual_usage(self) -> RequestUsage:
        """Use nothing."""
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def total_usage(self) -> RequestUsage:
        """Use nothing."""
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def count_tokens(self, *_: Any, **__: Any) -> int:
        """Count nothing."""
        return 0

    def remaining_tokens(self, *_: Any, **__: Any) -> int:
        """Count nothing."""
        return 0

    @property
    def capabilities(self) -> Any:
        """What the model can do, in AutoGen's older words."""
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        """What the model can do."""
        return ModelInfo(
            vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False
        )


def called(call: Call) -> FunctionCall:
    """Make a call as the model's response has it."""
    return FunctionCall(call.id, call.arguments, call.name)


def _message(step: Step) -> LLMMessage:
    if isinstance(step, User):
        return UserMessage(content=step.text, source="user")
    if isinstance(step, Answer):
        return AssistantMessage(content=step.text, source=_AGENT)
    if isinstance(step, Call):
        return AssistantMessage(content=[called(step)], source=_AGENT)
    result = FunctionExecutionResult(content=step.text, name=step.name, call_id=step.id, is_error=False)
    return FunctionExecutionResultMessage(content=[result])


def _history(steps: Sequence[Step]) -> list[LLMMessage]:
    """Let a guard see a conversation grow, so that its reminders stand where the context keeps them."""
    context = RepeatGuardHandler().context(UnboundedChatCompletionContext())
    for step in steps:
        at_once(context.add_message(_message(step)))
        if isinstance(step, Result):
            at_once(context.get_messages())
    return list(at_once(context.get_messages()))


def dumping(messages: int) -> Subject[Any]:
    """Write the messages as JSON, which is the least that sending them takes."""
    written = [message.model_dump(mode="json") for message in _history(conversation(messages))]
    return Subject(lambda count: [written] * count, json.dumps, max(1, 10_000 // messages))


def requesting(messages: int) -> dict[str, Subject[Any]]:
    """Prepare requests through a context, and through a client, which keeps nothing from one to the next.

    Args:
        messages: How many messages the conversation has, reminders aside.
    """
    guard = RepeatGuardHandler()
    steps = conversation(messages)
    plain = [_message(step) for step in steps]
    history = _history(steps)
    client = RepeatGuardHandler().client(PlayedClient(lambda _: "done"))

    def loaded(count: int) -> list[ChatCompletionContext]:
        return [guard.context(UnboundedChatCompletionContext(initial_messages=history)) for _ in range(count)]

    def gone_on(count: int) -> list[tuple[ChatCompletionContext, list[LLMMessage]]]:
        # A long context stays about as long if some turns are added.
        turns_each = max(1, messages // 100)
        contexts = loaded(math.ceil(count / turns_each))
        for context in contexts:
            at_once(context.get_messages())
        pairs = itertools.product(contexts, range(1, turns_each + 1))
        return [(context, [_message(step) for step in turn(LAST + more)]) for context, more in pairs][:count]

    def go_on(inputs: tuple[ChatCompletionContext, list[LLMMessage]]) -> None:
        context, more = inputs
        for message in more:
            at_once(context.add_message(message))
        at_once(context.get_messages())

    most = max(1, 2_000 // messages)
    return {
        "`guard.context()`, first request": Subject(loaded, lambda each: at_once(each.get_messages()), most),
        "`guard.context()`, next request": Subject(gone_on, go_on, 100),
        "`guard.client()`": Subject(lambda count: [plain] * count, lambda each: at_once(client.create(each)), most),
    }
