"""Every page is found, every link leads somewhere, and every picture can be read."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from tests.across.pages import INDEX, ROOT, anchors, documents, links, name

PICTURES = sorted(ROOT.glob("docs/images/*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


def linked_pages() -> set[Path]:
    """Find the documents that the navigation has."""
    return {(INDEX.parent / link).resolve() for link in links(INDEX) if link.endswith(".md")}


def test_no_page_is_missing_from_the_navigation() -> None:
    """It is made of the links on the first page."""
    assert set(ROOT.glob("docs/**/*.md")) - {INDEX} <= linked_pages()


@pytest.mark.parametrize("document", [*documents(), *ROOT.glob("*.md"), ROOT / "benchmarks/README.md"], ids=name)
def test_links_lead_to_a_file_and_a_heading(document: Path) -> None:
    """Those within the repository; a heading is where a link says that it is."""
    for link in links(document):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("picture", PICTURES, ids=name)
def test_a_picture_says_what_it_shows_and_needs_nothing_else(picture: Path) -> None:
    """For those who cannot see it, and where there is no network."""
    text = picture.read_text(encoding="utf-8")
    root = ET.fromstring(text)  # noqa: S314 - a file of ours
    assert all((root.findtext(SVG + part) or "").strip() for part in ("title", "desc"))
    assert text.count("http") == text.count("http://www.w3.org/2000/svg")
    assert any(picture == (document.parent / link).resolve() for document in documents() for link in links(document))


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/reference/*.md")), ids=name)
def test_the_reference_has_every_public_name(page: Path) -> None:
    """Those that it lists, and those that it says are the core's; without a list it has all."""
    text = page.read_text(encoding="utf-8")
    module = importlib.import_module(re.findall(r"automodule:: (\S+)", text)[0])
    (members,) = re.findall(r":members:(.*)", text)
    listed = {member.strip() for member in members.split(",")} | set(re.findall(r"`(\w+)`", text))
    assert not members or listed >= set(module.__all__)


def test_each_module_has_a_page_of_reference() -> None:
    """One for each package, and one for what authors of adapters use."""
    pages = [page.read_text(encoding="utf-8") for page in ROOT.glob("docs/reference/*.md")]
    modules = {folder.name.replace("-", "_") for folder in ROOT.glob("packages/*")}
    found = {module for page in pages for module in re.findall(r"automodule:: (\S+)", page)}
    assert found == modules | {"repeatguard_core.adapters"}
