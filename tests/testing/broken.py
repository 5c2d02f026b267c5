"""Adapters broken on purpose, each in one way, and what the contract must say of them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from repeatguard_core import Reminder, RepeatChain, RepeatGuardConfig, RepeatLoopError, Stop, ToolCall
from repeatguard_testing import Called, Entry, MakeGuard, Options, Other, Request, Returned, Said, Script

from tests.testing.reference import Conversation, ReferenceDriver, ReferenceGuard


def insert(guard: ReferenceGuard, conversation: Conversation) -> None:
    """Insert what is missing, with nothing that catches an error."""
    for index, reminder in reversed(list(guard.missing(conversation))):
        assert isinstance(reminder, Reminder)
        conversation.insert(index, Said(reminder.text))
        guard.support.announce(reminder)


class CountsTwice(ReferenceGuard):
    """Sees a call when it is made and again when it has its result."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        doubled = [twice for entry in conversation for twice in [entry] * (1 + isinstance(entry, Called | Returned))]
        ends = [index for index, entry in enumerate(conversation) if isinstance(entry, Returned)]
        return (
            (ends[-1] + 1, reminder) for _, reminder in super().missing(doubled) if ends[-1] + 1 == len(conversation)
        )


class ForgetsEarlierReminders(ReferenceGuard):
    """Only the latest reminder is in a request."""

    def before_request(self, conversation: Conversation) -> None:
        super().before_request(conversation)
        ours = [index for index, entry in enumerate(conversation) if self.is_ours(entry)]
        for index in reversed(ours[:-1]):
            del conversation[index]


class RemindsBetweenResults(ReferenceGuard):
    """Puts its message before the last result, not behind it."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        return ((index - 1, reminder) for index, reminder in super().missing(conversation))


class RemindsAtTheEnd(ReferenceGuard):
    """Puts its message at the end, whatever else has come meanwhile."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        return ((len(conversation), reminder) for _, reminder in super().missing(conversation))


