"""How the documentation site is built: `nox -s site`.

The root of the repository is the source, so a link in a document leads to the same place here and
on a code host. The navigation is what docs/index.md links to, section by section.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

# Autodoc imports in a way of its own, which some frameworks do not survive; it takes what is imported already.
for folder in sorted(ROOT.glob("packages/*")):
    importlib.import_module(folder.name.replace("-", "_"))

INDEX = "docs/index"

project = "repeatguard"
author = "the repeatguard authors"
project_copyright = author
root_doc = INDEX
include_patterns = [
    "docs/*.md",
    "docs/reference/*.md",
    "packages/repeatguard-core/README.md",
    "benchmarks/README.md",
    "*.md",
]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]

myst_heading_anchors = 4
smartquotes_action = "D"  # dashes only: what an error says is quoted as it is
source_suffix = {".md": "markdown"}

# In docstrings, a name in single backticks is one of ours.
default_role = "py:obj"
add_module_names = False  # a page is about one module
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("LLMMessage", "ModelMessage", "TResponseInputItem")}
napoleon_use_ivar = True
python_display_short_literal_types = True

html_theme = "furo"
html_title = project
html_extra_path = ["extra"]
html_copy_source = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
copybutton_exclude = ".linenos, .gp, .go"


def navigation(index: str) -> str:
    """Turn the sections of the index and their links into tables of contents, which the theme shows beside a page."""
    tables: list[str] = []
    for section in index.split("\n## ")[1:]:
        caption, _, body = section.partition("\n")
        entries = [f"{title} </{path}>" for title, path in pages(body)]
        tables.append("\n".join(["```{toctree}", f":caption: {caption}", ":hidden:", "", *entries, "```", ""]))
    return "\n".join(tables)


def pages(section: str) -> list[tuple[str, str]]:
    """List the pages that a section links to: each one's title and its name from the root."""
    links = re.findall(r"^- \[(.+?)\]\((.+?)\.md\)", section, re.MULTILINE)
    base = (ROOT / INDEX).parent
    return [(title, (base / path).resolve().relative_to(ROOT).as_posix()) for title, path in links]


def unlink_folders(document: str, docname: str) -> str:
    """Leave links to folders as text: a code host lists a folder, and the site has no such page."""
    folder = (ROOT / docname).parent

    def text_or_link(link: re.Match[str]) -> str:
        return link[1] if (folder / link[2]).is_dir() else link[0]

    return re.sub(r"\[([^]\n]+)\]\(([^)#:\n]+)\)", text_or_link, document)


def prepare(_app: Any, docname: str, source: list[str]) -> None:
    """Change a document on its way to the site."""
    source[0] = unlink_folders(source[0], docname)
    if docname == INDEX:
        source[0] += "\n" + navigation(source[0])


def setup(app: Any) -> None:
    """Connect to Sphinx."""
    app.connect("source-read", prepare)
