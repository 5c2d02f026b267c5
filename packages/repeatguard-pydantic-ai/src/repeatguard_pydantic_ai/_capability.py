"""The guard as a capability."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, Final, Literal

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import AgentDepsT
from repeatguard_core import Reminder, RepeatGuardConfig, Stop, ToolSettings
from repeatguard_core.adapters import Guard as AdapterSupport

from repeatguard_pydantic_ai._agents import agent_name
from repeatguard_pydantic_ai._derivation import RunMemory, newest_response, place_behind
from repeatguard_pydantic_ai._errors import RepeatLoopError
from repeatguard_pydantic_ai._messages import holds_reminder

__all__ = ["RepeatGuard"]

_DEFAULT: Final = RepeatGuardConfig()


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
        ValueError: ``defer_loading``, which capabilities of newer releases have, is set.

    Fulfils D11, D12, M1, M5, M6, S1, S2, S3, S5, S6, X2 and X5.
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
        if getattr(self, "defer_loading", False):  # it came with a later release
            msg = "defer_loading=True would keep the guard off until the model asks for it; leave it out"
            raise ValueError(msg)
        self._support = AdapterSupport(self.config, untracked=self.untracked, on_reminder=self.on_reminder)
        self._memory = RunMemory()

    def __repr__(self) -> str:
        return f"RepeatGuard(config={self._support.config!r})"

    @classmethod
    def from_spec(  # noqa: PLR0913 - an editor knows the settings from the signature
        cls,
        *,
        thresholds: Sequence[int] = _DEFAULT.thresholds,
        include: Sequence[str] = _DEFAULT.include,
        exclude: Sequence[str] = _DEFAULT.exclude,
        arguments_preview_chars: int = _DEFAULT.arguments_preview_chars,
        max_cycle_length: int = _DEFAULT.max_cycle_length,
        on_changed_result: Literal["count", "reset", "defer"] = _DEFAULT.on_changed_result,
        ignore_arguments: Mapping[str, Sequence[str]] = _DEFAULT.ignore_arguments,
        remind_every: int | None = _DEFAULT.remind_every,
        stop_after: int | None = _DEFAULT.stop_after,
        first_reminder: str | None = _DEFAULT.first_reminder,
        later_reminder: str | None = _DEFAULT.later_reminder,
        tools: Sequence[ToolSettings] = _DEFAULT.tools,
        **others: Any,
    ) -> RepeatGuard[Any]:
        """Make the capability from an agent's specification in YAML or JSON.

        Args:
            thresholds: As in `RepeatGuardConfig`, like all that follow.
            include: Patterns of the tools to watch.
            exclude: Patterns of tools to leave alone.
            arguments_preview_chars: How many characters of the arguments to quote.
            max_cycle_length: How many different calls a loop may go through.
            on_changed_result: What it means if an identical call has another result than before.
            ignore_arguments: Names of arguments to leave out of the comparison, by patterns of tools.
            remind_every: After how many further calls to remind again, beyond the last threshold.
            stop_after: At how many calls to end the run.
            first_reminder: A text in place of the short one.
            later_reminder: A text in place of the detailed one.
            tools: Settings for some tools; in a specification each is a mapping.
            others: What every capability of the framework has, such as ``id``.

        Raises:
            ValueError: A setting is wrong or unknown.

        Fulfils C3.
        """
        common = {each.name: others.pop(each.name) for each in fields(AbstractCapability) if each.name in others}
        settings = {
            "thresholds": thresholds,
            "include": include,
            "exclude": exclude,
            "arguments_preview_chars": arguments_preview_chars,
            "max_cycle_length": max_cycle_length,
            "on_changed_result": on_changed_result,
            "ignore_arguments": ignore_arguments,
            "remind_every": remind_every,
            "stop_after": stop_after,
            "first_reminder": first_reminder,
            "later_reminder": later_reminder,
            "tools": tools,
        }
        return cls(RepeatGuardConfig.model_validate({**settings, **others}), **common)

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> RepeatGuard[AgentDepsT]:  # noqa: ARG002 - the framework's
        """Give a run a memory of its own."""
        guard = copy.copy(self)
        guard._memory = RunMemory()  # noqa: SLF001 - it is one of ours
        return guard

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Add the reminder that is missing at the end, if one is: to this request, and to the history.

        Args:
            ctx: The run.
            request_context: The request that is about to be sent.

        Returns:
            The request that the framework is to go on with.

        Raises:
            RepeatLoopError: The run is to end, as ``stop_after`` says.
        """
        end: RepeatLoopError | None = None
        with self._support.failing_open("a reminder"):
            requested, history = request_context.messages, ctx.messages
            missing = self._memory.missing(requested, ctx.run_id, self._support.new_chain)
            if missing is None:
                pass
            elif isinstance(missing.reminder, Stop):
                stop = replace(missing.reminder, agent_name=agent_name(ctx))
                end = RepeatLoopError(stop, history)
                self._support.announce(stop)
            elif missing.message is not None and not holds_reminder(history[(newest_response(history) or 0) :]):
                place = missing.index
                request_context.messages = [*requested[:place], missing.message, *requested[place:]]
                history.insert(_place_in(history), missing.message)
                self._support.announce(replace(missing.reminder, agent_name=agent_name(ctx)))
        if end is not None:
            raise end
        return request_context


def _place_in(history: Sequence[ModelMessage]) -> int:
    """Find the place in the history, of which another capability may have sent a part, or copies."""
    newest = newest_response(history)
    return len(history) if newest is None else place_behind(history, newest)
