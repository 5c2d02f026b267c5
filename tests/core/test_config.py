"""C1 to C4: the configuration."""

from __future__ import annotations

import copy
import pickle
import re
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from repeatguard_core import RepeatChain, RepeatGuardConfig, ToolCall, ToolSettings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.rules("C1")
def test_defaults() -> None:
    """Three thresholds, every tool, 500 characters."""
    assert RepeatGuardConfig().model_dump() == {
        "thresholds": (3, 5, 8),
        "include": (),
        "exclude": (),
        "arguments_preview_chars": 500,
        "max_cycle_length": 8,
        "on_changed_result": "count",
        "ignore_arguments": {},
        "remind_every": None,
        "stop_after": None,
        "first_reminder": None,
        "later_reminder": None,
        "tools": (),
    }


@pytest.mark.rules("C2")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param({"thresholds": ()}, ["thresholds", "at least one", "()"], id="no threshold"),
        pytest.param({"thresholds": (3, True)}, ["thresholds", "integer", "True"], id="a boolean"),
        pytest.param({"thresholds": (3.0,)}, ["thresholds", "integer", "3.0"], id="a float"),
        pytest.param({"thresholds": ("3",)}, ["thresholds", "integer", "'3'"], id="text"),
        pytest.param({"thresholds": (None,)}, ["thresholds", "integer", "None"], id="none"),
        pytest.param({"thresholds": (5, 1)}, ["thresholds", "at least 2", "1"], id="too low"),
        pytest.param({"thresholds": (-3,)}, ["thresholds", "at least 2", "-3"], id="negative"),
        pytest.param({"thresholds": (3, 5, 3)}, ["thresholds", "once", "3"], id="twice"),
        pytest.param({"thresholds": 3}, ["thresholds", "list", "3"], id="no list"),
        pytest.param({"thresholds": "35"}, ["thresholds", "list", "'35'"], id="text for a list"),
        pytest.param({"thresholds": {3: 5}}, ["thresholds", "list", "{3: 5}"], id="a mapping for a list"),
        pytest.param({"arguments_preview_chars": 0}, ["arguments_preview_chars", "1", "0"], id="no preview"),
        pytest.param(
            {"arguments_preview_chars": True}, ["arguments_preview_chars", "integer", "True"], id="preview: yes"
        ),
        pytest.param(
            {"arguments_preview_chars": 9.0}, ["arguments_preview_chars", "integer", "9.0"], id="preview: float"
        ),
        pytest.param({"include": ("a", "")}, ["include", "at least one character", "''"], id="an empty pattern"),
        pytest.param({"exclude": [""]}, ["exclude", "at least one character", "''"], id="an empty pattern, excluded"),
        pytest.param({"include": "run_*"}, ["include", "list", "run_*"], id="a pattern for a list"),
        pytest.param({"exclude": {"a": 1}}, ["exclude", "list", "{'a': 1}"], id="a mapping of patterns"),
        pytest.param({"thresholds": b"35"}, ["thresholds", "list", "b'35'"], id="bytes for a list"),
        pytest.param({"exclude": (3,)}, ["exclude", "string", "3"], id="a pattern that is no text"),
        pytest.param({"exclude": 3}, ["exclude", "a list of patterns", "3"], id="patterns that are none"),
        pytest.param({"threshold": (3,)}, ["threshold ", "(3,)", "did you mean thresholds?"], id="nearly a setting"),
        pytest.param({"colour": 1}, ["colour", "1", "thresholds, include, exclude"], id="an unknown setting"),
        pytest.param({3: 1}, ["3", "no setting"], id="a setting that is no text"),
        pytest.param({"max_cycle_length": 0}, ["max_cycle_length", "1", "0"], id="no cycle"),
        pytest.param({"max_cycle_length": 17}, ["max_cycle_length", "16", "17"], id="a cycle that is too long"),
        pytest.param({"max_cycle_length": 2.0}, ["max_cycle_length", "integer", "2.0"], id="a cycle: float"),
        pytest.param({"on_changed_result": "ignore"}, ["on_changed_result", "'count'", "ignore"], id="no policy"),
        pytest.param({"remind_every": 0}, ["remind_every", "1", "0"], id="remind: never"),
        pytest.param({"remind_every": True}, ["remind_every", "integer", "True"], id="remind: yes"),
        pytest.param({"stop_after": "never"}, ["stop_after", "leave it out", "never"], id="stop: never"),
        pytest.param({"stop_after": 8}, ["stop_after", "above the highest threshold", "8"], id="stop: too soon"),
        pytest.param({"thresholds": (2,), "stop_after": 2}, ["stop_after", "above", "2"], id="stop: at the threshold"),
        pytest.param(
            {"stop_after": 12, "remind_every": 4}, ["remind_every=4", "never act", "12"], id="remind: after the end"
        ),
        pytest.param({"ignore_arguments": {"a": "id"}}, ["ignore_arguments", "list", "['id']"], id="ignore: text"),
        pytest.param({"ignore_arguments": {"a": []}}, ["ignore_arguments", "at least 1", "[]"], id="ignore: nothing"),
        pytest.param({"ignore_arguments": {"a": [""]}}, ["ignore_arguments", "one character"], id="ignore: no name"),
        pytest.param({"ignore_arguments": {"": ["id"]}}, ["ignore_arguments", "at least 1"], id="ignore: no pattern"),
        pytest.param(
            {"ignore_arguments": ["id"]}, ["ignore_arguments", "a mapping from patterns", "['id']"], id="ignore: a list"
        ),
        pytest.param(
            {"ignore_arguments": {"ab": ["id"]}, "exclude": ["a*"]},
            ["ignore_arguments for 'ab'", "never act", "exclude has 'a*'"],
            id="ignore: excluded",
        ),
        pytest.param(
            {"ignore_arguments": {"ab": ["id"]}, "include": ["b*"]},
            ["ignore_arguments for 'ab'", "never act", "include=('b*',)"],
            id="ignore: not included",
        ),
        pytest.param({"first_reminder": " "}, ["first_reminder", "something for the model"], id="wording: blank"),
        pytest.param({"first_reminder": "{name}"}, ["first_reminder", "{name}", "{tool}"], id="wording: unknown"),
        pytest.param({"first_reminder": "{}"}, ["first_reminder", "{} is none of"], id="wording: no name"),
        pytest.param({"first_reminder": "{0}"}, ["first_reminder", "{0} is none of"], id="wording: a number"),
        pytest.param({"first_reminder": "{count:d}"}, ["first_reminder", "{count:d} is none"], id="wording: a format"),
        pytest.param(
            {"first_reminder": "{tool!r}"}, ["first_reminder", "{tool!r} is none"], id="wording: a conversion"
        ),
        pytest.param(
            {"later_reminder": "{tool.__class__}"}, ["later_reminder", "{tool.__class__} is none"], id="wording: inside"
        ),
        pytest.param({"later_reminder": "{tool"}, ["later_reminder", "no template", "{{"], id="wording: a brace"),
        pytest.param({"later_reminder": "a\ud800"}, ["later_reminder", r"\ud800"], id="wording: a surrogate"),
        pytest.param({"later_reminder": "a\u2028"}, ["later_reminder", r"\u2028"], id="wording: a separator"),
        pytest.param(
            {"later_reminder": "x", "thresholds": [3]}, ["later_reminder", "never act", "one"], id="wording: unused"
        ),
        pytest.param({"tools": [{"thresholds": [3]}]}, ["tools", "match", "required"], id="tools: which"),
        pytest.param({"tools": [{"match": ""}]}, ["tools", "match", "at least 1"], id="tools: no pattern"),
        pytest.param({"tools": [{"match": "a"}]}, ["tools", "'a' sets nothing"], id="tools: nothing"),
        pytest.param(
            {"tools": [{"match": "a", "stop_afte": 9}]}, ["stop_afte ", "did you mean stop_after?"], id="tools: unknown"
        ),
        pytest.param(
            {"tools": [{"match": "a", "include": ["a"]}]},
            ["include", "no setting of single tools"],
            id="tools: a general setting",
        ),
        pytest.param(
            {"tools": [{"match": "a", "stop_after": 8}]}, ["the tools 'a'", "8 is not above 8"], id="tools: stop"
        ),
        pytest.param(
            {"stop_after": 10, "tools": [{"match": "a", "thresholds": [3, 20]}]},
            ["the tools 'a'", "10 is not above 20", '"never" takes'],
            id="tools: the general stop",
        ),
        pytest.param(
            {"exclude": ["a*"], "tools": [{"match": "ab*", "thresholds": [3]}]},
            ["the tools 'ab*'", "never act", "exclude has 'a*'"],
            id="tools: excluded",
        ),
        pytest.param(
            {"include": ["b"], "tools": [{"match": "a", "thresholds": [3]}]},
            ["the tools 'a'", "never act", "include=('b',)"],
            id="tools: not included",
        ),
        pytest.param(
            {"tools": [{"match": "a*", "thresholds": [3]}, {"match": "ab*c", "thresholds": [4]}]},
            ["the tools 'ab*c'", "never act", "'a*' comes first"],
            id="tools: covered",
        ),
        pytest.param(
            {"tools": [{"match": "a", "stop_after": 2}]}, ['at least 3, or "never"', "2"], id="tools: stop: 2"
        ),
        pytest.param({"tools": [{"match": "a", "stop_after": "Never"}]}, ['or "never"', "'Never'"], id="tools: Never"),
        pytest.param({"tools": [{"match": "a", "remind_every": True}]}, ['at least 1, or "never"'], id="tools: yes"),
        pytest.param({"tools": [{"match": "a", "thresholds": [1]}]}, ["tools", "at least 2", "1"], id="tools: low"),
        pytest.param(
            {"tools": {"match": "a", "thresholds": [3]}},
            ["tools", "a list of entries", "two brackets"],
            id="tools: a table",
        ),
    ],
)
def test_every_fault_is_named(settings: dict[str, object], words: list[str]) -> None:
    """A ValueError that names field, value and limit."""
    with pytest.raises(ValueError, match=re.escape(words[0])) as caught:
        RepeatGuardConfig.model_validate(settings)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.rules("C2")
