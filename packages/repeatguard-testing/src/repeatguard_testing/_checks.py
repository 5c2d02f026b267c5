"""Is what the model was sent what it should have been sent? If not, what is wrong, in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import TypeAlias, TypeGuard

from repeatguard_core import canonical_arguments, is_reminder

from repeatguard_testing._driver import Called, Entry, Other, Request, Returned, Said, Wrote

__all__ = [
    "ContractError",
    "Stopped",
    "check_deliveries",
    "check_invariants",
    "check_requests",
    "check_stops",
    "check_untouched",
    "reminders_in",
    "without_reminders",
]


#: A run that the guard has ended: the tool, the count and the arguments that the framework's user was given.
Stopped: TypeAlias = tuple[str, int, str]


class ContractError(AssertionError):
    """An adapter breaks a rule.

    Attributes:
        rule: The rule's identifier.
    """

    def __init__(self, rule: str, problem: str) -> None:
        super().__init__(f"{rule}: {problem}")
        self.rule = rule


def reminders_in(request: Request) -> list[str]:
    """List the texts of the reminders in a request.

    Args:
        request: What a model was sent.

    Returns:
        The texts, in order.
    """
    return [entry.text for entry in request.entries if _is_reminder(entry)]


def without_reminders(request: Request) -> tuple[Entry, ...]:
    """Take the reminders out of a request.

    Args:
        request: What a model was sent.

    Returns:
        The entries that are left.
    """
    return tuple(entry for entry in request.entries if not _is_reminder(entry))


def check_invariants(requests: Sequence[Request], unguarded: Sequence[Request] = ()) -> None:
    """Check what must hold in every request of every conversation.

    Args:
        requests: What the models were sent, in order.
        unguarded: What they were sent without the guard. Where one of these does not begin with the
            one before, the framework or the user rewrites the conversation, and the guard may as well.

    Raises:
        ContractError: A reminder stands where none may stand (M1), is given twice (M6), or a
            request does not begin with the one before (M5).
    """
    for number, request in enumerate(requests, 1):
        _check_places(request, f"request {number} (to {request.agent})")
    for agent in {request.agent for request in requests}:
        own = [(number, request) for number, request in enumerate(requests, 1) if request.agent == agent]
        plain = [request.entries for request in unguarded if request.agent == agent]
        rewrites = {n for n, (one, two) in enumerate(pairwise(plain)) if not _goes_on(one, two)}
        for pair, ((earlier_number, earlier), (number, later)) in enumerate(pairwise(own)):
            if pair in rewrites:
                continue
            where = f"request {number} does not begin with request {earlier_number}"
            for index, entry in enumerate(earlier.entries):
                found = later.entries[index] if index < len(later.entries) else None
                if found != entry:
                    raise ContractError("M5", f"{where}: at entry {index + 1} it has <{found}> in place of <{entry}>")


def _goes_on(earlier: Sequence[Entry], later: Sequence[Entry]) -> bool:
    """Whether a request is the one before with a response, and what came after that."""
    length = len(earlier)
    return later[:length] == earlier and len(later) > length and isinstance(later[length], Called | Wrote)


def _check_places(request: Request, where: str) -> None:
    calls = results = 0
    results_at_last_reminder = -1
    for index, entry in enumerate(request.entries):
        calls += isinstance(entry, Called)
        results += isinstance(entry, Returned)
        if isinstance(entry, Wrote | Other) and is_reminder(entry.text):
            raise ContractError("M1", f"the reminder at entry {index + 1} of {where} has not the role of the user")
        if not _is_reminder(entry):
            continue
        place = f"the reminder at entry {index + 1} of {where}"
        following = request.entries[index + 1] if index + 1 < len(request.entries) else None
        if calls > results or isinstance(following, Returned):
            raise ContractError("M1", f"{place} stands before a result of its batch")
        if results == results_at_last_reminder:
            raise ContractError("M6", f"{place} is the second one after the same results")
        if not _may_stand_behind(request.entries[:index]):
            raise ContractError("M1", f"{place} does not stand right after the results of its batch")
        results_at_last_reminder = results


def _may_stand_behind(entries: Sequence[Entry]) -> bool:
    """Whether a reminder may follow: after results, or, where none is in sight or it was held, after what is there."""
    latest = entries[-1] if entries else None
    return (
        isinstance(latest, Returned)
        or (isinstance(latest, Said) and bool(latest.agent))
        or not any(isinstance(entry, Returned) for entry in entries)
    )


def check_deliveries(requests: Sequence[Request], expected: Sequence[tuple[str, str]], rule: str) -> None:
    """Compare which reminders the requests of a conversation that is handed over have brought, and to whom.

    Args:
        requests: What the models were sent.
        expected: For each request of the two agents the agent's name, and the text of its new reminder or "".
        rule: The rule to name if they differ.

    Raises:
        ContractError: They differ.
    """
    requests = [request for request in requests if request.agent in {"main", "second"}]
    seen: Counter[str] = Counter()
    for number, (request, (agent, text)) in enumerate(zip(requests, expected, strict=False), 1):
        if request.agent != agent:
            raise ContractError("S1", f"request {number} went to {request.agent}, and should have gone to {agent}")
        shown = Counter(reminders_in(request))
        new, seen = sorted((shown - seen).elements()), seen | shown
        if new != [text] * bool(text):
            wanted = f"this reminder: <{text}>" if text else "no reminder"
            raise ContractError(rule, f"request {number} (to {agent}) should have brought {wanted}; it brought {new}")
    if len(requests) != len(expected):
        raise ContractError("S1", f"there were {len(requests)} requests to the two agents, not {len(expected)}")


def check_requests(requests: Sequence[Request], expected: Sequence[tuple[Entry, ...]], rule: str) -> None:
    """Compare what the main agent's model was sent with what it should have been sent.

    Args:
        requests: What the models were sent.
        expected: The entries of each request to the main agent's model; results without content.
        rule: The rule to name if a reminder is missing, or is one too many.

    Raises:
        ContractError: They differ.
    """
    requests = [request for request in requests if request.agent == "main"]
    for number, (request, wanted) in enumerate(zip(requests, expected, strict=False), 1):
        got = _comparable(request.entries)
        want = _comparable(wanted)
        index = next((i for i, (a, b) in enumerate(zip(got, want, strict=False)) if a != b), min(len(got), len(want)))
        if got == want:
            continue
        found = request.entries[index] if index < len(got) else None
        missed = wanted[index] if index < len(want) else None
        where = f"at entry {index + 1} of request {number}"
        if _is_reminder(missed) and _is_reminder(found):
            raise ContractError("M2", f"{where} the reminder is <{found}> and should be <{missed}>")
        if _is_reminder(missed):
            raise ContractError(rule, f"{where} the model should have been reminded, and was not: <{missed}>")
        if _is_reminder(found):
            raise ContractError(rule, f"{where} the model was reminded, and should not have been: <{found}>")
        raise ContractError("S1", f"{where} the conversation has <{found}> in place of <{missed}>")
    if len(requests) != len(expected):
        raise ContractError("S1", f"there were {len(requests)} requests to the main agent, not {len(expected)}")


def check_stops(stopped: Sequence[Stopped], expected: Sequence[Stopped]) -> None:
    """Check where the guard has ended runs.

    Args:
        stopped: The tool, the count and the arguments that the framework's user was given, for each.
        expected: The same, as it should have been.

    Raises:
        ContractError: They differ (X5).
    """
    if list(stopped) != list(expected):
        raise ContractError("X5", f"runs were to end with {list(expected)}, and ended with {list(stopped)}")


def check_untouched(guarded: Sequence[Request], unguarded: Sequence[Request], up_to: int | None = None) -> None:
    """Check that the guard changes nothing beside its reminders.

    Args:
        guarded: What the models were sent with the guard.
        unguarded: What they were sent without it.
        up_to: How many requests to compare; left out, all of them.

    Raises:
        ContractError: An entry was added, changed or dropped (S1).
    """
    guarded, unguarded = guarded[:up_to], unguarded[:up_to]
    for number, (with_guard, without) in enumerate(zip(guarded, unguarded, strict=False), 1):
        left = without_reminders(with_guard)
        if left != without.entries:
            pairs = zip(left, without.entries, strict=False)
            changed = next((f"<{a}> was <{b}>" for a, b in pairs if a != b), "entries were added or dropped")
            raise ContractError("S1", f"without its reminders, request {number} is not as without the guard: {changed}")
    if len(guarded) != len(unguarded):
        raise ContractError("S1", f"there were {len(guarded)} requests with the guard and {len(unguarded)} without")


def _is_reminder(entry: Entry | None) -> TypeGuard[Said]:
    return isinstance(entry, Said) and is_reminder(entry.text)


def _comparable(entries: Sequence[Entry]) -> list[Entry]:
    """Leave out what is the framework's to choose: the results' content and order, how arguments are spelled."""
    comparable: list[Entry] = []
    for kind, group in groupby(entries, type):
        if kind is Returned:
            tools = sorted(entry.tool for entry in group if isinstance(entry, Returned))
            comparable.extend(Returned(tool, "") for tool in tools)
        else:
            comparable.extend(map(_with_canonical_arguments, group))
    return comparable


def _with_canonical_arguments(entry: Entry) -> Entry:
    return Called(entry.tool, canonical_arguments(entry.arguments)) if isinstance(entry, Called) else entry
