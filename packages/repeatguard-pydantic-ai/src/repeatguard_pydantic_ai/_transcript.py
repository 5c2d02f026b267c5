"""How the framework's messages read, and how a reminder is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import partial
from itertools import takewhile
from typing import Any, Final

from pydantic_ai.messages import (
    BaseToolCallPart,
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextContent,
    UserContent,
    UserPromptPart,
)
from repeatguard_core import ToolCall, is_reminder
from repeatguard_core.adapters import Insertion, Item, Kind, Transcript

from repeatguard_pydantic_ai._results import is_result, result_of

__all__ = ["History", "reminder_message"]

#: The key of a reminder's metadata, which the application and this package can see and the model cannot.
_KEY: Final = "repeatguard"
_HAS_CONVERSATIONS: Final = "conversation_id" in {each.name for each in fields(ModelRequest)}


class History(Transcript[ModelMessage]):
    """The messages of a run, or of a request in it. The framework keeps the reminders that are put among them."""

    keeps_reminders = True

    def read(self, index: int) -> Iterator[Item]:
        """Read a response or a request."""
        message = self.messages[index]
        if isinstance(message, ModelResponse):
            yield Item(Kind.RESPONSE)
        for part in message.parts:
            if isinstance(part, BaseToolCallPart):
                yield Item(Kind.CALL, ToolCall(part.tool_name, part.args), part.tool_call_id, awaits_result=True)
            elif is_result(part):
                result = partial(self._result, index, part)
                yield Item(Kind.RESULT, call_id=getattr(part, "tool_call_id", None), result=result)
        if isinstance(message, ModelRequest):
            yield from self._read_words(index, message)

    def holds_reminder(self) -> bool:
        """Return whether there is a reminder after the newest response."""
        newest = takewhile(self._is_request, range(len(self) - 1, -1, -1))
        return any(item.kind is Kind.REMINDER for index in newest for item in self[index])

    def _read_words(self, index: int, request: ModelRequest) -> Iterator[Item]:
        words = list(self._words(index))
        for content, kind in words:
            if kind is Kind.INPUT and self._begins_run(index, request):
                yield Item(Kind.ATTACHMENT)  # a new run's prompt answers what was before it: a reminder is too late
            yield Item(kind, checkpoint=_checkpoint(content) if kind is Kind.REMINDER else None)
        if not words:
            yield Item(Kind.ATTACHMENT)

    def _words(self, index: int) -> Iterator[tuple[UserContent, Kind]]:
        """List what a request says in the user's role, and what it is to the guard.

        A tool can return words for the model beside its result. They do not come from a user, and
        neither does what something else adds to our message, where it would have been added to the results.
        """
        request = self.messages[index]
        words = [content for part in request.parts for content in _user_content(part)]
        is_merged = request.run_id is None  # requests that stood side by side when a run began
        holds_reminder = any(map(_is_ours, words))
        if any(map(is_result, request.parts)):
            is_new = not holds_reminder if is_merged else self._is_resumed_at(index)
        else:
            is_new = is_merged or not holds_reminder
        for content in words:
            is_ours = _is_ours(content)
            is_new = is_new or (is_ours and is_merged)
            if not isinstance(content, CachePoint):
                yield content, Kind.REMINDER if is_ours else Kind.INPUT if is_new else Kind.ATTACHMENT

    def _is_resumed_at(self, index: int) -> bool:
        """Return whether results were handed to a later run than that of their calls; its prompt is beside them."""
        before = next((self.messages[each] for each in range(index - 1, -1, -1) if not self._is_request(each)), None)
        return before is not None and before.run_id != self.messages[index].run_id

    def _begins_run(self, index: int, request: ModelRequest) -> bool:
        return index > 0 and request.run_id not in {None, self.messages[index - 1].run_id}

    def _is_request(self, index: int) -> bool:
        return isinstance(self.messages[index], ModelRequest)

    def _result(self, index: int, part: Any) -> object:
        """Return a result in comparable form, with what tools say beside the results of the same response.

        Nothing shows which of the calls such words belong to, so they are part of each one's result.
        """
        before = takewhile(self._is_request, range(index, -1, -1))
        after = takewhile(self._is_request, range(index + 1, len(self)))
        words = (word for each in [*reversed(list(before)), *after] for word in self._words(each))
        return result_of(part, [content for content, kind in words if kind is Kind.ATTACHMENT])


def reminder_message(insertion: Insertion, messages: Sequence[ModelMessage], run_id: str | None) -> ModelRequest:
    """Write a reminder as a message.

    Adjacent requests are merged when a further run begins, and lose their own metadata then. The
    metadata of a text stays, also in JSON, and never reaches a provider.

    Args:
        insertion: The reminder and its place.
        messages: The messages that it is put among.
        run_id: The run that it belongs to.
    """
    reminder = insertion.reminder
    metadata = {
        "tool": reminder.tool_name,
        "count": reminder.count,
        "threshold": reminder.threshold,
        "chain": insertion.checkpoint(),
    }
    prompt = UserPromptPart([TextContent(reminder.text, metadata={_KEY: metadata})])
    # The framework sets it on the last message only, and early releases do not have it.
    before: Any = messages[insertion.place - 1]
    more: dict[str, Any] = {"conversation_id": before.conversation_id} if _HAS_CONVERSATIONS else {}
    return ModelRequest([prompt], timestamp=prompt.timestamp, run_id=run_id, **more)


def _user_content(part: ModelRequestPart | ModelResponsePart) -> Iterable[UserContent]:
    if part.part_kind == "speech":  # of a realtime session; in a request it is the user's
        return [part.transcript or ""]
    if not isinstance(part, UserPromptPart):
        return ()
    return [part.content] if isinstance(part.content, str) else part.content


def _is_ours(content: UserContent) -> bool:
    """Tell a reminder from anything else: by its metadata, or by its first line where the metadata is lost."""
    if isinstance(content, TextContent):
        return _metadata(content) is not None or is_reminder(content.content)
    return isinstance(content, str) and is_reminder(content)


def _metadata(content: UserContent) -> dict[str, object] | None:
    metadata = content.metadata if isinstance(content, TextContent) else None
    ours = metadata.get(_KEY) if isinstance(metadata, dict) else None
    return ours if isinstance(ours, dict) else None


def _checkpoint(content: UserContent) -> str:
    return str((_metadata(content) or {}).get("chain"))
