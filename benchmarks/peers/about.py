"""What is said of the packages in words: what each is for, how it is told, and what it can be set to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["ABOUT", "COLUMNS", "WORDS", "About"]


@dataclass(frozen=True, slots=True)
class About:
    """One package in words.

    Attributes:
        purpose: What it is for.
        user: How it is told that the user spoke.
        run: How it keeps two runs apart.
        options: What it can be set to in the scenarios, beside its defaults.
    """

    purpose: str
    user: str
    run: str
    options: str


ABOUT: Final = {
    "repeatguard-core": About(
        "Tells the model, in a message after the results, that it repeats a call or a cycle of calls; "
        "it blocks nothing.",
        "`chain.reset()`",
        "a chain for each run",
        "`exclude` or `untracked` for bookkeeping, `on_changed_result` for polls, other settings for single tools",
    ),
    "able-harness-kit": About(
        "Middlewares for LangChain agents: two guards against loops, one against binary results, "
        "and a limit to the length of results.",
        "cannot be told",
        "cannot be told: what it counts is kept in the middleware, so another one, in another agent, is needed",
        "`stop_at`, `progress_floor`, another comparison of results for single tools",
    ),
    "agent-budget-guard-py": About(
        "Caps on dollars, tokens, steps and seconds of a run, with detectors of loops beside them.",
        "`guard.reset()`, which sets what was spent to nothing as well",
        "`guard.reset()`, or a guard for each run",
        'other detectors, `on_trip="warn"` or `"stop"`, a marker of progress of the program\'s own',
    ),
    "agent-loop-guard": About(
        "Scores how alike the latest calls and their outputs are, and answers by it: go on, warn, stop, escalate.",
        "`guard.reset()`",
        "`guard.reset()`",
        "window, degree of likeness, counts for each answer",
    ),
    "agent-watchdog": About(
        "Ends a run that loops, costs too much or takes too long, and reports on it.",
        "cannot be told within a `watch()`",
        "a `watch()` for each run",
        "count, length of the window of patterns, money and time",
    ),
    "agentbelt-loop": About(
        "Finds repeats, cycles and results that do not change in calls, for each session, "
        "and learns cycles of tools from one session for the next.",
        "`detector.reset(session)`",
        "the session is an argument",
        "`allowlist` for polls, degree of likeness, counts",
    ),
    "agentguard47": About(
        "Guards for single operations of an agent: loops, budgets, retries, time, rates and payments, with traces.",
        "`guard.reset()`",
        "`guard.reset()`",
        "count and window; `RetryGuard` counts retries for each tool",
    ),
    "longguard": About(
        "A circuit breaker for LangGraph, LangChain and CrewAI agents, which first puts advice into the conversation "
        "and then ends the run.",
        "`breaker.reset()`, which sets tokens and steps to nothing as well",
        "`breaker.reset()`, or a breaker for each run",
        "counts and windows; embeddings of sentences instead of hashes, with an extra",
    ),
    "trajectory-fuse": About(
        "A circuit breaker that refuses calls which repeat, go round in cycles or keep failing alike, with budgets.",
        "`fuse.reset()`",
        "`fuse.reset()`, or a fuse for each run",
        "`allow_repeats` for polls, `allowlist`, hooks that let a call pass, markers of progress",
    ),
    "unwedge": About(
        "Gives coding agents hints when they are stuck, and asks a human after two; on request by a model's judgement.",
        "`guard.set_goal(…)`, which is for the judgement by a model",
        "a guard for each session",
        "thresholds, a provider of judgements, ending the session",
    ),
}

#: What the words in the tables stand for.
WORDS: Final = {
    "reminds": "gives a message for the model",
    "hints": "gives a message for the model",
    "reflects": "gives a message for the model",
    "logs": "logs a warning and calls `on_signal`; the call goes on",
    "warns": "answers with a warning",
    "stops": "answers that the run is to stop",
    "escalates": "answers that a human, or something above, is to decide",
    "kills": "answers that the run is to end",
    "raises": "raises its own exception, which ends the run or refuses the call unless it is caught",
    "replaces": "puts a message for the model in the place of the call's result",
    "fails": "an exception that is not one of its own comes out of it",
}

#: What each table of scenarios is about, and which ones are in it.
COLUMNS: Final = {
    "The same call again": ("identical", "shuffled_keys", "broken_json", "denied", "batch"),
    "Other things between": ("alternation", "bookkeeping", "poll", "steer", "two_runs"),
    "Arguments that are hard to tell apart, or to read": ("ids", "long_arguments", "surrogate", "deep"),
}
