"""repeatguard for the OpenAI Agents SDK: tells an agent when it repeats the same tool call."""

from repeatguard_core import Reminder, RepeatGuardConfig, ToolSettings

from repeatguard_openai_agents._errors import RepeatLoopError
from repeatguard_openai_agents._hooks import RepeatGuardHooks

__all__ = ["Reminder", "RepeatGuardConfig", "RepeatGuardHooks", "RepeatLoopError", "ToolSettings"]
