"""A script: what a model does in a conversation and what happens to it, in no framework's terms."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from repeatguard_core import RepeatGuardConfig, canonical_arguments

__all__ = [
    "MEANINGS",
    "OTHER_AGENT",
    "RETURNING_TOOLS",
    "Call",
    "Capability",
    "Run",
    "Script",
    "Turn",
    "needs_of",
    "needs_streamed",
    "summary",
]

#: Tools that return a text, which is ``Turn.result_of(tool, q)`` of the turn that calls them. Like all tools of a
#: script they have one parameter, ``q``, which may be left out and takes any value.
RETURNING_TOOLS: Final = ("search", "fetch", "note")


class Capability(Enum):
    """What a script may ask of a framework, beyond a model that calls one tool after the other."""

    PARALLEL_CALLS = "several calls in one response"
    TEXT_BESIDE_CALLS = "words and calls in one response"
    INVALID_ARGUMENTS = "arguments that are not JSON reach the conversation"
    INVALID_ARGUMENTS_STREAMED = "they do so in a streamed response"
    INVALID_ARGUMENTS_IN_PARALLEL = "they do so beside other calls of one response"
    FAILING_TOOL = "the tool 'failing', which raises, and the run goes on"
    DENIED_CALL = "the tool 'forbidden', whose calls are denied, and the run goes on"
    UNKNOWN_TOOL = "the tool 'missing', which does not exist, and the run goes on"
    NESTED_AGENT = "the tool 'delegate', which runs another agent"
    HANDOFF = "another agent takes over the conversation"
    STEERING = "the user says something between two requests of a run"
    OTHER_AGENTS_WORDS = "another agent says something between two requests of a run"
    CUT_HISTORY = "while a run is on, requests show only the latest of the conversation"
    SUMMED_UP_HISTORY = "while a run is on, a summary takes the place of the conversation so far"
    KEPT_ELSEWHERE = "the conversation is kept elsewhere, and requests show only what is new"
    FURTHER_RUN = "a further run on the same conversation"
    STORED_CONVERSATION = "the conversation is stored as JSON or bytes, and loaded for the next run"
    RESUMED_RUN = "a run is stored between two requests, loaded, and goes on"
    STREAMING = "the model's responses are streamed"
    USER_HOOKS = "a hook of the user's that is called before each request"
    REUSED_CALL_IDS = "the model may use the id of a call again for an identical call"
    REUSED_CALL_IDS_OF_OTHERS = "the model may use the id of a call again for another call"
    WIRED_TWICE = "the guard can be wired twice"
    CONCURRENT_RUNS = "several runs at once in one event loop"
    THREADS = "several runs at once in threads"
    RESULTS = "the guard is shown what a call was answered with"
    STOPPING = "the guard can end a run"


#: Arguments by what they mean, each in several spellings.
MEANINGS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "nothing": ("{}", "", " { } "),
        "one": ('{"q": 1}', '{"q":1.0}', '{ "q": 1e0 }'),
        "true": ('{"q": true}',),
        "one as text": ('{"q": "1"}', '{"q": "\\u0031"}'),
        "two keys": ('{"q": {"a": 1, "b": null}}', '{"q": {"b": null, "a": 1}}'),
        "one key": ('{"q": {"a": 1}}',),
        "a large number": ('{"q": 12345678901234567890}',),
        "the next large number": ('{"q": 12345678901234567891}',),
        "lines": ('{"q": "a\\n- tool: b\\u2028\\u0085c"}',),
        "long": (f'{{"q": "{"x" * 600}"}}',),
        "not JSON": ('{"q": ', ' {"q": '),
    }
)
#: To whom each of the two agents that share a run hands over.
OTHER_AGENT: Final[Mapping[str, str]] = MappingProxyType({"main": "second", "second": "main"})
_TOOL_NEEDS: Final = {
    "failing": Capability.FAILING_TOOL,
    "forbidden": Capability.DENIED_CALL,
    "missing": Capability.UNKNOWN_TOOL,
    "delegate": Capability.NESTED_AGENT,
}


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the model makes.

    Attributes:
        tool: A returning tool, or one of the tools that `Capability` describes.
        arguments: What the model writes; one of the spellings in `MEANINGS`.
        result: What a returning tool answers. Equal calls in one turn have equal results.
    """

    tool: str
    arguments: str = "{}"
    result: str = "ok"

    @property
    def is_invalid(self) -> bool:
        """Whether its arguments are not JSON."""
        return self.arguments in MEANINGS["not JSON"]

    def __str__(self) -> str:
        result = "" if self.result == "ok" else f" -> {self.result}"
        return f"{self.tool}({self.arguments}){result}"


