"""What the model must be sent: worked out from a script alone, with none of the code that is being checked.

For every call it looks back over all calls before it. That is slow and plain on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from repeatguard_core._calls import ToolCall
from repeatguard_core._chain import RepeatChain
from repeatguard_core._config import RepeatGuardConfig
from repeatguard_core.testing._driver import Called, Entry, Returned, Said, Wrote
from repeatguard_core.testing._script import MEANINGS, Call, Script

__all__ = ["Due", "due_reminders", "expected_requests"]


@dataclass(frozen=True, slots=True)
class Due:
    """A reminder that belongs behind the results of a turn.

    Attributes:
        turn: Which of the script's turns, counted from 0 over all runs.
        call: The call it is about.
        count: How many there were in a row.
    """

    turn: int
    call: Call
    count: int

    def text(self, config: RepeatGuardConfig) -> str:
        """Give the words that the core has for it."""
        reminder = RepeatChain(config).observe([ToolCall(self.call.tool, self.call.arguments)] * self.count)
        assert reminder is not None
        return reminder.text


def due_reminders(
    script: Script, config: RepeatGuardConfig, untracked: Callable[[str], bool] | None = None
) -> list[Due]:
    """Work out where reminders belong in a script.

    Args:
        script: The script.
        config: The configuration to go by.
        untracked: Names tools that are passed over, as for an adapter.

    Returns:
        The reminders, in order.
    """
    due: list[Due] = []
    seen: list[tuple[str, str]] = []
    turn_number = 0
    for run in script.runs:
        seen.clear()
        for turn in run.turns:
            in_this_batch: Due | None = None
            for call in turn.calls:
                if not _is_watched(call.tool, config) or (untracked is not None and untracked(call.tool)):
                    continue
                seen.append((call.tool, _meaning(call.arguments)))
                in_a_row = next((n for n, other in enumerate(reversed(seen)) if other != seen[-1]), len(seen))
                if in_a_row in config.thresholds:
                    in_this_batch = Due(turn_number, call, in_a_row)
            if in_this_batch is not None and not turn.hands_over:
                due.append(in_this_batch)
            if turn.steer is not None or turn.hands_over:
                seen.clear()
            turn_number += 1
    return due


def expected_requests(script: Script, config: RepeatGuardConfig, due: list[Due]) -> list[tuple[Entry, ...]]:
    """Write down every request that the main agent's model must be sent.

    Args:
        script: The script.
        config: The configuration, for the reminders' texts.
        due: Where reminders belong.

    Returns:
        The requests' entries. The content of results is left empty: it is the framework's.
    """
    texts = {reminder.turn: reminder.text(config) for reminder in due}
    requests: list[tuple[Entry, ...]] = []
    conversation: list[Entry] = []
    for run in script.runs:
        conversation.append(Said(run.prompt))
        for turn in run.turns:
            turn_number = len(requests)
            requests.append(tuple(conversation))
            conversation.extend([Wrote(turn.text)] if turn.text else [])
            conversation.extend(Called(call.tool, call.arguments) for call in turn.calls)
            conversation.extend(Returned(call.tool, "") for call in turn.calls)
            conversation.extend([Said(texts[turn_number])] if turn_number in texts else [])
            conversation.extend([Said(turn.steer)] if turn.steer is not None else [])
    return requests


def _is_watched(tool: str, config: RepeatGuardConfig) -> bool:
    excluded = any(fnmatchcase(tool, pattern) for pattern in config.exclude)
    return not excluded and (not config.include or any(fnmatchcase(tool, pattern) for pattern in config.include))


def _meaning(arguments: str) -> str:
    return next(meaning for meaning, spellings in MEANINGS.items() if arguments in spellings)
