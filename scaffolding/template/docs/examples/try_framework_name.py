"""A Framework Name agent that is stuck in a loop, without repeatguard and with it.

A scripted model plays the one that is stuck, so no key is needed and every run is the same.
"""

from __future__ import annotations

import copy
import json
import textwrap
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from repeatguard_framework_name import RepeatGuard

QUESTION = "Has the export finished? Tell me how many rows it has."
BUDGET = 12
TOOL = {
    "name": "get_status",
    "description": "Look up the status of a job.",
    "parameters": {"type": "object", "properties": {"job": {"type": "string"}}, "required": ["job"]},
}


def get_status(job: str) -> str:
    """Look up the status of a job."""
    return f"{job}: pending (0 rows)"


class StuckModel:
    """Asks for the status again and again, until the latest message spells out what it is doing.

    It is used like OpenAI's client.
    """

    def __init__(self) -> None:
        self.chat = SimpleNamespace(completions=self)

    def create(self, *, messages: list[dict[str, Any]], **_: Any) -> Any:
        """Respond."""
        if "consecutive_calls" in messages[-1]["content"]:
            answer = "The export is still pending, with 0 rows so far. I will not wait any longer."
            message: dict[str, Any] = {"role": "assistant", "content": answer}
        else:
            function = {"name": "get_status", "arguments": '{"job": "export"}'}
            call = {"id": f"call_{len(messages)}", "type": "function", "function": function}
            message = {"role": "assistant", "content": "", "tool_calls": [call]}
        choice = SimpleNamespace(message=SimpleNamespace(model_dump=lambda **_: message))
        return SimpleNamespace(choices=[choice])


def run(client: Any, messages: list[dict[str, Any]], before_request: Callable[[list[dict[str, Any]]], None]) -> str:
    """Ask the model until it answers. Replace this by the framework."""
    for _ in range(BUDGET):
        before_request(messages)
        tools = [{"type": "function", "function": TOOL}]
        response = client.chat.completions.create(model="gpt-4.1-mini", messages=messages, tools=tools)
        messages.append(response.choices[0].message.model_dump(exclude_none=True))
        calls = messages[-1].get("tool_calls")
        if not calls:
            return str(messages[-1]["content"])
        for call in calls:
            content = get_status(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    raise TimeoutError


def show(guard: Callable[[list[dict[str, Any]]], None] | None) -> int:
    """Run the agent, print the conversation as the model saw it, and count the requests it took."""
    requests: list[list[dict[str, Any]]] = []

    def before_request(messages: list[dict[str, Any]]) -> None:
        if guard is not None:
            guard(messages)
        requests.append(copy.deepcopy(messages))

    try:
        end = f"assistant  {run(StuckModel(), [{'role': 'user', 'content': QUESTION}], before_request)}"
    except TimeoutError:
        end = f"(the budget of {BUDGET} requests is used up, and there is no answer)"
    for message in requests[-1]:
        for call in message.get("tool_calls", ()):
            print(f"  call       {call['function']['name']}({call['function']['arguments']})")
        if message["role"] == "tool":
            print(f"  result     {message['content']}")
        elif message["role"] == "user":
            lines = [short for line in message["content"].splitlines() for short in textwrap.wrap(line, 86)]
            print("\n             ".join([f"  user       {lines[0]}", *lines[1:]]))
    print(f"  {end}\n")
    return len(requests)


def main() -> None:
    """Run the same agent twice."""
    print("WITHOUT repeatguard, the conversation as the model saw it:\n")
    without = show(None)
    print("WITH repeatguard, the conversation as the model saw it:\n")
    guarded = show(RepeatGuard())
    print(f"Model requests: {without} without repeatguard, {guarded} with it.")


if __name__ == "__main__":
    main()
