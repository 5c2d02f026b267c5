"""One step: what the model does after so many identical calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.effect.answers import classify
from benchmarks.effect.conversations import conversation, results_of
from benchmarks.effect.endpoint import Endpoint
from benchmarks.effect.lines import LineFile, StepLine, digest_of
from benchmarks.effect.samples import Sample
from benchmarks.effect.scenarios import Poll, Results

__all__ = ["StepSample"]


@dataclass(frozen=True, slots=True)
class StepSample(Sample):
    """One next step.

    Attributes:
        k: How many identical calls the conversation holds.
        results: Whether a poll's results stay the same.
    """

    k: int
    results: Results = "same"

    @property
    def part(self) -> Literal["stuck", "poll"]:  # type: ignore[override]
        """Whether to call again is of no use, or right."""
        return "poll" if isinstance(self.scenario, Poll) else "stuck"

    def request(self, endpoint: Endpoint) -> dict[str, Any]:
        """Write the request."""
        results = results_of(self.scenario, self.k, self.results)
        messages = conversation(self.scenario.task, self.scenario.call, results, self.arm)
        return endpoint.request(messages, self.tools, self.seed)

    def digest(self, endpoint: Endpoint) -> str:
        """Tell the request from any other."""
        return digest_of(self.request(endpoint))

    def take(self, endpoint: Endpoint, file: LineFile) -> StepLine:
        """Ask for the next step, unless the very same request has been answered for another arm."""
        request = self.request(endpoint)
        shared = file.same_request(digest_of(request))
        if shared is not None:
            names = {"arm": self.arm.name, "results": self.results, "is_shared": True}
            return shared.model_copy(update=names)
        answer = endpoint.ask(request)
        step, is_right, is_in_text = classify(self.scenario, answer.message)
        return StepLine(
            **self.common(endpoint, answer.server),
            part=self.part,
            results=self.results,
            k=self.k,
            message=answer.message,
            finish_reason=answer.finish_reason,
            step=step,
            is_right=is_right,
            is_in_text=is_in_text,
            is_shared=False,
            usage=answer.usage,
            timings=answer.timings,
            seconds=answer.seconds,
        )
