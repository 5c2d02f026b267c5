"""M5, M6 and S6: what user interfaces and traces show of a reminder."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import capabilities as capabilities_module
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.ui.ag_ui import AGUIAdapter
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from repeatguard_core import is_reminder
from repeatguard_pydantic_ai import RepeatGuardConfig

from tests.pydantic_ai.agents import agent, assert_prefixes, loop, marks_in
from tests.pydantic_ai.scripted_model import ScriptedModel
from tests.pydantic_ai.test_history import broken_off

CONFIG = RepeatGuardConfig(thresholds=(2, 4))
HEADER = "[repeatguard] Automated notice"

interfaces = pytest.mark.parametrize("interface", [AGUIAdapter, VercelAIAdapter])


def run_input(interface: Any, text: str) -> Any:
    """Make what a browser sends."""
    if interface is VercelAIAdapter:
        message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}]}
        body: dict[str, Any] = {"trigger": "submit-message", "id": "c", "messages": [message]}
    else:
        said = {"id": "m1", "role": "user", "content": text}
        body = {"threadId": "c", "runId": "r", "messages": [said], "tools": [], "context": []}
        body |= {"state": None, "forwardedProps": None}
    return interface.build_run_input(json.dumps(body).encode())


@pytest.mark.rules("S1", "M5")
@interfaces
async def test_a_run_for_a_user_interface(form: Any, interface: Any) -> None:
    """The user is shown calls, results and the answer; the reminder goes to the model alone."""
    model = ScriptedModel(*loop(4))
    adapter = interface(agent=agent(model, form(CONFIG)), run_input=run_input(interface, "go"))
    shown = "".join([str(event) async for event in adapter.encode_stream(adapter.run_stream())])
    assert model.reminders == [[], [], [5], [5], [5, 10]]
    assert_prefixes(model.requests)
    assert "no rows" in shown
    assert HEADER not in shown


@pytest.mark.rules("D11", "M6")
@interfaces
async def test_a_history_that_goes_through_a_user_interface(form: Any, interface: Any) -> None:
    """It is shown there as a message of the user's role, and known again by its first line when it comes back."""
    if "dump_messages" not in vars(interface):
        pytest.skip("this release cannot write a history for this interface")
    history: list[ModelMessage] = []
    await broken_off(agent(ScriptedModel(*loop(3)), form(CONFIG)), 4, is_sent=False, captured=history)
    shown = interface.dump_messages(history)
    (reminder,) = [message for message in shown if message.role == "user" and HEADER in str(message)]
    assert "threshold" not in str(reminder)
    resumed = ScriptedModel(*loop(1))
    result = await agent(resumed, form(CONFIG)).run(message_history=interface.load_messages(shown))
    assert [sum(map(is_reminder, request)) for request in resumed.requests] == [1, 2]
    assert [mark["count"] for mark in marks_in(result.all_messages())][-1] == 4


@pytest.mark.rules("S6")
async def test_a_trace_shows_what_the_model_was_sent(form: Any) -> None:
    """The reminder stands among a request's messages, with the role of the user and without its metadata."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    settings = InstrumentationSettings(tracer_provider=provider)
    instrumentation = getattr(capabilities_module, "Instrumentation", None)
    model = ScriptedModel(*loop(2))
    if instrumentation is None:
        guarded = agent(model, form(CONFIG), instrument=settings)
    else:
        guarded = agent(model, form(CONFIG), instrumentation(settings))
    await guarded.run("go")
    attributes = [dict(span.attributes or {}) for span in exporter.get_finished_spans()]
    sent = [each["gen_ai.input.messages"] for each in attributes if "gen_ai.input.messages" in each]
    assert [str(messages).count(HEADER) for messages in sent] == [0, 0, 1]
    last = json.loads(str(sent[-1]))[-1]
    assert last["role"] == "user"
    assert HEADER in last["parts"][-1]["content"]
    assert "threshold" not in str(sent)
