"""What a configuration says about each tool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from repeatguard_core._canonical import canonical_arguments, digest_of_text
from repeatguard_core._ladder import Ladder
from repeatguard_core._patterns import matches
from repeatguard_core._templates import Wording

if TYPE_CHECKING:
    from repeatguard_core._config import RepeatGuardConfig
    from repeatguard_core._settings import OnChangedResult, ToolSettings

__all__ = ["PATIENCE", "RuleBook", "ToolRules"]

#: With "defer", calls whose results change may be repeated so many times more.
PATIENCE: Final = 2
_COMPARISON_LENGTH: Final = 8


@dataclass(frozen=True, slots=True)
class ToolRules:
    """What holds for the calls of one tool.

    Attributes:
        ladder: What happens at which count.
        on_changed_result: What a changed result means.
        ignored_arguments: Names of arguments that are left out of the comparison.
    """

    ladder: Ladder
    on_changed_result: OnChangedResult = "count"
    ignored_arguments: frozenset[str] = frozenset()

    def overruled_by(self, entry: ToolSettings) -> ToolRules:
        """Give what holds for the tools that an entry covers.

        Args:
            entry: What differs for them.
        """
        ladder = Ladder(
            tuple(entry.thresholds or self.ladder.thresholds),
            _overruled(self.ladder.remind_every, entry.remind_every),
            _overruled(self.ladder.stop_after, entry.stop_after),
        )
        ignored = self.ignored_arguments.union(entry.ignore_arguments or ())
        return ToolRules(ladder, entry.on_changed_result or self.on_changed_result, ignored)


def _overruled(general: int | None, own: int | Literal["never"] | None) -> int | None:
    if own is None:
        return general
    return None if own == "never" else own


class RuleBook:
    """What a configuration says about each tool.

    Args:
        config: The configuration.

    Attributes:
        general: What holds for a tool that has no settings of its own.
        enough: The number of identical calls in a row after which nothing is due for any tool
            until the chain ends; None if there is no such number.
        wording: Texts that take the place of the usual ones.
    """

    def __init__(self, config: RepeatGuardConfig) -> None:
        self._config = config
        ladder = Ladder(tuple(config.thresholds), config.remind_every, config.stop_after)
        self.general = ToolRules(ladder, config.on_changed_result)
        self._entries = [(entry, self.general.overruled_by(entry)) for entry in config.tools]
        self._ladders = [ladder, *(rules.ladder for _, rules in self._entries)]
        tops = [each.top for each in self._ladders]
        policies = {self.general.on_changed_result, *(rules.on_changed_result for _, rules in self._entries)}
        top = None if None in tops else max(top for top in tops if top is not None)
        self.enough = None if top is None else top + PATIENCE * ("defer" in policies)
        self._is_the_same_for_all = not config.tools and not config.ignore_arguments
        self.wording = Wording(config.first_reminder, config.later_reminder)

    @property
    def comparison(self) -> str:
        """Tells one way of comparing calls from another: counts go on only under the same."""
        config = self._config
        tools = [(entry.match, entry.on_changed_result, entry.ignore_arguments) for entry in config.tools]
        settings = (config.include, config.exclude, config.on_changed_result, config.ignore_arguments, tools)
        return digest_of_text(canonical_arguments(settings))[:_COMPARISON_LENGTH]

    def rules_for(self, tool_name: str) -> ToolRules:
        """Give what holds for the calls of a tool.

        Args:
            tool_name: The name as the model wrote it.
        """
        if self._is_the_same_for_all:
            return self.general
        rules = next((rules for entry, rules in self._entries if matches(entry.match, tool_name)), self.general)
        ignored = [names for pattern, names in self._config.ignore_arguments.items() if matches(pattern, tool_name)]
        return replace(rules, ignored_arguments=rules.ignored_arguments.union(*ignored)) if ignored else rules

    def faults(self) -> Iterator[str]:
        """Say what of the configuration could never act."""
        if fault := self.general.ladder.fault():
            yield fault
        for pattern in self._config.ignore_arguments:
            if untracked := self._why_untracked(pattern):
                yield f"ignore_arguments for {pattern!r} would never act: {untracked}"
        for index, (entry, rules) in enumerate(self._entries):
            if fault := rules.ladder.fault():
                yield (
                    f"for the tools {entry.match!r}: {fault}; what their entry leaves out is as in the general "
                    'settings, and "never" takes a general remind_every or stop_after back'
                )
            if untracked := self._why_untracked(entry.match):
                yield f"the settings for the tools {entry.match!r} would never act: {untracked}"
            for earlier, _ in self._entries[:index]:
                if matches(earlier.match, entry.match):  # a wildcard covers whatever a wildcard may stand for
                    way_out = "take one out" if earlier.match == entry.match else "change their order"
                    yield (
                        f"the settings for the tools {entry.match!r} would never act: "
                        f"the entry for {earlier.match!r} comes first and covers them; {way_out}"
                    )
        if self.wording.later is not None and not any(ladder.reminds_again for ladder in self._ladders):
            yield (
                "later_reminder would never act: there is one threshold, and remind_every is not set; "
                "set one more, or leave it out"
            )

    def _why_untracked(self, pattern: str) -> str | None:
        """Say why no tool that a pattern covers is watched; None if some may be."""
        for excluding in self._config.exclude:
            if matches(excluding, pattern):
                return f"exclude has {excluding!r}; take one of the two out"
        if "*" not in pattern and not self._config.tracks(pattern):
            return f"include={tuple(self._config.include)!r} leaves it out; add it there"
        return None
