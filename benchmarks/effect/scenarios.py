"""The scenarios: what an agent is asked, which tools it has, and what these say."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, Field, model_validator
from repeatguard_core import canonical_arguments

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["SCENARIOS", "Call", "Poll", "Reply", "Results", "Scenario", "Scenarios", "Step", "Stuck", "Tool"]

SCENARIOS: Final = Path(__file__).with_name("scenarios.toml")

#: Whether the results of a poll stay the same until it is done, or show that it gets on.
Results: TypeAlias = Literal["same", "changing"]


class _Strict(BaseModel, frozen=True, extra="forbid"):
    """Data without anything unknown."""


class Tool(_Strict, frozen=True):
    """A tool that the model may call.

    Attributes:
        description: What the model reads about it.
        properties: Its arguments, each with its JSON schema.
        optional: Those that may be left out.
    """

    description: str
    properties: dict[str, dict[str, Any]] = Field(default_factory=dict)
    optional: tuple[str, ...] = ()

    @property
    def schema_of_arguments(self) -> dict[str, Any]:
        """The JSON schema of all arguments."""
        required = [name for name in self.properties if name not in self.optional]
        return {"type": "object", "properties": self.properties, "required": required}


class Call(_Strict, frozen=True):
    """The call that is repeated.

    Attributes:
        tool: The tool's name.
        arguments: All arguments.
    """

    tool: str
    arguments: dict[str, Any]

    @property
    def text(self) -> str:
        """The arguments as a model writes them."""
        return json.dumps(self.arguments, ensure_ascii=False)

    def is_made_by(self, tool: str, arguments: object) -> bool:
        """Tell whether another call is identical to this one, by the core's own comparison."""
        return self.tool == tool and canonical_arguments(self.arguments) == canonical_arguments(arguments)


class Step(_Strict, frozen=True):
    """A call of a certain kind: the tool, and the arguments that matter.

    Attributes:
        tool: The tool's name.
        arguments: Arguments that the call has to have; all others may be anything.
    """

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)

    def is_made_by(self, tool: str, arguments: object) -> bool:
        """Tell whether a call is of this kind."""
        if self.tool != tool:
            return False
        try:
            made: object = json.loads(canonical_arguments(arguments))
        except ValueError:  # it is text that is not JSON
            made = None
        if not isinstance(made, Mapping):
            return not self.arguments
        return all(
            name in made and canonical_arguments({"": made[name]}) == canonical_arguments({"": value})
            for name, value in self.arguments.items()
        )


class Reply(Step, frozen=True):
    """What a tool says to calls of a certain kind.

    Attributes:
        result: What it says.
    """

    result: str


class Scenario(_Strict, frozen=True):
    """What stuck agents and polls have in common.

    Attributes:
        id: The scenario's name.
        task: What the user asks for.
        tools: The names of the tools.
        call: The call that is repeated.
        replies: What the tools say to other calls; the first that fits.
        ending: A right answer has one of these words.
    """

    id: str
    task: str
    tools: tuple[str, ...] = Field(min_length=1)
    call: Call
    replies: tuple[Reply, ...] = ()
    ending: tuple[str, ...] = ()

    def result_of_other(self, tool: str, arguments: object) -> str:
        """Give what a tool says to a call that is not the repeated one."""
        fitting = (reply.result for reply in self.replies if reply.is_made_by(tool, arguments))
        return next(fitting, "Error: nothing was found for these arguments")


class Stuck(Scenario, frozen=True):
    """A scenario in which it is of no use to call again.

    Attributes:
        kind: What it is that holds the agent up.
        result: What the repeated call gives, each time.
        right: Calls that are a right next step.
        answer_is_right: Whether a right answer is a right next step.
        admits_failure: Whether a right answer says that it cannot be done.
    """

    kind: str
    result: str
    right: tuple[Step, ...] = ()
    answer_is_right: bool = False
    admits_failure: bool = False

    @model_validator(mode="after")
    def _refuse_one_without_a_way_out(self) -> Stuck:
        if not self.right and not self.answer_is_right:
            msg = f"{self.id} names no right next step"
            raise ValueError(msg)
        if not self.ending and not self.admits_failure:
            msg = f"{self.id} does not say what a right answer has"
            raise ValueError(msg)
        return self


class Poll(Scenario, frozen=True):
    """A scenario in which calling again is right, until it is done.

    Attributes:
        same: What the call gives until then, where results stay the same.
        changing: What it gives until then, where they show that it gets on.
        done: What it gives in the end.
        done_at: At which look it is done.
    """

    same: str
    changing: str
    done: str
    done_at: int = Field(ge=2)

    def pending(self, look: int, results: Results) -> str:
        """Give what a look shows before it is done."""
        if results == "same":
            return self.same
        return self.changing.replace("{look}", str(look)).replace("{percent}", str(min(99, 10 * look)))

    def result(self, look: int, results: Results) -> str:
        """Give what a look shows, the first being 1."""
        return self.done if look >= self.done_at else self.pending(look, results)


class Scenarios(_Strict, frozen=True):
    """All scenarios, with their tools.

    Attributes:
        tools: The tools by their names.
        stuck: Scenarios in which to call again is of no use.
        poll: Scenarios in which it is right.
    """

    tools: dict[str, Tool]
    stuck: tuple[Stuck, ...]
    poll: tuple[Poll, ...]

    @classmethod
    def load(cls, path: Path = SCENARIOS) -> Scenarios:
        """Read a file of scenarios.

        Args:
            path: The file.

        Raises:
            OSError: It cannot be read.
            ValueError: Something in it is wrong; the message says what.
        """
        return cls.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))

    def schemas_of(self, scenario: Scenario) -> list[dict[str, Any]]:
        """Give a scenario's tools as a request has them."""
        return [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": self.tools[name].description,
                    "parameters": self.tools[name].schema_of_arguments,
                },
            }
            for name in scenario.tools
        ]

    @model_validator(mode="after")
    def _refuse_unknown_names(self) -> Scenarios:
        every: Sequence[Scenario] = [*self.stuck, *self.poll]
        if len({each.id for each in every}) < len(every):
            msg = "two scenarios have the same id"
            raise ValueError(msg)
        for each in every:
            right = each.right if isinstance(each, Stuck) else ()
            used = {each.call.tool, *(step.tool for step in right), *(reply.tool for reply in each.replies)}
            if unknown := (set(each.tools) - set(self.tools)) | (used - set(each.tools)):
                msg = f"{each.id} has no tool {', '.join(sorted(unknown))}"
                raise ValueError(msg)
        return self
