"""How a guard is wired: the processor in the way that the installed release has for it, the capability in the one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent
from pydantic_ai import capabilities as capabilities_module
from pydantic_ai.capabilities import AbstractCapability

ProcessHistory: Any = getattr(capabilities_module, "ProcessHistory", None)
HistoryProcessor: Any = getattr(capabilities_module, "HistoryProcessor", None)  # its name before
HAS_PROCESSORS_ARGUMENT = "history_processors" in inspect.signature(Agent.__init__).parameters


def wired(*guards: Any) -> dict[str, Any]:
    """Give the arguments of an agent that wire guards and other processors, each in the place it is listed at."""
    if ProcessHistory is None:
        capabilities = [guard for guard in guards if isinstance(guard, AbstractCapability)]
        processors = [guard for guard in guards if not isinstance(guard, AbstractCapability)]
        return {"capabilities": capabilities, "history_processors": processors}
    return {"capabilities": as_capabilities(guards)}


def as_capabilities(guards: Sequence[Any]) -> list[Any]:
    """Wrap the processors among some guards."""
    return [guard if isinstance(guard, AbstractCapability) else ProcessHistory(guard) for guard in guards]


def in_front(processor: Any) -> Any:
    """Wrap a processor so that it acts before those behind it, capabilities as well as processors."""
    return (ProcessHistory or HistoryProcessor)(processor)
