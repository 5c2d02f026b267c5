"""Conversations in which the same call has been made so many times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from repeatguard_core import Reminder, RepeatChain, ToolCall

from benchmarks.effect.arms import Arm
from benchmarks.effect.scenarios import Call, Poll, Results, Scenario, Stuck

__all__ = ["INSTRUCTIONS", "Message", "conversation", "results_of"]

Message: TypeAlias = dict[str, Any]

INSTRUCTIONS: Final = (
    "You are an assistant with tools. Use them to do what the user asks. When you know the answer, or know that "
    "there is none to be had, say so in one or two sentences."
)


def results_of(scenario: Scenario, looks: int, results: Results) -> list[str]:
    """Give what so many repeated calls have brought; a poll is not done yet.

    Args:
        scenario: The scenario.
        looks: How many calls.
        results: Whether a poll's results stay the same.
    """
    if isinstance(scenario, Poll):
        return [scenario.pending(look, results) for look in range(1, looks + 1)]
    assert isinstance(scenario, Stuck)
    return [scenario.result] * looks


def conversation(
    task: str, call: Call, results: Sequence[str], arm: Arm, *, instructions: str = INSTRUCTIONS
) -> list[Message]:
    """Write a conversation that ends with the results of the latest of some identical calls.

    What the guard says is worked out by the core's chain, batch by batch, and stands where the
    arm wants it.

    Args:
        task: What the user asks for.
        call: The call.
        results: What each call has brought.
        arm: How the conversation is treated.
        instructions: The system's message.

    Returns:
        The messages of a request for a chat completion.
    """
    messages: list[Message] = [{"role": "system", "content": instructions}, {"role": "user", "content": task}]
    chain = None if arm.config is None else RepeatChain(arm.config)
    latest: Reminder | None = None
    for number, result in enumerate(results, 1):
        messages += [_asked(call, number), {"role": "tool", "tool_call_id": _id(number), "content": result}]
        decision = chain.observe([ToolCall(call.tool, call.text, result)]) if chain else None
        reminder = decision if isinstance(decision, Reminder) else None
        latest = reminder or (latest if arm.place == "last" else None)
        if reminder and arm.place == "in_result":
            messages[-1]["content"] += f"\n\n{reminder.text}"
        elif reminder and arm.place == "behind":
            messages.append(_said(reminder))
    if latest and arm.place in {"once", "last"}:
        messages.append(_said(latest))
    return messages


def _said(reminder: Reminder) -> Message:
    return {"role": "user", "content": reminder.text}


def _asked(call: Call, number: int) -> Message:
    function = {"name": call.tool, "arguments": call.text}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": _id(number), "type": "function", "function": function}],
    }


def _id(number: int) -> str:
    return f"call_{number}"
