"""The guard as a capability."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, Final, Literal

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import AgentDepsT
from repeatguard_core import Reminder, RepeatGuardConfig, ToolSettings
from repeatguard_core.adapters import Insertion, RunMemory

from repeatguard_pydantic_ai._guard import RunGuard
from repeatguard_pydantic_ai._transcript import History, reminder_message

__all__ = ["RepeatGuard"]

_DEFAULT: Final = RepeatGuardConfig()


@dataclass
class RepeatGuard(AbstractCapability[AgentDepsT]):
    """A capability that tells the model when it repeats the same tool call.

    Pass it in ``capabilities=`` of an agent or of a run. One object may serve any number of
    agents, runs and threads; what it remembers of a run ends with the run.

    Args:
        config: Thresholds and tools; left out, the defaults.
        untracked: Returns whether a tool is only bookkeeping, given its name, so that its calls
            neither count nor reset. It must always return the same for the same name.
        on_reminder: Called with each new reminder, before the model gets it.

    Raises:
        TypeError: ``config`` is not a configuration, or one of the functions cannot be called or is async.
        ValueError: ``defer_loading``, which capabilities of newer releases have, is set.
    """

    config: RepeatGuardConfig | None = None
    _: KW_ONLY
    untracked: Callable[[str], bool] | None = None
    on_reminder: Callable[[Reminder], None] | None = None
    _guard: RunGuard = field(init=False, repr=False)
    _memory: RunMemory | None = field(init=False, repr=False)
    _run_id: str | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the arguments."""
        if isinstance(self.config, RunContext):  # the framework takes a class for a function that makes capabilities
            msg = "capabilities= takes a guard, RepeatGuard(), and not the class RepeatGuard"
            raise TypeError(msg)
        if getattr(self, "defer_loading", False):  # it came with a later release
            msg = "defer_loading=True would keep the guard off until the model asks for it; leave it out"
            raise ValueError(msg)
        self._guard = RunGuard(self.config, untracked=self.untracked, on_reminder=self.on_reminder)
        self._memory = self._run_id = None

    def __repr__(self) -> str:
        return f"RepeatGuard(config={self._guard.config!r})"

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
        """Return a guard for one run, with a memory of its own."""
        guard = copy.copy(self)
        guard._memory = None  # noqa: SLF001 - it is one of ours
        return guard

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Add the reminder that is missing, if one is: to this request, and to the history.

        Args:
            ctx: The run.
            request_context: The request that is about to be sent.

        Returns:
            The request with the reminder.

        Raises:
            RepeatLoopError: The run is to end, as ``stop_after`` says.
        """
        requested, history = request_context.messages, ctx.messages
        memory = self._memory_of(ctx)

        def deliver(insertions: Sequence[Insertion]) -> None:
            kept = History(history)
            if kept.holds_reminder():  # another guard's, and something has taken it out of the request
                memory.is_announced = True
                return
            complete = list(requested)
            for insertion in insertions:
                message = reminder_message(insertion, requested, ctx.run_id)
                complete.insert(insertion.place, message)
                is_whole = len(history) == len(requested)
                history.insert(insertion.place if is_whole else kept.end_of_model() or len(history), message)
            request_context.messages = complete

        self._guard.remind(ctx, requested, deliver, memory)
        return request_context

    async def after_model_request(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        request_context: ModelRequestContext,  # noqa: ARG002 - the framework's
        response: ModelResponse,
    ) -> ModelResponse:
        """Note what the model has called, for a history that does not show it any more.

        Args:
            ctx: The run.
            request_context: The request.
            response: What the model has responded. It is not changed.

        Returns:
            The response.
        """
        with self._guard.failing_open("a response"):
            self._memory_of(ctx).note_response(History([response]))
        return response

    def _memory_of(self, ctx: RunContext[AgentDepsT]) -> RunMemory:
        """Return what is remembered of a run. Other code may use one guard for several runs, one after the other."""
        if self._memory is None or ctx.run_id != self._run_id:
            self._memory, self._run_id = RunMemory(is_one_run=True), ctx.run_id
        return self._memory
