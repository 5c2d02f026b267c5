"""Whole runs: an agent of the OpenAI Agents SDK, from the user's question to its end."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from agents import (
    Agent,
    FunctionTool,
    MaxTurnsExceeded,
    ModelResponse,
    ModelSettings,
    RunConfig,
    RunHooks,
    Runner,
    Tool,
)
from agents.exceptions import AgentsException
from repeatguard_core import Reminder, canonical_arguments
from repeatguard_openai_agents import RepeatGuardHooks

from benchmarks.effect.answers import is_right_answer
from benchmarks.effect.conversations import INSTRUCTIONS, conversation
from benchmarks.effect.endpoint import Endpoint
from benchmarks.effect.lines import LineFile, RunLine, digest_of
from benchmarks.effect.samples import Sample
from benchmarks.effect.scenarios import Poll, Results, Stuck
from benchmarks.effect.text_calls import ChatModel

__all__ = ["RunSample", "loops"]

_LOOP = 3
#: As many calls as bring every wording.
_ENOUGH = 8


class _Recorder(RunHooks[Any]):
    """Keeps what the model was asked and did."""

    def __init__(self) -> None:
        self.responses: list[ModelResponse] = []
        self.reminders: list[Reminder] = []
        self.calls_in_text = 0

    async def on_llm_end(self, context: Any, agent: Any, response: ModelResponse) -> None:  # noqa: ARG002 - the SDK's
        """Note a response."""
        self.responses.append(response)

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The calls in order."""
        items = [item for response in self.responses for item in response.output]
        return [(item.name, item.arguments) for item in items if item.type == "function_call"]


@dataclass(frozen=True, slots=True)
class RunSample(Sample):
    """One whole run.

    Attributes:
        max_turns: The limit of turns.
        results: Whether a poll's results stay the same.
    """

    max_turns: int
    results: Results = "same"

    part: ClassVar[str] = "run"

    def digest(self, endpoint: Endpoint) -> str:
        """Tell the run from any other."""
        config = None if self.arm.config is None else self.arm.config.model_dump(mode="json")
        request = endpoint.request([], self.tools, self.seed)
        told = [self.scenario.model_dump(mode="json"), self.results, self.max_turns, INSTRUCTIONS]
        # What the guard says may change while its configuration stays.
        words = conversation("", self.scenario.call, [""] * _ENOUGH, self.arm)
        return digest_of([request, config, words, *told])

    def take(self, endpoint: Endpoint, file: LineFile) -> RunLine:  # noqa: ARG002 - nothing is shared here
        """Run the agent."""
        recorder = _Recorder()
        server = endpoint.server
        start = time.perf_counter()
        ending, answer = asyncio.run(self._run(endpoint, recorder))
        seconds = time.perf_counter() - start
        entered, left = loops(recorder.calls, has_answer=answer is not None)
        return RunLine(
            **self.common(endpoint, server),
            kind="poll" if isinstance(self.scenario, Poll) else "stuck",
            results=self.results,
            max_turns=self.max_turns,
            requests=len(recorder.responses),
            input_tokens=sum(each.usage.input_tokens for each in recorder.responses),
            output_tokens=sum(each.usage.output_tokens for each in recorder.responses),
            calls=tuple(recorder.calls),
            calls_in_text=recorder.calls_in_text,
            reminders=len(recorder.reminders),
            loops_entered=entered,
            loops_left=left,
            ending=ending,
            answer=answer,
            is_right=answer is not None and is_right_answer(self.scenario, answer),
            seconds=round(seconds, 3),
        )

    async def _run(self, endpoint: Endpoint, recorder: _Recorder) -> tuple[str, str | None]:
        config = self.arm.config
        hooks: RunHooks[Any] = recorder
        if config is not None:
            hooks = RepeatGuardHooks(config, on_reminder=recorder.reminders.append, inner=recorder)
        async with endpoint.async_client() as client:
            model = ChatModel(endpoint.model, client, self.scenario.tools)
            agent = Agent(
                name="assistant",
                instructions=INSTRUCTIONS,
                tools=self._tools(),
                model=model,
                model_settings=ModelSettings(
                    temperature=endpoint.temperature,
                    max_tokens=endpoint.max_tokens,
                    extra_args={"seed": self.seed},
                ),
            )
            run_config = RunConfig(tracing_disabled=True)
            try:
                result = await Runner.run(
                    agent, self.scenario.task, hooks=hooks, max_turns=self.max_turns, run_config=run_config
                )
            except MaxTurnsExceeded:
                return "limit", None
            except AgentsException as fault:
                return type(fault).__name__, None
            finally:
                recorder.calls_in_text = model.read
        return "answer", str(result.final_output)

    def _tools(self) -> list[Tool]:
        looks = itertools.count(1)
        return [
            FunctionTool(
                name=tool["function"]["name"],
                description=tool["function"]["description"],
                params_json_schema=tool["function"]["parameters"],
                on_invoke_tool=partial(self._invoke, tool["function"]["name"], partial(next, looks)),
                strict_json_schema=False,
            )
            for tool in self.tools
        ]

    async def _invoke(self, tool: str, look: Callable[[], int], _context: Any, arguments: str) -> str:
        scenario = self.scenario
        if not scenario.call.is_made_by(tool, arguments):
            return scenario.result_of_other(tool, arguments)
        if isinstance(scenario, Poll):
            return scenario.result(look(), self.results)
        assert isinstance(scenario, Stuck)
        return scenario.result


def loops(calls: Sequence[tuple[str, str]], *, has_answer: bool) -> tuple[int, int]:
    """Count how often the same call came three times in a row or more, and how often that ended.

    Args:
        calls: The calls in order, as names and arguments.
        has_answer: Whether an answer came behind them.

    Returns:
        The loops that were entered, and those that were left for another call or an answer.
    """
    same = [(name, canonical_arguments(arguments)) for name, arguments in calls]
    lengths = [len(list(chain)) for _, chain in itertools.groupby(same)]
    entered = sum(length >= _LOOP for length in lengths)
    is_still_in_one = bool(lengths) and lengths[-1] >= _LOOP and not has_answer
    return entered, entered - is_still_in_one
