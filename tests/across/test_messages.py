"""What the guards say to the application, to the letter: each names the value, the limit and the way out."""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from agents import AgentHooks, RunHooks
from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import TerminatedException
from autogen_core.model_context import UnboundedChatCompletionContext
from repeatguard_autogen import RepeatGuardConfig, RepeatGuardHandler
from repeatguard_core import RepeatChain, RepeatLoopError, Stop, ToolCall
from repeatguard_core.adapters import Guard
from repeatguard_openai_agents import RepeatGuardHooks

from tests.across.distributions import ADAPTERS


def _guards() -> Iterator[Any]:
    """Find the classes that an adapter's users make a guard from: those that take a configuration."""
    arguments = {"config", "untracked", "on_reminder"}
    for package in ADAPTERS:
        module = importlib.import_module(package.replace("-", "_"))
        exported = [getattr(module, name) for name in module.__all__]
        own = [each for each in exported if inspect.isclass(each) and each.__module__.startswith(module.__name__)]
        yield from (each for each in own if arguments <= set(inspect.signature(each).parameters))


GUARDS = list(_guards())
guards = pytest.mark.parametrize("guard", GUARDS)
NO_CONFIG = (
    "; write RepeatGuardConfig(thresholds=(3, 6)), RepeatGuardConfig.from_toml(path) for a file, "
    "or RepeatGuardConfig.model_validate(mapping)"
)
WHERE = (
    "; attach() is for agents and teams, context() and client() are for what an agent is made from "
    "(model_context=, model_client=), and a runtime is given intervention_handlers=[guard]"
)
HANDLER: Any = RepeatGuardHandler


class OfAnAgent(AgentHooks[Any]):
    """Hooks of one agent."""


class OfARun(RunHooks[Any]):
    """Hooks of a run."""


async def later(_: object) -> bool:
    """Answer, some time later."""
    return True


class Later:
    """An object that is called like an async function."""

    async def __call__(self, _: object) -> bool:
        return True


def test_every_adapter_has_a_guard() -> None:
    """It is found, and so is held to what follows."""
    modules = {guard.__module__.partition(".")[0] for guard in GUARDS}
    assert modules == {package.replace("-", "_") for package in ADAPTERS}


@pytest.mark.rules("C2")
@guards
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"config": {"thresholds": (3,)}}, "config must be a RepeatGuardConfig, not {'thresholds': (3,)}" + NO_CONFIG),
        ({"config": "guard.toml"}, "config must be a RepeatGuardConfig, not 'guard.toml'" + NO_CONFIG),
        ({"config": object()}, "config must be a RepeatGuardConfig, not a object" + NO_CONFIG),
        ({"untracked": "plan"}, "untracked must be a function, not 'plan'; leave it out if there is none"),
        (
            {"on_reminder": later},
            "on_reminder must be a plain function, and later is async, so it would never be awaited; make it plain",
        ),
        (
            {"on_reminder": Later()},
            "on_reminder must be a plain function, and a Later is async, so it would never be awaited; make it plain",
        ),
    ],
)
def test_what_every_guard_refuses(guard: Any, arguments: dict[str, Any], words: str) -> None:
    """In the same words."""
    with pytest.raises(TypeError) as caught:
        guard(**arguments)
    assert str(caught.value) == words


@pytest.mark.rules("C2")
@pytest.mark.parametrize(
    ("provoke", "words"),
    [
        (
            lambda: RepeatChain({"thresholds": (3,)}),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            "config must be a RepeatGuardConfig, not {'thresholds': (3,)}" + NO_CONFIG,
        ),
        (
            lambda: RepeatGuardHooks(inner=OfAnAgent()),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            "inner must be run hooks, not a OfAnAgent; hooks of one agent go to agent_hooks()",
        ),
        (
            lambda: RepeatGuardHooks(inner=OfARun),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            "inner must be run hooks, not the class OfARun; hooks of one agent go to agent_hooks()",
        ),
        (
            lambda: RepeatGuardHooks().agent_hooks(OfARun()),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            "inner must be agent hooks, not a OfARun; hooks of a run go to RepeatGuardHooks(inner=...)",
        ),
        (
            lambda: HANDLER(human_sources="user"),
            "human_sources must be a collection of names such as ('user',), not 'user'",
        ),
        (lambda: HANDLER().context(3), "context() takes a model context, not a int" + WHERE),
        (
            lambda: HANDLER().client(UnboundedChatCompletionContext),
            "client() takes a model client, not the class UnboundedChatCompletionContext" + WHERE,
        ),
        (lambda: HANDLER().attach(3), "attach() takes an agent or a team, not a int" + WHERE),
        (
            lambda: HANDLER().attach(UserProxyAgent("ann")),
            (
                "there is no model context in ann (agents keep one as _model_context, a ChatCompletionContext); "
                "an agent that has a model client may be given guard.client(client)"
            ),
        ),
    ],
)
def test_what_one_of_them_refuses(provoke: Callable[[], object], words: str) -> None:
    """At once, and not in a run."""
    with pytest.raises(TypeError) as caught:
        provoke()
    assert str(caught.value) == words


