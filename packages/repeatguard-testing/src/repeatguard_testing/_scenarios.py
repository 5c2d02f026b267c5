"""The scenarios: each shows a rule, with the reminders that belong in it written down by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from repeatguard_core import RepeatGuardConfig

from repeatguard_testing._script import MEANINGS, Call, Run, Script, Turn

__all__ = ["SCENARIOS", "Scenario"]

ONE: Final = Call("search", '{"q": 1}')
TRUE: Final = Call("search", '{"q": true}')
NOTE: Final = Call("note", "{}")
DONE: Final = Turn(text="done")
AT_TWO_AND_FOUR: Final = RepeatGuardConfig(thresholds=(2, 4))


@dataclass(frozen=True, slots=True)
class Scenario:
    """A script, and what must come of it.

    Attributes:
        name: What happens, in a few words.
        rules: The identifiers of the rules that it shows.
        script: What the model does.
        reminders: The turns (counted from 0) after whose results a reminder belongs, or the run
            ends, each with the count that it gives.
        config: The configuration to play it with.
        stops: Those of the turns where the run ends.
    """

    name: str
    rules: tuple[str, ...]
    script: Script
    reminders: tuple[tuple[int, int], ...]
    config: RepeatGuardConfig = AT_TWO_AND_FOUR
    stops: tuple[int, ...] = ()


def _calls(*calls: Call) -> tuple[Turn, ...]:
    """Make each call in a turn of its own, and then answer."""
    return (*(Turn((call,)) for call in calls), DONE)


def _run(*turns: Turn, prompt: str = "go") -> Script:
    return Script((Run(prompt, turns),))


def _settings(**settings: object) -> RepeatGuardConfig:
    return RepeatGuardConfig.model_validate({"thresholds": (2, 4), **settings})


def _answered(result: str) -> Call:
    return Call("search", '{"q": 1}', result)


def _results(*results: str) -> tuple[Turn, ...]:
    return _calls(*map(_answered, results))


def _spellings(meaning: str) -> tuple[Turn, ...]:
    spellings = MEANINGS[meaning]
    return _calls(*(Call("search", spelling) for spelling in (spellings * 2)[:2]))


_HANDS_OVER: Final = Turn(hands_over=True)
#: Before the first handoff, some frameworks know the name of the agent that calls, and others do not.
_THERE_AND_BACK: Final = (_HANDS_OVER, _HANDS_OVER)
#: Its reminders tell what they are about, so that those of several agents can be told apart.
_NAMED: Final = _settings(first_reminder="{count} times {tool}: {arguments}")

#: Every scenario that the contract plays.
SCENARIOS: Final[tuple[Scenario, ...]] = (
    Scenario(
        "a loop under the default configuration",
        ("C1", "D1", "D10", "M1", "M2", "M5", "M6"),
        _run(*_calls(*[ONE] * 10)),
        ((2, 3), (4, 5), (7, 8)),
        RepeatGuardConfig(),
    ),
    Scenario("no repetition", ("D1",), _run(*_calls(ONE, TRUE, NOTE)), ()),
    Scenario(
        "a different call starts a new chain",
        ("D1", "D10"),
        _run(*_calls(ONE, ONE, ONE, TRUE, TRUE, ONE, ONE)),
        ((1, 2), (4, 2), (6, 2)),
    ),
    Scenario(
        "another tool with the same arguments",
        ("D1",),
        _run(*_calls(ONE, Call("fetch", '{"q": 1}'))),
        (),
    ),
    Scenario("spellings of a number", ("D2",), _run(*_spellings("one")), ((1, 2),)),
    Scenario("spellings of a string", ("D2",), _run(*_spellings("one as text")), ((1, 2),)),
    Scenario("the order of keys", ("D2", "D5"), _run(*_spellings("two keys")), ((1, 2),)),
    Scenario(
        "a number is no boolean and no string", ("D2",), _run(*_calls(ONE, TRUE, Call("search", '{"q": "1"}'))), ()
    ),
    Scenario(
        "a null is not a missing key",
        ("D2",),
        _run(*_calls(Call("search", MEANINGS["two keys"][0]), Call("search", MEANINGS["one key"][0]))),
        (),
    ),
    Scenario(
        "numbers beyond 64 bits",
        ("D2",),
        _run(
            *(Turn((Call("search", MEANINGS[name][0]),)) for name in ("a large number", "the next large number")), DONE
        ),
        (),
    ),
    Scenario(
        "ways to pass no arguments", ("D3",), _run(*_calls(*(Call("note", t) for t in MEANINGS["nothing"]))), ((1, 2),)
    ),
    Scenario("arguments that are not JSON", ("D4", "D8"), _run(*_spellings("not JSON")), ((1, 2),)),
    Scenario(
        "an excluded tool is transparent",
        ("D6", "D7"),
        _run(*_calls(ONE, NOTE, ONE, NOTE, NOTE, ONE, NOTE, ONE)),
        ((2, 2), (7, 4)),
        RepeatGuardConfig(thresholds=(2, 4), exclude=("n*e",)),
    ),
    Scenario(
        "a tool that is not included is transparent",
        ("D6", "D7"),
        _run(*_calls(ONE, NOTE, NOTE, ONE)),
        ((3, 2),),
        RepeatGuardConfig(thresholds=(2, 4), include=("search", "fetch")),
    ),
    Scenario(
        "equal calls in one batch",
        ("D9", "M1"),
        _run(Turn((ONE, ONE)), Turn((ONE,)), Turn((ONE,)), DONE),
        ((0, 2), (2, 4)),
    ),
    Scenario(
        "the last of several in a batch",
        ("D10", "M6"),
        _run(Turn((ONE,) * 5), Turn((TRUE,) * 5), DONE),
        ((0, 4), (1, 4)),
    ),
    Scenario(
        "due though the batch goes on",
        ("D10", "M1"),
        _run(Turn((ONE, ONE, TRUE)), Turn((TRUE,)), DONE),
        ((0, 2), (1, 2)),
    ),
    Scenario(
        "a batch of different calls",
        ("D9", "M1"),
        _run(Turn((ONE, TRUE, NOTE)), Turn((NOTE, ONE)), Turn((ONE, TRUE)), DONE),
        ((1, 2), (2, 2)),
    ),
    Scenario(
        "words beside the calls are not new input",
        ("D11",),
        _run(*(Turn((ONE,), text=text) for text in ("let me see", "once more", "hm", "again")), DONE),
        ((1, 2), (3, 4)),
    ),
    Scenario("a tool that raises", ("D8",), _run(*_calls(*[Call("failing", "{}")] * 4)), ((1, 2), (3, 4))),
    Scenario("a denied call", ("D8",), _run(*_calls(*[Call("forbidden", "{}")] * 4)), ((1, 2), (3, 4))),
    Scenario("an unknown tool", ("D8",), _run(*_calls(*[Call("missing", "{}")] * 4)), ((1, 2), (3, 4))),
    Scenario(
        "a tool that raises, in a batch",
        ("D8", "D9", "M1"),
        _run(Turn((ONE, Call("failing", "{}"), Call("failing", "{}"), ONE)), Turn((ONE,)), DONE),
        ((0, 2), (1, 2)),
    ),
    Scenario(
        "arguments that are not JSON, in a batch",
        ("D4", "D8", "D9"),
        _run(*(Turn((TRUE, Call("search", text), Call("search", text))) for text in MEANINGS["not JSON"]), DONE),
        ((0, 2), (1, 2)),
    ),
    Scenario(
        "another agent speaks in between",
        ("D12", "M1", "M5"),
        _run(*[Turn((ONE,), overheard="It rains.")] * 4, DONE),
        ((1, 2), (3, 4)),
    ),
    Scenario(
        "a cut history",
        ("D11", "M1", "M6"),
        _run(Turn((ONE,)), Turn((ONE,), keeps=2), *[Turn((ONE,))] * 4, Turn((TRUE,)), Turn((ONE,)), Turn((ONE,)), DONE),
        ((1, 2), (3, 4), (8, 2)),
    ),
    Scenario(
        "a history cut to the latest response",
        ("D11", "M1"),
        _run(Turn((ONE,), keeps=1), *[Turn((ONE,))] * 3, *_calls(NOTE, ONE, NOTE, ONE)),
        ((1, 2), (3, 4), (6, 2)),
    ),
    Scenario(
        "the user steers in a cut history",
        ("D11",),
        _run(Turn((ONE,), keeps=1), Turn((ONE,)), Turn((ONE,), steer="look again"), *_calls(ONE, ONE, ONE, ONE)),
        ((1, 2), (4, 2), (6, 4)),
    ),
    Scenario(
        "a summed-up history",
        ("D11", "M6"),
        _run(*[Turn((ONE,))] * 2, Turn((ONE,), sums_up=True), *[Turn((ONE,))] * 2, *_calls(TRUE, TRUE)),
        ((1, 2), (3, 4), (6, 2)),
    ),
    Scenario(
        "a threshold is reached once in spite of summaries",
        ("D11", "D10"),
        _run(*[*[Turn((ONE,))] * 3, Turn((ONE,), sums_up=True)] * 3, DONE),
        ((2, 3),),
        RepeatGuardConfig(thresholds=(3,)),
    ),
    Scenario(
        "a reminder is due when a history is summed up",
        ("D11", "D10"),
        _run(*[Turn((ONE,), sums_up=True)] * 4, DONE),
        ((1, 2), (3, 4)),
    ),
    Scenario(
        "a history kept elsewhere",
        ("D11", "M1", "M6"),
        Script((Run("go", _calls(*[ONE] * 5)), Run("again", _calls(*[ONE] * 2))), is_kept_elsewhere=True),
        ((1, 2), (3, 4), (7, 2)),
    ),
    Scenario(
        "batches of a history kept elsewhere",
        ("D9", "M1"),
        Script((Run("go", (Turn((ONE, ONE, TRUE)), Turn((TRUE, NOTE)), Turn((NOTE,)), DONE)),), is_kept_elsewhere=True),
        ((0, 2), (1, 2), (2, 2)),
    ),
    Scenario(
        "results in a history kept elsewhere",
        ("X2", "D11"),
        Script((Run("go", _results("a", "a", "b", "b", "c", "d")),), is_kept_elsewhere=True),
        ((1, 2), (3, 2)),
        _settings(on_changed_result="reset"),
    ),
    Scenario(
        "each agent has its own chain",
        ("D12", "M5"),
        _run(*_THERE_AND_BACK, *[Turn((ONE,))] * 2, _HANDS_OVER, *[Turn((TRUE,))] * 3, _HANDS_OVER, *_calls(ONE, ONE)),
        ((3, 2), (6, 2), (10, 4)),
        _NAMED,
    ),
    Scenario(
        "what falls due at a handoff is held",
        ("D12", "D10"),
        _run(*_THERE_AND_BACK, *[Turn((ONE,), hands_over=True), _HANDS_OVER] * 4, DONE),
        ((5, 2), (9, 4)),
        _NAMED,
    ),
    Scenario(
        "what both agents have due is held for each",
        ("D12", "M6"),
        _run(
            *_THERE_AND_BACK,
            *[Turn((ONE, ONE), hands_over=True), Turn((TRUE, TRUE), hands_over=True), _HANDS_OVER, _HANDS_OVER] * 2,
            DONE,
        ),
        ((3, 2), (4, 2), (7, 4), (8, 4)),
        _NAMED,
    ),
    Scenario(
        "new input makes void what is held",
        ("D12", "D11"),
        _run(
            *_THERE_AND_BACK,
            Turn((ONE,)),
            Turn((ONE,), hands_over=True),
            Turn((TRUE,), steer="look again"),
            _HANDS_OVER,
            *_calls(ONE, ONE),
        ),
        ((7, 2),),
        _NAMED,
    ),
    Scenario(
        "an end is held at a handoff",
        ("D12", "X5"),
        _run(
            *_THERE_AND_BACK,
            Turn((ONE,)),
            Turn((ONE,)),
            Turn((ONE,), hands_over=True),
            Turn((TRUE,)),
            _HANDS_OVER,
            DONE,
        ),
        ((3, 2), (6, 3)),
        _settings(thresholds=[2], stop_after=3),
        stops=(6,),
    ),
    Scenario(
        "a further run starts a new chain",
        ("D11", "M5", "M6"),
        Script((Run("go", _calls(ONE, ONE, ONE)), Run("again", _calls(ONE, ONE)))),
        ((1, 2), (5, 2)),
    ),
    Scenario(
        "a further run on a stored conversation",
        ("M5", "M6"),
        Script((Run("go", _calls(ONE, ONE)), Run("again", _calls(ONE, ONE), from_storage=True))),
        ((1, 2), (4, 2)),
    ),
    Scenario(
        "the user steers",
        ("D11",),
        _run(Turn((ONE,), steer="look again"), Turn((ONE,)), Turn((ONE,)), DONE),
        ((2, 2),),
    ),
    Scenario(
        "the user steers when a reminder is due",
        ("D11", "M1", "M5"),
        _run(Turn((ONE,)), Turn((ONE,), steer="look again"), Turn((ONE,)), Turn((ONE,)), DONE),
        ((1, 2), (3, 2)),
    ),
    Scenario(
        "a resumed run goes on counting",
        ("D11", "M5", "M6"),
        _run(Turn((ONE,)), Turn((ONE,), resumes=True), Turn((ONE,), resumes=True), Turn((ONE,)), DONE),
        ((1, 2), (3, 4)),
    ),
    Scenario(
        "long arguments are cut",
        ("M3", "M2"),
        _run(*_calls(*[Call("search", MEANINGS["long"][0])] * 4)),
        ((1, 2), (3, 4)),
        RepeatGuardConfig(thresholds=(2, 4), arguments_preview_chars=20),
    ),
    Scenario(
        "lines inside arguments", ("M4",), _run(*_calls(*[Call("search", MEANINGS["lines"][0])] * 4)), ((1, 2), (3, 4))
    ),
    Scenario(
        "a cycle of two calls",
        ("X1", "M2", "M5"),
        _run(*_calls(*[ONE, NOTE] * 5)),
        ((5, 3), (9, 5)),
        RepeatGuardConfig(),
    ),
    Scenario(
        "a cycle within batches",
        ("X1", "D9"),
        _run(Turn((NOTE, ONE)), Turn((TRUE, ONE)), Turn((TRUE, ONE, TRUE)), DONE),
        ((2, 2),),
    ),
    Scenario(
        "identical calls are no cycle of two", ("X1",), _run(*_calls(*[ONE] * 6)), ((2, 3),), _settings(thresholds=[3])
    ),
    Scenario(
        "without cycles", ("X1",), _run(*_calls(*[ONE, NOTE] * 3, NOTE)), ((6, 2),), _settings(max_cycle_length=1)
    ),
    Scenario(
        "long arguments in a cycle are cut",
        ("X1", "M3"),
        _run(*_calls(*[ONE, Call("fetch", MEANINGS["long"][0])] * 4)),
        ((3, 2), (7, 4)),
        _settings(arguments_preview_chars=20),
    ),
    Scenario(
        "the user steers within a cycle",
        ("X1", "D11"),
        _run(Turn((ONE,)), Turn((NOTE,)), Turn((ONE,), steer="look again"), *_calls(NOTE, ONE, NOTE, ONE)),
        ((6, 2),),
    ),
    Scenario(
        "a resumed run goes on counting a cycle",
        ("X1", "D11", "M5"),
        _run(
            Turn((ONE,)),
            Turn((NOTE,), resumes=True),
            Turn((ONE,)),
            Turn((NOTE,), resumes=True),
            Turn((ONE,), resumes=True),
            *_calls(NOTE, ONE, NOTE),
        ),
        ((3, 2), (7, 4)),
    ),
    Scenario(
        "a changed result starts a new chain",
        ("X2",),
        _run(*_results("a", "a", "b", "b", "c", "d")),
        ((1, 2), (3, 2)),
        _settings(on_changed_result="reset"),
    ),
    Scenario(
        "each call of a batch has its own result",
        ("X2", "D9"),
        _run(
            Turn((TRUE, _answered("a"))),
            Turn((_answered("a"), Call("fetch", "{}", "b"))),
            Turn((_answered("b"),)),
            DONE,
        ),
        ((1, 2),),
        _settings(on_changed_result="reset"),
    ),
    Scenario(
        "changed results defer a reminder",
        ("X2",),
        _run(*_results("a", "b", "c", "d", "d")),
        ((3, 4),),
        _settings(on_changed_result="defer"),
    ),
    Scenario(
        "what is deferred is not said twice",
        ("X2", "D10"),
        _run(*_results("a", "b", "b", "c", "c", "c", "c")),
        ((2, 3), (5, 6)),
        _settings(on_changed_result="defer"),
    ),
    Scenario(
        "changed results of a call without arguments",
        ("X2",),
        _run(*_calls(*(Call("fetch", "{}", text) for text in "abcdeef"))),
        ((5, 2),),
        _settings(on_changed_result="defer"),
    ),
    Scenario(
        "results that the framework words itself",
        ("X2", "D8"),
        _run(*_calls(*[Call("missing", "{}")] * 2, *[Call("failing", "{}")] * 2)),
        ((1, 2), (3, 2)),
        _settings(on_changed_result="reset"),
    ),
    Scenario(
        "a resumed run compares results with those before",
        ("X2", "D11"),
        _run(
            Turn((_answered("a"),)),
            Turn((_answered("b"),), resumes=True),
            Turn((_answered("b"),), resumes=True),
            Turn((_answered("c"),)),
            DONE,
        ),
        ((2, 2),),
        _settings(on_changed_result="reset"),
    ),
    Scenario(
        "an ignored argument",
        ("X3",),
        _run(*_calls(ONE, TRUE, Call("search", "{}"), Call("fetch", '{"q": 1}'), Call("fetch", "{}"))),
        ((1, 2),),
        _settings(ignore_arguments={"sea*": ["q"]}),
    ),
    Scenario(
        "reminders go on",
        ("X4", "M2"),
        _run(*_calls(*[ONE] * 9)),
        ((1, 2), (3, 4), (5, 6), (7, 8)),
        _settings(remind_every=2),
    ),
    Scenario(
        "a run ends",
        ("X5", "M5"),
        Script((Run("go", _calls(*[ONE] * 9)), Run("again", _calls(ONE, ONE)))),
        ((1, 2), (3, 4), (4, 5), (11, 2)),
        _settings(stop_after=5),
        stops=(4,),
    ),
    Scenario(
        "a run ends in the middle of a batch",
        ("X5", "D9", "M5"),
        Script((Run("go", (Turn((ONE, ONE)), Turn((ONE, ONE, ONE, TRUE, TRUE)), DONE)), Run("again", (DONE,)))),
        ((0, 2), (1, 5)),
        _settings(stop_after=5),
        stops=(1,),
    ),
    Scenario(
        "a run ends with a cycle",
        ("X5", "X1"),
        _run(*_calls(*[ONE, NOTE] * 6)),
        ((3, 2), (5, 3)),
        _settings(thresholds=[2], stop_after=3),
        stops=(5,),
    ),
    Scenario(
        "a resumed run ends",
        ("X5", "D11"),
        _run(Turn((ONE,)), Turn((ONE,)), Turn((ONE,), resumes=True), Turn((ONE,)), DONE),
        ((1, 2), (2, 3)),
        _settings(thresholds=[2], stop_after=3),
        stops=(2,),
    ),
    Scenario(
        "the user's words are heard before a run ends",
        ("X5", "D11"),
        _run(Turn((ONE,)), Turn((ONE,)), Turn((ONE,), steer="look again"), Turn((ONE,)), Turn((ONE,)), DONE),
        ((1, 2), (4, 2)),
        _settings(thresholds=[2], stop_after=3),
    ),
    Scenario(
        "words of the user's choice",
        ("X6", "M3", "M4"),
        _run(*_calls(*[Call("search", MEANINGS["lines"][0])] * 4, *[ONE, NOTE] * 4)),
        ((1, 2), (3, 4), (7, 2), (11, 4)),
        _settings(
            first_reminder="{tool} again?",
            later_reminder="{count} times {tool}:\n{arguments}\nStop {{it}}.",
            arguments_preview_chars=30,
        ),
    ),
    Scenario(
        "settings of one tool",
        ("X2", "X4", "D7"),
        _run(*_calls(*[ONE] * 4, *[Call("fetch", "{}")] * 7)),
        ((1, 2), (3, 4), (6, 3), (8, 5), (10, 7)),
        _settings(tools=[{"match": "f*", "thresholds": [3], "remind_every": 2}]),
    ),
)
