"""The guard as a capability."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import AgentDepsT
from repeatguard_core import AdapterSupport, Reminder, RepeatGuardConfig

from repeatguard_pydantic_ai._derivation import RunMemory, newest_response
from repeatguard_pydantic_ai._messages import holds_reminder

__all__ = ["RepeatGuard"]


@dataclass
class RepeatGuard(AbstractCapability[AgentDepsT]):
    """A capability that tells the model when it repeats the same tool call.

    Pass it in ``capabilities=`` of an agent or of a run. One object may serve any number of
    agents, runs and threads; what it remembers of a run ends with the run.

    Args:
        config: Thresholds and tools; left out, the defaults.
        untracked: Tells from a tool's name whether the tool is mere bookkeeping, to be passed
            over like an excluded one. It must always answer the same for the same name.
        on_reminder: Called with each new reminder, before the model gets it.

    Raises:
        TypeError: ``config`` is no configuration, or one of the functions is none or is async.

    Fulfils D11, D12, M1, M5, M6, S1, S2, S3, S5 and S6.
    """

    config: RepeatGuardConfig | None = None
    _: KW_ONLY
    untracked: Callable[[str], bool] | None = None
    on_reminder: Callable[[Reminder], None] | None = None
    _support: AdapterSupport = field(init=False, repr=False)
    _memory: RunMemory = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the arguments."""
        if isinstance(self.config, RunContext):  # the framework takes a class for a function that makes capabilities
            msg = "capabilities= takes a guard, RepeatGuard(), and not the class RepeatGuard"
            raise TypeError(msg)
        self._support = AdapterSupport(self.config, untracked=self.untracked, on_reminder=self.on_reminder)
        self._memory = RunMemory()

    @classmethod
    def from_spec(cls, **settings: Any) -> RepeatGuard[Any]:
        """Make the capability from an agent's specification in YAML or JSON.

        Args:
            settings: What stands below the capability's name: the settings of `RepeatGuardConfig`,
                and what every capability of the framework has, such as ``id``.

        Raises:
            ValueError: A setting is wrong or unknown.

        Fulfils C3.
        """
        of_every_capability = {each.name for each in fields(AbstractCapability)} & settings.keys()
        common = {name: settings.pop(name) for name in of_every_capability}
        return cls(RepeatGuardConfig.model_validate(settings), **common)

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> RepeatGuard[AgentDepsT]:  # noqa: ARG002 - the framework's
        """Give a run a memory of its own."""
        guard = copy.copy(self)
        guard._memory = RunMemory()  # noqa: SLF001 - it is one of ours
        return guard

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Add the reminder that is missing at the end, if one is: to this request, and to the history."""
        with self._support.failing_open("a reminder"):
            requested, history = request_context.messages, ctx.messages
            missing = self._memory.missing(requested, ctx.run_id, self._support.new_chain)
            if missing is not None and not holds_reminder(history[(newest_response(history) or 0) :]):
                place = missing.index
                request_context.messages = [*requested[:place], missing.message, *requested[place:]]
                history.insert(_same_place(history, requested[place:]), missing.message)
                self._support.announce(missing.reminder)
        return request_context


def _same_place(history: Sequence[ModelMessage], behind: Sequence[ModelMessage]) -> int:
    """Find the place in the history that certain messages stand behind, if no other capability has changed them."""
    place = len(history) - len(behind)
    is_same = place > 0 and all(one is other for one, other in zip(history[place:], behind, strict=True))
    return place if is_same else len(history)
