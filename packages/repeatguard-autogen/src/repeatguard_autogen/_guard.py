"""What all wirings of one guard have in common."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from autogen_core import ComponentModel
from autogen_core.models import UserMessage
from pydantic import BaseModel
from repeatguard_core import Reminder, RepeatGuardConfig
from repeatguard_core.adapters import Guard

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AutoGenGuard", "GuardedConfig", "as_message"]

_LOGGER: Final = logging.getLogger("repeatguard")

#: Who a reminder is from. Clients send it as the message's name, so only letters, digits, _ and - are allowed.
_SOURCE: Final = "repeatguard"


class GuardedConfig(BaseModel):
    """What a guarded context or client is made from when it is loaded as a component.

    Attributes:
        inner: What it wraps.
        settings: Thresholds and tools.
        human_sources: The sources whose words are always new input.
    """

    inner: ComponentModel
    settings: RepeatGuardConfig
    human_sources: list[str]


class AutoGenGuard(Guard):
    """The core's guard, with what AutoGen needs besides. One object serves any number of agents.

    Args:
        config: Thresholds and tools; left out, the defaults.
        untracked: Names bookkeeping tools.
        on_reminder: Called with each new reminder.
        human_sources: The sources whose words are always new input.

    Attributes:
        human_sources: As above.
        is_loaded: Whether it was made from what was dumped with a component.

    Raises:
        TypeError: An argument has the wrong type.
    """

    def __init__(
        self,
        config: RepeatGuardConfig | None = None,
        *,
        untracked: Callable[[str], bool] | None = None,
        on_reminder: Callable[[Reminder], None] | None = None,
        human_sources: Collection[str] = ("user",),
    ) -> None:
        is_collection = isinstance(human_sources, Collection) and not isinstance(human_sources, str)
        if not is_collection or not all(isinstance(source, str) for source in human_sources):
            msg = f"human_sources must be a collection of names such as ('user',), not {human_sources!r}"
            raise TypeError(msg)
        super().__init__(config, untracked=untracked, on_reminder=on_reminder)
        self.human_sources = frozenset(human_sources)
        self.is_loaded = False
        self._has_functions = untracked is not None or on_reminder is not None

    def to_config(self, inner: ComponentModel) -> GuardedConfig:
        """Return what is dumped with a component.

        Args:
            inner: What the component wraps.

        Returns:
            The settings without the functions, which cannot be dumped; a warning is logged if there are any.
        """
        if self._has_functions:
            _LOGGER.warning(
                "untracked and on_reminder are functions and cannot be dumped; they are left out, "
                "so attach what is loaded to a guard that has them"
            )
        return GuardedConfig(inner=inner, settings=self.config, human_sources=sorted(self.human_sources))

    @classmethod
    def from_config(cls, config: GuardedConfig) -> Self:
        """Return a new guard with the settings that were dumped with a component."""
        guard = cls(config.settings, human_sources=config.human_sources)
        guard.is_loaded = True
        return guard


def as_message(reminder: Reminder) -> UserMessage:
    """Return the message that the model is sent for a reminder."""
    return UserMessage(content=reminder.text, source=_SOURCE)