@given(st.sets(st.integers(2, 10**30), min_size=1), st.randoms(use_true_random=False), st.sampled_from([list, tuple]))
def test_the_order_of_thresholds_does_not_matter(thresholds: set[int], random: Random, kind: type) -> None:
    """Any order, any size, any kind of list."""
    shuffled = sorted(thresholds, key=lambda _: random.random())
    assert RepeatGuardConfig(thresholds=kind(shuffled)).thresholds == tuple(sorted(thresholds))


@pytest.mark.rules("C4")
def test_immutable_and_hashable() -> None:
    """Equal configurations are one key, and none can be changed."""
    config = RepeatGuardConfig(thresholds=(5, 3), exclude=("a",))
    same = RepeatGuardConfig.model_validate({"thresholds": [3, 5], "exclude": ["a"]})
    assert {config: 1}[same] == 1
    with pytest.raises(ValidationError, match="frozen"):
        config.thresholds = (2,)  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]  # the point
    assert config.thresholds == (3, 5)


FULL = """
[tool.repeatguard]
thresholds = [3, 6]
max_cycle_length = 2
on_changed_result = "defer"
ignore_arguments = { "*" = ["description"], "kubectl_*" = ["request_id"] }
remind_every = 4
stop_after = 20
first_reminder = "{tool} again, {count} times?"
later_reminder = "Still {arguments}"

[[tool.repeatguard.tools]]
match = "kubectl_*"
thresholds = [5]
on_changed_result = "reset"
ignore_arguments = ["v"]
stop_after = "never"

[[tool.repeatguard.tools]]
match = "run_*"
remind_every = "never"
"""