@guards
def test_a_guard_takes_no_settings_one_by_one(guard: Any) -> None:
    """The argument is named, as by a type checker."""
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'thresholds'"):
        guard(thresholds=(3, 6))


@guards
def test_a_guard_shows_its_configuration(guard: Any) -> None:
    """What differs from the defaults."""
    shown = repr(guard(RepeatGuardConfig(thresholds=(6, 3))))
    assert shown == f"{guard.__name__}(config=RepeatGuardConfig(thresholds=(3, 6)))"


def fall_due(support: Guard, count: int, *names: str) -> None:
    """Announce what is due after so many rounds of calls."""
    reminder = support.new_chain().observe([ToolCall(name, '{"secret": 1}') for name in names] * count)
    assert reminder is not None
    support.announce(reminder)


def refuse(_: object) -> bool:
    """Raise in place of an answer."""
    msg = "no"
    raise LookupError(msg)


def put_off(value: object) -> Any:
    """Return something to await."""
    return later(value)


@pytest.mark.rules("S2", "S6", "X5")
@pytest.mark.parametrize(
    ("provoke", "level", "words"),
    [
        (
            lambda: fall_due(Guard(), 3, "search"),
            logging.INFO,
            "reminded the model: search called 3 times in a row with the same arguments (threshold=3)",
        ),
        (
            lambda: fall_due(Guard(), 3, "search", "fetch"),
            logging.INFO,
            (
                "reminded the model: a cycle of search, fetch called 3 times in a row with the same arguments "
                "(threshold=3)"
            ),
        ),
        (
            lambda: fall_due(Guard(RepeatGuardConfig(stop_after=9)), 9, "search"),
            logging.WARNING,
            "ended the run: search called 9 times in a row with the same arguments (stop_after=9)",
        ),
        (
            lambda: fall_due(Guard(on_reminder=refuse), 3, "search"),  # type: ignore[arg-type]
            logging.ERROR,
            (
                "repeatguard: a fault in on_reminder: LookupError('no'); the run goes on, "
                "and this fault is not logged again"
            ),
        ),
        (
            lambda: fall_due(Guard(untracked=put_off), 3, "search"),
            logging.ERROR,
            (
                "repeatguard: a fault in untracked: TypeError('it returned something to await, which nobody does; "
                "return a plain value'); the run goes on, and this fault is not logged again"
            ),
        ),
        (
            lambda: RepeatGuardHandler(untracked=bool).context().dump_component(),
            logging.WARNING,
            (
                "untracked and on_reminder are functions and cannot be dumped; they are left out, "
                "so attach what is loaded to a guard that has them"
            ),
        ),
    ],
)
def test_what_is_logged(
    provoke: Callable[[], object], level: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    """By the logger "repeatguard"."""
    with caplog.at_level(logging.INFO, logger="repeatguard"):
        provoke()
    assert ("repeatguard", level, words) in caplog.record_tuples
    assert "secret" not in caplog.text


@pytest.mark.rules("X5")
def test_the_end_of_a_run() -> None:
    """The tool, the count and the setting."""
    stop = RepeatChain(RepeatGuardConfig(stop_after=9)).observe([ToolCall("search")] * 9)
    assert isinstance(stop, Stop)
    words = "search called 9 times in a row with the same arguments (stop_after=9)"
    assert str(RepeatLoopError(stop)) == words


@pytest.mark.rules("X5")
async def test_a_condition_that_has_ended_its_team() -> None:
    """AutoGen's own kind of error, and what to do."""
    condition = RepeatGuardHandler.termination()
    condition._terminated = True
    with pytest.raises(TerminatedException) as caught:
        await condition([])
    assert str(caught.value) == "the team has ended already; reset() the condition before it is asked again"
