"""Random scripts: a model that repeats itself now and then, in every way that a framework allows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from hypothesis import strategies as st
from repeatguard_core import RepeatGuardConfig, canonical_arguments

from repeatguard_testing._script import (
    MEANINGS,
    RETURNING_TOOLS,
    Call,
    Capability,
    Run,
    Script,
    Turn,
    needs_of,
)

__all__ = ["configured_scripts"]

_ODD_TOOLS: Final = {
    "failing": Capability.FAILING_TOOL,
    "forbidden": Capability.DENIED_CALL,
    "missing": Capability.UNKNOWN_TOOL,
}

#: Arguments by what they mean, without a text that is empty.
_JSON_ALONE: Final = {name: tuple(filter(str.strip, spellings)) for name, spellings in MEANINGS.items()}

_SETTINGS: Final[tuple[dict[str, object], ...]] = (
    {},
    {},
    {"max_cycle_length": 1},
    {"max_cycle_length": 2, "arguments_preview_chars": 5},
    {"max_cycle_length": 6, "thresholds": (2, 3)},
    {"ignore_arguments": {"fetch": ["q"], "miss*": ["q"]}},
    {"remind_every": 2},
    {"thresholds": (2, 3), "stop_after": 4},
    {"tools": [{"match": "f*", "thresholds": [3], "stop_after": 5}, {"match": "search", "ignore_arguments": ["q"]}]},
    {"on_changed_result": "reset"},
    {"on_changed_result": "defer"},
    {"on_changed_result": "defer", "thresholds": (2, 4), "stop_after": 5},
    {"tools": [{"match": "search", "on_changed_result": "defer"}, {"match": "fetch", "on_changed_result": "reset"}]},
)


def configured_scripts(lacks: Collection[Capability] = ()) -> st.SearchStrategy[tuple[RepeatGuardConfig, Script]]:
    """Make random scripts with configurations to play them by. A failing one shrinks to few turns and plain calls.

    Args:
        lacks: What none may need.

    Returns:
        A strategy for configurations with scripts.
    """
    usual = {"thresholds": (2, 3, 5), "exclude": ("note",), "arguments_preview_chars": 40}
    made = [RepeatGuardConfig.model_validate({**usual, **settings}) for settings in _SETTINGS]
    fit = [config for config in made if needs_of(config).isdisjoint(lacks)]
    return st.sampled_from(fit).flatmap(lambda config: st.tuples(st.just(config), _scripts_for(config, lacks)))


def _scripts_for(config: RepeatGuardConfig, lacks: Collection[Capability]) -> st.SearchStrategy[Script]:
    # What a framework says of arguments that are not JSON may depend on how they are spelled. To some, no text is none.
    compares_results = Capability.RESULTS in needs_of(config)
    if compares_results:
        return _scripts({*lacks, Capability.INVALID_ARGUMENTS}, _JSON_ALONE)
    return _scripts(lacks, MEANINGS)


def _scripts(lacks: Collection[Capability], meanings: Mapping[str, Sequence[str]]) -> st.SearchStrategy[Script]:
    runs = st.lists(_runs(lacks, meanings), min_size=1, max_size=1 if Capability.FURTHER_RUN in lacks else 2)
    return runs.map(lambda drawn: Script((replace(drawn[0], from_storage=False), *drawn[1:])))


def _runs(lacks: Collection[Capability], meanings: Mapping[str, Sequence[str]]) -> st.SearchStrategy[Run]:
    def if_it_can(capability: Capability) -> st.SearchStrategy[bool]:
        return st.just(False) if capability in lacks else st.sampled_from([False, False, False, True])  # noqa: FBT003

    turn = st.builds(
        Turn,
        calls=_batches(lacks, meanings),
        text=st.just("") if Capability.TEXT_BESIDE_CALLS in lacks else st.sampled_from(["", "", "hm"]),
        steer=if_it_can(Capability.STEERING).map(lambda steers: "and now?" if steers else None),
        resumes=if_it_can(Capability.RESUMED_RUN),
    ).filter(lambda turn: not (turn.resumes and turn.steer))
    turns = st.lists(st.one_of(turn.map(lambda turn: [turn]), _loops(lacks, meanings)), max_size=5).map(
        lambda drawn: (*chain.from_iterable(drawn), Turn(text="done"))
    )
    return st.builds(Run, st.just("go"), turns, if_it_can(Capability.STORED_CONVERSATION))


def _loops(lacks: Collection[Capability], meanings: Mapping[str, Sequence[str]]) -> st.SearchStrategy[list[Turn]]:
    """Make a few turns that come again and again, now and then with other results."""
    cycle = st.lists(_batches({*lacks, Capability.PARALLEL_CALLS}, meanings), min_size=1, max_size=3)
    rounds = st.lists(st.sampled_from(["ok", "ok", "no"]), min_size=2, max_size=7)
    return st.tuples(cycle, rounds, st.booleans()).map(
        lambda drawn: [
            Turn(tuple(replace(call, result=result) if drawn[2] else call for call in calls))
            for result in drawn[1]
            for calls in drawn[0]
        ]
    )


def _batches(
    lacks: Collection[Capability], meanings: Mapping[str, Sequence[str]]
) -> st.SearchStrategy[tuple[Call, ...]]:
    tools = [*RETURNING_TOOLS, *(tool for tool, capability in _ODD_TOOLS.items() if capability not in lacks)]
    meant = [name for name in meanings if name != "not JSON" or Capability.INVALID_ARGUMENTS not in lacks]
    spelled = st.sampled_from(meant).flatmap(lambda meaning: st.sampled_from(meanings[meaning]))
    any_call = st.builds(Call, st.sampled_from(tools), spelled)
    usual_call = st.builds(Call, st.just("search"), st.sampled_from(meanings["one"]))
    other_call = st.builds(Call, st.just("fetch"), st.sampled_from(meanings["nothing"]))
    size = 1 if Capability.PARALLEL_CALLS in lacks else 4
    batches = st.lists(st.one_of(usual_call, usual_call, other_call, any_call), min_size=1, max_size=size)
    if Capability.INVALID_ARGUMENTS_IN_PARALLEL in lacks:
        batches = batches.map(lambda calls: next(([call] for call in calls if call.is_invalid), calls))
    return batches.flatmap(_answered)


def _answered(calls: list[Call]) -> st.SearchStrategy[tuple[Call, ...]]:
    """Give the calls of a turn results: equal calls have equal ones."""
    of_meanings = {(call.tool, canonical_arguments(call.arguments)) for call in calls}
    results = st.fixed_dictionaries(dict.fromkeys(sorted(of_meanings), st.sampled_from(["ok", "ok", "no"])))
    return results.map(
        lambda drawn: tuple(
            replace(call, result=drawn[call.tool, canonical_arguments(call.arguments)]) for call in calls
        )
    )
