"""Reading a conversation of which nothing is known but what is in sight."""

from __future__ import annotations

from collections.abc import Iterator

from repeatguard_core._calls import ToolCall
from repeatguard_core._chain import RepeatChain
from repeatguard_core.adapters._agents import AgentChains, NewChain
from repeatguard_core.adapters._batch import calls_with_results
from repeatguard_core.adapters._items import Item, Kind
from repeatguard_core.adapters._scanner import Scanner
from repeatguard_core.adapters._transcript import AnyTranscript

__all__ = ["derive", "newest_response"]


class _HandoffError(Exception):
    """There is a handoff further back, so that it takes the whole conversation to tell whose calls are whose."""


def derive(transcript: AnyTranscript, new_chain: NewChain) -> Scanner:
    """Find where reminders belong.

    Args:
        transcript: The messages of a request that is about to be sent.
        new_chain: Makes a chain.

    Returns:
        The scanner at the end of the conversation. Where the framework keeps reminders, it has read
        the newest response and what followed, and of what was before only as much as matters.
    """
    if transcript.keeps_reminders:
        start = newest_response(transcript)
        chain = new_chain()
        if start < len(transcript) and not any(map(chain.tracks, _tools_called(transcript, start))):
            scanner = Scanner(AgentChains(new_chain))
            scanner.scan(transcript, start)
            # Nothing can be due, so the way back through such responses can wait.
            scanner.knows_past = scanner.has_input
            return scanner
        agents = [item.agent for item in transcript[start] if item.kind is Kind.CALL] if start < len(transcript) else []
        agent = agents[0] if agents else None
        try:
            chain.catch_up(_newest_first(transcript, start, agent, chain))
        except _HandoffError:
            start, scanner = 0, Scanner(AgentChains(new_chain))
        else:
            scanner = Scanner(AgentChains(new_chain, (agent, chain)))
    else:
        start, scanner = 0, Scanner(AgentChains(new_chain))
    scanner.scan(transcript, start)
    return scanner


def newest_response(transcript: AnyTranscript) -> int:
    """Return the index of the newest response; the number of messages if there is none."""
    for index in range(len(transcript) - 1, -1, -1):
        if any(item.kind is Kind.RESPONSE for item in transcript[index]):
            return index
    return len(transcript)


def _tools_called(transcript: AnyTranscript, start: int) -> Iterator[str]:
    """List the names of the tools called from a message on."""
    for index in range(start, len(transcript)):
        for item in transcript[index]:
            if item.call is not None:
                yield item.call.name


def _newest_first(
    transcript: AnyTranscript, end: int, agent: str | None, chain: RepeatChain
) -> Iterator[list[ToolCall] | str | None]:
    """Read a conversation back, in the terms of `RepeatChain.catch_up`, as far as somebody asks."""
    calls: list[Item] = []
    results: list[Item] = []
    for index in range(end - 1, -1, -1):
        for item in reversed(transcript[index]):
            if item.hands_off_to is not None:
                raise _HandoffError
            if item.kind is Kind.RESULT:
                results.append(item)
            elif item.kind is Kind.CALL:
                calls.append(item)
            elif item.kind is Kind.RESPONSE:
                if calls and calls[0].agent == agent:
                    yield calls_with_results(calls[::-1], results[::-1], chain)
                calls, results = [], []
            elif item.kind is Kind.INPUT:
                yield None
            elif item.checkpoint is not None:
                yield item.checkpoint
