"""What the pages show is run, and what it prints is what stands behind it."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from repeatguard_core import RepeatGuardConfig

from tests.across.pages import README, ROOT, blocks, documents, name, rows, run_pages, save_files, shown

CONFIGURATION = ROOT / "docs/configuration.md"
#: It sets up tracing and metrics, which can be done once in a process.
WATCHING = ROOT / "docs/watching.md"
RUN_HERE = [document for document in run_pages() if document != WATCHING]

pytestmark = pytest.mark.usefixtures("as_a_user_has_it")


@pytest.mark.parametrize("document", RUN_HERE, ids=name)
def test_every_block_runs_and_prints_what_the_page_says(document: Path) -> None:
    """In order, as a reader would run them."""
    save_files(document)
    made: dict[str, object] = {}
    for code, text in shown(document):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            exec(compile(code, name(document), "exec"), made)  # noqa: S102 - the page's own code
        is_on_the_site = document.is_relative_to(ROOT / "docs")
        if text is not None or is_on_the_site:
            assert printed.getvalue().strip() == (text or "").strip()


@pytest.mark.rules("S6")
def test_what_the_page_about_watching_sets_up_shows_a_reminder() -> None:
    """In the log, as an event on a span and in a counter; the arguments stand in none of them."""
    happens = """
from dataclasses import replace

from repeatguard_core import ToolCall
from repeatguard_core.adapters import Guard

support = Guard()
with trace.get_tracer("program").start_as_current_span("a run"):
    reminder = support.new_chain().observe([ToolCall("search", '{"q": "secret"}')] * 3)
    support.announce(replace(reminder, agent_name="helper"))
"""
    script = Path("watching.py")
    script.write_text("".join(code for code, _ in shown(WATCHING)) + happens, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert re.fullmatch(r"INFO .*search.* \[agent: helper\]\n", done.stderr)
    assert '"name": "repeatguard.reminder"' in done.stdout
    assert '"name": "repeatguard.reminders"' in done.stdout
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.parametrize("document", documents(), ids=name)
def test_what_a_page_installs_is_there(document: Path) -> None:
    """Each folder of a package that a command names."""
    for block in blocks(document, "sh"):
        for folder in re.findall(r"\./packages/[\w-]+", block.content):
            assert (ROOT / folder / "pyproject.toml").is_file()


@pytest.mark.rules("C3")
@pytest.mark.parametrize("document", run_pages(), ids=name)
def test_every_file_of_settings_loads(document: Path) -> None:
    """Under the name that the page gives it."""
    for block in blocks(document, "toml"):
        named = re.match(r"# ([\w-]+\.toml)", block.content)
        file = Path(named[1] if named else "pyproject.toml")
        file.write_text(block.content, encoding="utf-8")
        assert RepeatGuardConfig.from_toml(file) != RepeatGuardConfig()


@pytest.mark.rules("C1", "C2")
def test_every_setting_is_in_the_table_with_its_default_and_an_error() -> None:
    """What is shown as the default is it, and what is shown as wrong is refused in these words."""
    table = rows(CONFIGURATION, "All settings")
    assert [row[0].strip("`") for row in table] == list(RepeatGuardConfig.model_fields)
    usual = RepeatGuardConfig()
    for setting, default, _, _, wrong, error in table:
        field = setting.strip("`")
        assert ast.literal_eval(default.split("`")[1]) == getattr(usual, field)
        with pytest.raises(ValueError, match=re.escape(error)) as caught:
            RepeatGuardConfig.model_validate({field: ast.literal_eval(wrong[1:-1])})
        assert field in str(caught.value)


def test_the_readmes_settings_have_their_defaults() -> None:
    """Those that it names."""
    named = [row for row in rows(README, "Use it") if row[0].strip("`") in RepeatGuardConfig.model_fields]
    assert named
    for setting, default, _ in named:
        assert ast.literal_eval(default.split("`")[1]) == getattr(RepeatGuardConfig(), setting.strip("`"))
