"""Random scripts: a model that repeats itself now and then, in every way that a framework allows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from hypothesis import strategies as st

from repeatguard_core.testing._script import MEANINGS, RETURNING_TOOLS, Call, Capability, Run, Script, Turn

__all__ = ["scripts"]

_ODD_TOOLS: Final = {
    "failing": Capability.FAILING_TOOL,
    "forbidden": Capability.DENIED_CALL,
    "missing": Capability.UNKNOWN_TOOL,
}


def scripts(lacks: Collection[Capability] = ()) -> st.SearchStrategy[Script]:
    """Make random scripts. A failing one shrinks to few turns and plain calls.

    Args:
        lacks: What no script may need.

    Returns:
        A strategy for scripts.
    """
    runs = st.lists(_runs(lacks), min_size=1, max_size=1 if Capability.FURTHER_RUN in lacks else 2)
    return runs.map(lambda drawn: Script((replace(drawn[0], from_storage=False), *drawn[1:])))


def _runs(lacks: Collection[Capability]) -> st.SearchStrategy[Run]:
    def if_it_can(capability: Capability) -> st.SearchStrategy[bool]:
        return st.just(False) if capability in lacks else st.sampled_from([False, False, False, True])  # noqa: FBT003

    turn = st.builds(
        Turn,
        calls=_batches(lacks),
        text=st.just("") if Capability.TEXT_BESIDE_CALLS in lacks else st.sampled_from(["", "", "hm"]),
        steer=if_it_can(Capability.STEERING).map(lambda steers: "and now?" if steers else None),
        resumes=if_it_can(Capability.RESUMED_RUN),
    ).filter(lambda turn: not (turn.resumes and turn.steer))
    turns = st.lists(turn, max_size=6).map(lambda drawn: (*drawn, Turn(text="done")))
    return st.builds(Run, st.just("go"), turns, if_it_can(Capability.STORED_CONVERSATION))


def _batches(lacks: Collection[Capability]) -> st.SearchStrategy[tuple[Call, ...]]:
    tools = [*RETURNING_TOOLS, *(tool for tool, capability in _ODD_TOOLS.items() if capability not in lacks)]
    meanings = [name for name in MEANINGS if name != "not JSON" or Capability.INVALID_ARGUMENTS not in lacks]
    spelled = st.sampled_from(meanings).flatmap(lambda meaning: st.sampled_from(MEANINGS[meaning]))
    any_call = st.builds(Call, st.sampled_from(tools), spelled)
    usual_call = st.builds(Call, st.just("search"), st.sampled_from(MEANINGS["one"]))
    size = 1 if Capability.PARALLEL_CALLS in lacks else 4
    return st.lists(st.one_of(usual_call, usual_call, any_call), min_size=1, max_size=size).map(tuple)