@pytest.mark.rules("C3", "C4", "X1", "X2", "X3", "X4", "X5", "X6")
def test_every_setting_from_a_file(tmp_path: Path) -> None:
    """It is what the same settings are in Python, through JSON and pickle as well, and still immutable and hashable."""
    file = tmp_path / "pyproject.toml"
    file.write_text(FULL, encoding="utf-8")
    config = RepeatGuardConfig.from_toml(file)
    same = RepeatGuardConfig(
        thresholds=(3, 6),
        max_cycle_length=2,
        on_changed_result="defer",
        ignore_arguments={"*": ["description"], "kubectl_*": ["request_id"]},
        remind_every=4,
        stop_after=20,
        first_reminder="{tool} again, {count} times?",
        later_reminder="Still {arguments}",
        tools=(
            ToolSettings(
                match="kubectl_*",
                thresholds=(5,),
                on_changed_result="reset",
                ignore_arguments=("v",),
                stop_after="never",
            ),
            ToolSettings(match="run_*", remind_every="never"),
        ),
    )
    for other in (
        same,
        RepeatGuardConfig.model_validate(config.model_dump()),
        RepeatGuardConfig.model_validate_json(config.model_dump_json()),
        pickle.loads(pickle.dumps(config)),  # noqa: S301 - its own data
        copy.deepcopy(config),
    ):
        assert other == config
        assert {config: 1}[other] == 1
    assert repr(config.ignore_arguments) == "{'*': ('description',), 'kubectl_*': ('request_id',)}"
    with pytest.raises(TypeError):
        config.ignore_arguments["*"] = ()  # type: ignore[index]  # pyright: ignore[reportIndexIssue]  # the point
    assert len(config.ignore_arguments) == 2


@pytest.mark.rules("C4")
def test_configurations_that_differ_in_what_they_ignore_differ() -> None:
    """A mapping is compared by what it holds."""
    a, b = (RepeatGuardConfig(ignore_arguments={"a": [name]}) for name in "xy")
    assert a != b
    assert len({a, b, RepeatGuardConfig(ignore_arguments={"a": ["x"]})}) == 2
    one, other = (RepeatGuardConfig(ignore_arguments=dict.fromkeys(names, ("x",))) for names in ("ab", "ba"))
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.rules("C4")
def test_a_changed_copy_goes_by_its_own_settings() -> None:
    """Nothing that was worked out for the one is left in the other."""
    config = RepeatGuardConfig(tools=(ToolSettings(match="a", thresholds=(4,)),))
    assert RepeatChain(config).observe([ToolCall("b")] * 3) is not None
    changed = config.model_copy(update={"thresholds": (2,), "tools": ()})
    assert RepeatChain(changed).observe([ToolCall("a")] * 2) is not None
    assert RepeatChain(changed).observe([ToolCall("b")] * 3) is not None


