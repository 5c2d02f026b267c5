"""Requests and runs in AutoGen."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Final

from autogen_agentchat.agents import AssistantAgent
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
from autogen_core.tools import FunctionTool
from repeatguard_autogen import RepeatGuardConfig, RepeatGuardHandler

from benchmarks.costs.histories import LAST, Answer, Call, Result, Step, User, conversation, turn
from benchmarks.costs.rounds import Subject, at_once
from benchmarks.costs.scripts import Script

__all__ = ["NAME", "dumping", "new_guard", "requesting", "run", "sent", "user_texts"]

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


def user_texts(request: Sequence[LLMMessage]) -> Iterator[str]:
    """Give what a request has with the user's role."""
    return (str(message.content) for message in request if isinstance(message, UserMessage))


def sent(guard: RepeatGuardHandler, steps: Sequence[Step]) -> Iterator[list[LLMMessage]]:
    """Let the guard see a conversation grow, and give each request as the model is sent it.

    Args:
        guard: The guard.
        steps: The conversation.
    """
    context = guard.context(UnboundedChatCompletionContext())
    for step in steps:
        at_once(context.add_message(_message(step)))
        if isinstance(step, Result):
            yield at_once(context.get_messages())


def _history(steps: Sequence[Step]) -> list[LLMMessage]:
    """Make a history with the reminders where the context keeps them."""
    *_, last = sent(new_guard(), steps)
    return last


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


async def _search_file(path: str, query: str, start_line: int) -> str:  # noqa: ARG001 - the script knows the result
    await asyncio.sleep(0)  # other runs take their turns while a tool works
    return _SCRIPT.get().result()


def _answer(messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
    script = _SCRIPT.get()
    call = script.next()
    if call is None:
        return script.answer(user_texts(messages))
    return [called(call)]


_SCRIPT: Final[ContextVar[Script]] = ContextVar("_SCRIPT")
_CLIENT: Final = PlayedClient(_answer)
_TOOL: Final = FunctionTool(_search_file, "Search a file.", name="search_file")


def new_guard(config: RepeatGuardConfig | None = None) -> RepeatGuardHandler:
    """Make the guard."""
    return RepeatGuardHandler(config)


async def run(script: Script, guard: RepeatGuardHandler | None) -> None:
    """Run an agent to its answer.

    Args:
        script: What its model plays.
        guard: The guard; None to run without one.
    """
    _SCRIPT.set(script)
    agent = AssistantAgent(_AGENT, _CLIENT, tools=[_TOOL], max_tool_iterations=script.requests)
    if guard is not None:
        guard.attach(agent)
    await agent.run(task="Where is it?")
