"""``python -m scaffolding`` makes a new adapter's folders; without a name, it only brings the lists up to date.

What it makes passes all checks as it stands: an adapter to a loop over the messages of OpenAI's Chat
Completions. Replace that by your framework, step by step.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from scaffolding.lists import PAGES, render

ROOT = Path(__file__).parents[1]
TEMPLATE = Path(__file__).with_name("template")


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the folders, and write the lists."""
    parser = argparse.ArgumentParser(prog="python -m scaffolding", description="Make the folders of a new adapter.")
    parser.add_argument("name", nargs="?", help="the name in the package's name, such as my-framework")
    parser.add_argument("title", nargs="?", help='the framework\'s own name, such as "My Framework"')
    given = parser.parse_args(arguments)
    if given.name:
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", given.name):
            parser.error(f"the name is in lower case, with hyphens, such as my-framework; not {given.name!r}")
        if (ROOT / "packages" / f"repeatguard-{given.name}").exists():
            parser.error(f"packages/repeatguard-{given.name} is there already")
        for file in make(given.name, given.title or given.name.replace("-", " ").title()):
            print(file.relative_to(ROOT))
    for page in PAGES:
        (ROOT / page).write_text(render(ROOT, page), encoding="utf-8")
    if given.name:
        print("Next: uv lock && uv sync --all-packages --all-groups --all-extras; then docs/write-an-adapter.md")


def make(name: str, title: str) -> list[Path]:
    """Write the files of a new adapter.

    Args:
        name: The package's name without "repeatguard-".
        title: The framework's own name.

    Returns:
        The files.
    """
    version = re.findall(r'^version = "(.*?)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[0]
    words = {
        "framework-name": name,
        "framework_name": name.replace("-", "_"),
        "FrameworkName": name.replace("-", " ").title().replace(" ", ""),
        "Framework Name": title,
        "0.1.0": version,
    }
    made: list[Path] = []
    for source in sorted(file for file in TEMPLATE.rglob("*") if file.is_file() and "__pycache__" not in file.parts):
        target = ROOT / _replaced(source.relative_to(TEMPLATE).as_posix(), words)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_replaced(source.read_text(encoding="utf-8"), words), encoding="utf-8")
        made.append(target)
    return made


def _replaced(text: str, words: dict[str, str]) -> str:
    for word, replacement in words.items():
        text = text.replace(word, replacement)
    return text


if __name__ == "__main__":
    main()
