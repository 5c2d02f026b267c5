"""Frameworks that keep reminders: only the end of a conversation is read, as far back as it matters."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from repeatguard_core import RepeatGuardConfig
from repeatguard_core.adapters import Guard, Insertion, Item, Kind, RunMemory, insert

from tests.core.adapters.conversations import ANSWER, CONFIG, RESPONSE, USER, Kept, call, handoff, hosted, result

Message = tuple[Item, ...]
PROMPT: Message = (USER,)
SUMMARY: Message = (USER,)


class Conversation:
    """A conversation that the framework keeps, reminders included."""

    def __init__(self, *messages: Message, config: RepeatGuardConfig = CONFIG, memory: RunMemory | None = None) -> None:
        self.announced: list[int] = []
        self.messages = list(messages)
        self.read: set[int] = set()
        self.memory = memory
        self.guard = Guard(config, on_reminder=lambda reminder: self.announced.append(reminder.count))
        self.ended_at: int | None = None

    def request(self) -> list[tuple[int, int]]:
        """Send a request, and return the place and the count of each reminder that was added."""
        added: list[tuple[int, int]] = []
        transcript = Kept(list(self.messages))

        def write(insertion: Insertion) -> Message:
            added.append((insertion.place, insertion.reminder.count))
            return (Item(Kind.REMINDER, checkpoint=insertion.checkpoint()),)

        stop = self.guard.before_request(
            transcript, lambda insertions: insert(self.messages, insertions, write), memory=self.memory
        )
        self.ended_at = None if stop is None else stop.count
        self.read = set(transcript._read)
        return added

    def respond(self, *items: Item) -> None:
        """Let the model respond."""
        response = (RESPONSE, *items)
        self.messages.append(response)
        if self.memory is not None:
            self.memory.note_response(Kept([response]))

    def turn(self, *calls: Item) -> list[tuple[int, int]]:
        """Let the model call, answer the calls, and send the next request."""
        self.respond(*calls)
        results = [result()._replace(call_id=each.call_id) for each in calls if each.awaits_result]
        self.messages.append(tuple(results))
        return self.request()


def turns(count: int, *, same: bool = True) -> list[Message]:
    """Make turns with a call and its result each."""
    made: list[Message] = []
    for number in range(count):
        made += [(RESPONSE, call(number, "{}" if same else str(number))), (result(number),)]
    return made


@pytest.mark.rules("D10", "M5", "M6")
@pytest.mark.parametrize("remembers", [False, True])
def test_each_reminder_is_added_once(remembers: bool) -> None:  # noqa: FBT001
    """And announced once."""
    conversation = Conversation(PROMPT, memory=RunMemory() if remembers else None)
    assert conversation.request() == []
    assert [conversation.turn(call(number)) for number in range(4)] == [[], [(5, 2)], [(8, 3)], []]
    assert conversation.request() == []
    assert conversation.announced == [2, 3]


@pytest.mark.rules("S4")
def test_a_long_conversation_is_read_no_further_than_it_matters() -> None:
    """Ten thousand calls or ten, alike or not."""
    for same in (False, True):
        costs: set[int] = set()
        for count in (20, 5_000):
            conversation = Conversation(PROMPT, *turns(count, same=same))
            conversation.request()
            costs.add(len(conversation.read))
        assert len(costs) == 1


@pytest.mark.rules("D11")
@pytest.mark.parametrize("cut", [(), (PROMPT,)], ids=len)
def test_a_checkpoint_is_enough_to_go_on(cut: tuple[Message, ...]) -> None:
    """Everything before the reminder has been cut away."""
    conversation = Conversation(PROMPT, *turns(2))
    assert conversation.request() == [(5, 2)]
    conversation.messages[:] = [*cut, *conversation.messages[5:]]
    assert conversation.turn(call(3)) == [(len(cut) + 3, 3)]


@pytest.mark.rules("D11", "M6")
def test_a_reminder_without_a_checkpoint_changes_nothing() -> None:
    """The framework has not kept it. What came before is read."""
    conversation = Conversation(PROMPT, *turns(2))
    conversation.messages += [(Item(Kind.REMINDER),), (RESPONSE, call(2)), (result(2),)]
    assert conversation.request() == [(8, 3)]


@pytest.mark.rules("D11")
def test_a_checkpoint_that_alone_is_in_sight_when_a_run_begins_counts_on() -> None:
    """Though there is no response to read back from."""
    earlier = Conversation(PROMPT, *turns(2))
    earlier.request()
    conversation = Conversation(*earlier.messages[5:], memory=RunMemory())
    assert conversation.request() == []
    assert conversation.turn(call(3)) == [(3, 3)]


@pytest.mark.rules("D11")
def test_a_history_that_is_cut_while_a_run_is_on_counts_on() -> None:
    """The run remembers."""
    conversation = Conversation(PROMPT, memory=RunMemory())
    conversation.request()
    conversation.turn(call(1))
    del conversation.messages[:]
    assert conversation.turn(call(2)) == [(2, 2)]


@pytest.mark.rules("D11", "X5")
def test_a_history_that_is_summed_up_each_time_counts_on() -> None:
    """Nothing of the calls is in sight, and no checkpoint."""
    config = RepeatGuardConfig(thresholds=(2, 3), stop_after=5)
    conversation = Conversation(PROMPT, config=config, memory=RunMemory())
    conversation.request()
    added: list[list[tuple[int, int]]] = []
    for number in range(5):
        conversation.respond(call(number))
        conversation.messages[:] = [SUMMARY]
        added.append(conversation.request())
    assert added == [[], [(1, 2)], [(1, 3)], [], []]
    assert conversation.ended_at == 5


@pytest.mark.rules("D11")
def test_input_beside_results_leaves_no_place_for_a_reminder() -> None:
    """In the message with the results, nothing can stand between them and what is new."""
    conversation = Conversation(PROMPT, *turns(2))
    conversation.messages[-1] = (result(1), USER)
    assert conversation.request() == []
    assert conversation.turn(call(3)) == []


@pytest.mark.rules("M1")
def test_a_reminder_comes_after_what_belongs_to_the_results() -> None:
    """Words that tools returned beside them."""
    conversation = Conversation(PROMPT, *turns(2), (Item(Kind.ATTACHMENT),), PROMPT)
    assert conversation.request() == [(6, 2)]


@pytest.mark.rules("D8", "M1")
def test_calls_that_the_provider_ran_are_complete_where_their_response_is() -> None:
    """It shows where a response ends, so nothing else has to be waited for."""
    conversation = Conversation(PROMPT, (RESPONSE, hosted(1)), PROMPT, (RESPONSE, hosted(2), hosted(3)))
    assert conversation.request() == [(4, 2)]
    waiting = (RESPONSE, hosted(4)._replace(awaits_result=True))
    conversation = Conversation(PROMPT, (RESPONSE, hosted(1)), waiting)
    assert conversation.request() == []
    answered = (*waiting, Item(Kind.RESULT, call_id="h4"), ANSWER)
    conversation = Conversation(PROMPT, (RESPONSE, hosted(1)), answered)
    assert conversation.request() == [(3, 2)]


@pytest.mark.rules("D8")
def test_calls_without_results_before_the_next_response_count() -> None:
    """They get no reminder."""
    conversation = Conversation(PROMPT, (RESPONSE, call(1), call(2)), (RESPONSE, call(3)), (result(3),))
    assert conversation.request() == [(4, 3)]


@pytest.mark.rules("D12")
def test_after_a_handoff_the_whole_conversation_says_whose_calls_are_whose() -> None:
    """It is read from its start."""
    to_b, to_a = (
        ((RESPONSE, call(number, name=f"to_{name}")), (handoff(number, name),)) for number, name in ((8, "b"), (9, "a"))
    )
    conversation = Conversation(PROMPT, *turns(1), *to_b, *turns(1), *to_a, *turns(1), *to_b, *turns(1))
    assert conversation.request() == [(15, 2)]
    assert conversation.request() == []


@pytest.mark.rules("D12")
def test_calls_that_name_their_agent_count_for_it() -> None:
    """What another agent calls in between does not matter."""
    conversation = Conversation(PROMPT)
    for number, agent in enumerate("aba"):
        conversation.messages += [(RESPONSE, call(number)._replace(agent=agent)), (result(number),)]
    assert conversation.request() == [(7, 2)]


@pytest.mark.rules("X2")
def test_results_are_worked_out_only_where_they_are_compared() -> None:
    """A function that returns one is called then."""
    asked: list[int] = []

    def lazy(number: int) -> Item:
        def work_out() -> str:
            asked.append(number)
            return "same"

        return result(number, work_out)

    for policy in ("count", "reset"):
        history: Sequence[Message] = [PROMPT]
        for number in (1, 2):
            history = [*history, (RESPONSE, call(number)), (lazy(number),)]
        config = RepeatGuardConfig(thresholds=(2,), on_changed_result=policy)
        assert Conversation(*history, config=config).request() == [(5, 2)]
        assert sorted(asked) == ([] if policy == "count" else [1, 2])
