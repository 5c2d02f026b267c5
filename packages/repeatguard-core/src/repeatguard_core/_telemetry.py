"""Showing reminders and ends in traces and metrics; imported only where OpenTelemetry's API is installed."""

from __future__ import annotations

import functools
import os
from typing import Final

from opentelemetry import metrics, trace
from opentelemetry.util.types import AttributeValue

from repeatguard_core._reminder import Decision, Reminder, display_name, escape_line

__all__ = ["record"]

#: Where a program says whether what is said in conversations may be recorded, and the answers that allow it in spans.
_CAPTURE_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_IN_SPANS: Final = {"true", "span_only", "span_and_event"}


def record(decision: Decision) -> None:
    """Count a reminder, or the end of a run, and add it as an event to the current span.

    Args:
        decision: What is announced.

    Raises:
        Exception: Whatever the program's own parts of OpenTelemetry raise.
    """
    # Names are the model's to choose, and an exporter may drop a whole batch for one that cannot be encoded.
    counted: dict[str, AttributeValue] = {
        "gen_ai.tool.name": display_name(decision.tool_name),
        "repeatguard.threshold": decision.threshold if isinstance(decision, Reminder) else decision.stop_after,
    }
    reminders, stops = _counters()
    # Metrics are kept as long as the program lives, and some programs name agents by what they work on.
    (reminders if isinstance(decision, Reminder) else stops).add(1, counted)
    span = trace.get_current_span()
    if span.is_recording():
        attributes: dict[str, AttributeValue] = {
            **counted,
            "repeatguard.count": decision.count,
            "repeatguard.cycle_length": len(decision.tool_names),
        }
        if decision.agent_name is not None:
            attributes["gen_ai.agent.name"] = escape_line(decision.agent_name)
        if os.environ.get(_CAPTURE_CONTENT, "").strip().lower() in _IN_SPANS:
            attributes["repeatguard.arguments"] = decision.arguments
        span.add_event("repeatguard.reminder" if isinstance(decision, Reminder) else "repeatguard.stop", attributes)


@functools.cache
def _counters() -> tuple[metrics.Counter, metrics.Counter]:
    meter = metrics.get_meter("repeatguard")
    return (
        meter.create_counter("repeatguard.reminders", "{reminder}", "Reminders that models were sent"),
        meter.create_counter("repeatguard.stops", "{run}", "Runs that were ended because they repeated themselves"),
    )