@pytest.mark.rules("C2")
def test_what_may_act_is_no_error() -> None:
    """Settings that a pattern may still reach, and a stop that leaves room."""
    RepeatGuardConfig(stop_after=9)
    RepeatGuardConfig(stop_after=13, remind_every=4)
    RepeatGuardConfig(stop_after=10, tools=(ToolSettings(match="a", thresholds=(3, 20), stop_after="never"),))
    RepeatGuardConfig(include=("b*",), tools=(ToolSettings(match="*a", thresholds=(3,)),))
    RepeatGuardConfig(exclude=("ab*",), tools=(ToolSettings(match="a*", thresholds=(3,)),))
    RepeatGuardConfig(tools=(ToolSettings(match="ab*", thresholds=(3,)), ToolSettings(match="a*", thresholds=(4,))))
    RepeatGuardConfig(thresholds=(3,), remind_every=2, later_reminder="x")
    RepeatGuardConfig(thresholds=(3,), tools=(ToolSettings(match="a", thresholds=(3, 4)),), later_reminder="x")


@pytest.mark.rules("C3")
def test_it_stands_in_settings_of_the_users() -> None:
    """As a field of another model, from a mapping, and through JSON."""

    class Settings(BaseModel):
        guard: RepeatGuardConfig = RepeatGuardConfig()

    settings = Settings.model_validate({"guard": {"thresholds": [4, 2], "include": ["run_*"]}})
    assert settings.guard == RepeatGuardConfig(thresholds=(2, 4), include=("run_*",))
    assert Settings.model_validate_json(settings.model_dump_json()) == settings
    assert RepeatGuardConfig.model_validate({"arguments_preview_chars": "200"}).arguments_preview_chars == 200
    assert RepeatGuardConfig.model_validate({"exclude": {"b", "a"}}).exclude == ("a", "b")
    assert "thresholds" in RepeatGuardConfig.model_json_schema()["properties"]


@pytest.mark.rules("C3")
@pytest.mark.parametrize(("name", "table"), [("pyproject.toml", "tool.repeatguard"), ("guard.toml", "repeatguard")])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_from_toml(tmp_path: Path, name: str, table: str, encoding: str) -> None:
    """The table's name depends on the file's; other tables do not matter, nor does a byte order mark."""
    file = tmp_path / name
    file.write_text(f'[project]\nname = "é"\n[{table}]\nthresholds = [6, 3]\nexclude = ["é"]\n', encoding=encoding)
    expected = RepeatGuardConfig(thresholds=(3, 6), exclude=("é",))
    assert RepeatGuardConfig.from_toml(file) == expected
    assert RepeatGuardConfig.from_toml(str(file)) == expected


@pytest.mark.rules("C3")
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("guard.toml", b"[repeatguard\n", ["not valid TOML", "line 1"]),
        ("guard.toml", b"\xff", ["not valid TOML"]),
        ("guard.toml", b"a=" + b"[" * 100_000, ["not valid TOML"]),
        ("my-pyproject.toml", b"[tool.repeatguard]\n", ["no table [repeatguard]"]),
        ("guard.toml", b"", ["no table [repeatguard]"]),
        ("guard.toml", b"[tool.repeatguard]\n", ["no table [repeatguard]", "it has [tool.repeatguard], which"]),
        ("pyproject.toml", b"[repeatguard]\n", ["no table [tool.repeatguard]", "it has [repeatguard], which"]),
        ("pyproject.toml", b"tool = 3\n", ["no table [tool.repeatguard]"]),
        (
            "pyproject.toml",
            b"[tool.repeatguard]\n[[repeatguard.tools]]\nmatch = 'a'\n",
            ["two tables for repeatguard", "move what is in [repeatguard] into [tool.repeatguard]"],
        ),
        ("guard.toml", b"repeatguard = 3\n", ["table [repeatguard]", "3"]),
        ("guard.toml", b"[repeatguard]\nthresholds = [1]\n", ["table [repeatguard]", "thresholds", "at least 2"]),
    ],
)
def test_a_fault_in_a_file_names_the_file(tmp_path: Path, name: str, content: bytes, words: list[str]) -> None:
    """And says what is wrong with it."""
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(str(file))) as caught:
        RepeatGuardConfig.from_toml(file)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.rules("C3")
def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With the table that it would hold."""
    file = tmp_path / "pyproject.toml"
    with pytest.raises(FileNotFoundError, match=re.escape(str(file))) as caught:
        RepeatGuardConfig.from_toml(file)
    assert "[tool.repeatguard]" in str(caught.value)
