"""What was measured, as it is kept in a file."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Costs", "Guard", "Outcome", "Results", "Time"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Outcome(_Model):
    """What a guard did in a scenario.

    Attributes:
        said: What it did, and at which calls, counted from 1: "3, 5, 8", "3 to 12".
        is_told: False if something happened that it cannot be told.
        is_shown: False if no call came to it.
    """

    said: dict[str, str]
    is_told: bool = True
    is_shown: bool = True


class Time(_Model):
    """What a call with arguments of one size takes, as a ratio to what ours takes beside it.

    Attributes:
        size: How many characters the arguments have.
        ratio: The time from the JSON text on.
        ratio_prepared: The time without that for bringing the call into the guard's shape.
        ours_microseconds: What ours took.
    """

    size: int
    ratio: float
    ratio_prepared: float
    ours_microseconds: float


class Costs(_Model):
    """What a guard costs.

    Attributes:
        times: One for each size.
        growth: The time of a call near the end of a run as a ratio to that near its beginning.
        kept_bytes: What is kept at the end of a run.
    """

    times: list[Time]
    growth: float
    kept_bytes: int


class Guard(_Model):
    """All that was measured of a guard.

    Attributes:
        package: The package that it comes from.
        version: The package's version.
        behaviour: What it did, by the scenario's name.
        costs: What it costs; None if that was not measured.
    """

    package: str
    version: str
    behaviour: dict[str, Outcome]
    costs: Costs | None = None


class Results(_Model):
    """All that was measured.

    Attributes:
        python: The version of Python.
        guards: The guards, by what they are called in the tables.
        ours_set_up: What ours does where a setting of ours is about the scenario, by the scenario's name.
    """

    python: str
    guards: dict[str, Guard] = Field(default_factory=dict)
    ours_set_up: dict[str, Outcome] = Field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Results:
        """Read a file of results.

        Args:
            file: Where it is.

        Returns:
            What it holds.

        Raises:
            OSError: It cannot be read.
            ValueError: It holds something else.
        """
        return cls.model_validate_json(file.read_text(encoding="utf-8"))

    def write(self, file: Path) -> None:
        """Write a file of results.

        Args:
            file: Where to; what is there is replaced.

        Raises:
            OSError: It cannot be written.
        """
        file.write_text(f"{self.model_dump_json(indent=1, exclude_defaults=True)}\n", encoding="utf-8")
