"""What the pages show is run, and what it prints is what stands behind it."""

from __future__ import annotations

import ast
import contextlib
import io
import logging
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, set_tracing_disabled
from autogen_agentchat.agents import AssistantAgent
from repeatguard_core import RepeatGuardConfig

from tests.across.distributions import ADAPTERS
from tests.across.pages import README, ROOT, blocks, documents, name, rows, shown
from tests.autogen import scripted_client
from tests.autogen.teams import get_status as autogen_tool
from tests.openai_agents import scripted_model as openai_model
from tests.openai_agents.tools import get_status as openai_tool
from tests.pydantic_ai import scripted_model as pydantic_model

CONFIGURATION = ROOT / "docs/configuration.md"
#: Its blocks are parts of files that the contract is run on; another test compares them.
EXCERPTS = ROOT / "docs/write-an-adapter.md"
#: The adapters' own pages ask a real provider, so test_package_pages.py has a server answer in its place.
ELSEWHERE = {ROOT / "packages" / package / "README.md" for package in ADAPTERS}
PAGES = [document for document in documents() if document != EXCERPTS and document not in ELSEWHERE]


@pytest.fixture(autouse=True, scope="module")
def _no_tracing() -> None:
    """Keep the SDK from sending traces anywhere."""
    set_tracing_disabled(disabled=True)


@pytest.fixture(autouse=True)
def _as_a_user_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of one's own, and a key, which nothing here uses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr(logging.root, "handlers", list(logging.root.handlers))
    monkeypatch.setattr(logging.root, "level", logging.root.level)


def save_files(document: Path) -> None:
    """Write the files that a page shows, under the names that it gives them."""
    for block in [*blocks(document, "toml"), *blocks(document, "yaml")]:
        named = re.match(r"# ([\w-]+\.(?:toml|yaml))", block.content)
        Path(named[1] if named else "pyproject.toml").write_text(block.content, encoding="utf-8")


def run(document: Path) -> dict[str, Any]:
    """Run a page from its top to its end, and hold what each block prints against what is said to be printed."""
    save_files(document)
    made: dict[str, Any] = {}
    for code, text in shown(document):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            exec(compile(code, name(document), "exec"), made)  # noqa: S102 - the page's own code
        is_on_the_site = document.is_relative_to(ROOT / "docs")
        if text is not None or is_on_the_site:
            assert printed.getvalue().strip() == (text or "").strip()
    return made


@pytest.mark.parametrize("document", PAGES, ids=name)
def test_every_block_runs_and_prints_what_the_page_says(document: Path) -> None:
    """In order, as a reader would run them."""
    run(document)


@pytest.mark.parametrize("document", documents(), ids=name)
def test_what_a_page_installs_is_there(document: Path) -> None:
    """Each folder of a package that a command names."""
    for block in blocks(document, "sh"):
        for folder in re.findall(r"\./packages/[\w-]+", block.content):
            assert (ROOT / folder / "pyproject.toml").is_file()


@pytest.mark.rules("C3")
@pytest.mark.parametrize("document", PAGES, ids=name)
def test_every_file_of_settings_loads(document: Path) -> None:
    """Under the name that the page gives it."""
    for block in blocks(document, "toml"):
        named = re.match(r"# ([\w-]+\.toml)", block.content)
        file = Path(named[1] if named else "pyproject.toml")
        file.write_text(block.content, encoding="utf-8")
        assert RepeatGuardConfig.from_toml(file) != RepeatGuardConfig()


def test_the_agents_specification_is_loaded() -> None:
    """The file and the function of the page about Pydantic AI."""
    agent = run(ROOT / "docs/pydantic-ai.md")["load"]()
    assert agent.model.model_name == "gpt-4.1-mini"


OPENAI_ANSWERS = [
    (document, code)
    for document in PAGES
    for code, _ in shown(document)
    if "async def answer(agent: Agent, question: str)" in code
]


@pytest.mark.parametrize(("document", "code"), OPENAI_ANSWERS, ids=[name(document) for document, _ in OPENAI_ANSWERS])
async def test_the_openai_agents_sdks_line_reminds(document: Path, code: str) -> None:
    """Wherever a page shows it, with a model that is stuck for six calls."""
    made: dict[str, Any] = {}
    exec(compile(code, name(document), "exec"), made)  # noqa: S102 - the page's own code
    turns = [*([openai_model.call("get_status")] for _ in range(6)), [openai_model.say("done")]]
    model = openai_model.ScriptedModel(turns)
    assert await made["answer"](Agent(name="agent", model=model, tools=[openai_tool]), "go") == "done"
    assert len(openai_model.reminders(model.requests[-1])) == 2


async def test_the_quickstarts_line_for_pydantic_ai_reminds() -> None:
    """At the third call and the fifth."""
    model = pydantic_model.ScriptedModel(*(pydantic_model.call("look") for _ in range(6)))
    agent = run(ROOT / "docs/quickstart.md")["make_agent"](model.model)

    def look(q: int) -> str:
        """Look."""
        return "nothing"

    agent.tool_plain(look)
    await agent.run("go")
    assert len(model.reminders[-1]) == 2


async def test_the_quickstarts_line_for_autogen_reminds() -> None:
    """At the third call, the fifth and the eighth."""
    client = scripted_client.repeating(20, ("get_status", "{}"))
    team = run(ROOT / "docs/quickstart.md")["make_team"]([AssistantAgent("worker", client, tools=[autogen_tool])])
    await team.run(task="go")
    assert scripted_client.counts(client) == [0] * 3 + [1] * 2 + [2] * 3 + [3] * 12


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
