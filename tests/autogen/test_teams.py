"""Teams of every kind, guarded in every way, nested and not."""

from __future__ import annotations

import json
from typing import Any

import autogen_agentchat.teams as autogen_teams
import pytest
from autogen_agentchat.agents import SocietyOfMindAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import HandoffTermination, TextMentionTermination
from autogen_agentchat.messages import HandoffMessage, TextMessage
from autogen_agentchat.teams import MagenticOneGroupChat, RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_core import FunctionCall
from repeatguard_autogen import RepeatGuardConfig, RepeatGuardHandler

from tests.autogen.scripted_client import (
    ScriptedClient,
    assert_append_only,
    both_ways,
    call,
    counts,
    repeating,
    words,
)
from tests.autogen.teams import agent_with, run_team, started, wire, wirings


def chatting(times: int = 20) -> ScriptedClient:
    """Make a client whose model says something, without calls."""
    return ScriptedClient(["go on"] * times)


def alone(client: ScriptedClient, runtime: Any) -> RoundRobinGroupChat:
    """Make a team of one, which stops after each turn."""
    return RoundRobinGroupChat([agent_with(client)], max_turns=1, runtime=runtime)


@pytest.mark.rules("D1", "D11", "D12", "M1", "M5", "M6")
@wirings
@both_ways
async def test_a_round_robin_of_two(wiring: str, streamed: bool) -> None:  # noqa: FBT001
    """What the other agent says is no new material: the count goes on through its turns."""
    client, other = repeating(5), chatting()

    def make(runtime: Any) -> Any:
        worker = agent_with(client, model_client_stream=streamed)
        members: list[Any] = [worker, agent_with(other, "critic", tools=[])]
        return RoundRobinGroupChat(members, runtime=runtime, termination_condition=TextMentionTermination("done"))

    team, runtime = wire(RepeatGuardHandler(), wiring, make)
    await run_team(team, runtime, streamed=streamed)
    turn = ["call", "result", "critic"]
    third = ["call", "result", "reminder", "critic"]
    expected = ["user", *turn, *turn, *third, *turn, *third]
    assert words(client.requests[-1]) == expected
    assert counts(client) == [0, 0, 0, 1, 1, 2]
    assert counts(other) == [0] * 5
    assert_append_only(client.requests)


@pytest.mark.rules("D1", "D11", "D12", "M1")
@wirings
async def test_a_selector(wiring: str) -> None:
    """Also where a model chooses who speaks; its own requests are left alone."""
    client = repeating(4)
    chooser = ScriptedClient(["worker", "worker", "critic", "worker", "worker", "worker"])

    def make(runtime: Any) -> Any:
        members: list[Any] = [agent_with(client), agent_with(chatting(), "critic", tools=[])]
        return SelectorGroupChat(
            members,
            chooser,
            allow_repeated_speaker=True,
            runtime=runtime,
            termination_condition=TextMentionTermination("done"),
        )

    team, runtime = wire(RepeatGuardHandler(), wiring, make)
    await run_team(team, runtime)
    assert counts(client) == [0, 0, 0, 1, 1]
    assert_append_only(client.requests)
    assert counts(chooser) == [0] * len(chooser.requests)


@pytest.mark.rules("D12", "M1", "M5")
@wirings
@pytest.mark.parametrize("alone", [False, True], ids=["beside a call", "alone"])
async def test_a_swarm_that_hands_over_and_back(wiring: str, alone: bool) -> None:  # noqa: FBT001
    """Handoffs are no calls, the copies that they leave are not held against anybody, and each counts its own."""
    search = call("get_status")
    with_handoff = [[search], [call("transfer_to_second")]] if alone else [[search, call("transfer_to_second")]]
    first = ScriptedClient([[call()], *with_handoff, [call()], [call()], "done"])
    second = ScriptedClient([[call()], [call()], [call("transfer_to_first")]])

    def make(runtime: Any) -> Any:
        members: list[Any] = [
            agent_with(first, "first", handoffs=["second"]),
            agent_with(second, "second", handoffs=["first"]),
        ]
        return Swarm(members, runtime=runtime, termination_condition=TextMentionTermination("done"))

    team, runtime = wire(RepeatGuardHandler(), wiring, make)
    await run_team(team, runtime)
    assert counts(second) == [0, 0, 0]
    assert counts(first)[-2:] == [1, 1]  # two before the handoff and one after it
    assert sum(counts(first)[:-2]) == 0
    assert_append_only(first.requests)
    assert_append_only(second.requests)


