"""The rules that an adapter is held to, by their identifiers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["RULES"]

#: Each rule's identifier, and what it is about. The documentation has them in full.
RULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "D1": "identical calls in a row are counted",
        "D2": "arguments are compared by meaning",
        "D3": "all ways to pass no arguments are one",
        "D4": "text that is not JSON is compared trimmed",
        "D5": "any value has a canonical form",
        "D6": "an untracked call is transparent",
        "D7": "patterns choose the tools",
        "D8": "a call counts once, whatever became of it",
        "D9": "a batch is observed in the model's order",
        "D10": "each threshold reminds once a chain",
        "D11": "new input resets, nothing else does",
        "D12": "runs and agents are kept apart",
        "M1": "one user message, after all results of the batch",
        "M2": "the short text first, then the details",
        "M3": "quoted arguments are cut",
        "M4": "nothing leaves its line, and the text encodes",
        "M5": "requests only grow at their end",
        "M6": "each reminder is given once",
        "M7": "the texts are small",
        "M8": "the wording states what is known",
        "C1": "the defaults",
        "C2": "a wrong configuration is refused",
        "C3": "one configuration for every adapter",
        "C4": "the configuration is immutable and hashable",
        "S1": "nothing of the framework's or the user's changes",
        "S2": "a fault of the guard's never reaches the run",
        "S3": "nothing is kept of a run that has ended",
        "S4": "the chain does not grow with the run",
        "S5": "the user's own hooks keep working",
        "S6": "each reminder is logged and handed on",
        "X1": "cycles of several calls are counted",
        "X2": "changed results may start a new chain or defer",
        "X3": "some arguments may be left out",
        "X4": "reminders may go on",
        "X5": "a run may end",
        "X6": "the wording may be replaced",
    }
)
