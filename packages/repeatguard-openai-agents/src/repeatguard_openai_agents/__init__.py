"""repeatguard for the OpenAI Agents SDK: tells an agent when it repeats the same tool call."""

from repeatguard_core import Reminder, RepeatGuardConfig

from repeatguard_openai_agents._hooks import RepeatGuardHooks

__all__ = ["Reminder", "RepeatGuardConfig", "RepeatGuardHooks"]
