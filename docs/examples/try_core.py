"""repeatguard's core in an agent loop of your own, without any framework.

A chain is fed the calls of each response. Where it answers with a reminder, the reminder's text
goes to the model as a user message, after the results of all calls of that response.
"""

from __future__ import annotations

from repeatguard_core import Reminder, RepeatChain, RepeatGuardConfig, ToolCall

SCRIPT = [
    [ToolCall("search", '{"query": "opening hours"}')],
    [ToolCall("search", '{"query":"opening hours"}')],
    [ToolCall("update_plan", '{"step": 2}'), ToolCall("search", {"query": "opening hours"})],
]


def main() -> None:
    """Play three responses of a model that repeats itself in three spellings."""
    chain = RepeatChain(RepeatGuardConfig(exclude=("update_plan",)))
    messages: list[dict[str, str]] = [{"role": "user", "content": "When do they open?"}]
    chain.reset()  # a user message is new input
    for calls in SCRIPT:
        messages.extend({"role": "assistant", "content": f"{call.name}({call.arguments})"} for call in calls)
        messages.extend({"role": "tool", "content": "nothing found"} for _ in calls)
        reminder = chain.observe(calls)
        if isinstance(reminder, Reminder):  # and not the end of the run, which stop_after asks for
            messages.append({"role": "user", "content": reminder.text})
    for message in messages:
        print(f"{message['role']:9}  {message['content']}")


if __name__ == "__main__":
    main()
