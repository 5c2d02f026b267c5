"""C3: what is wrong with a configuration file, to the letter."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError
from repeatguard_core import RepeatGuardConfig

#: For each file its name, what it holds, and what is said behind its path.
FILES: list[tuple[str, str, str]] = [
    (
        "pyproject.toml",
        "[project]\nname = 'x'\n",
        " has no table [tool.repeatguard]; write one, or make RepeatGuardConfig() for the defaults",
    ),
    (
        "pyproject.toml",
        "[tool.repeatgaurd]\n",
        " has no table [tool.repeatguard]; is [tool.repeatgaurd] a misspelling of it?",
    ),
    ("pyproject.toml", "[Repeat-Guard]\n", " has no table [tool.repeatguard]; is [Repeat-Guard] a misspelling of it?"),
    ("guard.toml", "[tool.repeat_guard]\n", " has no table [repeatguard]; is [tool.repeat_guard] a misspelling of it?"),
    (
        "guard.toml",
        "[tool.repeatguard]\n",
        " has no table [repeatguard]; it has [tool.repeatguard], which is the name for other files: rename it",
    ),
    (
        "pyproject.toml",
        "[tools.repeatguard]\n",
        " has no table [tool.repeatguard]; is [tools.repeatguard] a misspelling of it?",
    ),
    (
        "pyproject.toml",
        "[dependency-groups]\nrepeatguard = ['a']\n[build.repeatguard]\n[tool.Repeatguard]\n",
        " has no table [tool.repeatguard]; is [tool.Repeatguard] a misspelling of it?",
    ),
    (
        "pyproject.toml",
        "[tool.repeatguard]\n[[tool.tools]]\nmatch = 'get_*'\nthresholds = [9]\n",
        " has settings of single tools outside its table; head each with [[tool.repeatguard.tools]]",
    ),
    (
        "guard.toml",
        "[repeatguard]\n[[tools]]\nmatch = 'get_*'\nthresholds = [9]\n",
        " has settings of single tools outside its table; head each with [[repeatguard.tools]]",
    ),
    (
        "guard.toml",
        "[repeatguard]\n[tool.repeatguard]\n",
        " has two tables for repeatguard; move what is in [tool.repeatguard] into [repeatguard]",
    ),
]


@pytest.mark.rules("C3")
@pytest.mark.parametrize(("name", "content", "words"), FILES, ids=[words for _, _, words in FILES])
def test_a_table_that_is_not_found(tmp_path: Path, name: str, content: str, words: str) -> None:
    """With what comes nearest to it."""
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match="table") as caught:
        RepeatGuardConfig.from_toml(file)
    assert str(caught.value) == f"{file}{words}"


@pytest.mark.rules("C3")
def test_a_wrong_setting_in_a_file(tmp_path: Path) -> None:
    """The file and its table stand where the class's name would, and the error is pydantic's all the same."""
    file = tmp_path / "pyproject.toml"
    file.write_text("[tool.repeatguard]\nthresholds = [1]\n", encoding="utf-8")
    with pytest.raises(ValidationError) as caught:
        RepeatGuardConfig.from_toml(file)
    assert str(caught.value) == (
        f"1 validation error for {file}, table [tool.repeatguard]\n"
        "thresholds\n"
        "  a threshold must be at least 2, and 1 is below it: one call repeats nothing [type=value_error]"
    )


@pytest.mark.rules("C3")
@pytest.mark.parametrize(
    "tools",
    [
        "[[tools]]\nname = 'a'\nmatch = 'b'\nstop_after = 9",
        "[[tools]]\nthresholds = [9]\nstop_after = 20",
        "tools = ['a']",
    ],
)
def test_tools_that_are_another_programs(tmp_path: Path, tools: str) -> None:
    """They are none of our business."""
    file = tmp_path / "settings.toml"
    file.write_text(f"{tools}\n[repeatguard]\n" if tools[0] == "t" else f"[repeatguard]\n{tools}\n", encoding="utf-8")
    assert RepeatGuardConfig.from_toml(file) == RepeatGuardConfig()


@pytest.mark.rules("C3")
def test_a_file_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With where it was looked for, and what it would hold."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "guard.toml"
    with pytest.raises(FileNotFoundError) as caught:
        RepeatGuardConfig.from_toml(file.name)
    assert str(caught.value) == f"no such file: {file}; it would hold the table [repeatguard]"
