"""Where a chain stands, as a short text that can be stored beside a reminder."""

from __future__ import annotations

import re
from typing import Final

from repeatguard_core._calls import CallRecord
from repeatguard_core._canonical import canonical_arguments, digest_of_text
from repeatguard_core._config import RepeatGuardConfig
from repeatguard_core._state import CycleCount, State

__all__ = ["comparison_key", "read_checkpoint", "write_checkpoint"]

#: What it begins with; the number changes with what the text says.
_NAME: Final = "repeatguard-chain-3"
_COUNT: Final = r"[0-9]{1,2}\.[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}"
_CALL: Final = r"[0-9a-f]{32}(?:\.[0-9a-f]{32})?"
_FORM: Final = re.compile(
    f"{_NAME} (?P<comparison>[0-9a-f]{{8}}) (?P<chain_length>[0-9]{{1,2}}) "
    f"(?P<counts>none|{_COUNT}(?:,{_COUNT}){{0,15}}) (?P<calls>none|{_CALL}(?:,{_CALL}){{0,15}})"
)

_KEY_LENGTH: Final = 8


def comparison_key(config: RepeatGuardConfig) -> str:
    """Return what tells one way of comparing calls from another: counts go on only under the same."""
    tools = [(entry.match, entry.on_changed_result, entry.ignore_arguments) for entry in config.tools]
    settings = (config.include, config.exclude, config.on_changed_result, config.ignore_arguments, tools)
    return digest_of_text(canonical_arguments(settings))[:_KEY_LENGTH]


def write_checkpoint(state: State, comparison: str) -> str:
    """Write down a chain.

    Args:
        state: All of it.
        comparison: Tells by what settings calls were compared.

    Returns:
        The text; of calls and results no more than digests.
    """
    counts = ",".join(".".join(map(str, (length, *count))) for length, count in state.counts.items())
    calls = ",".join(call.digest + (f".{call.result}" if call.result else "") for call in state.calls)
    return f"{_NAME} {comparison} {state.chain_length} {counts or 'none'} {calls or 'none'}"


def read_checkpoint(text: str, empty: State, comparison: str) -> State | None:
    """Read what was written down.

    Args:
        text: Any text.
        empty: The state of a chain that has seen nothing. If cycles may now be longer, or no longer
            as long, then what is known of those that both know counts.
        comparison: Tells by what settings calls are compared now.

    Returns:
        The state; or None if the text is no checkpoint, one of another version, or one by a guard
        that compares calls otherwise.
    """
    match = _FORM.fullmatch(text)
    if match is None or match["comparison"] != comparison:
        return None
    counts: dict[int, CycleCount] = {}
    for each in [] if match["counts"] == "none" else match["counts"].split(","):
        length, *numbers = map(int, each.split("."))
        count = CycleCount(*numbers)
        if length <= max(counts, default=0) or not _is_possible(count, length):
            return None
        counts[length] = count
    noted = [] if match["calls"] == "none" else [call.partition(".") for call in match["calls"].split(",")]
    calls = [CallRecord(digest, result or None) for digest, _, result in noted]
    return empty._replace(
        counts={length: count for length, count in counts.items() if length <= empty.max_cycle_length},
        calls=tuple(calls[: empty.max_cycle_length]),
        chain_length=min(int(match["chain_length"]), len(calls), empty.max_cycle_length),
    )


def _is_possible(count: CycleCount, length: int) -> bool:
    return 0 <= count.same_results <= count.same_calls > 0 and 1 <= count.level <= count.same_calls // length + 1
