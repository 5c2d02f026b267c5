"""What OpenTelemetry is shown, kept in memory: a fixture for the tests of all packages."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import Counter, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider


class Shown(NamedTuple):
    """An event on a span."""

    span: str
    name: str
    attributes: dict[str, Any]


class Telemetry(SpanProcessor):
    """A program's tracing and metrics, as set up once a process; spans are kept while a test is watching."""

    def __init__(self) -> None:
        self.is_watching = False
        self.spans: list[ReadableSpan] = []
        self.provider = TracerProvider()
        self.provider.add_span_processor(self)
        self._reader = InMemoryMetricReader({Counter: AggregationTemporality.DELTA})
        trace.set_tracer_provider(self.provider)
        metrics.set_meter_provider(MeterProvider([self._reader]))

    def on_end(self, span: ReadableSpan) -> None:
        if self.is_watching:
            self.spans.append(span)

    @staticmethod
    def span(name: str) -> AbstractContextManager[trace.Span]:
        """Make a span of the program's own the current one."""
        return trace.get_tracer("program").start_as_current_span(name)

    @property
    def events(self) -> list[Shown]:
        """The guard's events on the spans that have ended, in the order they came in."""
        events = [(event, span.name) for span in self.spans for event in span.events]
        return [
            Shown(name, event.name, dict(event.attributes or {}))
            for event, name in sorted(events, key=lambda each: each[0].timestamp)
            if event.name.startswith("repeatguard.")
        ]

    def counts(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """Take what the guard has counted since the last time, for each counter, by attributes."""
        found: Any = self._reader.get_metrics_data()
        return {
            metric.name: counted
            for resource in (found.resource_metrics if found else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if scope.scope.name == "repeatguard"
            # Early releases go on telling of what has not been counted again.
            if (counted := [(dict(point.attributes), point.value) for point in metric.data.data_points if point.value])
        }


_telemetry = functools.cache(Telemetry)


@pytest.fixture
def telemetry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Telemetry]:
    """Watch what OpenTelemetry is shown."""
    monkeypatch.delenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", raising=False)
    telemetry = _telemetry()
    telemetry.counts()
    telemetry.spans.clear()
    telemetry.is_watching = True
    yield telemetry
    telemetry.is_watching = False