def swarm(first: ScriptedClient, second: ScriptedClient, runtime: Any, **settings: Any) -> Swarm:
    """Make a team of two that hand over to each other."""
    members: list[Any] = [
        agent_with(first, "first", handoffs=["second"]),
        agent_with(second, "second", handoffs=["first"]),
    ]
    return Swarm(members, runtime=runtime, **settings)


@pytest.mark.rules("D12", "M1", "M5")
@wirings
@pytest.mark.parametrize("before", [0, 2], ids=["in one response", "over several"])
async def test_a_reminder_that_is_due_at_a_handoff_is_held(wiring: str, before: int) -> None:
    """The next agent does not get it, though it gets a copy of the calls; this one does, when it is its turn again."""
    calls = [call() for _ in range(3 - before)]
    first = ScriptedClient([*([call()] for _ in range(before)), [*calls, call("transfer_to_second")], [call()], "done"])
    second = ScriptedClient([[call()], [call("transfer_to_first")]])
    stop = TextMentionTermination("done")
    team, runtime = wire(
        RepeatGuardHandler(), wiring, lambda runtime: swarm(first, second, runtime, termination_condition=stop)
    )
    await run_team(team, runtime)
    assert counts(first) == [*[0] * (before + 1), 1, 1]
    assert words(first.requests[-2])[-2:] == ["second", "reminder"]
    assert counts(second) == [0] * 2
    assert words(second.requests[0])[-1] == "first"
    assert_append_only(first.requests)


@pytest.mark.rules("D12", "X5")
@wirings
@pytest.mark.parametrize("parallel", [False, True], ids=["two responses", "one response"])
async def test_a_call_before_each_handoff(wiring: str, parallel: bool) -> None:  # noqa: FBT001
    """The chain goes on each time that the agent gets control back, up to the end of the team, at its own turn."""

    def rounds() -> list[list[FunctionCall]]:
        return [[call(), call("transfer_to_second")]] if parallel else [[call()], [call("transfer_to_second")]]

    first = ScriptedClient([turn for _ in range(10) for turn in rounds()])
    second = ScriptedClient([[call("transfer_to_first")] for _ in range(10)])
    guard = RepeatGuardHandler(RepeatGuardConfig(stop_after=9))
    team, runtime = wire(
        guard, wiring, lambda runtime: swarm(first, second, runtime, termination_condition=guard.termination())
    )
    result = await run_team(team, runtime)
    assert str(result.stop_reason).startswith("get_status called 9 times in a row")
    assert counts(first)[-1] == 3
    assert sum(counts(second)) == 0
    assert result.messages[-1].source == "first"
    assert_append_only(first.requests)


@pytest.mark.rules("D11", "D12")
@wirings
async def test_a_humans_words_make_a_held_reminder_void(wiring: str) -> None:
    """The agent gets control back with new input, and counts from the start."""
    first = ScriptedClient([[*(call() for _ in range(3)), call("transfer_to_user")], [call()], "done"])

    def make(runtime: Any) -> Any:
        member = agent_with(first, "first", handoffs=["user"])
        stop = TextMentionTermination("done") | HandoffTermination(target="user")
        return Swarm([member], runtime=runtime, termination_condition=stop)

    team, runtime = wire(RepeatGuardHandler(), wiring, make)
    await run_team(team, runtime)
    await run_team(team, runtime, HandoffMessage(content="look elsewhere", source="user", target="first"))
    assert counts(first) == [0, 0, 0]


