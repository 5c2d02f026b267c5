"""A conversation, read item by item where somebody looks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from repeatguard_openai_agents._items import Item, is_ours, is_result_of, read

__all__ = ["Conversation"]


class Conversation:
    """What is about to be sent.

    Args:
        items: Dictionaries, or objects of the client's.
    """

    def __init__(self, items: Iterable[object]) -> None:
        self._items = tuple(items)
        self._read: dict[int, Item] = {}

    def __len__(self) -> int:
        """Count the items."""
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        """Go through the items."""
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: int) -> Item:
        """Give an item."""
        item = self._read.get(index)
        if item is None:
            item = self._read[index] = read(self._items[index])
        return item

    def is_result_of(self, index: int, call_id: str | None) -> bool:
        """Tell whether an item is the result of a call, without reading more of it."""
        return is_result_of(self._items[index], call_id)

    def is_reminder(self, index: int) -> bool:
        """Tell whether there is an item, and it is a message of ours, without reading more of it."""
        return index < len(self._items) and is_ours(self._items[index])
