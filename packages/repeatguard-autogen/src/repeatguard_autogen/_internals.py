"""What AutoGen has no public name for. No other module of this package uses a private name.

`PRIVATE_NAMES` says what each is needed for; a test looks each of them up in the real classes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType
from typing import Any, Final, NamedTuple

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import ChatAgent, Team, TerminationCondition
from autogen_core import AgentId, AgentRuntime, ComponentBase, MessageContext, SingleThreadedAgentRuntime
from autogen_core.model_context import ChatCompletionContext

__all__ = [
    "PRIVATE_NAMES",
    "Turn",
    "calling_runtime",
    "children",
    "conditions_of",
    "handoffs_of",
    "is_request_to_speak",
    "model_context_of",
    "names_of",
    "proxies_of",
    "replace_model_context",
    "resolve_turn",
    "speakers",
]

PRIVATE_NAMES: Final[Mapping[str, str]] = {
    "_model_context": "an agent's model context can be read by a public name, but not replaced",
    "_handoffs": "only the agent knows which of its tools are handoffs",
    "_participants": "a team does not show its members",
    "_group_chat_manager_name": "a team does not show the name that its manager speaks under",
    "_team": "a SocietyOfMindAgent does not show its team",
    "_wrapped_agent": "a MessageFilterAgent does not show its agent",
    "_workbench": "an agent does not show its tools, some of which may be agents",
    "_tools": "a workbench shows its tools' schemas, but not the tools",
    "_task_runner": "an AgentTool or TeamTool does not show its agent or team",
    "_agent": "the container that stands for an agent in a runtime does not show the agent",
    "_termination_condition": "neither a team nor its manager shows what ends it",
    "_conditions": "a condition that combines others does not show them",
    "_participant_names": "a team's manager does not show whom it manages",
    "_name": "nor the name that it speaks under",
    "_participant_name_to_topic_type": "nor where they are found, which tells a human's proxy from an agent",
}
#: Where agents, teams and what may hold them are kept.
_HOLDERS: Final = ("_participants", "_team", "_wrapped_agent", "_workbench", "_tools", "_task_runner")
#: The type of the message that asks an agent for its turn; its module is private.
_REQUEST_TO_SPEAK: Final = "GroupChatRequestPublish"


def model_context_of(agent: object) -> ChatCompletionContext | None:
    """Return an agent's model context; None if it has none."""
    context = getattr(agent, "_model_context", None)
    return context if isinstance(context, ChatCompletionContext) else None


def replace_model_context(agent: Any, context: ChatCompletionContext) -> None:
    """Replace an agent's model context by another, which it uses from its next turn on."""
    agent._model_context = context  # noqa: SLF001 - see PRIVATE_NAMES


def handoffs_of(agent: object) -> Mapping[str, str] | None:
    """Return the names of an agent's handoff tools, each with its target; None if they are not known."""
    handoffs = getattr(agent, "_handoffs", None)
    return {name: each.target for name, each in handoffs.items()} if isinstance(handoffs, Mapping) else None


def children(holder: object) -> Iterator[object]:
    """List the agents and teams, workbenches and tools that are held by one of them."""
    for name in _HOLDERS:
        held = getattr(holder, name, None)
        for each in held if isinstance(held, list | tuple) else [held]:
            if isinstance(each, ComponentBase):
                yield each


def speakers(holder: object) -> Iterator[ChatAgent | Team]:
    """List an agent or a team, and those inside that speak for it, however deep; those that are tools do not."""
    seen: list[object] = []
    pending = [holder]
    while pending:
        each = pending.pop()
        if isinstance(each, ChatAgent | Team) and not any(each is other for other in seen):
            seen.append(each)
            yield each
            pending.extend(children(each))


def names_of(speakers: Iterable[ChatAgent | Team]) -> frozenset[str]:
    """Return the names that agents and teams speak under, the teams' managers' included."""
    names = [getattr(each, name, None) for each in speakers for name in ("name", "_group_chat_manager_name")]
    return frozenset(name for name in names if isinstance(name, str))


def proxies_of(speakers: Iterable[ChatAgent | Team]) -> frozenset[str]:
    """Return the names of those that speak for a human."""
    return frozenset(each.name for each in speakers if isinstance(each, UserProxyAgent))


def conditions_of(team: object) -> Iterator[TerminationCondition]:
    """List what ends a team: its condition, and those that are combined in it.

    Args:
        team: The team or its manager.
    """
    pending = [getattr(team, "_termination_condition", None)]
    while pending:
        condition = pending.pop()
        if isinstance(condition, TerminationCondition):
            yield condition
            combined = getattr(condition, "_conditions", ())
            pending.extend(combined if isinstance(combined, list | tuple) else ())


def is_request_to_speak(message: object) -> bool:
    """Return whether a message asks a member of a team for its turn."""
    return type(message).__name__ == _REQUEST_TO_SPEAK


class Turn(NamedTuple):
    """A member of a team, and what the team's manager knows of the others.

    Attributes:
        speaker: The agent or team whose turn it is.
        names: The names that are heard in its team.
        proxies: Those of them that are a user proxy's.
        conditions: What ends its team.
    """

    speaker: object
    names: frozenset[str]
    proxies: frozenset[str]
    conditions: tuple[TerminationCondition, ...]


async def resolve_turn(runtime: AgentRuntime, request: MessageContext) -> Turn:
    """Find out who is asked to speak.

    Args:
        runtime: The runtime that the request was published on.
        request: What came with it.

    Raises:
        LookupError: The runtime does not know the member.
        AttributeError: AutoGen has changed one of the private names.
    """
    assert request.topic_id is not None
    assert request.sender is not None
    member: Any = await runtime.try_get_underlying_agent_instance(
        AgentId(request.topic_id.type, request.topic_id.source)
    )
    manager: Any = await runtime.try_get_underlying_agent_instance(request.sender)
    heard: list[ChatAgent | Team] = []
    for topic_type in manager._participant_name_to_topic_type.values():  # noqa: SLF001 - see PRIVATE_NAMES
        container: Any = await runtime.try_get_underlying_agent_instance(AgentId(topic_type, request.topic_id.source))
        heard += speakers(container._agent)  # noqa: SLF001 - see PRIVATE_NAMES
    names = names_of(heard) | {manager._name, *manager._participant_names}  # noqa: SLF001 - see PRIVATE_NAMES
    speaker = member._agent  # noqa: SLF001 - see PRIVATE_NAMES
    return Turn(speaker, names, proxies_of(heard), tuple(conditions_of(manager)))


def calling_runtime() -> SingleThreadedAgentRuntime | None:
    """Find the runtime that is calling a handler, which AutoGen does not tell a handler.

    Returns:
        The runtime whose method is the nearest among the callers; None if there is none.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - inspect.currentframe() is the same, and may be None
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, SingleThreadedAgentRuntime):
            return caller
        frame = frame.f_back
    return None
