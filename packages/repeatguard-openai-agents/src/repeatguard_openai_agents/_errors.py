"""How a run ends that goes on repeating itself."""

from __future__ import annotations

from agents import ItemHelpers
from agents.exceptions import AgentsException
from agents.items import TResponseInputItem
from repeatguard_core import RepeatLoopError as CoreRepeatLoopError

__all__ = ["RepeatLoopError"]


class RepeatLoopError(CoreRepeatLoopError, AgentsException):
    """A run has ended because the same calls came ``stop_after`` times in a row.

    It reaches whoever called the `Runner`, or reads the stream. As with every exception of the
    SDK's, ``run_data`` has the input and all new items, the last results included. A copy or a
    pickled one is without ``run_data``.

    Args:
        stop: What it is about; the error also has its tool, count and arguments.

    Attributes:
        run_data: The run, as far as it came; None where there was none.
    """

    def input_items(self) -> list[TResponseInputItem]:
        """Give the run so far as the input for a further one, as ``to_input_list()`` of a result does.

        Say something new after it, or the further run ends again at once.

        Returns:
            The run's input and all new items, the last results included; a list of its own.

        Raises:
            ValueError: There is no ``run_data``.
        """
        if self.run_data is None:
            msg = "run_data is None, so there are no items; take them from the error that the Runner raised, not a copy"
            raise ValueError(msg)
        # A request for approval is the application's business, and no part of an input.
        new = [item.to_input_item() for item in self.run_data.new_items if item.type != "tool_approval_item"]
        return [*ItemHelpers.input_to_new_input_list(self.run_data.input), *new]
