"""Where a chain stands, as a short text that can be stored beside a reminder."""

from __future__ import annotations

import json
import re
from typing import Final

from repeatguard_core._calls import CallRecord, PastCall
from repeatguard_core._canonical import canonical_arguments, digest_of_text
from repeatguard_core._config import RepeatGuardConfig
from repeatguard_core._policy import Policies
from repeatguard_core._reminder import UNKNOWN_CALL, CallPreview, escape_line
from repeatguard_core._state import CycleCount, State

__all__ = ["read_checkpoint", "write_checkpoint"]

#: What it begins with; the number changes with what the text says.
_NAME: Final = "repeatguard-chain-3"
_COUNT: Final = r"[0-9]{1,2}\.[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}"
_CALL: Final = r"[0-9a-f]{32}(?:\.[0-9a-f]{32})?"
_FORM: Final = re.compile(
    f"{_NAME} (?P<comparison>[0-9a-f]{{8}}) (?P<chain_length>[0-9]{{1,2}}) "
    f"(?P<counts>none|{_COUNT}(?:,{_COUNT}){{0,15}}) (?P<calls>none|{_CALL}(?:,{_CALL}){{0,15}})"
    r"(?: (?P<previews>\[.*\]))?"
)
#: A call whose tool has a longer name is stored without its preview, so that there is a bound on the text's size.
_MAX_NAME_CHARS: Final = 256
_MAX_LENGTH: Final = 10**9

_KEY_LENGTH: Final = 8


def write_checkpoint(state: State, config: RepeatGuardConfig, *, with_previews: bool) -> str:
    """Write down a chain.

    Args:
        state: All of it.
        config: The configuration by which calls were compared.
        with_previews: Whether to store what a reminder about a cycle can quote.

    Returns:
        The text, in ASCII; without previews it holds of calls and results no more than digests.
    """
    counts = ",".join(".".join(map(str, (length, *count))) for length, count in state.counts.items())
    recorded = state.recorded_calls()
    calls = ",".join(call.digest + (f".{call.result}" if call.result else "") for call in recorded)
    text = f"{_NAME} {_comparison_key(config)} {state.chain_length} {counts or 'none'} {calls or 'none'}"
    return f"{text} {json.dumps([*map(_stored_preview, recorded)], separators=(',', ':'))}" if with_previews else text


def read_checkpoint(text: str, config: RepeatGuardConfig, policies: Policies) -> State | None:
    """Read what was written down.

    Args:
        text: Any text.
        config: The configuration by which calls are compared now. If cycles may now be longer, or
            no longer as long, then what is known of the lengths that both look for counts.
        policies: What it says about each tool.

    Returns:
        The state; or None if the text is not a checkpoint, or is one of another version, or one by
        a guard that compares calls otherwise.
    """
    match = _FORM.fullmatch(text)
    if match is None or match["comparison"] != _comparison_key(config):
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
    if match["previews"] is not None:
        previews = _read_previews(match["previews"], config.arguments_preview_chars)
        if len(previews) != len(calls):
            return None
        calls = [_with_preview(*each, policies) for each in zip(calls, previews, strict=True)]
    longest = config.max_cycle_length
    return State(
        longest,
        counts={length: count for length, count in counts.items() if length <= longest},
        calls=tuple(calls[:longest]),
        chain_length=min(int(match["chain_length"]), len(calls), longest),
    )


def _comparison_key(config: RepeatGuardConfig) -> str:
    """Return what tells one way of comparing calls from another: counts go on only under the same."""
    tools = [(entry.match, entry.on_changed_result, entry.ignore_arguments) for entry in config.tools]
    settings = (config.include, config.exclude, config.on_changed_result, config.ignore_arguments, tools)
    return digest_of_text(canonical_arguments(settings))[:_KEY_LENGTH]


def _is_possible(count: CycleCount, length: int) -> bool:
    return 0 <= count.same_results <= count.same_calls > 0 and 1 <= count.level <= count.same_calls // length + 1


def _stored_preview(call: PastCall) -> CallPreview | None:
    return None if call.preview is UNKNOWN_CALL or len(call.preview.name) > _MAX_NAME_CHARS else call.preview


def _with_preview(call: CallRecord, preview: CallPreview | None, policies: Policies) -> CallRecord:
    if preview is None:
        return call
    return call._replace(schedule=policies.for_tool(preview.name).schedule, preview=preview)


def _read_previews(text: str, max_chars: int) -> list[CallPreview | None]:
    """Read the previews of all calls; none if one is not as it would have been written."""
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        return []
    previews: list[CallPreview | None] = []
    for each in stored:
        match each:
            case None:
                previews.append(None)
            case [str(name), str(line), int(length)] if escape_line(line) == line and len(line) <= length < _MAX_LENGTH:
                previews.append(CallPreview(name, line[:max_chars], length))
            case _:
                return []
    return previews