@pytest.mark.rules("D12", "D8")
@wirings
async def test_handoffs_that_have_names_of_their_own(wiring: str) -> None:
    """An agent that is attached, or that speaks on a guarded runtime, has told which of its tools they are."""
    first = ScriptedClient([[call()], [call()], [call(), call("escalate")], "done"])
    second = ScriptedClient([[call("give_back")]])

    def make(runtime: Any) -> Any:
        members: list[Any] = [
            agent_with(first, "first", handoffs=[Handoff(target="second", name="escalate")]),
            agent_with(second, "second", handoffs=[Handoff(target="first", name="give_back")]),
        ]
        return Swarm(members, runtime=runtime, termination_condition=TextMentionTermination("done"))

    team, runtime = wire(RepeatGuardHandler(), wiring, make)
    await run_team(team, runtime)
    assert counts(first) == [0, 0, 0, 1]
    assert words(first.requests[-1])[-2:] == ["second", "reminder"]


def ledger(speaker: str, *, satisfied: bool = False) -> str:
    """Write what MagenticOne's orchestrator wants to read before each step."""
    answers = {
        "is_request_satisfied": satisfied,
        "is_progress_being_made": True,
        "is_in_loop": False,
        "instruction_or_question": "Look it up.",
        "next_speaker": speaker,
    }
    return json.dumps({key: {"answer": value, "reason": "so it is"} for key, value in answers.items()})


@pytest.mark.rules("D1", "D11", "M1", "M5")
@wirings
async def test_magentic_one(wiring: str) -> None:
    """Its orchestrator speaks before every step, and is an agent like the others."""
    client = repeating(4)
    steps = [ledger("worker")] * 5
    orchestrator = ScriptedClient(["facts", "a plan", *steps, ledger("worker", satisfied=True), "it is done"])

    def make(runtime: Any) -> Any:
        return MagenticOneGroupChat([agent_with(client)], orchestrator, runtime=runtime)

    team, runtime = wire(RepeatGuardHandler(), wiring, make)
    await run_team(team, runtime)
    assert counts(client) == [0, 0, 0, 1, 1]
    asked = "MagenticOneOrchestrator"
    turn = [asked, "call", "result"]
    assert words(client.requests[3]) == [asked, *turn, *turn, *turn, "reminder", asked]
    assert_append_only(client.requests)


has_graph = pytest.mark.skipif(not hasattr(autogen_teams, "GraphFlow"), reason="GraphFlow came with release 0.5.7")


@pytest.mark.rules("D1", "D11", "D12", "M1")
@has_graph
@wirings
async def test_a_graph_with_a_loop_in_it(wiring: str) -> None:
    """And with two agents at once, each of which counts its own."""
    left, right = repeating(9), repeating(9)
    judge = ScriptedClient(["again", "again", "again", "enough"])

    def make(runtime: Any) -> Any:
        members: list[Any] = [
            agent_with(ScriptedClient(["start"] * 5), "starter", tools=[]),
            agent_with(left, "left"),
            agent_with(right, "right"),
            agent_with(judge, "judge", tools=[]),
            agent_with(ScriptedClient(["the end"]), "closer", tools=[]),
        ]
        builder = autogen_teams.DiGraphBuilder()
        for member in members:
            builder.add_node(member, activation="any" if member.name == "starter" else "all")
        builder.add_edge(members[0], members[1]).add_edge(members[0], members[2])
        builder.add_edge(members[1], members[3]).add_edge(members[2], members[3])
        builder.add_edge(members[3], members[0], condition="again")
        builder.add_edge(members[3], members[4], condition="enough")
        builder.set_entry_point(members[0])
        return autogen_teams.GraphFlow(members, builder.build(), runtime=runtime, max_turns=30)

    team, runtime = wire(RepeatGuardHandler(), wiring, make)
    await run_team(team, runtime)
    assert counts(left) == counts(right) == [0, 0, 0, 1]


@pytest.mark.rules("D1", "D12", "M1")
@wirings
async def test_a_society_of_mind(wiring: str) -> None:
    """The team inside is guarded with the agent that it is part of."""
    client = repeating(4)

    def make(runtime: Any) -> Any:
        inner = RoundRobinGroupChat([agent_with(client)], termination_condition=TextMentionTermination("done"))
        mind: Any = SocietyOfMindAgent("mind", inner, ScriptedClient(["all in all"]))
        return RoundRobinGroupChat([mind], runtime=runtime, max_turns=1)

    team, runtime = wire(RepeatGuardHandler(), wiring, make)
    await run_team(team, runtime)
    assert counts(client) == [0, 0, 0, 1, 1]


