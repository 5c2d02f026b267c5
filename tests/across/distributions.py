"""Reads wheels and sdists."""

from __future__ import annotations

import re
import tarfile
import zipfile
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
HOME = "https://github.com/repeatguard/repeatguard"
PACKAGES = sorted(file.parent.name for file in ROOT.glob("packages/*/pyproject.toml"))
CORE = "repeatguard-core"
KIT = "repeatguard-testing"
#: A package is an adapter unless its pyproject.toml says otherwise.
ADAPTERS = [
    name
    for name in PACKAGES
    if not re.search(r"^adapter = false\b", (ROOT / f"packages/{name}/pyproject.toml").read_text("utf-8"), re.MULTILINE)
]


@dataclass(frozen=True)
class Distribution:
    """A wheel or an sdist.

    Attributes:
        metadata: What it says of itself.
        files: What it holds, by path; those of an sdist without the folder that all of them are in.
    """

    metadata: Message
    files: dict[str, bytes]

    @property
    def package(self) -> str:
        """The name to install it by."""
        return str(self.metadata["Name"])

    @property
    def requirements(self) -> list[Requirement]:
        """What it requires."""
        return [Requirement(text) for text in self.all("Requires-Dist")]

    @property
    def page(self) -> str:
        """What an index shows of it."""
        return str(self.metadata.get_payload())

    def all(self, field: str) -> list[str]:
        """Give every value of a field of the metadata."""
        return [str(value) for value in self.metadata.get_all(field, [])]


def read_wheel(file: Path) -> Distribution:
    """Read a wheel."""
    with zipfile.ZipFile(file) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    (metadata,) = [content for name, content in files.items() if name.endswith(".dist-info/METADATA")]
    return Distribution(Parser().parsestr(metadata.decode()), files)


def read_sdist(file: Path) -> Distribution:
    """Read an sdist."""
    files: dict[str, bytes] = {}
    with tarfile.open(file) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                files[member.name.partition("/")[2]] = content.read()
    return Distribution(Parser().parsestr(files["PKG-INFO"].decode()), files)
