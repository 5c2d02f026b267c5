"""repeatguard for Framework Name."""

from repeatguard_core import Reminder, RepeatGuardConfig, RepeatLoopError, ToolSettings

from repeatguard_framework_name._guard import RepeatGuard

__all__ = ["Reminder", "RepeatGuard", "RepeatGuardConfig", "RepeatLoopError", "ToolSettings"]
