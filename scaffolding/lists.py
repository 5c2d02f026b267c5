"""The lists of packages in the pages, made from what the packages say of themselves.

Each list stands in its page between two comments, ``<!-- adapters:begin -->`` and ``<!-- adapters:end -->``,
or the same with another name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

__all__ = ["PAGES", "Package", "packages", "render"]


@dataclass(frozen=True)
class Package:
    """A package, as its own files have it.

    Attributes:
        root: The root of the repository.
        name: The name to install it by.
    """

    root: Path
    name: str

    @property
    def short(self) -> str:
        """Its name without the project's."""
        return self.name.removeprefix("repeatguard-")

    @property
    def settings(self) -> Mapping[str, Any]:
        """How it is tested."""
        return dict(self._declared.get("tool", {}).get("repeatguard-tests", {}))

    @property
    def is_adapter(self) -> bool:
        """Whether it brings the guard into a framework."""
        return bool(self.settings.get("adapter", True))

    @property
    def title(self) -> str:
        """The heading of its page: the framework's name."""
        return self._find(self.root / f"docs/{self.short}.md", r"\A# (.+)\n")

    @property
    def line(self) -> str:
        """The one line that wires it."""
        return self._find(self.root / f"packages/{self.name}/README.md", r"^The one line is `([^`]+)`")

    @property
    def pythons(self) -> list[str]:
        """The versions of Python that it supports."""
        classifiers = "\n".join(self._declared["project"]["classifiers"])
        return re.findall(r"Python :: (3\.\d+)$", classifiers, re.MULTILINE)

    @property
    def required(self) -> tuple[str, str]:
        """What it needs, which is its first dependency, and the lowest release."""
        name, floor = re.split(r"\[[^]]*\]>=|>=", self._declared["project"]["dependencies"][0])
        return name, re.split("[,;]", floor)[0]

    @property
    def _declared(self) -> Mapping[str, Any]:
        return tomllib.loads((self.root / f"packages/{self.name}/pyproject.toml").read_text(encoding="utf-8"))

    @staticmethod
    def _find(file: Path, pattern: str) -> str:
        found = re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)
        if found is None:
            msg = f"{file} has nothing that matches {pattern!r}"
            raise LookupError(msg)
        return found[1]


def packages(root: Path) -> list[Package]:
    """List the packages: the core, the kit, and the adapters in the README's order, new ones last.

    Args:
        root: The root of the repository.
    """
    readme = (root / "README.md").read_text(encoding="utf-8")
    found = [Package(root, file.parent.name) for file in root.glob("packages/*/pyproject.toml")]

    def order(package: Package) -> tuple[bool, float, str]:
        place = readme.find(f"| `{package.name}` |") if package.is_adapter else -1
        return package.is_adapter, place if place >= 0 else float(package.is_adapter and len(readme)), package.name

    return sorted(found, key=order)


def _in_readme(found: list[Package]) -> Iterator[str]:
    yield "| Framework | Package | The one line |"
    yield "|---|---|---|"
    for package in found:
        if package.is_adapter:
            yield f"| [{package.title}](docs/{package.short}.md) | `{package.name}` | `{package.line}` |"
    yield "| [a loop of your own](packages/repeatguard-core/README.md) | `repeatguard-core` | `chain.observe(calls)` |"


def _in_index(found: list[Package]) -> Iterator[str]:
    for package in found:
        if package.is_adapter:
            yield f"- [{package.title}]({package.short}.md)"


def _in_reference(found: list[Package]) -> Iterator[str]:
    for package in found:
        if package.is_adapter:
            yield f"- [{package.name}](reference/{package.short}.md)"


def _in_support(found: list[Package]) -> Iterator[str]:
    yield "| Package | Python | Needs | Lowest release tested | Tested in between | Newest tested |"
    yield "|---|---|---|---|---|---|"
    for package in found:
        pythons = f"{package.pythons[0]} to {package.pythons[-1]}"
        required, lowest = package.required
        between = ", ".join(package.settings.get("releases", ()))
        row = f"| `{package.name}` | {pythons} | `{required}` | {lowest} | {between} | the newest |"
        yield row.replace("|  |", "| |")


#: The pages that have lists, and what makes each list, by its name.
PAGES: Final[Mapping[str, Mapping[str, Callable[[list[Package]], Iterator[str]]]]] = MappingProxyType(
    {
        "README.md": {"adapters": _in_readme},
        "docs/index.md": {"adapters": _in_index, "reference": _in_reference},
        "docs/support.md": {"packages": _in_support},
    }
)


def render(root: Path, page: str) -> str:
    """Return a page with its lists as they have to be.

    Args:
        root: The root of the repository.
        page: One of `PAGES`.

    Raises:
        LookupError: The page lacks the comments of a list, or a package lacks what a list says of it.
    """
    text = (root / page).read_text(encoding="utf-8")
    for name, rows in PAGES[page].items():
        begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->\n"
        before, has_begin, rest = text.partition(begin)
        _, has_end, after = rest.partition(end)
        if not has_begin or not has_end:
            msg = f"{page} has no list between {begin.strip()} and {end.strip()}"
            raise LookupError(msg)
        text = f"{before}{begin}" + "".join(f"{row}\n" for row in rows(packages(root))) + f"{end}{after}"
    return text
