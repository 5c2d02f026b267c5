"""Conversations in the reader's own terms, with a framework that forgets reminders and one that keeps them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from repeatguard_core import Reminder, RepeatGuardConfig, Stop, ToolCall
from repeatguard_core.adapters import Guard, Insertion, Item, Kind, RunMemory, Transcript, insert

USER = Item(Kind.INPUT)
ANSWER = Item(Kind.OTHER)
RESPONSE = Item(Kind.RESPONSE)
CONFIG = RepeatGuardConfig(thresholds=(2, 3))

#: A message: an item, or the text of a reminder.
Message = Item | str


class Flat(Transcript[Message]):
    """One item a message, and nothing to show where a response begins. The framework forgets reminders."""

    def read(self, index: int) -> Iterable[Item]:
        """Read a message."""
        message = self.messages[index]
        return [Item(Kind.REMINDER) if isinstance(message, str) else message]


class Kept(Transcript[Sequence[Item]]):
    """A response is one message, and so are the results of a batch. The framework keeps reminders."""

    keeps_reminders = True

    def read(self, index: int) -> Iterable[Item]:
        """Read a message."""
        return self.messages[index]


def call(number: int = 0, arguments: str = "{}", name: str = "get_status") -> Item:
    """Make a call that awaits a result."""
    return Item(Kind.CALL, ToolCall(name, arguments), f"c{number}", awaits_result=True)


def hosted(number: int, name: str = "web_search") -> Item:
    """Make a call that the provider runs."""
    return Item(Kind.CALL, ToolCall(name, "x"), f"h{number}")


def result(number: int = 0, content: object = "pending") -> Item:
    """Make the result of a call."""
    return Item(Kind.RESULT, call_id=f"c{number}", result=content)


def handoff(number: int, target: str) -> Item:
    """Make the result of a handoff."""
    return Item(Kind.RESULT, call_id=f"c{number}", result="over to you", hands_off_to=target)


class Run:
    """One run of an agent in a framework that forgets reminders.

    Args:
        config: The guard's configuration.
        remembers: Whether the run has a memory.
    """

    def __init__(self, config: RepeatGuardConfig = CONFIG, *, remembers: bool = True) -> None:
        self.announced: list[int] = []
        self.guard = Guard(config, on_reminder=lambda reminder: self.announced.append(reminder.count))
        self.memory = RunMemory() if remembers else None
        self.stop: Stop | None = None
        self.sent: list[Message] = []

    def request(self, *messages: Message) -> list[tuple[int, int]]:
        """Send a request.

        Returns:
            The place of each reminder that was added, as an index into the messages, and its count.
        """
        self.sent = list(messages)
        added: list[tuple[int, int]] = []

        def deliver(insertions: Sequence[Insertion]) -> None:
            added.extend((each.place, each.reminder.count) for each in insertions)
            insert(self.sent, insertions, lambda each: each.reminder.text)

        self.stop = self.guard.before_request(Flat(messages), deliver, memory=self.memory)
        return added

    def again(self) -> list[tuple[int, int]]:
        """Send what was sent once more, as a guard that is wired twice does."""
        return self.request(*self.sent)

    def respond(self, *items: Item) -> None:
        """Let the model respond."""
        assert self.memory is not None
        self.memory.note_response(Flat(items))


def places(*messages: Message, config: RepeatGuardConfig = CONFIG) -> list[tuple[int, int]]:
    """Return where reminders are added to a conversation of which nothing is remembered, and their counts."""
    return Run(config, remembers=False).request(*messages)


def count_in(text: str) -> int:
    """Return the count that a reminder's text names."""
    (count,) = re.findall(r"consecutive_calls: (\d+)|arguments (\d+) times", text)
    return int("".join(count))


def reminder(decision: object) -> Reminder:
    """Return a decision that is known to be a reminder."""
    assert isinstance(decision, Reminder)
    return decision
