"""C2, C3 and S3: how a guard is made, and what is wrong with it is said at once."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from pydantic_ai import Agent, capabilities
from pydantic_ai.agent import Agent as AgentClass
from repeatguard_pydantic_ai import RepeatGuard, RepeatGuardConfig, RepeatGuardProcessor

from tests.pydantic_ai.agents import agent, loop, search
from tests.pydantic_ai.scripted_model import ScriptedModel
from tests.pydantic_ai.wiring import HAS_PROCESSORS_ARGUMENT, ProcessHistory, wired

#: Functions that make capabilities came with a later release.
TAKES_FUNCTIONS = hasattr(capabilities, "CapabilityFunc")


async def tell(reminder: object) -> None:
    """Be async, which nobody awaits."""


@pytest.mark.rules("C2")
@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"config": {"thresholds": [3]}}, "config must be a RepeatGuardConfig"),
        ({"on_reminder": tell}, "on_reminder must be a plain function"),
        ({"untracked": "note"}, "untracked must be a function"),
    ],
)
def test_what_is_no_setting_is_refused_at_once(form: Any, arguments: dict[str, Any], wrong: str) -> None:
    """With the value and the way out, before any run."""
    with pytest.raises(TypeError, match=wrong):
        form(**arguments)


@pytest.mark.rules("C2")
async def test_the_class_in_place_of_a_guard_is_refused_in_clear_words(form: Any) -> None:
    """Nothing of the run is in the message, which may be logged."""
    wiring: Any = wired(form) if form is RepeatGuardProcessor else {"capabilities": [form]}
    with pytest.raises((TypeError, AttributeError)) as refused:
        await Agent(ScriptedModel().model, deps_type=str, **wiring).run("go", deps="a secret")
    assert "secret" not in str(refused.value)
    if form is RepeatGuardProcessor or ProcessHistory is not None:
        assert f"{form.__name__}(), and not the class" in str(refused.value)


@pytest.mark.rules("C2")
async def test_a_processor_in_place_of_a_capability_is_refused_in_clear_words() -> None:
    """Where the framework takes it for a function that makes capabilities."""
    if not TAKES_FUNCTIONS:
        pytest.skip("this release asks it for attributes of a capability, and says so in words of its own")
    wiring: Any = {"capabilities": [RepeatGuardProcessor()]}
    with pytest.raises(TypeError, match="goes into capabilities= as ProcessHistory"):
        await Agent(ScriptedModel().model, **wiring).run("go")


@pytest.mark.rules("C2")
def test_a_guard_that_waits_to_be_asked_for_is_refused() -> None:
    """It would never speak."""
    if not hasattr(RepeatGuard, "defer_loading"):
        pytest.skip("in this release no capability can be deferred")
    deferred: Any = {"id": "guard", "description": "tells of loops", "defer_loading": True}
    with pytest.raises(ValueError, match="defer_loading=True would keep the guard off"):
        RepeatGuard(**deferred)


@pytest.mark.rules("C1", "C3")
async def test_without_settings_the_defaults_hold(form: Any) -> None:
    """Three, five and eight."""
    model = ScriptedModel(*loop(9))
    await agent(model, form()).run("go")
    assert [len(places) for places in model.reminders] == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]


@pytest.mark.rules("C3")
async def test_an_agents_specification_may_name_the_capability() -> None:
    """Below its name stand the settings, and wrong ones are refused."""
    from_spec = getattr(AgentClass, "from_spec", None)
    if from_spec is None:
        pytest.skip("this release makes no agents from specifications")
    model = ScriptedModel(*loop(3))
    settings: dict[str, Any] = {
        "thresholds": [2],
        "ignore_arguments": {"search": ["page"]},
        "tools": [{"match": "poll", "stop_after": 3, "on_changed_result": "reset"}],
    }
    spec = {"model": "test", "capabilities": [{"RepeatGuard": settings}]}
    made = from_spec(spec, custom_capability_types=[RepeatGuard], tools=[search])
    await made.run("go", model=model.model)
    assert [len(places) for places in model.reminders] == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="thresholds"):
        RepeatGuard.from_spec(thresholds=[1])
    with pytest.raises(ValueError, match="did you mean thresholds"):
        RepeatGuard.from_spec(threshold=[3])
    with pytest.raises(ValueError, match="stop_after"):
        RepeatGuard.from_spec(thresholds=[3], stop_after=3)
    assert RepeatGuard.from_spec().config == RepeatGuardConfig()
    assert RepeatGuard.from_spec(**settings).config == RepeatGuardConfig.model_validate(settings)
    if "id" in RepeatGuard.__dataclass_fields__:
        assert RepeatGuard.from_spec(thresholds=[2], id="guard") != RepeatGuard.from_spec(thresholds=[2])


@pytest.mark.rules("C3")
def test_a_specifications_settings_are_those_of_the_configuration() -> None:
    """All of them, with the same defaults; editors know them from the signature."""
    parameters = inspect.signature(RepeatGuard.from_spec).parameters
    named = {name: each.default for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}
    assert named == RepeatGuardConfig().model_dump()


@pytest.mark.rules("S5")
async def test_the_processor_where_both_ways_to_wire_it_exist() -> None:
    """Late 1.x releases have both, and warn of the older one; it still works."""
    if not (HAS_PROCESSORS_ARGUMENT and ProcessHistory):
        pytest.skip("this release has one way to wire a history processor")
    model = ScriptedModel(*loop(3))
    wiring: dict[str, Any] = {"history_processors": [RepeatGuardProcessor()]}
    with pytest.warns(Warning, match="history_processors"):
        guarded = Agent(model.model, tools=[search], **wiring)
    await guarded.run("go")
    assert [len(places) for places in model.reminders] == [0, 0, 0, 1]


def test_a_guard_says_what_it_is() -> None:
    """Its representation shows the settings, and nothing of a run."""
    shown = repr(RepeatGuard(RepeatGuardConfig(thresholds=(2,))))
    assert "config=RepeatGuardConfig(thresholds=(2,)" in shown
    assert "Memory" not in shown
    assert RepeatGuard() != RepeatGuard()
    assert repr(RepeatGuardProcessor()) == "RepeatGuardProcessor(config=RepeatGuardConfig())"
