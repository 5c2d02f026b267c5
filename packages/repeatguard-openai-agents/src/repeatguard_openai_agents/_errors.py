"""How a run ends that goes on repeating itself."""

from __future__ import annotations

from agents.exceptions import AgentsException
from repeatguard_core import RepeatLoopError as CoreRepeatLoopError

__all__ = ["RepeatLoopError"]


class RepeatLoopError(CoreRepeatLoopError, AgentsException):
    """A run has ended because the same calls came ``stop_after`` times in a row.

    It reaches whoever called the `Runner`, or reads the stream. As with every exception of the
    SDK's, ``run_data`` has the input and all new items, the last results included. A copy or a
    pickled one is without ``run_data``.

    Args:
        reminder: What it is about; the error also has its tool, count and arguments.

    Attributes:
        run_data: The run, as far as it came; None where there was none.

    Fulfils X5.
    """
