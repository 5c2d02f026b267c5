"""A conversation as a framework hands it over, read message by message where somebody looks."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from repeatguard_core.adapters._items import Item, Kind

__all__ = ["AnyTranscript", "Transcript"]

Message = TypeVar("Message")


class Transcript(abc.ABC, Generic[Message]):
    """The messages of one request, in order. An adapter derives from it and says how a message reads.

    Args:
        messages: The messages. They are not copied, and must not change while the transcript is read.

    Attributes:
        messages: The messages.
        keeps_reminders: Whether the framework keeps a message that the guard adds. Then only the end
            of a conversation has to be read at a request. Otherwise every reminder is put back each time.
    """

    keeps_reminders: ClassVar[bool] = False

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self._read: dict[int, tuple[Item, ...]] = {}

    @abc.abstractmethod
    def read(self, index: int) -> Iterable[Item]:
        """Read a message.

        Args:
            index: The message's index. Its neighbors are in ``messages``, too.

        Returns:
            What the message is made of, in order. The calls of one response may stand in one message
            or in several.
        """

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self.messages)

    def __getitem__(self, index: int) -> tuple[Item, ...]:
        """Return what a message is made of. It is read once."""
        items = self._read.get(index)
        if items is None:
            items = self._read[index] = tuple(self.read(index))
        return items

    def answers(self, index: int) -> str | None:
        """Return the id of the call that a message is the result of, and None for any other message.

        An adapter can override it where that can be told without reading the message.

        Args:
            index: The message's index.
        """
        return next((item.call_id for item in reversed(self[index]) if item.kind is Kind.RESULT), None)

    def is_reminder(self, index: int) -> bool:
        """Return whether there is a message at an index and it is, or holds, a reminder.

        An adapter can override it where that can be told without reading the message.

        Args:
            index: The message's index, or the number of messages.
        """
        return index < len(self) and any(item.kind is Kind.REMINDER for item in self[index])

    def end_of_model(self) -> int:
        """Return the index after the last message that comes from the model, or that answers it.

        A reminder there, or after it, is one that the model has not been sent yet.
        """
        beside_the_model = {Kind.INPUT, Kind.ASIDE, Kind.TAKEOVER, Kind.REMINDER}
        for index in range(len(self) - 1, -1, -1):
            if any(item.kind not in beside_the_model for item in self[index]):
                return index + 1
        return 0


#: A transcript, whatever a message is.
AnyTranscript: TypeAlias = Transcript[Any]
