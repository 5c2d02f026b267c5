"""Small models write calls as JSON in their text: a model of the SDK that takes these for the calls they are."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection
from typing import Any

from agents import ItemHelpers, ModelResponse, OpenAIChatCompletionsModel
from openai import AsyncOpenAI
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage

from benchmarks.effect.answers import calls_in

__all__ = ["ChatModel"]


class ChatModel(OpenAIChatCompletionsModel):
    """The SDK's model of chat completions, with calls read from texts as they are in steps.

    Args:
        name: The model's name.
        client: The client to ask with.
        tools: The names of the tools, by which `calls_in` tells calls from other JSON.

    Attributes:
        read: How many calls were read from texts.
    """

    def __init__(self, name: str, client: AsyncOpenAI, tools: Collection[str]) -> None:
        super().__init__(name, client)
        self.read = 0
        self._tools = tools
        self._numbers = itertools.count(1)

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """Ask the model, as the SDK does."""
        response = await super().get_response(*args, **kwargs)
        calls = [call for item in response.output for call in self._calls_in(item)]
        if not calls or any(item.type == "function_call" for item in response.output):
            return response
        self.read += len(calls)
        return dataclasses.replace(response, output=list(calls))

    def _calls_in(self, item: Any) -> list[ResponseFunctionToolCall]:
        if not isinstance(item, ResponseOutputMessage):
            return []
        return [
            ResponseFunctionToolCall(
                type="function_call",
                call_id=f"read_{next(self._numbers)}",
                name=call.tool,
                arguments=call.arguments,
            )
            for call in calls_in({"content": ItemHelpers.extract_text(item)}, self._tools)
        ]
