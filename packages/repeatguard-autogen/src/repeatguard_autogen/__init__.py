"""repeatguard for AutoGen: tells an agent when it repeats the same tool call."""

from repeatguard_core import Reminder, RepeatGuardConfig

from repeatguard_autogen._client import GuardedClient
from repeatguard_autogen._context import GuardedContext
from repeatguard_autogen._handler import RepeatGuardHandler

__all__ = ["GuardedClient", "GuardedContext", "Reminder", "RepeatGuardConfig", "RepeatGuardHandler"]
