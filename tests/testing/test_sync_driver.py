"""An adapter to a framework without async functions passes the contract."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

from repeatguard_core import RepeatGuardConfig
from repeatguard_testing import AdapterContract, MakeGuard, Options, Request, Script, SyncDriver

from tests.testing.reference import ReferenceDriver, ReferenceGuard


class SyncReferenceDriver(SyncDriver):
    """The reference, of which nothing is ever awaited."""

    name = "reference, without async"

    def guard(self, config: RepeatGuardConfig, **options: Any) -> ReferenceGuard:
        return ReferenceGuard(config, **options)

    def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        async def pause() -> None:
            options.wait()

        return at_once(ReferenceDriver().play(script, make_guard, replace(options, pause=pause)))


def at_once(coroutine: Coroutine[Any, Any, Sequence[Request]]) -> Sequence[Request]:
    """Run what never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        requests: Sequence[Request] = end.value
        return requests
    raise AssertionError


class TestSyncReference(AdapterContract):
    """Without an event loop."""

    driver = SyncReferenceDriver()
