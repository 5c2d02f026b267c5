"""What the model must be sent: worked out from a script alone, with none of the code that is being checked.

For every call it looks back over all calls before it. That is slow and plain on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final

from repeatguard_core import Reminder, RepeatChain, RepeatGuardConfig, ToolCall

from repeatguard_testing._driver import Called, Entry, Returned, Said, Wrote
from repeatguard_testing._script import MEANINGS, OTHER_AGENT, RETURNING_TOOLS, Call, Run, Script, Turn, summary

__all__ = ["Expected", "due_reminders", "expected_deliveries", "expected_requests", "turns_played"]


#: Whose calls are whose is read from the conversation, and before the first handoff it names nobody.
_NOBODY: Final = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """A reminder that belongs after the results of a turn, or the end of the run in its place.

    Attributes:
        turn: After the results of which of the script's turns it is given, counted from 0 over all runs.
        calls: The call it is about, or the calls of a cycle.
        count: How often they came in a row.
        is_first: Whether it is about the lowest threshold.
        stops: Whether the run ends here.
    """

    turn: int
    calls: tuple[Call, ...]
    count: int
    is_first: bool = False
    stops: bool = False

    def reminder(self, config: RepeatGuardConfig) -> Reminder:
        """Return it in the words that the core has for it: those of a chain that knows of nothing else.

        Args:
            config: The configuration, for the wording and the length of the preview.
        """
        plain = RepeatGuardConfig(
            thresholds=(self.count, self.count + 1) if self.is_first else (2, self.count),
            arguments_preview_chars=config.arguments_preview_chars,
            first_reminder=config.first_reminder,
            later_reminder=config.later_reminder,
            max_cycle_length=len(self.calls),
        )
        chain = RepeatChain(plain)
        batch = [ToolCall(call.tool, call.arguments) for call in self.calls]
        *_, reminder = (chain.observe([call]) for _ in range(self.count) for call in batch)
        assert isinstance(reminder, Reminder)
        return reminder


@dataclass(frozen=True, slots=True)
class _Seen:
    """A tracked call, as the rules compare it."""

    call: Call
    identity: tuple[str, str]
    result: str
    policy: str
    steps: tuple[tuple[int, ...], int | None, int | None]


def due_reminders(
    script: Script, config: RepeatGuardConfig, untracked: Callable[[str], bool] | None = None
) -> list[Expected]:
    """Work out where reminders belong in a script, and where runs end.

    Args:
        script: The script.
        config: The configuration to go by.
        untracked: Names tools that are passed over, as for an adapter.

    Returns:
        The reminders and ends, in order. Turns that are not played for a run has ended have none.
    """
    due: list[Expected] = []
    for run, first_turn in _numbered(script):
        in_control, owner = "main", _NOBODY
        seen: dict[str, list[_Seen]] = {}
        held: dict[str, Expected] = {}
        for turn_number, turn in enumerate(run.turns, first_turn):
            since_input = seen.setdefault(owner, [])
            in_this_batch: list[Expected] = []
            for call in turn.calls:
                if _is_watched(call.tool, config) and not (untracked is not None and untracked(call.tool)):
                    since_input.append(_seen(call, config))
                    in_this_batch += _due(since_input, config, turn_number)
            ends = [each for each in in_this_batch if each.stops]
            given = (ends or in_this_batch)[-1:]
            if turn.hands_over:
                if given:
                    held[owner] = given[0]
                owner = in_control = OTHER_AGENT[in_control]
                given = [replace(held.pop(owner), turn=turn_number)] if owner in held else []
            if turn.steer is not None:
                seen, held, owner = {}, {}, _NOBODY
                given = [each for each in given if not each.stops]
            due += given
            if any(each.stops for each in given):
                break
    return due


def turns_played(script: Script, due: Sequence[Expected]) -> list[list[Turn]]:
    """List the turns of each run, without those that the end of the run leaves out.

    Args:
        script: The script.
        due: What `due_reminders` returns.
    """
    ends = {each.turn for each in due if each.stops}
    played: list[list[Turn]] = []
    for run, first_turn in _numbered(script):
        end = next((number for number in range(len(run.turns)) if first_turn + number in ends), len(run.turns))
        played.append(list(run.turns[: end + 1]))
    return played


def expected_requests(script: Script, config: RepeatGuardConfig, due: Sequence[Expected]) -> list[tuple[Entry, ...]]:
    """Write down every request that the main agent's model must be sent.

    Args:
        script: The script.
        config: The configuration, for the reminders' texts.
        due: What `due_reminders` returns.

    Returns:
        The requests' entries. The content of results is left empty: it is the framework's.
    """
    texts = _texts(config, due)
    requests: list[tuple[Entry, ...]] = []
    conversation: list[Entry] = []
    for (run, first_turn), turns in zip(_numbered(script), turns_played(script, due), strict=True):
        responses: list[int] = []  # where each of the run's responses begins that has not been summed up
        keeps: int | None = None
        new = len(conversation)
        conversation.append(Said(run.prompt))
        for turn_number, turn in enumerate(turns, first_turn):
            start = (
                new if script.is_kept_elsewhere else responses[-keeps:][0] if keeps and len(responses) >= keeps else 0
            )
            requests.append(tuple(conversation[start:]))
            responses.append(len(conversation))
            conversation.extend([Wrote(turn.text)] if turn.text else [])
            conversation.extend(Called(call.tool, call.arguments) for call in turn.calls)
            new = len(conversation)
            conversation.extend(Returned(call.tool, "") for call in turn.calls)
            if turn.sums_up:
                conversation, responses = [Said(summary(turn_number))], []
            conversation.extend([Said(texts[turn_number])] if turn_number in texts else [])
            conversation.extend(Said(words) for words in (turn.steer, turn.overheard) if words is not None)
            keeps = keeps if turn.keeps is None else turn.keeps
    return requests


def expected_deliveries(script: Script, config: RepeatGuardConfig, due: Sequence[Expected]) -> list[tuple[str, str]]:
    """List which agent each request goes to, and which reminder it brings; for conversations that are handed over.

    What such a request shows beside that depends on the framework: agents may share a conversation or not.

    Args:
        script: The script.
        config: The configuration, for the reminders' texts.
        due: What `due_reminders` returns.

    Returns:
        For each request the agent's name, and the text of the reminder that no request before it had, or "".
    """
    texts = _texts(config, due)
    deliveries: list[tuple[str, str]] = []
    for (_, first_turn), turns in zip(_numbered(script), turns_played(script, due), strict=True):
        agent, text = "main", ""
        for turn_number, turn in enumerate(turns, first_turn):
            deliveries.append((agent, text))
            agent = OTHER_AGENT[agent] if turn.hands_over else agent
            text = texts.get(turn_number, "")
    return deliveries


def _texts(config: RepeatGuardConfig, due: Sequence[Expected]) -> dict[int, str]:
    return {each.turn: each.reminder(config).text for each in due if not each.stops}


def _numbered(script: Script) -> list[tuple[Run, int]]:
    """Give each run with the number of its first turn."""
    starts = [sum(len(run.turns) for run in script.runs[:index]) for index in range(len(script.runs))]
    return list(zip(script.runs, starts, strict=True))


def _due(since_material: Sequence[_Seen], config: RepeatGuardConfig, turn: int) -> list[Expected]:
    """Say what is due at the last call: of all lengths that count, an end first, or else the longest run (X1)."""
    chain = _chain(since_material, config.max_cycle_length)
    runs = {length: _run(chain, length) for length in range(1, config.max_cycle_length + 1)}
    ends: list[Expected] = []
    reminders: list[Expected] = []
    for length in sorted(runs, key=lambda length: runs[length]):
        shorter = [runs[each] for each in range(1, length)]
        if runs[length] == 0 or any(run >= runs[length] for run in shorter):
            continue
        level = _level(chain, length)
        if level == _level(chain[:-1], length):
            continue
        cycle = chain[-length:]
        all_steps = {seen.steps for seen in cycle}
        thresholds, remind_every, stop_after = all_steps.pop() if len(all_steps) == 1 else _general_steps(config)
        beyond = level - thresholds[-1]
        is_due = level in thresholds or (remind_every is not None and beyond > 0 and beyond % remind_every == 0)
        stops = stop_after is not None and level >= stop_after
        calls = tuple(seen.call for seen in cycle)
        rounds = _identical(chain, length) // length + 1
        expected = Expected(turn, calls, rounds, level == thresholds[0], stops)
        ends += [expected] if stops else []
        reminders += [expected] if is_due else []
    return (ends or reminders)[-1:]


def _run(chain: Sequence[_Seen], length: int) -> int:
    """Count the calls that a cycle of a length takes up, with its first round; none if none has come again."""
    identical = _identical(chain, length)
    return identical + length if identical else 0


def _chain(since_material: Sequence[_Seen], longest: int) -> Sequence[_Seen]:
    """Leave out what was before the latest result that begins a new chain (X2)."""
    for end in range(len(since_material) - 1, 0, -1):
        seen = since_material[end]
        without_arguments = seen.identity[1] == "nothing"
        if seen.policy == "reset" or (seen.policy == "defer" and without_arguments):
            earlier = reversed(since_material[max(0, end - longest) : end])
            last_time = next((each for each in earlier if each.identity == seen.identity), seen)
            if last_time.result != seen.result:
                return since_material[end:]
    return since_material


def _identical(chain: Sequence[_Seen], length: int) -> int:
    """Count the latest calls that each equal the call so many before them."""
    places = range(len(chain) - 1, length - 1, -1)
    breaks = (n for n, place in enumerate(places) if chain[place].identity != chain[place - length].identity)
    return next(breaks, len(places))


def _alike(chain: Sequence[_Seen], length: int) -> int:
    """Count those of them that also have its result, where results are compared."""
    identical = _identical(chain, length)
    latest = [(chain[-1 - n], chain[-1 - n - length]) for n in range(identical)]
    breaks = (n for n, (a, b) in enumerate(latest) if a.policy == "defer" and a.result != b.result)
    return next(breaks, identical)


def _level(chain: Sequence[_Seen], length: int) -> int:
    """Tell how far up the thresholds the repetitions have come: as far as they have been at their best."""
    identical = _identical(chain, length)
    level = 1
    for end in range(len(chain) - identical + 1, len(chain) + 1):
        alike, so_far = _alike(chain[:end], length), end - (len(chain) - identical)
        if alike % length == 0:
            level = max(level, alike // length + 1)
        if so_far % length == 0:
            level = max(level, so_far // length + 1 - 2)
    return level


_OTHER_RESULT: Final = "what the framework says"


def _seen(call: Call, config: RepeatGuardConfig) -> _Seen:
    meaning = next(meaning for meaning, spellings in MEANINGS.items() if call.arguments in spellings)
    entry = next((entry for entry in config.tools if fnmatchcase(call.tool, entry.match)), None)
    covering = [names for pattern, names in config.ignore_arguments.items() if fnmatchcase(call.tool, pattern)]
    ignored = {name for names in covering for name in names}
    policy = config.on_changed_result
    steps = _general_steps(config)
    if entry is not None:
        ignored |= set(entry.ignore_arguments or ())
        policy = entry.on_changed_result or policy
        steps = (
            tuple(entry.thresholds or steps[0]),
            steps[1] if entry.remind_every is None else None if entry.remind_every == "never" else entry.remind_every,
            steps[2] if entry.stop_after is None else None if entry.stop_after == "never" else entry.stop_after,
        )
    if "q" in ignored and meaning != "not JSON":
        meaning = "nothing"
    result = call.result if call.tool in RETURNING_TOOLS else _OTHER_RESULT
    return _Seen(call, (call.tool, meaning), result, policy, steps)


def _general_steps(config: RepeatGuardConfig) -> tuple[tuple[int, ...], int | None, int | None]:
    return tuple(config.thresholds), config.remind_every, config.stop_after


def _is_watched(tool: str, config: RepeatGuardConfig) -> bool:
    excluded = any(fnmatchcase(tool, pattern) for pattern in config.exclude)
    return not excluded and (not config.include or any(fnmatchcase(tool, pattern) for pattern in config.include))
