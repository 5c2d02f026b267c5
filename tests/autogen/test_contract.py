"""The adapter against the contract that all adapters share, in each way that it can be wired."""

from __future__ import annotations

from repeatguard_testing import AdapterContract

from tests.autogen.driver import (
    LOOPS_WITHIN_A_TURN,
    AcrossTurnsDriver,
    CoreLoopDriver,
    TeamDriver,
    TeamWithinATurnDriver,
    UsersRuntimeDriver,
    WithinATurnDriver,
)


class TestAcrossTurns(AdapterContract):
    """``guard.attach(agent)``, for an agent that is run again and again."""

    driver = AcrossTurnsDriver()


if LOOPS_WITHIN_A_TURN:

    class TestWithinATurn(AdapterContract):
        """``model_context=guard.context()``, for an agent that loops within its turn."""

        driver = WithinATurnDriver()

    class TestTeamWithinATurn(AdapterContract):
        """``guard.attach(team)``, for agents that loop within their turns."""

        driver = TeamWithinATurnDriver()


class TestTeam(AdapterContract):
    """``guard.runtime()``, for a team."""

    driver = TeamDriver()


class TestUsersRuntime(AdapterContract):
    """``intervention_handlers=[guard]``, for a team."""

    driver = UsersRuntimeDriver()


class TestCoreLoop(AdapterContract):
    """``guard.client(client)``, for the core's own loop."""

    driver = CoreLoopDriver()
