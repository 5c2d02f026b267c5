"""The chat template for models that write their calls as plain JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment
from repeatguard_core import RepeatGuardConfig

import benchmarks.effect
from benchmarks.effect.answers import calls_in
from benchmarks.effect.arms import Arm
from benchmarks.effect.conversations import conversation
from benchmarks.effect.scenarios import Call

TEMPLATE: Final = Path(benchmarks.effect.__file__).with_name("json_calls.jinja").read_text(encoding="utf-8")
CALL: Final = Call(tool="look", arguments={"at": "the kettle"})
TOOLS: Final[list[dict[str, Any]]] = [{"type": "function", "function": {"name": "look", "description": "Look."}}]


def render(**given: Any) -> str:
    """Render it as a server does: arguments are an object by then."""
    environment = Environment(autoescape=False)  # noqa: S701 - a prompt is no HTML
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(TEMPLATE).render(**given)


def as_a_server_reads_it(message: dict[str, Any]) -> dict[str, Any]:
    """Decode the arguments of a message's calls."""
    calls = [
        {"function": {"name": each["function"]["name"], "arguments": json.loads(each["function"]["arguments"])}}
        for each in message.get("tool_calls") or ()
    ]
    return {**message, "tool_calls": calls}


def test_a_conversation_becomes_a_prompt() -> None:
    """Calls stand as plain JSON, results between marks that are no tokens of any model's, reminders where they are."""
    arm = Arm("guard", RepeatGuardConfig(thresholds=(2,), first_reminder="Again?"))
    messages = conversation("Is it done?", CALL, ["no", "no"], arm, instructions="Be brief.")
    prompt = render(messages=[as_a_server_reads_it(each) for each in messages], tools=TOOLS, add_generation_prompt=True)
    assert prompt == (
        "<|im_start|>system\nBe brief.\n\nThese are your tools:\n"
        '{"name": "look", "description": "Look."}\n\n'
        'To call one, write nothing but JSON: {"name": "the tool", "arguments": {"its arguments": "as an object"}}'
        "<|im_end|>\n"
        "<|im_start|>user\nIs it done?<|im_end|>\n"
        + (
            '<|im_start|>assistant\n{"name": "look", "arguments": {"at": "the kettle"}}<|im_end|>\n'
            "<|im_start|>user\n<result>\nno\n</result><|im_end|>\n"
        )
        * 2
        + "<|im_start|>user\n[repeatguard] Automated notice, not a message from the user.\nAgain?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_what_it_shows_is_read_as_calls() -> None:
    """Several calls of a response are lines, and their results stand together."""
    call = {"function": {"name": "look", "arguments": {"at": 1}}}
    results = [{"role": "tool", "content": "no"}, {"role": "tool", "content": "yes"}]
    prompt = render(messages=[{"role": "assistant", "content": None, "tool_calls": [call, call]}, *results])
    shown, _, behind = prompt.removeprefix("<|im_start|>assistant\n").partition("<|im_end|>\n")
    assert [(each.tool, each.arguments) for each in calls_in({"content": shown}, ["look"])] == [
        ("look", '{"at":1}')
    ] * 2
    assert behind == "<|im_start|>user\n<result>\nno\n</result>\n<result>\nyes\n</result><|im_end|>\n"
