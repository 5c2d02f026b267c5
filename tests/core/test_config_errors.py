"""C2: what is wrong with a configuration, to the letter, as it stands in a traceback."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from repeatguard_core import RepeatGuardConfig, ToolSettings

#: For each fault the settings, where it is found, what is said, and what pydantic calls it.
FAULTS: list[tuple[dict[str, Any], str, str, str]] = [
    (
        {"thresholds": (5, 1)},
        "thresholds",
        "a threshold must be at least 2, and 1 is below it: one call repeats nothing",
        "value_error",
    ),
    ({"thresholds": (3.0,)}, "thresholds", "a threshold must be an integer, and 3.0 is a float", "value_error"),
    (
        {"thresholds": ()},
        "thresholds",
        "thresholds must hold at least one count, and () holds none; leave it out for the defaults",
        "value_error",
    ),
    (
        {"thresholds": (3, 3)},
        "thresholds",
        "each threshold must stand in the list once, and 3 is there twice",
        "value_error",
    ),
    (
        {"thresholds": 3},
        "thresholds",
        "thresholds must be a list of integers such as (3, 5, 8), not 3",
        "value_error",
    ),
    ({"include": "run_*"}, "include", "a list of patterns is wanted, not 'run_*'; write ['run_*']", "value_error"),
    (
        {"exclude": ("a", "")},
        "exclude",
        "a pattern must have at least one character, and '' in ('a', '') has none",
        "value_error",
    ),
    (
        {"arguments_preview_chars": 0},
        "arguments_preview_chars",
        "Input should be greater than or equal to 1; here 0",
        "greater_than_equal",
    ),
    (
        {"arguments_preview_chars": True},
        "arguments_preview_chars",
        "it must be an integer, and True is a bool",
        "value_error",
    ),
    (
        {"max_cycle_length": 17},
        "max_cycle_length",
        "Input should be less than or equal to 16; here 17",
        "less_than_equal",
    ),
    (
        {"on_changed_result": "ignore"},
        "on_changed_result",
        "Input should be 'count', 'reset' or 'defer'; here 'ignore'",
        "literal_error",
    ),
    (
        {"ignore_arguments": ["id"]},
        "ignore_arguments",
        (
            "a mapping from patterns of tools to names of arguments is wanted, not ['id']; "
            "for every tool write {'*': ['name']}"
        ),
        "value_error",
    ),
    (
        {"first_reminder": "Stop {name}"},
        "first_reminder",
        (
            "{name} is none of {tool}, {count}, {arguments}; a brace that is meant is written twice, {{ or }}; "
            "here 'Stop {name}'"
        ),
        "value_error",
    ),
    (
        {"threshold": (3,)},
        "",
        "threshold (here (3,)) is no setting of repeatguard; did you mean thresholds?",
        "value_error",
    ),
    (
        {"on_reminder": None, "stop_afte": 9},
        "",
        (
            "on_reminder (here None) is no setting of repeatguard; give it to the guard, beside the configuration. "
            "stop_afte (here 9) is no setting of repeatguard; did you mean stop_after?"
        ),
        "value_error",
    ),
    (
        {"remind_every": "never"},
        "remind_every",
        "'never' is for entries of tools; leave it out, and it never happens",
        "value_error",
    ),
    ({"tools": 3}, "tools", "a list of entries is wanted, not 3", "value_error"),
    (
        {"tools": [{"match": "a", "thresholds": [2]}, {"match": "a", "thresholds": [3]}]},
        "",
        "the settings for the tools 'a' would never act: the entry for 'a' comes first and covers them; take one out",
        "value_error",
    ),
    (
        {"stop_after": 8},
        "",
        (
            "stop_after must be above the highest threshold, and 8 is not above 8 (thresholds are (3, 5, 8)); "
            "raise it, or set lower thresholds"
        ),
        "value_error",
    ),
    (
        {"stop_after": 12, "remind_every": 4},
        "",
        (
            "remind_every=4 would never act: the run ends at stop_after=12, and the first further reminder is due "
            "at 12; lower it, or raise stop_after"
        ),
        "value_error",
    ),
    (
        {"thresholds": (3,), "later_reminder": "x"},
        "",
        (
            "later_reminder would never act: there is one threshold, and remind_every is not set; "
            "set one more, or leave it out"
        ),
        "value_error",
    ),
    (
        {"exclude": ["a*"], "tools": [{"match": "ab", "thresholds": [3]}]},
        "",
        "the settings for the tools 'ab' would never act: exclude has 'a*'; take one of the two out",
        "value_error",
    ),
    ({"tools": [{"thresholds": [3]}]}, "tools.0.match", "Field required; here {'thresholds': [3]}", "missing"),
    (
        {"tools": [{"match": "a"}]},
        "tools.0",
        "the entry for 'a' sets nothing; set something beside match, or leave the entry out",
        "value_error",
    ),
    (
        {"tools": [{"match": "a", "stop_after": 2}]},
        "tools.0.stop_after",
        'it must be an integer of at least 3, or "never", and not 2',
        "value_error",
    ),
    (
        {"tools": {"match": "a"}},
        "tools",
        "a list of entries is wanted, not {'match': 'a'}; in TOML write [[…tools]] with two brackets",
        "value_error",
    ),
]
faults = pytest.mark.parametrize(
    ("settings", "place", "words", "kind"), FAULTS, ids=[words for _, _, words, _ in FAULTS]
)


def text(title: str, place: str, words: str, kind: str) -> str:
    """Give an error's text: whose, where and what, and nothing else."""
    return "\n".join([f"1 validation error for {title}", *filter(None, [place]), f"  {words} [type={kind}]"])


