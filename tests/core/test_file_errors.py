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
    ("pyproject.toml", "[tool.repeatgaurd]\n", " has no table [tool.repeatguard]; is it meant by [tool.repeatgaurd]?"),
    ("pyproject.toml", "[Repeat-Guard]\n", " has no table [tool.repeatguard]; is it meant by [Repeat-Guard]?"),
    ("guard.toml", "[tool.repeat_guard]\n", " has no table [repeatguard]; is it meant by [tool.repeat_guard]?"),
    (
        "guard.toml",
        "[tool.repeatguard]\n",
        " has no table [repeatguard]; the one it has, [tool.repeatguard], is not the name for this file",
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
def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """With what it would hold."""
    file = tmp_path / "guard.toml"
    with pytest.raises(FileNotFoundError) as caught:
        RepeatGuardConfig.from_toml(file)
    assert str(caught.value) == f"no such file: {file}; it would hold the table [repeatguard]"
