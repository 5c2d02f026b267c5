"""What there is to measure: one thing after another, each known by what it asks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from benchmarks.effect.arms import Arm
from benchmarks.effect.endpoint import Endpoint, versions
from benchmarks.effect.lines import AnyLine, LineFile
from benchmarks.effect.scenarios import Scenario

__all__ = ["Sample"]


@dataclass(frozen=True, slots=True)
class Sample(ABC):
    """One thing to measure.

    Attributes:
        scenario: The scenario.
        tools: Its tools' schemas.
        arm: How conversations are treated.
        repetition: The number of the repetition.
        seed: What the server draws by; the same in all arms.
    """

    scenario: Scenario
    tools: list[dict[str, Any]]
    arm: Arm
    repetition: int
    seed: int

    part: ClassVar[str]

    @abstractmethod
    def digest(self, endpoint: Endpoint) -> str:
        """Tell what is asked from anything else."""

    @abstractmethod
    def take(self, endpoint: Endpoint, file: LineFile) -> AnyLine:
        """Measure.

        Args:
            endpoint: Whom to ask.
            file: What has been measured.

        Raises:
            openai.OpenAIError: The endpoint did not answer, or refused.
        """

    def is_in(self, file: LineFile, endpoint: Endpoint) -> bool:
        """Tell whether it has been measured."""
        return file.has(self.part, self.scenario.id, self.arm.name, self.digest(endpoint))

    def common(self, endpoint: Endpoint, server: str) -> dict[str, Any]:
        """Give what every line has."""
        return {
            "scenario": self.scenario.id,
            "arm": self.arm.name,
            "repetition": self.repetition,
            "seed": self.seed,
            "temperature": endpoint.temperature,
            "model": endpoint.model,
            "server": server,
            "versions": versions(),
            "digest": self.digest(endpoint),
        }
