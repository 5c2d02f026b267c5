"""repeatguard's core: it notices repeated tool calls and words the reminder, for any framework."""

from repeatguard_core._calls import ToolCall
from repeatguard_core._canonical import canonical_arguments
from repeatguard_core._chain import RepeatChain
from repeatguard_core._config import RepeatGuardConfig
from repeatguard_core._errors import RepeatLoopError
from repeatguard_core._reminder import Reminder, Stop, is_reminder
from repeatguard_core._settings import ToolSettings

__all__ = [
    "Reminder",
    "RepeatChain",
    "RepeatGuardConfig",
    "RepeatLoopError",
    "Stop",
    "ToolCall",
    "ToolSettings",
    "canonical_arguments",
    "is_reminder",
]
