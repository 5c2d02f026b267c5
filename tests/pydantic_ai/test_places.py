"""M1, M6, D9 and D11: what is missing at the end of a history, and where, seen at close range."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import messages as messages_module
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    ToolReturnPart,
    UserPromptPart,
)
from repeatguard_core import RepeatGuardConfig
from repeatguard_pydantic_ai import RepeatGuard

from tests.pydantic_ai import asking
from tests.pydantic_ai.agents import agent, loop, search
from tests.pydantic_ai.asking import Added, added, note
from tests.pydantic_ai.driver import stored
from tests.pydantic_ai.scripted_model import ScriptedModel, call
from tests.pydantic_ai.test_calls import searched_by_the_provider

CONFIG = RepeatGuardConfig(thresholds=(2, 3))


def request(*parts: Any, run: str | None = "run") -> ModelRequest:
    """Make a request; a text stands for the user's words."""
    return ModelRequest([UserPromptPart(part) if isinstance(part, str) else part for part in parts], run_id=run)


def turn(*beside: Any, q: int = 1, run: str | None = "run") -> list[ModelMessage]:
    """Make a response with a call, and the request with its result and what stands beside it."""
    part = call("search", {"q": q})
    result = ToolReturnPart("search", "no rows", part.tool_call_id)
    return [ModelResponse([part], run_id=run), request(result, *beside, run=run)]


def find(*messages: ModelMessage, **settings: Any) -> Added | None:
    """Find what is missing at the end of a history."""
    return asking.find(*messages, **{"thresholds": (2, 3), **settings})


def reminder_part() -> ModelRequestPart:
    """Make the part that a reminder of two calls consists of."""
    history: list[ModelMessage] = [request("go"), *turn(), *turn()]
    missing = find(*history)
    assert missing is not None
    return missing.message.parts[0]


PROMPT = request("go")
STEER = request("try fetch")
NOTE = request(SystemPromptPart("be brief"))


@pytest.mark.rules("M1", "D11")
@pytest.mark.parametrize(
    ("behind", "place"),
    [
        ([], 5),
        ([STEER], 5),
        ([NOTE], 6),
        ([NOTE, STEER], 6),
        ([STEER, NOTE], 5),
        ([STEER, NOTE, STEER], 5),
    ],
)
def test_a_reminder_stands_behind_results_and_before_words(behind: list[ModelMessage], place: int) -> None:
    """What is neither, such as a system prompt, is no reason to go behind words."""
    missing = find(PROMPT, *turn(), *turn(), *behind)
    assert missing is not None
    assert missing.index == place


@pytest.mark.rules("M1", "D11")
@pytest.mark.parametrize(
    "history",
    [
        [PROMPT, *turn(), *turn("thanks, stop that", run=None)],
        [PROMPT, *turn(), *turn()[:1], request("stop that"), turn()[1]],
        [PROMPT, *turn(), *turn(run="another run"), STEER],
        [PROMPT, *turn(), turn(run="another run")[0], turn("stop that")[1]],
    ],
)
def test_words_that_cannot_stand_behind_a_reminder_make_it_moot(history: list[ModelMessage]) -> None:
    """They stand beside the results, before some of them, or begin a run."""
    assert find(*history) is None


@pytest.mark.rules("D11")
def test_words_behind_a_reminder_that_was_joined_with_results_are_new() -> None:
    """Also when all three have become one request, and with the reminder's checkpoint or without."""
    joined = turn(reminder_part(), "try fetch", run=None)
    assert find(PROMPT, *turn(), *joined, *turn()) is None
    joined = turn(reminder_part(), run=None)
    missing = find(PROMPT, *turn(), *joined, *turn())
    assert missing is not None
    assert missing.count == 3


@pytest.mark.rules("D11", "M6")
def test_a_reminder_whose_metadata_is_gone_is_still_one() -> None:
    """As an own text, or as a plain one."""
    part = reminder_part()
    assert isinstance(part, UserPromptPart)
    (item,) = list(part.content)
    assert isinstance(item, TextContent)
    for content in ([TextContent(item.content)], [TextContent(item.content, metadata="mine")], item.content):
        assert find(PROMPT, *turn(), *turn(), request(UserPromptPart(content))) is None
        missing = find(PROMPT, *turn(), *turn(), request(UserPromptPart(content)), *turn())
        assert missing is not None
        assert missing.count == 3