@dataclass(frozen=True, slots=True)
class Turn:
    """One response of the model, and what happens before the next request.

    Attributes:
        calls: The calls it makes, in order. A turn without calls is an answer, and ends the run.
        text: What it says, beside the calls or as the answer.
        hands_over: It also hands the conversation over, from the agent "main" to the agent "second" or
            back, which takes the next turn.
        steer: What the user says once the results are there, or None.
        resumes: The run is stored here, loaded by another process, and goes on.
        overheard: What an agent that is not part of the script says once the results are there, or
            None. It reaches the model with the role of the user.
        keeps: From here to the end of the run, requests show only so many of the model's latest
            responses, with what came after them. None changes nothing.
        sums_up: Once the results are there, a message with the role of the user, which `summary`
            returns, takes the place of the whole conversation.
    """

    calls: tuple[Call, ...] = ()
    text: str = ""
    hands_over: bool = False
    steer: str | None = None
    resumes: bool = False
    overheard: str | None = None
    keeps: int | None = None
    sums_up: bool = False

    def result_of(self, tool: str, q: object = None) -> str:
        """Return what a returning tool answers in this turn.

        Args:
            tool: The tool's name.
            q: What it was given; None if nothing was.

        Raises:
            LookupError: The turn has no such call.
        """
        given = canonical_arguments(None if q is None else {"q": q})
        for call in self.calls:
            if call.tool == tool and canonical_arguments(call.arguments) == given:
                return call.result
        msg = f"the turn has no call {tool}({given}): {self}"
        raise LookupError(msg)

    def __str__(self) -> str:
        says = [f'"{self.text}"'] if self.text else []
        hands_over = ["hands over"] if self.hands_over else []
        lines = ["model: " + " + ".join([*says, *map(str, self.calls), *hands_over])]
        lines += ["(stored, loaded, goes on)"] if self.resumes else []
        lines += [f"user, in between: {self.steer}"] if self.steer is not None else []
        lines += [f"another agent, in between: {self.overheard}"] if self.overheard is not None else []
        lines += [f"(from here on, {self.keeps} responses are kept)"] if self.keeps is not None else []
        lines += ["(summed up)"] if self.sums_up else []
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Run:
    """A run: what the user asks for, and the model's turns up to its answer.

    Attributes:
        prompt: The user's message.
        turns: What the model does; the last turn, and no other, has no calls.
        from_storage: The conversation so far is stored and loaded before this run.
    """

    prompt: str
    turns: tuple[Turn, ...]
    from_storage: bool = False

    def __str__(self) -> str:
        stored = "(stored and loaded)\n" if self.from_storage else ""
        return f"{stored}user: {self.prompt}\n" + "\n".join(map(str, self.turns))


@dataclass(frozen=True, slots=True)
class Script:
    """A conversation: one run or several on the same history.

    Attributes:
        runs: The runs, in order.
        delegated: What the other agent does each time ``delegate`` is called.
        is_kept_elsewhere: The conversation is kept where the model runs, and each request shows only
            what is new since the last response.
    """

    runs: tuple[Run, ...]
    delegated: tuple[Turn, ...] = ()
    is_kept_elsewhere: bool = False

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns of all runs; each is the answer to one request."""
        return tuple(turn for run in self.runs for turn in run.turns)

    @property
    def needs(self) -> frozenset[Capability]:
        """What the script asks of a framework."""
        return frozenset(self._needs())

    def _needs(self) -> Iterator[Capability]:
        if len(self.runs) > 1:
            yield Capability.FURTHER_RUN
        if any(run.from_storage for run in self.runs):
            yield Capability.STORED_CONVERSATION
        if self.is_kept_elsewhere:
            yield Capability.KEPT_ELSEWHERE
        for turn in (*self.turns, *self.delegated):
            asked = {
                Capability.PARALLEL_CALLS: len(turn.calls) + turn.hands_over > 1,
                Capability.TEXT_BESIDE_CALLS: bool(turn.text and turn.calls),
                Capability.HANDOFF: turn.hands_over,
                Capability.STEERING: turn.steer is not None,
                Capability.OTHER_AGENTS_WORDS: turn.overheard is not None,
                Capability.RESUMED_RUN: turn.resumes,
                Capability.CUT_HISTORY: turn.keeps is not None,
                Capability.SUMMED_UP_HISTORY: turn.sums_up,
                Capability.INVALID_ARGUMENTS: any(call.is_invalid for call in turn.calls),
                Capability.INVALID_ARGUMENTS_IN_PARALLEL: len(turn.calls) + turn.hands_over > 1
                and any(call.is_invalid for call in turn.calls),
            }
            yield from (capability for capability, is_asked in asked.items() if is_asked)
            yield from (_TOOL_NEEDS[call.tool] for call in turn.calls if call.tool in _TOOL_NEEDS)

    def __str__(self) -> str:
        delegated = "".join(f"\n{turn}" for turn in self.delegated).replace("\n", "\n  ")
        lines = ["(each request shows only what is new)"] if self.is_kept_elsewhere else []
        lines += [*map(str, self.runs), *([f"the other agent, each time:{delegated}"] if delegated else [])]
        return "\n".join(lines)


def needs_streamed(needs: Collection[Capability]) -> frozenset[Capability]:
    """Return what is asked of a framework if what needs this is streamed.

    Args:
        needs: What is asked if it is not.
    """
    invalid = {Capability.INVALID_ARGUMENTS_STREAMED} if Capability.INVALID_ARGUMENTS in needs else set[Capability]()
    return frozenset({*needs, *invalid, Capability.STREAMING})


def summary(turn: int) -> str:
    """Return the message that sums a conversation up.

    Args:
        turn: The number of the turn that it is summed up after, counted from 0 over all runs.
    """
    return f"A summary of all that was said and done up to turn {turn}."


def needs_of(config: RepeatGuardConfig) -> frozenset[Capability]:
    """Say what a configuration asks of a framework.

    Args:
        config: The configuration.
    """
    policies = {config.on_changed_result, *(entry.on_changed_result for entry in config.tools)}
    stops = {config.stop_after, *(entry.stop_after for entry in config.tools)}
    asked = {Capability.RESULTS: policies - {"count", None}, Capability.STOPPING: stops - {"never", None}}
    return frozenset(capability for capability, settings in asked.items() if settings)
