"""Is what a caller hands over what it should be?"""

from __future__ import annotations

import inspect
import reprlib

from repeatguard_core._config import RepeatGuardConfig

__all__ = ["given_config", "refuse_what_is_no_plain_function"]


def given_config(config: object) -> RepeatGuardConfig:
    """Give the configuration that was handed over, or the defaults if it was left out.

    Args:
        config: What was handed over.

    Raises:
        TypeError: It is no configuration: a guard that never fires must not come about silently.
    """
    if config is None:
        return RepeatGuardConfig()
    if not isinstance(config, RepeatGuardConfig):
        msg = (
            f"config must be a RepeatGuardConfig, not {_shown(config)}; "
            "write RepeatGuardConfig(thresholds=(3, 6)), RepeatGuardConfig.from_toml(path) for a file, "
            "or RepeatGuardConfig.model_validate(mapping)"
        )
        raise TypeError(msg)
    return config


def refuse_what_is_no_plain_function(name: str, function: object) -> None:
    """Refuse what cannot be called, or what nobody would await.

    Args:
        name: The argument's name.
        function: What was handed over; None is fine.

    Raises:
        TypeError: It is no function, or is async.
    """
    if function is None:
        return
    if not callable(function):
        msg = f"{name} must be a function, not {_shown(function)}; leave it out if there is none"
        raise TypeError(msg)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        shown = getattr(function, "__qualname__", f"a {type(function).__qualname__}")
        msg = f"{name} must be a plain function, and {shown} is async, so it would never be awaited; make it plain"
        raise TypeError(msg)


def _shown(value: object) -> str:
    """Show a plain value in short; of any other no more than what it is, for it may hold what is nobody's business."""
    plain = (str, int, float, bool, dict, list, tuple)
    return reprlib.repr(value) if type(value) in plain else f"a {type(value).__qualname__}"