async def is_nested() -> bool:
    """Find out whether a team may be a member of another, which came with release 0.6.2."""
    inner = RoundRobinGroupChat([agent_with(chatting())], max_turns=1)
    try:
        await RoundRobinGroupChat([inner], max_turns=1).run(task="go")
    except Exception:  # noqa: BLE001 - in what way it does not work differs
        return False
    return True


@pytest.mark.rules("D1", "D11", "D12", "M1", "M6")
@pytest.mark.parametrize("shares", [False, True], ids=["its own runtime", "the same runtime"])
@wirings
async def test_a_team_in_a_team(wiring: str, shares: bool) -> None:  # noqa: FBT001
    """On the same runtime every event of the inner team is published twice; each call still counts once."""
    if not await is_nested():
        pytest.skip("a team cannot be a member of another in this release")
    client = repeating(5)

    def make(runtime: Any) -> Any:
        inner: Any = RoundRobinGroupChat(
            [agent_with(client)], name="inner", max_turns=1, runtime=runtime if shares else None
        )
        members: list[Any] = [inner, agent_with(chatting(), "critic", tools=[])]
        return RoundRobinGroupChat(members, runtime=runtime, termination_condition=TextMentionTermination("done"))

    team, runtime = wire(RepeatGuardHandler(), wiring, make)
    await run_team(team, runtime)
    assert counts(client) == [0, 0, 0, 1, 1, 2]
    assert_append_only(client.requests)


@pytest.mark.rules("D11")
@wirings
async def test_a_team_that_is_run_again(wiring: str) -> None:
    """A task is a human's words and starts the count anew; going on without one does not."""
    client = ScriptedClient([[call()] for _ in range(8)])
    guard = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,)))
    team, runtime = wire(
        guard, wiring, lambda runtime: RoundRobinGroupChat([agent_with(client)], max_turns=1, runtime=runtime)
    )
    for task in ("go", None, "again", None, TextMessage(content="and now?", source="ann"), None):
        await run_team(team, runtime, task)
    assert counts(client) == [0, 0, 1, 1, 2, 2]
    assert words(client.requests[-1])[:6] == ["user", "call", "result", "call", "result", "reminder"]
    assert_append_only(client.requests)


@pytest.mark.rules("D11", "S3")
@wirings
async def test_a_team_that_is_reset(wiring: str) -> None:
    """Nothing is left to go on from."""
    client = ScriptedClient([[call()] for _ in range(8)])
    guard = RepeatGuardHandler(RepeatGuardConfig(thresholds=(2,)))
    team, runtime = wire(
        guard, wiring, lambda runtime: RoundRobinGroupChat([agent_with(client)], max_turns=1, runtime=runtime)
    )
    await run_team(team, runtime, "go")
    async with started(runtime):
        await team.reset()
    await run_team(team, runtime, "go")
    await run_team(team, runtime, None)
    await run_team(team, runtime, None)
    assert [words(request) for request in client.requests[1:3]] == [["user"], ["user", "call", "result"]]
    assert counts(client) == [0, 0, 0, 1]


@pytest.mark.rules("D12")
async def test_two_runtimes_with_the_same_names() -> None:
    """Agents of the same name on one guard do not mix, whatever runtime they are on."""
    guard = RepeatGuardHandler()
    clients = [repeating(2), repeating(2), repeating(3)]
    for client in clients:
        runtime = guard.runtime()
        team = RoundRobinGroupChat(
            [agent_with(client)], runtime=runtime, termination_condition=TextMentionTermination("done")
        )
        await run_team(team, runtime)
    assert [counts(client) for client in clients] == [[0, 0, 0], [0, 0, 0], [0, 0, 0, 1]]


@pytest.mark.rules("D12")
async def test_two_teams_on_one_runtime() -> None:
    """Nor do agents of the same name in two teams."""
    guard = RepeatGuardHandler()
    runtime = guard.runtime()
    clients = [repeating(2), repeating(3)]
    stop = TextMentionTermination("done")
    for client in clients:
        await run_team(RoundRobinGroupChat([agent_with(client)], runtime=runtime, termination_condition=stop), runtime)
    assert [counts(client) for client in clients] == [[0, 0, 0], [0, 0, 0, 1]]
