"""What the documentation shows is what happens."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from repeatguard_core import Reminder, RepeatChain, RepeatGuardConfig, ToolCall

from tests.across.pages import README, ROOT, blocks, documents


def example(name: str) -> str:
    """Run an example, and give back what it prints."""
    command = [sys.executable, "-W", "error", str(ROOT / "docs/examples" / name)]
    return subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout


STUCK = sorted({file.name for file in ROOT.glob("docs/examples/try_*.py")} - {"try_core.py"})


@pytest.mark.parametrize("name", STUCK)
def test_a_frameworks_example_shows_a_loop_that_ends(name: str) -> None:
    """Without the guard the budget is used up, with it the model answers."""
    printed = example(name)
    without, with_guard = printed.split("WITH repeatguard")
    assert "there is no answer" in without
    assert "[repeatguard]" not in without
    assert with_guard.count("[repeatguard]") == 2
    assert "assistant  The export is still pending" in with_guard
    assert printed.endswith("Model requests: 12 without repeatguard, 6 with it.\n")


def test_the_examples_closing_line_is_quoted_in_the_readme() -> None:
    """The figure in the README is the one that the command prints."""
    assert example("try_openai_agents.py").splitlines()[-1] in README.read_text(encoding="utf-8")


def test_the_cores_example_reminds_at_the_third_spelling() -> None:
    """Three spellings of one call, with a bookkeeping call between them."""
    assert "3 times in a row" in example("try_core.py")


@pytest.mark.rules("M8")
def test_the_readme_quotes_what_the_model_reads() -> None:
    """Both texts, to the letter."""
    chain = RepeatChain(RepeatGuardConfig(thresholds=(3, 5)))
    due = [chain.observe([ToolCall("run_sql", '{"query": "select 1"}')]) for _ in range(5)]
    texts = [reminder.text for reminder in due if isinstance(reminder, Reminder)]
    assert [block.content.strip() for block in blocks(README, "text")][:2] == texts


def test_what_must_pass_is_what_the_readme_says() -> None:
    """The check before landing runs the README's command for all tests."""
    commands = [block.content.strip() for block in blocks(README, "sh")]
    (command,) = [command for command in commands if command.endswith(" nox")]
    assert command in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_the_readmes_configuration_file_loads(tmp_path: Path) -> None:
    """As it stands."""
    (block,) = blocks(README, "toml")
    file = tmp_path / "pyproject.toml"
    file.write_text(block.content, encoding="utf-8")
    assert RepeatGuardConfig.from_toml(file) == RepeatGuardConfig(thresholds=(3, 6), exclude=("update_*",))


def without_layout(code: str) -> str:
    """Drop indentation and empty lines, which differ where a part of a function stands by itself."""
    return "\n".join(line.strip() for line in code.splitlines() if line.strip())


def test_write_an_adapter_shows_the_pretend_adapter() -> None:
    """Its code is the code that the contract is run on."""
    files = [file.read_text(encoding="utf-8") for file in ROOT.glob("tests/testing/third_party_adapter/*.py")]
    for block in blocks(ROOT / "docs/write-an-adapter.md", "python"):
        assert any(without_layout(block.content) in without_layout(text) for text in files), block.content


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_python_block_is_valid_python(document: Path) -> None:
    """A block can be pasted: it parses, and what it imports from repeatguard is there."""
    for block in blocks(document, "python"):
        tree = ast.parse(textwrap.dedent(block.content))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        for node in imports:
            if (node.module or "").startswith("repeatguard"):
                exec(compile(ast.Module([node], []), str(document), "exec"), {})  # noqa: S102


SETTINGS = ROOT / "docs/settings.md"


@pytest.mark.rules("X2")
def test_the_counts_at_which_defer_reminds_are_those_of_the_page() -> None:
    """With the usual thresholds and another result each time."""
    chain = RepeatChain(RepeatGuardConfig(on_changed_result="defer"))
    due = [chain.observe([ToolCall("poll", '{"id": 1}', str(number))]) for number in range(12)]
    five, seven, ten = [reminder.count for reminder in due if reminder]
    assert f"(at {five}, {seven} and {ten})" in SETTINGS.read_text(encoding="utf-8")


WATCHING = ROOT / "docs/watching.md"

ANNOUNCE = """
from dataclasses import replace

from repeatguard_core import RepeatGuardConfig, ToolCall
from repeatguard_core.adapters import Guard

with trace.get_tracer("program").start_as_current_span("mine"):
    for stop_after in (None, 3):
        support = Guard(RepeatGuardConfig(thresholds=(2,), stop_after=stop_after))
        reminder = support.new_chain().observe([ToolCall("run_sql")] * (stop_after or 2))
        support.announce(replace(reminder, agent_name="clerk"))
"""


@pytest.mark.rules("S6")
def test_opentelemetry_is_shown_the_names_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them and no other, once a program has set OpenTelemetry up as the page shows."""
    page = WATCHING.read_text(encoding="utf-8")
    (_, setup) = blocks(WATCHING, "python")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "span_only")
    command = [sys.executable, "-W", "error", "-c", setup.content + ANNOUNCE]
    run = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    name = re.compile(r"(?:repeatguard|gen_ai)\.[a-z._]+")
    table = "\n".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    assert set(name.findall(run.stdout)) == set(name.findall(table))


@pytest.mark.rules("S6")
def test_the_log_has_the_fields_of_the_page() -> None:
    """With the set-up that the page shows, and all fields of its table."""
    (setup, _) = blocks(WATCHING, "python")
    more = "\nprint(*sorted(defaults))\nfrom opentelemetry import trace" + ANNOUNCE
    command = [sys.executable, "-W", "error", "-c", setup.content + more]
    run = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    assert [line.partition(" [")[2] for line in run.stderr.splitlines()] == ["agent: clerk]"] * 2
    table = WATCHING.read_text(encoding="utf-8").partition("| Field |")[2].partition("\n\n")[0]
    assert run.stdout.split() == sorted(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))