@pytest.mark.rules("D11")
@pytest.mark.parametrize("metadata", ["mine", {"mine": 1}, {"repeatguard": "mine"}, ["repeatguard"]])
def test_metadata_of_the_applications_own(metadata: object) -> None:
    """Words that carry any are words."""
    words = request(UserPromptPart([TextContent("try fetch", metadata=metadata)]))
    assert find(PROMPT, *turn(), words, *turn()) is None


@pytest.mark.rules("D11")
def test_spoken_words_are_words() -> None:
    """A history may come from a realtime session."""
    speech: Any = getattr(messages_module, "SpeechPart", None)
    if speech is None:
        pytest.skip("this release knows no speech")
    spoken = request(speech(transcript="please look again", speaker="user"))
    assert find(PROMPT, *turn(), spoken, *turn()) is None


@pytest.mark.rules("D11")
def test_a_mark_for_a_providers_cache_is_no_word() -> None:
    """It may stand alone in a request."""
    mark = request(UserPromptPart([messages_module.CachePoint()]))
    assert find(PROMPT, *turn(), mark, *turn()) is not None


@pytest.mark.rules("D8", "M1")
def test_a_providers_result_without_its_call_is_nothing_open() -> None:
    """It may come in a later response than the call."""
    _, late = searched_by_the_provider(1)
    part = call("search", {"q": 1})
    last = ModelResponse([late, part], run_id="run")
    result = request(ToolReturnPart("search", "no rows", part.tool_call_id))
    missing = find(PROMPT, *turn(), last, result, thresholds=(2,), exclude=("web_search",))
    assert missing is not None


@pytest.mark.rules("S1")
@pytest.mark.parametrize("messages", [[], [PROMPT], [PROMPT, turn()[0]], [PROMPT, *turn(), turn()[0]]])
def test_where_nothing_is_sent_or_answered_nothing_is_missing(messages: list[ModelMessage]) -> None:
    """A history may be empty, have no response, or end with one that is taken up again."""
    assert find(*messages) is None


@pytest.mark.rules("D12", "S3")
def test_a_memory_belongs_to_one_run() -> None:
    """Code that uses one guard for several runs starts again with each run."""
    guard: RepeatGuard[Any] = RepeatGuard(CONFIG)
    for run in ("run", "second"):
        response, result = turn(run=run)
        assert added(guard, [request("go", run=run)], run) is None
        note(guard, response, run)
        assert added(guard, [request("go", run=run), response, result], run) is None


@pytest.mark.rules("D1", "M6")
@pytest.mark.parametrize("before", [0, 1, 3, 8])
@pytest.mark.parametrize("is_known", [False, True])
def test_the_same_request_again_counts_once(before: int, is_known: bool) -> None:  # noqa: FBT001
    """A retry hands over the same history, or one that says the same, wherever the response is in it."""
    guard: RepeatGuard[Any] = RepeatGuard(CONFIG)
    rest = [PROMPT] * before + turn(q=0)
    if is_known:
        assert added(guard, [PROMPT]) is None
        note(guard, rest[-2])
    for history in (rest, rest, stored(rest), rest):
        assert added(guard, history) is None
    second = turn(q=0)
    if is_known:
        note(guard, second[0])
    assert added(guard, [*rest, *second]) is not None


@pytest.mark.rules("S6", "M5")
def test_a_reminder_belongs_to_the_conversation_of_its_batch() -> None:
    """Applications select messages by run and by conversation."""
    if "conversation_id" not in ModelRequest.__dataclass_fields__:
        pytest.skip("this release has no conversations")
    history: list[Any] = [PROMPT, *turn(), *turn(), STEER]
    for message in history:
        message.conversation_id = "conversation"
    missing = find(*history)
    assert missing is not None
    assert missing.message.run_id == "run"
    assert getattr(missing.message, "conversation_id", None) == "conversation"


# --- the same, in runs -----------------------------------------------------------------------


@pytest.mark.rules("D12")
async def test_a_guard_that_other_code_calls() -> None:
    """A capability of the user's may hand its requests on to a guard that it holds."""
    guard: Any = RepeatGuard(RepeatGuardConfig(thresholds=(3,)))

    class Delegates(RepeatGuard[Any]):
        async def for_run(self, ctx: Any) -> Any:
            return self

        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            return await guard.before_model_request(ctx, request_context)

    for _ in range(3):
        model = ScriptedModel(*loop(2))
        await agent(model, Delegates(), tools=[search]).run("go")
        assert model.reminders == [[], [], []]