@pytest.mark.rules("C2")
@faults
def test_a_fault_is_said_in_its_own_words(settings: dict[str, Any], place: str, words: str, kind: str) -> None:
    """As pydantic's type of error, with the place and the value in its details, and no page to visit."""
    with pytest.raises(ValidationError) as caught:
        RepeatGuardConfig(**settings)
    assert str(caught.value) == text("RepeatGuardConfig", place, words, kind)
    (details,) = caught.value.errors()
    assert (".".join(map(str, details["loc"])), details["msg"], details["type"]) == (place, words, kind)


@pytest.mark.rules("C3")
@faults
def test_the_same_in_settings_of_the_users(settings: dict[str, Any], place: str, words: str, kind: str) -> None:
    """Behind the field's name."""

    class Settings(BaseModel, hide_input_in_errors=True):
        guard: RepeatGuardConfig

    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"guard": settings})
    assert str(caught.value) == text("Settings", f"guard.{place}".rstrip("."), words, kind)


@pytest.mark.rules("C2")
def test_several_faults_are_all_named() -> None:
    """Each on lines of its own."""
    with pytest.raises(ValidationError) as caught:
        RepeatGuardConfig.model_validate({"max_cycle_length": 0, "remind_every": 0})
    assert str(caught.value) == (
        "2 validation errors for RepeatGuardConfig\n"
        "max_cycle_length\n  Input should be greater than or equal to 1; here 0 [type=greater_than_equal]\n"
        "remind_every\n  Input should be greater than or equal to 1; here 0 [type=greater_than_equal]"
    )


@pytest.mark.rules("C2")
def test_an_entry_made_in_python_says_the_same() -> None:
    """Without a configuration round it."""
    with pytest.raises(ValidationError) as caught:
        ToolSettings(match="a")
    words = "the entry for 'a' sets nothing; set something beside match, or leave the entry out"
    assert str(caught.value) == text("ToolSettings", "", words, "value_error")


@pytest.mark.rules("C1")
def test_a_configuration_shows_what_differs_from_the_defaults() -> None:
    """In Python that makes it anew."""
    config = RepeatGuardConfig(
        thresholds=(6, 3), ignore_arguments={"a": ["id"]}, tools=(ToolSettings(match="b", stop_after=9),)
    )
    assert repr(config) == (
        "RepeatGuardConfig(thresholds=(3, 6), ignore_arguments={'a': ('id',)}, "
        "tools=(ToolSettings(match='b', stop_after=9),))"
    )
    assert eval(repr(config)) == config  # noqa: S307 - its own text
    assert str(config) == repr(config)
    assert repr(RepeatGuardConfig(thresholds=[3, 5, 8])) == "RepeatGuardConfig()"
    assert repr(pickle.loads(pickle.dumps(config))) == repr(config)  # noqa: S301 - its own data
