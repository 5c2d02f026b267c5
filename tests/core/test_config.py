"""C1 to C4: the configuration."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from repeatguard_core import RepeatGuardConfig

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
        pytest.param({"exclude": 3}, ["exclude", "Sequence", "3"], id="patterns that are none"),
        pytest.param({"threshold": (3,)}, ["threshold ", "(3,)", "did you mean thresholds?"], id="nearly a setting"),
        pytest.param({"colour": 1}, ["colour", "1", "thresholds, include, exclude"], id="an unknown setting"),
        pytest.param({3: 1}, ["3", "no setting"], id="a setting that is no text"),
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
        ("guard.toml", b"[tool.repeatguard]\n", ["no table [repeatguard]", "[tool.repeatguard], is not the name"]),
        ("pyproject.toml", b"[repeatguard]\n", ["no table [tool.repeatguard]", "[repeatguard], is not the name"]),
        ("pyproject.toml", b"tool = 3\n", ["no table [tool.repeatguard]"]),
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
