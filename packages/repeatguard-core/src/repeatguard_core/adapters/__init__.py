"""For authors of adapters: one reader for every framework.

An adapter says how a framework's messages read (`Transcript`, `Item`), how a reminder is written,
and calls `Guard.before_request` before each request. Where reminders belong, what is remembered of
a run, errors, announcements and the end of a run are worked out here.
"""

from repeatguard_core._reminder import Decision
from repeatguard_core.adapters._agents import AgentChains
from repeatguard_core.adapters._guard import Guard, Insertion, insert
from repeatguard_core.adapters._items import Item, Kind
from repeatguard_core.adapters._memory import RunMemory
from repeatguard_core.adapters._scanner import Placement, Scanner
from repeatguard_core.adapters._transcript import Transcript

__all__ = [
    "AgentChains",
    "Decision",
    "Guard",
    "Insertion",
    "Item",
    "Kind",
    "Placement",
    "RunMemory",
    "Scanner",
    "Transcript",
    "insert",
]
