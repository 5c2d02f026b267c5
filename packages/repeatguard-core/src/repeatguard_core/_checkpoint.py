"""Where a chain stands, as a short text that can be stored beside a reminder."""

from __future__ import annotations

import re
from typing import Final

from repeatguard_core._calls import NotedCall
from repeatguard_core._cycles import Row, State

__all__ = ["read_checkpoint", "write_checkpoint"]

#: What it begins with; the number changes with what the text says.
_NAME: Final = "repeatguard-chain-2"
_ROW: Final = r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}"
_CALL: Final = r"[0-9a-f]{32}(?:\.[0-9a-f]{32})?"
_FORM: Final = re.compile(
    f"{_NAME} (?P<comparison>[0-9a-f]{{8}}) (?P<age>[0-9]{{1,2}}) "
    f"(?P<rows>{_ROW}(?:,{_ROW}){{0,15}}) (?P<calls>none|{_CALL}(?:,{_CALL}){{0,15}})"
)


def write_checkpoint(state: State, comparison: str) -> str:
    """Write down a chain.

    Args:
        state: All of it.
        comparison: Tells by what settings calls were compared.

    Returns:
        The text; of calls and results no more than digests.
    """
    rows = ",".join(f"{row.identical}.{row.alike}.{row.level}" for row in state.rows)
    calls = ",".join(call.digest + (f".{call.result}" if call.result else "") for call in state.calls)
    return f"{_NAME} {comparison} {state.age} {rows} {calls or 'none'}"


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
    rows = [Row(*map(int, row.split("."))) for row in match["rows"].split(",")]
    if any(row.alike > row.identical or not 1 <= row.level <= row.identical // n + 1 for n, row in enumerate(rows, 1)):
        return None
    noted = [] if match["calls"] == "none" else [call.partition(".") for call in match["calls"].split(",")]
    calls = [NotedCall(digest, result or None) for digest, _, result in noted]
    return empty._replace(
        rows=(*rows[: empty.longest], *empty.rows[len(rows) :]),
        calls=tuple(calls[: empty.longest]),
        age=min(int(match["age"]), len(calls), empty.longest),
    )
