"""repeatguard for AutoGen: tells an agent when it repeats the same tool call."""

from repeatguard_core import Reminder, RepeatGuardConfig, ToolSettings

from repeatguard_autogen._client import GuardedClient
from repeatguard_autogen._context import GuardedContext
from repeatguard_autogen._errors import RepeatLoopError
from repeatguard_autogen._handler import RepeatGuardHandler
from repeatguard_autogen._termination import RepeatTermination

__all__ = [
    "GuardedClient",
    "GuardedContext",
    "Reminder",
    "RepeatGuardConfig",
    "RepeatGuardHandler",
    "RepeatLoopError",
    "RepeatTermination",
    "ToolSettings",
]
