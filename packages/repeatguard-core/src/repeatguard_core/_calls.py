"""A call on its way: as the model made it, as it is compared, and what is remembered of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from repeatguard_core._canonical import (
    NO_ARGUMENTS,
    canonical_arguments,
    digest_of_call,
    digest_of_text,
    drop_arguments,
)
from repeatguard_core._policy import Schedule, ToolPolicy
from repeatguard_core._reminder import UNKNOWN_CALL, CallPreview

__all__ = ["CallRecord", "PastCall", "ToolCall", "TrackedCall"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model asked for.

    Attributes:
        name: The tool's name as the model wrote it.
        arguments: JSON text or the Python value it stands for; None where there are none.
        result: What the model is told that came of it: text, or any value. None where that is not
            known, or not known yet. It is looked at only where ``on_changed_result`` says so.
    """

    name: str
    arguments: object = None
    result: object = None


class TrackedCall:
    """A call that counts. What is worked out of its arguments is worked out when it is first asked for.

    Args:
        call: The call.
        policy: What holds for its tool.

    Attributes:
        name: The tool's name.
        policy: What holds for its tool.
        result: The digest of its result; None where that is not known, or is not compared.
    """

    __slots__ = ("_canonical", "_digest", "_preview", "_text", "name", "policy", "result")

    def __init__(self, call: ToolCall, policy: ToolPolicy) -> None:
        self.name = call.name
        self.policy = policy
        self.result: str | None = None
        if policy.on_changed_result != "count" and call.result is not None:
            text = call.result if isinstance(call.result, str) else canonical_arguments(call.result)
            self.result = digest_of_text(text)
        self._digest: str | None = None
        self._canonical: str | None = None
        self._preview: CallPreview | None = None
        if type(call.arguments) is str:
            self._text = call.arguments  # text never changes, so work on it can wait
            return
        self._text = self._canonical = canonical_arguments(call.arguments)
        if policy.ignored_arguments:
            compared = canonical_arguments(drop_arguments(policy.ignored_arguments, call.arguments))
            self._digest = digest_of_call(self.name, compared, policy.ignored_arguments)

    @property
    def digest(self) -> str:
        """Tells the call from any that is not identical."""
        if self._digest is None:
            self._digest = digest_of_call(self.name, self._text, self.policy.ignored_arguments)
        return self._digest

    @property
    def preview(self) -> CallPreview:
        """What a reminder can say about it."""
        if self._preview is None:
            if self._canonical is None:
                self._canonical = canonical_arguments(self._text)
            self._preview = CallPreview.of(self.name, self._canonical, self.policy.preview_chars)
        return self._preview

    @property
    def schedule(self) -> Schedule:
        """What happens at which count."""
        return self.policy.schedule

    def share_forms(self, earlier: PastCall) -> None:
        """Take over what was worked out for an earlier call with the same arguments.

        Args:
            earlier: The call before this one.
        """
        if not isinstance(earlier, TrackedCall) or self.name != earlier.name:
            return
        is_spelled_alike = self._text == earlier._text  # noqa: SLF001 - it is one of ours
        if is_spelled_alike or (not self.policy.ignored_arguments and self.digest == earlier.digest):
            for form in ("_text", "_digest", "_canonical", "_preview"):
                setattr(self, form, getattr(earlier, form))

    def starts_chain_after(self, earlier: PastCall) -> bool:
        """Return whether it starts a new chain because its result is not that of an identical call before it.

        Args:
            earlier: The latest identical call before it.
        """
        on_changed_result = self.policy.on_changed_result
        if on_changed_result == "defer" and self.digest != digest_of_call(self.name, NO_ARGUMENTS):
            return False
        return self.result_differs_from(earlier)

    def result_differs_from(self, other: PastCall) -> bool:
        """Return whether the results of both are known and differ."""
        return self.result is not None and other.result is not None and self.result != other.result

    def record(self, *, with_preview: bool) -> CallRecord:
        """Return no more than later calls are compared with and a reminder can quote.

        Args:
            with_preview: Whether a reminder can quote it.
        """
        return CallRecord(self.digest, self.result, self.schedule, self.preview if with_preview else UNKNOWN_CALL)


class CallRecord(NamedTuple):
    """What is remembered of a call.

    Attributes:
        digest: Tells it from any call that is not identical.
        result: The digest of its result, or None.
        schedule: What happens at which count; None if that is not known.
        preview: What a reminder can say about it.
    """

    digest: str
    result: str | None = None
    schedule: Schedule | None = None
    preview: CallPreview = UNKNOWN_CALL


PastCall: TypeAlias = TrackedCall | CallRecord