class LeaksBetweenRuns(ReferenceGuard):
    """Keeps one chain for all the runs that it guards, and looks at the latest batch only."""

    def __init__(self, config: RepeatGuardConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.chain = self.support.new_chain()

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        fresh, self.support.new_chain = self.support.new_chain, lambda: _Deaf(self.chain)  # type: ignore[method-assign]
        latest = max((i for i, entry in enumerate(conversation) if isinstance(entry, Said)), default=0)
        yield from ((latest + index, reminder) for index, reminder in super().missing(conversation[latest:]))
        self.support.new_chain = fresh  # type: ignore[method-assign]


class _Deaf(RepeatChain):
    """A chain that goes on whatever it is told."""

    def __init__(self, chain: RepeatChain) -> None:
        self._chain = chain

    def observe(self, calls: Any) -> Reminder | Stop | None:
        return self._chain.observe(calls)

    def reset(self) -> None:
        pass


_PROCESS_WIDE = RepeatChain(RepeatGuardConfig(thresholds=(2, 4)))


class CountsInTheProcess(LeaksBetweenRuns):
    """Keeps one chain for everything in the process."""

    def __init__(self, config: RepeatGuardConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.chain = _PROCESS_WIDE


class NeverResets(ReferenceGuard):
    """Takes the user's words for nothing."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        fresh, chain = self.support.new_chain, self.support.new_chain()
        self.support.new_chain = lambda: _Deaf(chain)  # type: ignore[method-assign]
        yield from super().missing(conversation)
        self.support.new_chain = fresh  # type: ignore[method-assign]


class ResetsOnItsOwnReminder(ReferenceGuard):
    """Takes its own message for the user's."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        latest = max((i for i, entry in enumerate(conversation) if self.is_ours(entry)), default=-1) + 1
        return ((latest + index, reminder) for index, reminder in super().missing(conversation[latest:]))


class Overlooking(ReferenceGuard):
    """Does not see one tool."""

    overlooked: str

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        kept = [(i, entry) for i, entry in enumerate(conversation) if getattr(entry, "tool", "") != self.overlooked]
        places = [i for i, _ in kept] + [len(conversation)]
        return ((places[index], reminder) for index, reminder in super().missing([entry for _, entry in kept]))


class MissesDeniedCalls(Overlooking):
    """Counts where a tool is run, which a denied call never gets to."""

    overlooked = "forbidden"


class GoesOnAfterAHandoff(Overlooking):
    """Holds one agent's calls against the next."""

    overlooked = "handoff"


class ForgetsAtAHandoff(ReferenceGuard):
    """Begins again whenever an agent gets control."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        ends = [index for index, entry in enumerate(conversation) if getattr(entry, "tool", "") == "handoff"]
        latest = ends[-1] + 1 if ends else 0
        return ((latest + index, due) for index, due in super().missing(conversation[latest:]))


class DropsWhatIsDueAtAHandoff(ReferenceGuard):
    """Holds nothing."""

    def hand_over(
        self, held: dict[str, Reminder | Stop], agent: str, target: str, due: Reminder | Stop | None
    ) -> tuple[str, Reminder | Stop | None]:
        return target, None


class TellsTheWrongAgent(ReferenceGuard):
    """Gives what is due to the agent that takes over."""

    def hand_over(
        self, held: dict[str, Reminder | Stop], agent: str, target: str, due: Reminder | Stop | None
    ) -> tuple[str, Reminder | Stop | None]:
        return target, due


class HoldsThroughNewInput(ReferenceGuard):
    """Holds what is due whatever is said meanwhile."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        self.kept: dict[str, Reminder | Stop] = {}
        return super().missing(conversation)

    def hand_over(
        self, held: dict[str, Reminder | Stop], agent: str, target: str, due: Reminder | Stop | None
    ) -> tuple[str, Reminder | Stop | None]:
        return super().hand_over(self.kept, agent, target, due)


class LooksAtWhatIsInSight(ReferenceGuard):
    """Remembers nothing of a run."""

    def remembered(self, conversation: Conversation) -> list[Entry]:
        entries = list(conversation)
        while entries and isinstance(entries[0], Returned):
            del entries[0]
        return entries

    def before_request(self, conversation: Conversation) -> None:
        hidden = len(conversation) - len(self.remembered(conversation))
        rest = Conversation(conversation[hidden:])
        super().before_request(rest)
        conversation[hidden:] = rest


class TakesASummaryForTheUsers(ReferenceGuard):
    """Counts from a summary on, since its role is the user's."""

    def remembered(self, conversation: Conversation) -> list[Entry]:
        is_new = not any(isinstance(entry, Called) for entry in conversation)
        return list(conversation) if is_new and isinstance(conversation[0], Said) else super().remembered(conversation)


class TakesAnyWordsForTheUsers(ReferenceGuard):
    """Takes another agent's words for new input."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        return super().missing([Said(entry.text) if isinstance(entry, Said) else entry for entry in conversation])


class CountsAnIdOnce(ReferenceGuard):
    """Takes a call whose id it knows for one that it has counted."""

    def __init__(self, config: RepeatGuardConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.known: set[str] = set()

    def calls(self, batch: Sequence[Called], results: Sequence[Returned]) -> list[ToolCall]:
        ids = [call.call_id for call in batch]
        known = set(self.known)
        self.known |= {*ids}
        return [call for call, i in zip(super().calls(batch, results), ids, strict=False) if i not in known]

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        self.known.clear()
        return super().missing(conversation)


class FindsResultsByTheirIds(ReferenceGuard):
    """Takes the first result with a call's id for that call's."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        results: dict[str, Returned] = {}
        for entry in conversation:
            if isinstance(entry, Returned):
                results.setdefault(entry.call_id, entry)
        return super().missing(
            [results[entry.call_id] if isinstance(entry, Returned) else entry for entry in conversation]
        )


class RemindsOnce(ReferenceGuard):
    """Puts its first message into a conversation, and no other."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        return iter([] if any(map(self.is_ours, conversation)) else list(super().missing(conversation)))


class RemindsAgainOnReplay(ReferenceGuard):
    """Remembers what it has said instead of looking."""

    def __init__(self, config: RepeatGuardConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.said: set[int] = set()

    def before_request(self, conversation: Conversation) -> None:
        super().before_request(conversation)
        self.said.update(id(entry) for entry in conversation if super(RemindsAgainOnReplay, self).is_ours(entry))

    def is_ours(self, entry: Entry) -> bool:
        return id(entry) in self.said


class MutatesResults(ReferenceGuard):
    """Writes its advice into the last result."""

    def before_request(self, conversation: Conversation) -> None:
        super().before_request(conversation)
        for index, entry in enumerate(conversation):
            if isinstance(entry, Returned) and not entry.content.endswith("!"):
                conversation[index] = replace(entry, content=f"{entry.content}!")


class SpeaksAsTheSystem(ReferenceGuard):
    """Gives its message another role."""

    def before_request(self, conversation: Conversation) -> None:
        super().before_request(conversation)
        conversation[:] = [
            Other(entry.text) if isinstance(entry, Said) and self.is_ours(entry) else entry for entry in conversation
        ]


class HasWordsOfItsOwn(ReferenceGuard):
    """Adds to the text."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        for index, reminder in super().missing(conversation):
            assert isinstance(reminder, Reminder)
            yield index, replace(reminder, text=f"{reminder.text} Please!")


class FailsClosed(ReferenceGuard):
    """Lets its own faults out."""

    def before_request(self, conversation: Conversation) -> None:
        insert(self, conversation)


class FailsSilently(ReferenceGuard):
    """Tells nobody of its faults."""

    def before_request(self, conversation: Conversation) -> None:
        with contextlib.suppress(Exception):
            insert(self, conversation)


class AnnouncesEveryTime(ReferenceGuard):
    """Announces every reminder that it sees."""

    def before_request(self, conversation: Conversation) -> None:
        super().before_request(conversation)
        for index, reminder in super().missing([entry for entry in conversation if not self.is_ours(entry)]):
            if index + 2 < len(conversation):
                self.support.announce(reminder)


class AnnouncesAgain(ReferenceGuard):
    """Goes through everything anew at each message of the user's."""

    def before_request(self, conversation: Conversation) -> None:
        if isinstance(conversation[-1], Said) and not self.is_ours(conversation[-1]):
            for _, reminder in super().missing([entry for entry in conversation if not self.is_ours(entry)]):
                self.support.announce(reminder)
        super().before_request(conversation)


class AnnouncesNothing(ReferenceGuard):
    """Neither logs nor calls."""

    def before_request(self, conversation: Conversation) -> None:
        self.support.announce = lambda decision: None  # type: ignore[method-assign]
        insert(self, conversation)


class CallsButDoesNotLog(ReferenceGuard):
    """Hands a reminder on, and does not log it."""

    def before_request(self, conversation: Conversation) -> None:
        logger = logging.getLogger("repeatguard")
        logger.disabled = True
        super().before_request(conversation)
        logger.disabled = False


class DoesNotKnowItself(ReferenceGuard):
    """Reminds wherever a reminder is due, also where it stands already."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        for index, reminder in super().missing([entry for entry in conversation if not self.is_ours(entry)]):
            del index
            if isinstance(conversation[-1], Returned) or self.is_ours(conversation[-1]):
                yield len(conversation), reminder


class IgnoresUntracked(ReferenceGuard):
    """Counts every tool."""

    def __init__(
        self, config: RepeatGuardConfig, *, untracked: Callable[[str], bool] | None = None, **options: Any
    ) -> None:
        del untracked
        super().__init__(config, **options)


class KeepsConversations(ReferenceGuard):
    """Holds on to what it has seen."""

    def __init__(self, config: RepeatGuardConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.seen: list[Conversation] = []

    def before_request(self, conversation: Conversation) -> None:
        super().before_request(conversation)
        self.seen.append(conversation)


class CountsNestedAgentsToo(LeaksBetweenRuns):
    """One chain for an agent and those that it delegates to."""


class LeavesNestedAgentsAlone(ReferenceGuard):
    """Knows the main agent by its first message."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        return super().missing(conversation if conversation[0] == Said("go") else ())


class Dropping(ReferenceGuard):
    """Makes room for its message."""

    def before_request(self, conversation: Conversation) -> None:
        super().before_request(conversation)
        if any(self.is_ours(entry) for entry in conversation) and isinstance(conversation[0], Said):
            conversation[0] = Said("")


class CountsOneCallAlone(ReferenceGuard):
    """Knows chains of one call, and no cycles."""

    def __init__(self, config: RepeatGuardConfig, **options: Any) -> None:
        super().__init__(config.model_copy(update={"max_cycle_length": 1}), **options)


class LooksAtNoResults(ReferenceGuard):
    """Hands over calls without what came of them."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        return super().missing(
            [replace(entry, content="") if isinstance(entry, Returned) else entry for entry in conversation]
        )


class MixesResultsUp(ReferenceGuard):
    """Takes the results of a batch for those of the calls in another order."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        mixed: list[Entry] = []
        for is_result, group in groupby(conversation, lambda entry: isinstance(entry, Returned)):
            entries = list(group)
            mixed += reversed(entries) if is_result else entries
        return super().missing(mixed)


def told_instead(stop: Stop) -> Reminder:
    """Make a reminder of the end of a run."""
    chain = RepeatChain(RepeatGuardConfig(thresholds=(2, stop.stop_after)))
    reminder = chain.observe([ToolCall(stop.tool_name, stop.arguments)] * stop.stop_after)
    assert isinstance(reminder, Reminder)
    return reminder


class LetsRunsGoOn(ReferenceGuard):
    """Reminds in place of ending a run."""

    def missing(self, conversation: Sequence[Entry]) -> Iterator[tuple[int, Reminder | Stop]]:
        for index, due in super().missing(conversation):
            yield index, due if isinstance(due, Reminder) else told_instead(due)


class EndsRunsWithoutWaitingForResults(ReferenceGuard):
    """Ends a run where the model calls, and the results are lost."""

    def before_request(self, conversation: Conversation) -> None:
        try:
            super().before_request(conversation)
        except RepeatLoopError:
            while isinstance(conversation[-1], Returned):
                del conversation[-1]
            raise


class EndsARunAgain(ReferenceGuard):
    """Ends a run on account of calls that an earlier run was ended for."""

    def before_request(self, conversation: Conversation) -> None:
        super().before_request(conversation)
        for _, due in self.missing(conversation):
            if isinstance(due, Stop):
                raise RepeatLoopError(due)


class HasItsOwnIdeaOfAnEnd(ReferenceGuard):
    """Ends a run and does not say why."""

    def before_request(self, conversation: Conversation) -> None:
        try:
            super().before_request(conversation)
        except RepeatLoopError as end:
            raise RepeatLoopError(replace(end.stop, count=0)) from None


class SwallowingDriver(ReferenceDriver):
    """The adapter catches what the user's hooks raise."""

    name = "swallows the exceptions of the user's hooks"

    async def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        hook = options.user_hook

        def swallow() -> None:
            with contextlib.suppress(Exception):
                hook()  # type: ignore[misc]

        return await super().play(
            script, make_guard, replace(options, user_hook=swallow) if hook and make_guard else options
        )


class ForgettingTheHookDriver(ReferenceDriver):
    """The adapter takes the place of the user's hooks."""

    name = "drops the user's hooks"

    async def play(self, script: Script, make_guard: MakeGuard | None, options: Options) -> Sequence[Request]:
        return await super().play(script, make_guard, replace(options, user_hook=None) if make_guard else options)


def driver(guard: type[ReferenceGuard]) -> ReferenceDriver:
    """Make a driver for a broken guard."""
    made = ReferenceDriver()
    made.guard_class = guard
    return made


#: Each broken adapter, the test that catches it, and the words in which it does.
BROKEN: list[tuple[ReferenceDriver, str, str]] = [
    (driver(CountsTwice), "a loop under the default configuration", "D1|reminded, and should not have been"),
    (
        driver(ForgetsEarlierReminders),
        "a loop under the default configuration",
        "M5: request .* does not begin with request",
    ),
    (driver(RemindsBetweenResults), "equal calls in one batch", "M1: .* stands before a result of its batch"),
    (driver(RemindsAtTheEnd), "the user steers when a reminder is due", "M1: .* not stand right after the results"),
    (driver(LeaksBetweenRuns), "test_one_run_after_the_other", "D12: .* should not have been"),
    (driver(CountsInTheProcess), "test_one_run_after_the_other", "D12: .* should not have been"),
    (driver(NeverResets), "the user steers", "D11: .* was reminded, and should not have been"),
    (driver(ResetsOnItsOwnReminder), "a loop under the default configuration", "C1: .* should have been reminded"),
    (driver(MissesDeniedCalls), "a denied call", "D8: .* should have been reminded, and was not"),
    (
        driver(RemindsAgainOnReplay),
        "a further run on a stored conversation",
        "M6: .* is the second one after the same",
    ),
    (driver(MutatesResults), "no repetition", "S1: without its reminders, request 2 is not as without the guard"),
    (driver(SpeaksAsTheSystem), "a loop under the default configuration", "M1: .* has not the role of the user"),
    (driver(HasWordsOfItsOwn), "a loop under the default configuration", "M2: .* the reminder is .* and should be"),
    (driver(FailsClosed), "test_a_fault_of_the_guards_own", "S2: a fault inside the guard ended the run"),
    (driver(FailsSilently), "test_a_fault_of_the_guards_own", "S2: .* to be logged once with its traceback, and was 0"),
    (driver(AnnouncesEveryTime), "test_every_reminder_is_announced", "S6: on_reminder was to be called at"),
    (driver(AnnouncesAgain), "test_every_reminder_is_announced", r"S6: .* and was at \[2, 4, 2, 4\]"),
    (driver(AnnouncesNothing), "test_every_reminder_is_announced", r"S6: .* and was at \[\]"),
    (driver(CallsButDoesNotLog), "test_every_reminder_is_announced", r"S6: two records .* were: \[\]"),
    (driver(DoesNotKnowItself), "test_wired_twice", "M6: .* is the second one after the same results"),
    (driver(IgnoresUntracked), "test_bookkeeping_tools", "D6: .* should have been reminded, and was not"),
    (driver(KeepsConversations), "test_nothing_is_kept", "S3: the guard still holds the arguments"),
    (driver(GoesOnAfterAHandoff), "each agent has its own chain", "D12: .* brought"),
    (driver(ForgetsAtAHandoff), "each agent has its own chain", "D12: request 12 .* should have brought this"),
    (driver(DropsWhatIsDueAtAHandoff), "what falls due at a handoff is held", "D12: .* should have brought this"),
    (driver(DropsWhatIsDueAtAHandoff), "an end is held at a handoff", r"X5: runs were to end .*, and ended with \[\]"),
    (driver(TellsTheWrongAgent), "what falls due at a handoff is held", "D12: .*second.* should have brought no"),
    (driver(HoldsThroughNewInput), "new input makes void what is held", "D12: .* should have brought no reminder"),
    (driver(LooksAtWhatIsInSight), "a cut history", "D11: .* was reminded, and should not have been"),
    (driver(LooksAtWhatIsInSight), "a history cut to the latest response", "D11: .* should have been reminded"),
    (driver(LooksAtWhatIsInSight), "a summed-up history", "D11: .* should have been reminded, and was not"),
    (
        driver(LooksAtWhatIsInSight),
        "a threshold is reached once in spite of summaries",
        "D11: .* was reminded, and should not have been",
    ),
    (driver(LooksAtWhatIsInSight), "a history kept elsewhere", "D11: .* should have been reminded, and was not"),
    (driver(TakesASummaryForTheUsers), "a summed-up history", "D11: .* should have been reminded, and was not"),
    (
        driver(TakesASummaryForTheUsers),
        "a reminder is due when a history is summed up",
        "D11: .* should have been reminded, and was not",
    ),
    (driver(TakesAnyWordsForTheUsers), "another agent speaks in between", "D12: .* should have been reminded"),
    (driver(CountsAnIdOnce), "test_reused_call_ids", "D8: .* should have brought this reminder"),
    (driver(CountsAnIdOnce), "test_reused_call_ids_of_others", "D8: .* should have brought this reminder"),
    (driver(FindsResultsByTheirIds), "test_reused_call_ids_of_others", "D8: .*"),
    (driver(RemindsOnce), "the last of several in a batch", "D10: .* should have been reminded, and was not"),
    (driver(RemindsOnce), "test_nested_agents", "D12: each nested run was to be reminded in its third and its fifth"),
    (driver(CountsNestedAgentsToo), "test_nested_agents", "D12: .*"),
    (driver(LeavesNestedAgentsAlone), "test_nested_agents", "D12: each nested run was to be reminded in its third and"),
    (driver(CountsOneCallAlone), "a cycle of two calls", "X1: .* should have been reminded, and was not"),
    (driver(LooksAtNoResults), "changed results defer a reminder", "X2: .* reminded, and should not have been"),
    (driver(MixesResultsUp), "each call of a batch has its own result", "X2: .* should have been reminded"),
    (driver(LetsRunsGoOn), "a run ends", r"X5: runs were to end with .*, and ended with \[\]"),
    (driver(EndsRunsWithoutWaitingForResults), "a run ends", "X5|S1|M5"),
    (driver(EndsARunAgain), "a run ends", "X5: runs were to end with"),
    (driver(HasItsOwnIdeaOfAnEnd), "a run ends", r"X5: runs were to end with \[\('search', 5"),
    (driver(Dropping), "a loop under the default configuration", "M5|S1"),
    (
        SwallowingDriver(),
        "test_an_exception_of_the_users_hook",
        "S5: an exception of the user's hook ends the run without",
    ),
    (ForgettingTheHookDriver(), "test_a_hook_of_the_users", "S5: the user's hook was called 0 times"),
]
