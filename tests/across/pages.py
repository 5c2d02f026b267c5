"""What the documents hold: their blocks, headings and links."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.across.distributions import ADAPTERS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
INDEX = ROOT / "docs/index.md"
#: Its blocks are parts of files that the contract is run on; another test compares them.
EXCERPTS = ROOT / "docs/write-an-adapter.md"


#: The packages whose own pages ask a real provider; test_package_pages.py has a server answer in its place.
_ASK_A_PROVIDER = {ROOT / "packages" / package / "README.md" for package in ADAPTERS}


class Shown(NamedTuple):
    """A block of code, and the text that stands right behind it."""

    code: str
    text: str | None


def documents() -> list[Path]:
    """List the documents that a user reads."""
    return [README, *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("packages/*/README.md"))]


def run_pages() -> list[Path]:
    """List those whose blocks are run from top to end."""
    return [document for document in documents() if document != EXCERPTS and document not in _ASK_A_PROVIDER]


def name(document: Path) -> str:
    """Name a document from the root, as a test's parameter."""
    return document.relative_to(ROOT).as_posix()


def tokens(document: Path) -> list[Token]:
    """Parse a document, tables included."""
    return MarkdownIt().enable("table").parse(document.read_text(encoding="utf-8"))


def blocks(document: Path, language: str) -> list[Token]:
    """Find the fenced blocks in one language."""
    return [token for token in tokens(document) if token.type == "fence" and token.info == language]


def shown(document: Path) -> Iterator[Shown]:
    """Find each block of Python with what it is said to print."""
    found = tokens(document)
    for token, behind in zip(found, [*found[1:], None], strict=True):
        if token.type == "fence" and token.info == "python":
            is_text = behind is not None and behind.type == "fence" and behind.info == "text"
            yield Shown(token.content, behind.content if behind and is_text else None)


def rows(document: Path, section: str) -> list[list[str]]:
    """Read the tables of a section, without the first one's head."""
    text = document.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def links(document: Path) -> list[str]:
    """List where the links and pictures of a document lead."""
    inline = [child for token in tokens(document) for child in token.children or []]
    targets = [token.attrGet("href") or token.attrGet("src") for token in inline]
    return [str(target) for target in targets if target]


def anchors(document: Path) -> set[str]:
    """Make the anchors of a document's headings, as code hosts and the site do."""
    found = tokens(document)
    headings = [behind.content for token, behind in itertools.pairwise(found) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def save_files(document: Path) -> None:
    """Write the files that a page shows, under the names that it gives them."""
    for block in [*blocks(document, "toml"), *blocks(document, "yaml")]:
        named = re.match(r"# ([\w-]+\.(?:toml|yaml))", block.content)
        Path(named[1] if named else "pyproject.toml").write_text(block.content, encoding="utf-8")
