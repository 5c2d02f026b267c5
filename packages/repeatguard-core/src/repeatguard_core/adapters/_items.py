"""What a conversation is made of, in no framework's terms."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from repeatguard_core._calls import ToolCall

__all__ = ["Item", "Kind"]


class Kind(Enum):
    """What an item is to the guard."""

    #: A response of the model begins. Only for frameworks whose messages show it.
    RESPONSE = "response"
    #: A call that the model made.
    CALL = "call"
    #: The result of a call, or what the framework says instead of one.
    RESULT = "result"
    #: Anything else that comes with the results before it. A reminder is placed after it.
    ATTACHMENT = "attachment"
    #: Anything else that comes from the model or the framework: words, thoughts, a summary.
    OTHER = "other"
    #: New input: a message of the user's, of another extension's, or any other that does not come from the model.
    INPUT = "input"
    #: Words that are neither the model's nor new input: another agent's, or instructions that were there before.
    ASIDE = "aside"
    #: Words of the agent that made the calls right before them, which are a copy from that agent's own
    #: conversation. It hands over to the one that reads here, so no reminder is placed after its calls.
    TAKEOVER = "takeover"
    #: A reminder of this package.
    REMINDER = "reminder"


class Item(NamedTuple):
    """A part of a conversation, as far as the guard looks at it.

    Attributes:
        kind: What it is.
        call: Of a `Kind.CALL`, the call. It has its result if the framework keeps both in one place.
        call_id: Of a call and its result, the id that they share. Ids need not be unique: in a
            response, the calls with one id take the results with that id in order.
        awaits_result: Of a call, whether a result with its id must follow before the next request.
            False for calls that the provider runs.
        result: Of a result, what the model is told, without anything that differs between equal
            results (ids, times); None if it is not known. A function without arguments that returns
            it is called only where results are compared.
        hands_off_to: Of a result, the name of the agent that takes over, if the call was a handoff.
            The empty string if the conversation belongs to the agent that hands over and goes on
            when it gets control back: what is due is then held until that agent's next request.
        agent: Of a response or a call, the name of the agent that made it, if the conversation names
            it. Otherwise the last handoff tells.
        checkpoint: Of a reminder, what `RepeatChain.checkpoint` returned when it was written, if the
            framework has kept it.
    """

    kind: Kind
    call: ToolCall | None = None
    call_id: str | None = None
    awaits_result: bool = False
    result: object = None
    hands_off_to: str | None = None
    agent: str | None = None
    checkpoint: str | None = None
