"""What the framework's messages say, in the terms of the chain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any, Final

from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextContent,
    ToolCallPart,
    UserContent,
    UserPromptPart,
)
from repeatguard_core import Reminder, RepeatChain, ToolCall, is_reminder

from repeatguard_pydantic_ai._results import is_result, results

__all__ = [
    "ToolCalls",
    "awaits_a_result_of_the_provider",
    "brings_new_material",
    "holds_reminder",
    "holds_results",
    "past",
    "read",
    "reminder_message",
    "tool_calls",
]

ToolCalls = list[ToolCall]

#: The key of a reminder's metadata, which the application and this package can see and the model cannot.
_KEY: Final = "repeatguard"
_HAS_CONVERSATIONS: Final = "conversation_id" in {each.name for each in fields(ModelRequest)}


def tool_calls(messages: Sequence[ModelMessage], index: int, chain: RepeatChain) -> ToolCalls:
    """List a response's calls in the model's order: of functions, of outputs, and those that the provider runs.

    Args:
        messages: The history.
        index: Where the response stands in it.
        chain: Says of which tools it wants the results.
    """
    response = messages[index]
    calls = [part for part in response.parts if isinstance(part, BaseToolCallPart)]
    wanted = {part.tool_call_id for part in calls if chain.compares_results(part.tool_name)}
    came_of: dict[str, object] = {}
    if wanted:
        answers = list(_requests_behind(messages, index))
        words = [item for each in answers for item in _words_beside_results(messages, each)]
        came_of = results([response, *(messages[each] for each in answers)], wanted, words)
    return [ToolCall(part.tool_name, part.args, came_of.get(part.tool_call_id)) for part in calls]


def awaits_a_result_of_the_provider(response: ModelResponse) -> bool:
    """Tell whether a call that the provider runs has no result yet."""
    calls = {
        part.tool_call_id
        for part in response.parts
        if isinstance(part, BaseToolCallPart) and not isinstance(part, ToolCallPart)
    }
    return not calls <= {part.tool_call_id for part in response.parts if isinstance(part, BaseToolReturnPart)}


def holds_results(request: ModelRequest) -> bool:
    """Tell whether a request has results of tools, or what the framework says in their place."""
    return any(is_result(part) for part in request.parts)


def holds_reminder(messages: Iterable[ModelMessage]) -> bool:
    """Tell whether one of the messages is, or holds, a reminder."""
    requests = (message for message in messages if isinstance(message, ModelRequest))
    return any(_is_ours(item) for request in requests for part in request.parts for item in _user_content(part))


def brings_new_material(messages: Sequence[ModelMessage], index: int) -> bool:
    """Tell whether a request has something new from outside: a prompt, a steer, a follow-up.

    Args:
        messages: The history.
        index: Where the request stands in it.
    """
    return None in _read_request(messages, index)


def read(messages: Sequence[ModelMessage], index: int, chain: RepeatChain) -> Iterator[ToolCalls | str | None]:
    """Read one message of a history, in its own order.

    Args:
        messages: The history.
        index: Where the message stands in it.
        chain: What it is read for.

    Yields:
        The calls of a response; of a request, None for new material, and a reminder's checkpoint.
    """
    if isinstance(messages[index], ModelResponse):
        yield tool_calls(messages, index, chain)
    else:
        yield from _read_request(messages, index)


def past(messages: Sequence[ModelMessage], end: int, chain: RepeatChain) -> Iterator[ToolCalls | str | None]:
    """Read a history back from a place, in the terms of `RepeatChain.catch_up`.

    Args:
        messages: The history. Of it no more is looked at than is asked for.
        end: The index behind the message to begin with.
        chain: What it is read for.
    """
    for index in range(end - 1, -1, -1):
        yield from reversed(list(read(messages, index, chain)))


def reminder_message(reminder: Reminder, chain: RepeatChain, before: ModelMessage, run_id: str | None) -> ModelRequest:
    """Make the message that carries a reminder.

    Adjacent requests are merged when a further run begins, and lose their own metadata then; a
    text's metadata stays, also in JSON, and never reaches a provider.

    Args:
        reminder: What the model is to read.
        chain: The chain as it stands behind the batch that the reminder answers.
        before: The message that it stands behind.
        run_id: The run that it belongs to.
    """
    metadata = {
        "tool": reminder.tool_name,
        "count": reminder.count,
        "threshold": reminder.threshold,
        "chain": chain.checkpoint(),
    }
    prompt = UserPromptPart([TextContent(reminder.text, metadata={_KEY: metadata})])
    # The framework sees to the last message alone, and early releases have no conversations.
    more: dict[str, Any] = {"conversation_id": before.conversation_id} if _HAS_CONVERSATIONS else {}
    return ModelRequest([prompt], timestamp=prompt.timestamp, run_id=run_id, **more)


def _read_request(messages: Sequence[ModelMessage], index: int) -> Iterator[str | None]:
    for item, is_new in _items(messages, index):
        if _is_ours(item):
            yield _checkpoint(item)
        elif is_new:
            yield None


def _words_beside_results(messages: Sequence[ModelMessage], index: int) -> Iterator[UserContent]:
    return (item for item, is_new in _items(messages, index) if not is_new)


def _items(messages: Sequence[ModelMessage], index: int) -> Iterator[tuple[UserContent, bool]]:
    """Give what a request has with the user's role, and whether that came into the conversation from outside.

    A tool may return words for the model beside its result. They are no user's, and stand before a reminder.
    """
    request = messages[index]
    assert isinstance(request, ModelRequest)
    is_new = not holds_results(request) or _opens_a_run(messages, index)
    for item in (item for part in request.parts for item in _user_content(part)):
        is_new = is_new or _is_ours(item)
        if not isinstance(item, CachePoint):
            yield item, is_new


def _requests_behind(messages: Sequence[ModelMessage], index: int) -> Iterator[int]:
    """Find the requests that answer a response."""
    for each in range(index + 1, len(messages)):
        if isinstance(messages[each], ModelResponse):
            break
        yield each


def _opens_a_run(messages: Sequence[ModelMessage], index: int) -> bool:
    """Tell whether a request with results also has the prompt of a run that they were handed to.

    Requests that were merged, because they stood side by side when a run began, belong to no run.
    """
    request = messages[index]
    before = next((messages[i] for i in range(index - 1, -1, -1) if isinstance(messages[i], ModelResponse)), None)
    is_merged = request.run_id is None and not holds_reminder([request])
    return is_merged or (before is not None and request.run_id is not None and before.run_id != request.run_id)


def _user_content(part: ModelRequestPart) -> Sequence[UserContent]:
    if part.part_kind == "speech":  # of a realtime session; in a request it is the user's
        return [part.transcript or ""]
    if not isinstance(part, UserPromptPart):
        return ()
    return [part.content] if isinstance(part.content, str) else part.content


def _is_ours(item: UserContent) -> bool:
    """Tell a reminder from anything else: by its metadata, or by its first line where that has got lost."""
    if isinstance(item, TextContent):
        return _metadata(item) is not None or is_reminder(item.content)
    return isinstance(item, str) and is_reminder(item)


def _metadata(item: UserContent) -> dict[str, object] | None:
    metadata = item.metadata if isinstance(item, TextContent) else None
    ours = metadata.get(_KEY) if isinstance(metadata, dict) else None
    return ours if isinstance(ours, dict) else None


def _checkpoint(item: UserContent) -> str:
    return str((_metadata(item) or {}).get("chain"))
