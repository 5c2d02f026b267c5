"""The arms: what differs between requests that are compared."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from repeatguard_core import RepeatGuardConfig

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["ARMS", "NONE", "Arm", "Place", "wordings"]

#: Where the words of the guard go: behind the results that they are about, or into the last one of these; or, of no
#: adapter of ours, behind these results in one request alone, or behind the newest results in every later request.
Place: TypeAlias = Literal["behind", "in_result", "once", "last"]


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to treat a conversation.

    Attributes:
        name: Its name in the lines and in the report.
        config: What the guard goes by; None for no guard.
        place: Where its words go. The guard's own place is ``"behind"``.
    """

    name: str
    config: RepeatGuardConfig | None
    place: Place = "behind"


NONE: Final = Arm("none", None)

#: The arms that there are without a file of wordings.
ARMS: Final = (
    NONE,
    Arm("guard", RepeatGuardConfig()),
    Arm("in_result", RepeatGuardConfig(), "in_result"),
    Arm("guard_defer", RepeatGuardConfig(on_changed_result="defer")),
    Arm("guard_reset", RepeatGuardConfig(on_changed_result="reset")),
)


def wordings(path: Path) -> list[Arm]:
    """Read further arms from a file: each table is a configuration of the guard.

    Args:
        path: The TOML file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no TOML, or a table is no configuration, or has the name of another arm.
    """
    arms: list[Arm] = []
    for name, settings in tomllib.loads(path.read_text(encoding="utf-8")).items():
        if name in {arm.name for arm in ARMS}:
            msg = f"{path.name} has a table {name}, and there is an arm of that name"
            raise ValueError(msg)
        try:
            arms.append(Arm(name, RepeatGuardConfig.model_validate(settings)))
        except ValueError as error:
            msg = f"{path.name}, table [{name}]: {error}"
            raise ValueError(msg) from error
    return arms
