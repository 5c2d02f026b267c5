"""Check that the version is ready to be published, and print its notes: ``python -m releasing [TAG]``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from releasing.readiness import NotReadyError, notes_of

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Print the notes, or what is missing."""
    # It is the version of the workspace that all packages are held to.
    command = ["uv", "version", "--short", "--project", str(ROOT)]
    version = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    try:
        print(notes_of(ROOT, version, *sys.argv[1:2]))
    except NotReadyError as error:
        sys.exit(f"Not ready: {error}")


if __name__ == "__main__":
    main()
