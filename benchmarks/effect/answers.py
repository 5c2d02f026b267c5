"""What a model did next: which calls its message makes, and what they are worth."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from repeatguard_core import canonical_arguments

from benchmarks.effect.scenarios import Scenario, Stuck

__all__ = ["Classification", "MadeCall", "NextStep", "calls_in", "classify", "is_right_answer"]

#: The same call again, a call that is not, an answer, or nothing at all.
NextStep: TypeAlias = Literal["same_call", "another_call", "answer", "nothing"]

#: An answer that admits failure has one of these.
_ADMITS: Final = (
    *("unable", "cannot", "can't", "can not", "could not", "couldn't", "not able", "not possible", "no access"),
    *("unavailable", "not available", "failed", "failing", "down", "denied", "does not work", "did not work"),
    *("no space", "full", "error", "maintenance", "permission"),
)
_DECODER: Final = json.JSONDecoder()


class MadeCall(NamedTuple):
    """A call that the model made.

    Attributes:
        tool: The tool's name.
        arguments: The arguments, as text or as a value.
        is_in_text: Whether it is JSON in the text of the message.
    """

    tool: str
    arguments: Any
    is_in_text: bool


class Classification(NamedTuple):
    """What the model did.

    Attributes:
        step: The kind of step.
        is_right: Whether it is one of the right next steps; None for polls, where the same call is.
        is_in_text: Whether a call had to be read from the text.
    """

    step: NextStep
    is_right: bool | None
    is_in_text: bool


def calls_in(message: Mapping[str, Any], tools: Collection[str]) -> list[MadeCall]:
    """List the calls that a message makes.

    Args:
        message: The assistant's message, as the endpoint sent it.
        tools: The names of the tools. In a text, JSON that names one of them is a call, and JSON that is all of the
            text and names something else is a call of a tool that there is not.
    """
    calls = [
        MadeCall(each["function"]["name"], each["function"]["arguments"], is_in_text=False)
        for each in message.get("tool_calls") or ()
        if each.get("function")
    ]
    text = message.get("content") or ""
    return calls or list(_calls_in_text(text, tools)) or list(_call_of_no_tool(text))


def classify(scenario: Scenario, message: Mapping[str, Any]) -> Classification:
    """Say what the model did next.

    Args:
        scenario: Where it was.
        message: The assistant's message.
    """
    calls = calls_in(message, scenario.tools)
    text = (message.get("content") or "").strip()
    if calls:
        is_same = all(scenario.call.is_made_by(call.tool, call.arguments) for call in calls)
        step: NextStep = "same_call" if is_same else "another_call"
    else:
        step = "answer" if text else "nothing"
    is_right = _is_right(scenario, calls, text) if isinstance(scenario, Stuck) else None
    return Classification(step, is_right, any(call.is_in_text for call in calls))


def is_right_answer(scenario: Scenario, text: str) -> bool:
    """Tell whether an answer says what it should.

    Args:
        scenario: What was asked.
        text: The answer.
    """
    admits = isinstance(scenario, Stuck) and scenario.admits_failure
    words = (*scenario.ending, *(_ADMITS if admits else ()))
    plain = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", plain, re.IGNORECASE) for word in words)


def _is_right(scenario: Stuck, calls: Sequence[MadeCall], text: str) -> bool:
    if calls:
        others = [call for call in calls if not scenario.call.is_made_by(call.tool, call.arguments)]
        return any(step.is_made_by(call.tool, call.arguments) for step in scenario.right for call in others)
    return scenario.answer_is_right and is_right_answer(scenario, text)


def _calls_in_text(text: str, tools: Collection[str]) -> Iterator[MadeCall]:
    """Find JSON that names a tool, wherever it stands in the text."""
    place = text.find("{")
    while place >= 0:
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            found = list(_calls_in_value(value, tools))
            yield from found
            end = end if found else place + 1
        place = text.find("{", end)


def _call_of_no_tool(text: str) -> Iterator[MadeCall]:
    """Take a text for a call if it is nothing but one, whatever it names."""
    fenced = re.fullmatch(r"\s*```\w*\n(.*)```\s*", text, re.DOTALL)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return
    # Without arguments it may be data.
    if isinstance(value, dict) and isinstance(value.get("name"), str) and {"arguments", "parameters"} & set(value):
        yield from _calls_in_value(value, [value["name"]])


def _calls_in_value(value: Any, tools: Collection[str]) -> Iterator[MadeCall]:
    if not isinstance(value, dict):
        return
    if isinstance(several := value.get("tool_calls"), list):
        for each in several:
            yield from _calls_in_value(each, tools)
    function = value.get("function")
    named: dict[str, Any] = function if isinstance(function, dict) else value
    arguments = named.get("arguments", named.get("parameters"))
    if named.get("name") in tools and (arguments is None or isinstance(arguments, dict | str)):
        yield MadeCall(named["name"], canonical_arguments(arguments), is_in_text=True)
