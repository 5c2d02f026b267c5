"""The site as it was built: complete, and nothing in it comes from elsewhere.

The session that builds the site runs this, and says where it stands.
"""

from __future__ import annotations

import importlib
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.across.pages import ROOT, documents, name

SITE = Path(os.environ.get("REPEATGUARD_SITE") or "no site was built")
pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="the site has not been built")
#: Tags that load something when a page is looked at, and the attribute that says what.
LOADS = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page loads, where it links to, and what can be linked to in it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids.add(given.get("id") or "")
        if loaded := given.get(LOADS.get(tag, "")):
            self.loads.append(loaded)
        if tag == "a" and (link := given.get("href")):
            self.links.append(link)


@pytest.fixture(scope="module")
def pages() -> dict[Path, Page]:
    """Every page of the site, by its file."""
    return {file: Page(file) for file in sorted(SITE.resolve().rglob("*.html"))}


def test_each_document_has_a_page(pages: dict[Path, Page]) -> None:
    """Those of the packages apart, whose content the frameworks' pages have."""
    wanted = {name(document) for document in documents() if not document.is_relative_to(ROOT / "packages")}
    built = {file.relative_to(SITE.resolve()).with_suffix(".md").as_posix() for file in pages}
    assert wanted <= built


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Page]) -> None:
    """No font, script, style or picture: the site is whole without a network."""
    for page in pages.values():
        assert not [loaded for loaded in page.loads if re.match(r"(\w+:)?//", loaded)]
    for style in SITE.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(\w+:)?//", style.read_text(encoding="utf-8"))


def test_links_within_the_site_lead_somewhere(pages: dict[Path, Page]) -> None:
    """Files and headings."""
    for file, page in pages.items():
        for link in [*page.links, *page.loads]:
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = unquote(link.partition("?")[0]).partition("#")
            target = (file.parent / path).resolve() if path else file
            assert target.is_file(), f"{link} on {file}"
            assert not anchor or target not in pages or anchor in pages[target].ids, f"{link} on {file}"


@pytest.mark.parametrize("source", sorted(ROOT.glob("docs/reference/*.md")), ids=name)
def test_every_public_name_has_its_docstring_in_the_reference(pages: dict[Path, Page], source: Path) -> None:
    """Those that are the core's have it on the core's page."""
    text = source.read_text(encoding="utf-8")
    module = re.findall(r"automodule:: (\S+)", text)[0]
    page = pages[(SITE / source.relative_to(ROOT)).resolve().with_suffix(".html")]
    described = {found.rpartition(".")[2] for found in page.ids if found.startswith(module)}
    from_the_core = set(re.findall(r"`(\w+)`", text))
    assert described | from_the_core >= set(importlib.import_module(module).__all__)
