"""The page of each package: what an index shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import readme_renderer.markdown
from markdown_it import MarkdownIt
from markdown_it.token import Token
from repeatguard_core import is_reminder

from tests.across.distributions import ADAPTERS, HOME, PACKAGES, ROOT, Distribution
from tests.wire.strict_server import StrictServer

FILES = f"{HOME}/blob/main/"
#: The server answers with the model's name as it was asked for; OpenAI adds a date, and AutoGen misses it.
NO_DATE = "ignore:Resolved model mismatch:UserWarning"
each_package = pytest.mark.parametrize("package", PACKAGES)


def tokens(package: str) -> list[Token]:
    """Read a package's page."""
    return MarkdownIt().parse((ROOT / "packages" / package / "README.md").read_text(encoding="utf-8"))


def blocks(package: str, language: str) -> list[str]:
    """Find the page's blocks in a language."""
    return [token.content for token in tokens(package) if token.type == "fence" and token.info == language]


def links(package: str) -> list[str]:
    """List where the page's links and pictures lead."""
    inline = [child for token in tokens(package) for child in token.children or ()]
    return [
        str(child.attrs.get("href") or child.attrs["src"]) for child in inline if child.type in {"link_open", "image"}
    ]


def run(code: str, **environment: str) -> str:
    """Run a block as a script of its own, in an empty folder, and give back what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(code, encoding="utf-8")
        command = [sys.executable, "-W", "error", "-W", NO_DATE, str(script)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            encoding="utf-8",
            cwd=folder,
            env={**os.environ, **environment},
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


@each_package
def test_a_page_is_what_is_built_and_renders(wheels: dict[str, Distribution], package: str) -> None:
    """As an index renders it, with every block and heading."""
    page = (ROOT / "packages" / package / "README.md").read_text(encoding="utf-8")
    assert wheels[package].page.strip() == page.strip()
    assert wheels[package].metadata["Description-Content-Type"] == "text/markdown"
    rendered = readme_renderer.markdown.render(page)
    assert rendered is not None
    assert re.findall(r"<h1[^>]*>([\w-]+)<", rendered) == [package]
    assert rendered.count("<pre") == sum(token.type == "fence" for token in tokens(package))


@each_package
def test_a_page_says_how_to_install_it_first(package: str) -> None:
    """In a block of its own, which is all that is for the shell."""
    assert blocks(package, "sh") == [f"pip install {package}\n"]
    assert next(token.content for token in tokens(package) if token.type == "fence") == f"pip install {package}\n"


@each_package
def test_a_pages_links_lead_somewhere(package: str) -> None:
    """An index knows no relative ones, and what they name in the repository is there."""
    for link in links(package):
        assert link.startswith(HOME)
        if link.startswith(FILES):
            assert (ROOT / link.removeprefix(FILES).partition("#")[0]).is_file(), link
    assert {FILES + "LICENSE", FILES + "CHANGELOG.md", f"{HOME}/issues"} <= set(links(package))
    assert any(link.startswith(FILES + "docs/") for link in links(package))


@each_package
def test_a_page_has_one_block_to_run_and_one_to_read(package: str) -> None:
    """So that the tests here run and compare all there is."""
    fences = [token.info for token in tokens(package) if token.type == "fence"]
    assert fences == ["sh", "python", "text"]


@pytest.mark.parametrize("package", ADAPTERS)
def test_an_adapters_page_runs_as_it_stands(package: str) -> None:
    """With the framework's own model, against a server that is strict: the model reads what the page says."""
    (code,), (shown,) = blocks(package, "python"), blocks(package, "text")
    with StrictServer([*[[("get_status", '{"job": "export"}')]] * 3, "It is still pending."]) as server:
        offline = {"OPENAI_AGENTS_DISABLE_TRACING": "1"}
        printed = run(code, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="none", **offline)
    assert printed == "It is still pending.\n"
    assert server.refusals == []
    assert [text for body in server.requests for text in reminders(body)] == [shown.strip()]


@pytest.mark.parametrize("package", sorted({*PACKAGES} - {*ADAPTERS}))
def test_another_packages_page_runs_as_it_stands(package: str) -> None:
    """It prints what the page says."""
    (code,), (shown,) = blocks(package, "python"), blocks(package, "text")
    assert run(code) == shown


def reminders(body: dict[str, Any]) -> list[str]:
    """Find the reminders in a request, whichever API it is for."""
    texts = [text for text in strings(body) if is_reminder(text)]
    return [text.strip() for text in texts]


def strings(value: Any) -> list[str]:
    """List all texts in a JSON value."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in strings(item)]
