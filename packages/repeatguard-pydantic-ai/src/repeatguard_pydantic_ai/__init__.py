"""repeatguard for Pydantic AI: tells an agent when it repeats the same tool calls."""

from repeatguard_core import Reminder, RepeatGuardConfig, ToolSettings

from repeatguard_pydantic_ai._capability import RepeatGuard
from repeatguard_pydantic_ai._errors import RepeatLoopError
from repeatguard_pydantic_ai._processor import RepeatGuardProcessor

__all__ = ["Reminder", "RepeatGuard", "RepeatGuardConfig", "RepeatGuardProcessor", "RepeatLoopError", "ToolSettings"]
