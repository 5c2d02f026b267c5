"""A very small agent framework: a list of messages, a model that is a function, and hooks before each request.

It stands for a framework that repeatguard has never heard of.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

#: ``role`` is "user", "assistant" or "tool". An assistant's message has ``content`` and
#: ``tool_calls`` (each with ``id``, ``name`` and ``arguments``), a tool's has ``tool_call_id``.
Message: TypeAlias = "dict[str, Any]"
Model: TypeAlias = Callable[[Sequence[Message]], Awaitable[Message]]
Hook: TypeAlias = Callable[[list[Message]], None]


async def run(
    messages: list[Message],
    model: Model,
    tools: Mapping[str, Callable[..., Any]],
    before_request: Sequence[Hook] = (),
) -> str:
    """Ask the model until it answers without calling a tool.

    Args:
        messages: The conversation so far; it is carried on in place.
        model: Answers a conversation with a message.
        tools: The functions that the model may call.
        before_request: Called in order with the conversation before each request; they may change it.

    Returns:
        The answer.
    """
    while True:
        for hook in before_request:
            hook(messages)
        reply = await model(messages)
        messages.append(reply)
        if not reply.get("tool_calls"):
            return str(reply["content"])
        for call in reply["tool_calls"]:
            content = await _run_tool(call, tools)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})


async def _run_tool(call: Mapping[str, Any], tools: Mapping[str, Callable[..., Any]]) -> str:
    try:
        result = tools[call["name"]](**json.loads(call["arguments"] or "{}"))
        return str(await result if inspect.isawaitable(result) else result)
    except Exception as error:  # noqa: BLE001 - the model is told
        return f"error: {error!r}"
