"""What the effect benchmark takes for a call, for the same call, and for a right step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from benchmarks.effect.answers import MadeCall, calls_in, classify, is_right_answer
from benchmarks.effect.scenarios import Call, Poll, Reply, Results, Scenarios, Step, Stuck
from tests.benchmarks.scripted_endpoint import calling

STUCK = Stuck(
    id="lamp",
    kind="a wrong argument with a hint",
    task="Order a lamp.",
    tools=("order", "look"),
    call=Call(tool="order", arguments={"article": "lamp", "pieces": 1}),
    result="Error: at least 2",
    right=(Step(tool="order", arguments={"pieces": 2}),),
    replies=(Reply(tool="look", result="lamps"), Reply(tool="look", result="never")),
    answer_is_right=True,
    ending=("at least 2",),
)
POLL = Poll(
    id="kettle",
    task="Wait for the kettle.",
    tools=("look",),
    call=Call(tool="look", arguments={}),
    same="cold",
    changing="{look}: {percent} %",
    done="boils",
    done_at=4,
)
SAME = calling("order", '{"pieces": 1.0, "article": "lamp"}')
TWO = calling("order", '{"article": "lamp", "pieces": 2}')


@pytest.mark.parametrize(
    ("message", "step", "is_right", "is_in_text"),
    [
        (SAME, "same_call", False, False),
        (TWO, "another_call", True, False),
        (calling("order", '{"article": "lamp", "pieces": 3}'), "another_call", False, False),
        (calling("order", "no JSON"), "another_call", False, False),
        (calling("order", "[2]"), "another_call", False, False),
        (calling("look", "{}"), "another_call", False, False),
        (calling("unknown", '{"pieces": 2}'), "another_call", False, False),
        ({"tool_calls": SAME["tool_calls"] * 2}, "same_call", False, False),
        ({"tool_calls": [*SAME["tool_calls"], *TWO["tool_calls"]]}, "another_call", True, False),
        ({"content": "Orders are for AT LEAST 2 lamps."}, "answer", True, False),
        ({"content": "at least 20"}, "answer", False, False),
        ({"content": " \n"}, "nothing", False, False),
        ({"content": None}, "nothing", False, False),
        ({"content": '{"name": "order", "arguments": {"article": "lamp", "pieces": 1}}'}, "same_call", False, True),
        ({"content": '```json\n{"name": "order", "parameters": {"pieces": 2}}\n```'}, "another_call", True, True),
        ({"content": 'So: {"name": "look"} {"name": "order", "arguments": "{}"}'}, "another_call", False, True),
        ({"content": '{"tool_calls": [{"function": {"name": "look"}}]}'}, "another_call", False, True),
        ({"content": '{"result": {"name": "order", "arguments": {"pieces": 2}}}'}, "another_call", True, True),
        ({"content": '{ {"name": "lamp"} } at least 2'}, "answer", True, False),
        ({"content": '{"name": "lamp", "arguments": {"pieces": "at least 2"}}'}, "another_call", False, True),
        ({"content": '```json\n{"name": "lamp", "parameters": {}}\n```\n'}, "another_call", False, True),
        ({"content": 'No: {"name": "lamp", "arguments": {"pieces": "at least 2"}}'}, "answer", True, False),
        ({"content": '{"name": "lamp", "pieces": "at least 2"}'}, "answer", True, False),
        ({"content": '{"name": 2, "arguments": "at least 2"}'}, "answer", True, False),
    ],
)
def test_steps(message: dict[str, Any], step: str, is_right: bool, is_in_text: bool) -> None:  # noqa: FBT001
    """Calls are compared by meaning; JSON that names a tool is a call."""
    assert classify(STUCK, message) == (step, is_right, is_in_text)


def test_a_poll_has_no_right_steps() -> None:
    """The same call is right there, and the rest is giving up."""
    assert classify(POLL, calling("look", "")) == ("same_call", None, False)
    assert classify(POLL, {"content": "It is cold."}) == ("answer", None, False)


def test_real_calls_come_before_text() -> None:
    """Text beside a call is no further call."""
    message = {**calling("look", "{}"), "content": '{"name": "order"}'}
    assert calls_in(message, STUCK.tools) == [MadeCall("look", "{}", is_in_text=False)]


def test_an_answer_that_admits_failure() -> None:
    """Where nothing can be done, saying so is right."""
    scenario = STUCK.model_copy(update={"ending": (), "admits_failure": True})
    assert is_right_answer(scenario, "I can\N{RIGHT SINGLE QUOTATION MARK}t order it.")
    assert not is_right_answer(scenario, "It has been ordered.")


def test_what_tools_say() -> None:
    """The first reply that fits, or an error."""
    assert STUCK.result_of_other("look", "{}") == "lamps"
    assert STUCK.result_of_other("order", "{}").startswith("Error")
    assert [POLL.result(look, "changing") for look in (1, 3, 4, 9)] == ["1: 10 %", "3: 30 %", "boils", "boils"]
    assert POLL.result(3, "same") == "cold"


def test_there_are_enough_scenarios() -> None:
    """At least 30 and 6, of every kind more than one, and the guard is mentioned nowhere."""
    scenarios = Scenarios.load()
    assert len(scenarios.stuck) >= 30
    assert len(scenarios.poll) >= 6
    kinds = [each.kind for each in scenarios.stuck]
    assert min(kinds.count(kind) for kind in kinds) >= 2
    assert "repeatguard" not in scenarios.model_dump_json()


def test_each_scenario_can_be_solved() -> None:
    """What is asked for stands in a result, and in none of a poll's before it is done."""
    scenarios = Scenarios.load()
    for stuck in scenarios.stuck:
        told = " ".join([stuck.result, *(reply.result for reply in stuck.replies)])
        assert stuck.answer_is_right or is_right_answer(stuck, told)
    for poll in scenarios.poll:
        assert is_right_answer(poll, poll.done)
        looks = [poll.pending(look, results) for look in range(1, 9) for results in get_args(Results)]
        assert not any(is_right_answer(poll, look) for look in looks)
        assert len(set(looks)) == 9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"right": [], "answer_is_right": False}, "lamp names no right next step"),
        ({"ending": []}, "lamp does not say what a right answer has"),
        ({"tools": ["order"]}, "lamp has no tool look"),
        ({"tools": ["order", "look", "fly"]}, "lamp has no tool fly"),
        ({"id": "kettle"}, "two scenarios have the same id"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_wrong_scenarios(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    """What could never be right is refused."""
    stuck = {**json.loads(STUCK.model_dump_json()), **changes}
    tools = {name: {"description": name} for name in ("order", "look")}
    data = {"tools": tools, "stuck": [stuck], "poll": [json.loads(POLL.model_dump_json())]}
    with pytest.raises(ValueError, match=message):
        Scenarios.model_validate(data)
