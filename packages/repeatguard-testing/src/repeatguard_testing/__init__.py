"""The adapter contract kit: one definition of right for every adapter.

An adapter's author writes a `Driver`, which plays scripts in the framework, and a test class that
inherits from `AdapterContract`. In pytest, the report on all rules and adapters comes by itself.
"""

from repeatguard_testing._checks import ContractError
from repeatguard_testing._contract import AdapterContract
from repeatguard_testing._driver import (
    Called,
    Driver,
    Entry,
    MakeGuard,
    Options,
    Other,
    Request,
    Returned,
    Said,
    SyncDriver,
    Wrote,
)
from repeatguard_testing._player import Role, ScriptPlayer
from repeatguard_testing._rules import RULES
from repeatguard_testing._scenarios import SCENARIOS, Scenario
from repeatguard_testing._script import MEANINGS, RETURNING_TOOLS, Call, Capability, Run, Script, Turn

__all__ = [
    "MEANINGS",
    "RETURNING_TOOLS",
    "RULES",
    "SCENARIOS",
    "AdapterContract",
    "Call",
    "Called",
    "Capability",
    "ContractError",
    "Driver",
    "Entry",
    "MakeGuard",
    "Options",
    "Other",
    "Request",
    "Returned",
    "Role",
    "Run",
    "Said",
    "Scenario",
    "Script",
    "ScriptPlayer",
    "SyncDriver",
    "Turn",
    "Wrote",
]
