"""The effect benchmark's samples, from a local endpoint: what each line holds, and how a file is carried on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, RunConfig, Runner
from openai import AsyncOpenAI
from repeatguard_core import RepeatGuardConfig, is_reminder
from repeatguard_openai_agents import RepeatGuardHooks

from benchmarks.effect.__main__ import main
from benchmarks.effect.arms import ARMS, NONE, Arm
from benchmarks.effect.conversations import INSTRUCTIONS, conversation
from benchmarks.effect.endpoint import Endpoint
from benchmarks.effect.lines import CacheLine, RunLine, StepLine, read_lines
from benchmarks.effect.plan import Plan
from benchmarks.effect.runs import RunSample, loops
from benchmarks.effect.scenarios import Call
from tests.benchmarks.scripted_endpoint import SCENARIOS, Body, ScriptedEndpoint, calling, listening, stubborn

GUARD = ARMS[1]
CALL = Call(tool="look", arguments={"at": "kettle"})


def sample(server: ScriptedEndpoint, lines: Path, *options: str) -> None:
    """Sample from the endpoint."""
    main(["sample", str(lines), "--base-url", server.base_url, "--model", "scripted", "--quiet", *options])


def steps(lines: Path) -> list[StepLine]:
    """Read the lines of steps."""
    return [line for line in read_lines([lines]) if isinstance(line, StepLine)]


def runs(lines: Path) -> list[RunLine]:
    """Read the lines of whole runs."""
    return [line for line in read_lines([lines]) if isinstance(line, RunLine)]


def outline(messages: Sequence[Body]) -> list[str]:
    """Tell what follows what."""
    return [
        "reminder" if is_reminder(str(message["content"])) else str(message["role"])
        for message in messages
        if message["role"] != "system"
    ]


async def test_a_conversation_is_the_one_that_the_adapter_sends() -> None:
    """The real adapter, with a model that loops, sends the very same messages."""

    async def look(_context: Any, _arguments: str) -> str:
        return "cold"

    tool = FunctionTool("look", "Look.", {"type": "object", "properties": {}}, look, strict_json_schema=False)

    def loop(body: Body) -> Body:
        calls = sum(message["role"] == "tool" for message in body["messages"])
        return calling("look", CALL.text, calls + 1) if calls < 8 else {"content": "done"}

    with ScriptedEndpoint(loop) as server:
        async with AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client:
            model = OpenAIChatCompletionsModel("m", client)
            agent = Agent(name="a", instructions=INSTRUCTIONS, model=model, tools=[tool])
            run_config = RunConfig(tracing_disabled=True)
            await Runner.run(agent, "Boil.", hooks=RepeatGuardHooks(), run_config=run_config, max_turns=12)
    for calls, request in enumerate(server.requests):
        written = conversation("Boil.", CALL, ["cold"] * calls, GUARD)
        assert _plain(request["messages"]) == _plain(written)
    assert outline(server.requests[8]["messages"]).count("reminder") == 3


def _plain(messages: Sequence[Body]) -> list[Any]:
    return [
        (message["role"], message.get("content"), [each["function"] for each in message.get("tool_calls", ())])
        for message in messages
    ]


def test_where_the_words_go() -> None:
    """Behind the result, into it, or behind it in the newest request alone."""
    results = ["cold"] * 4
    plain = conversation("Boil.", CALL, results, NONE)
    guard = conversation("Boil.", CALL, results, GUARD)
    turn = ["assistant", "tool"]
    assert outline(plain) == ["user", *turn * 4]
    assert outline(guard) == ["user", *turn * 3, "reminder", *turn]
    inside = conversation("Boil.", CALL, results, ARMS[2])
    assert outline(inside) == outline(plain)
    assert inside[7]["content"] == f"cold\n\n{guard[8]['content']}"
    once = Arm("once", RepeatGuardConfig(), "once")
    assert conversation("Boil.", CALL, results, once) == plain
    assert conversation("Boil.", CALL, results[:3], once) == guard[:9]
    last = Arm("last", RepeatGuardConfig(), "last")
    assert conversation("Boil.", CALL, results, last) == [*plain, guard[8]]


def test_every_step_is_a_line(tmp_path: Path) -> None:
    """With what was asked, what came, and what it is."""
    lines = tmp_path / "lines.jsonl"
    scenario = SCENARIOS.stuck[0]
    with ScriptedEndpoint(listening, has_timings=True) as server:
        sample(server, lines, "--part", "stuck", "--scenario", scenario.id, "--k", "2", "3", "--seed", "7")
    assert server.refusals == []
    written = [json.loads(text) for text in lines.read_text(encoding="utf-8").splitlines()]
    assert [(each["k"], each["arm"]) for each in written] == [(k, arm.name) for k in (2, 3) for arm in ARMS]
    guarded = next(each for each in written if each["k"] == 3 and each["arm"] == "guard")
    versions = guarded.pop("versions")
    assert set(versions) == {"repeatguard-core", "repeatguard-openai-agents", "openai-agents", "openai"}
    assert len(guarded.pop("digest")) == 16
    assert guarded.pop("seconds") >= 0
    seed = guarded.pop("seed")
    assert guarded.pop("usage")["completion_tokens"] == 7
    assert set(guarded.pop("timings")) == {"cache_n", "prompt_n", "predicted_ms"}
    assert guarded == {
        "part": "stuck",
        "scenario": scenario.id,
        "arm": "guard",
        "results": "same",
        "k": 3,
        "repetition": 0,
        "temperature": 0.7,
        "model": "scripted",
        "server": "uvicorn b1-scripted",
        "message": {"role": "assistant", "content": "What I know: 8431."},
        "finish_reason": "stop",
        "step": "answer",
        "is_right": False,
        "is_in_text": False,
        "is_shared": False,
    }
    assert {each["arm"] for each in written if each["step"] == "answer"} == {"guard", "guard_reset", "guard_defer"}
    assert seed in [request["seed"] for request in server.requests]
    request = server.requests[0]
    assert (request["temperature"], request["max_tokens"]) == (0.7, 300)
    assert [tool["function"]["name"] for tool in request["tools"]] == list(scenario.tools)


def test_the_same_request_is_sent_once(tmp_path: Path) -> None:
    """At two calls nothing is due, so one answer serves all arms; from three on the words differ."""
    lines = tmp_path / "lines.jsonl"
    with ScriptedEndpoint(stubborn) as server:
        sample(server, lines, "--part", "stuck", "--scenario", "missing-file", "--k", "2", "3")
    assert len(server.requests) == 1 + 3
    assert [line.is_shared for line in steps(lines)] == [False, *[True] * 4, False, False, False, True, True]


def test_polls_with_results_that_are_compared(tmp_path: Path) -> None:
    """Where results change, "reset" says nothing and "defer" says it later."""
    lines = tmp_path / "lines.jsonl"
    with ScriptedEndpoint(listening) as server:
        sample(server, lines, "--part", "poll", "--scenario", "build", "--k", "3", "5")
    assert server.refusals == []
    given_up = {(line.arm, line.results, line.k) for line in steps(lines) if line.step != "same_call"}
    assert given_up == {
        *(("guard", results, k) for results in ("same", "changing") for k in (3, 5)),
        *((arm, "same", k) for arm in ("guard_defer", "guard_reset") for k in (3, 5)),
        ("guard_defer", "changing", 5),
    }
    assert all(line.is_right is None for line in steps(lines))


def test_wordings_from_a_file(tmp_path: Path) -> None:
    """Each table is an arm, with any settings of the guard."""
    lines, wordings = tmp_path / "lines.jsonl", tmp_path / "wordings.toml"
    wordings.write_text('[terse]\nthresholds = [2]\nfirst_reminder = "{tool}: {count}"\n', encoding="utf-8")
    options = ["--part", "stuck", "--scenario", "missing-file", "--k", "2", "--arm", "none", "--arm", "terse"]
    with ScriptedEndpoint(listening) as server:
        sample(server, lines, "--wordings", str(wordings), *options)
    assert [line.step for line in steps(lines)] == ["same_call", "answer"]
    assert server.requests[1]["messages"][-1]["content"].endswith("\nread_file: 2")


def test_a_file_is_carried_on(tmp_path: Path) -> None:
    """What has been measured is not asked again, and a line that was cut off is."""
    lines = tmp_path / "lines.jsonl"
    options = [
        "--part",
        "stuck",
        "--scenario",
        "missing-file",
        "--scenario",
        "service-down",
        "--k",
        "3",
        "--arm",
        "none",
    ]
    with ScriptedEndpoint(stubborn, fails_from=1) as server, pytest.raises(SystemExit, match="1"):
        sample(server, lines, *options)
    assert [line.scenario for line in steps(lines)] == ["missing-file"]
    whole = lines.read_bytes()
    lines.write_bytes(whole + whole[:100])
    with ScriptedEndpoint(stubborn) as server:
        sample(server, lines, *options)
        assert len(server.requests) == 1
        sample(server, lines, *options)
        assert len(server.requests) == 1
        sample(server, lines, *options, "--repetitions", "2")
        assert len(server.requests) == 3
    assert lines.read_bytes().startswith(whole)
    assert [(line.scenario, line.repetition) for line in steps(lines)] == [
        *(("missing-file", 0), ("service-down", 0)),
        *(("missing-file", 1), ("service-down", 1)),
    ]


def test_all_arms_share_a_seed_and_nothing_else_does() -> None:
    """With the same seed everywhere a lucky draw would be one in every scenario, and samples would say less."""

    def seeds(first_seed: int) -> dict[tuple[object, ...], set[int]]:
        found: dict[tuple[object, ...], set[int]] = {}
        for each in Plan(SCENARIOS, repetitions=3, first_seed=first_seed).samples():
            what = (each.part, each.scenario.id, getattr(each, "results", None), getattr(each, "k", None))
            found.setdefault((each.repetition, *what), set()).add(each.seed)
        return found

    found = seeds(1)
    all_seeds = [seed for each in found.values() for seed in each]
    assert len(set(all_seeds)) == len(all_seeds) == len(found)
    assert all(0 <= seed < 2**31 for seed in all_seeds)
    assert not set(all_seeds) & {seed for each in seeds(100).values() for seed in each}


def test_whole_runs(tmp_path: Path) -> None:
    """A model that listens leaves the loop with the guard, and comes to the limit without it."""
    lines = tmp_path / "lines.jsonl"
    with ScriptedEndpoint(listening) as server:
        arms = ["--arm", "none", "--arm", "guard", "--arm", "in_result"]
        sample(server, lines, "--part", "run", "--scenario", "missing-file", "--max-turns", "6", *arms)
    assert server.refusals == []
    plain, guarded = runs(lines)
    assert (plain.arm, plain.ending, plain.requests, plain.reminders, plain.answer) == ("none", "limit", 6, 0, None)
    assert (plain.loops_entered, plain.loops_left, plain.is_right) == (1, 0, False)
    assert (guarded.arm, guarded.ending, guarded.requests, guarded.reminders) == ("guard", "answer", 4, 1)
    assert (guarded.loops_entered, guarded.loops_left, guarded.is_right) == (1, 1, True)
    assert guarded.calls == (("read_file", '{"path": "config.yml"}'),) * 3
    assert guarded.output_tokens == 4 * 7
    assert guarded.input_tokens > 0
    assert guarded.server == "uvicorn b1-scripted"


def test_a_run_of_a_poll_that_gets_done(tmp_path: Path) -> None:
    """A model that goes on until it is done ends well; its results change, or they do not."""
    poll = SCENARIOS.poll[0]

    def patient(body: Body) -> Body:
        is_done = any(message["content"] == poll.done for message in body["messages"] if message["role"] == "tool")
        return (
            {"content": f"Passed: {poll.ending[0]}"}
            if is_done
            else calling(poll.call.tool, poll.call.text, len(body["messages"]))
        )

    lines = tmp_path / "lines.jsonl"
    with ScriptedEndpoint(patient) as server:
        arms = ["--arm", "none", "--arm", "guard", "--arm", "guard_reset"]
        sample(server, lines, "--part", "run", "--scenario", poll.id, *arms)
    assert all(line.is_right and line.kind == "poll" and line.requests == 5 for line in runs(lines))
    reminders = Counter((line.arm, line.results) for line in runs(lines) if line.reminders)
    assert set(reminders) == {("guard", "same"), ("guard", "changing"), ("guard_reset", "same")}


def test_a_run_with_other_words_is_another_run() -> None:
    """What the guard says may change between releases while the configuration stays."""
    scenario = SCENARIOS.stuck[0]
    arms = [Arm("guard", RepeatGuardConfig(), place) for place in ("behind", "behind", "once")]
    with Endpoint("http://127.0.0.1:9/v1", "scripted") as endpoint:
        digests = [RunSample(scenario, [], arm, 0, 1, 10).digest(endpoint) for arm in arms]
    assert digests[0] == digests[1] != digests[2]


def test_a_run_that_goes_wrong(tmp_path: Path) -> None:
    """An unknown tool is a line like others."""
    lines = tmp_path / "lines.jsonl"
    with ScriptedEndpoint(lambda _: calling("fly", "{}")) as server:
        sample(server, lines, "--part", "run", "--scenario", "missing-file", "--arm", "none")
    (line,) = runs(lines)
    assert (line.ending, line.answer, line.is_right) == ("ModelBehaviorError", None, False)


def test_calls_in_texts_are_calls_in_runs_too(tmp_path: Path) -> None:
    """A model that writes JSON is in a loop like any other; JSON that names no tool is an answer."""
    read = '{"name": "read_file", "arguments": {"path": "config.yml"}}'

    def writing(body: Body) -> Body:
        is_told = any(is_reminder(str(message["content"])) for message in body["messages"])
        return {"content": '{"name": "fly"} is all I have.' if is_told else f"```json\n{read}\n```"}

    lines = tmp_path / "lines.jsonl"
    with ScriptedEndpoint(writing) as server:
        options = ["--part", "run", "--scenario", "missing-file", "--max-turns", "5", "--arm", "none", "--arm", "guard"]
        sample(server, lines, *options)
        told = server.requests[-1]["messages"]
    assert server.refusals == []
    plain, guarded = runs(lines)
    assert (plain.ending, plain.requests, plain.calls_in_text, plain.loops_entered) == ("limit", 5, 5, 1)
    assert (guarded.answer, guarded.requests, guarded.calls_in_text) == ('{"name": "fly"} is all I have.', 4, 3)
    assert guarded.calls == (("read_file", '{"path":"config.yml"}'),) * 3
    assert [message["role"] for message in told] == ["system", "user", *["assistant", "tool"] * 3, "user"]


def test_other_calls_of_a_run_are_answered(tmp_path: Path) -> None:
    """By the scenario's replies."""

    def clever(body: Body) -> Body:
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if not results:
            return calling("find_text", '{"text": "port"}')
        return {"content": results[-1]}

    lines = tmp_path / "lines.jsonl"
    with ScriptedEndpoint(clever) as server:
        sample(server, lines, "--part", "run", "--scenario", "missing-file", "--arm", "guard")
    (line,) = runs(lines)
    assert (line.is_right, line.requests, line.loops_entered) == (True, 2, 0)


@pytest.mark.parametrize(
    ("calls", "has_answer", "expected"),
    [
        ("", True, (0, 0)),
        ("aabb", False, (0, 0)),
        ("aaa", False, (1, 0)),
        ("aaa", True, (1, 1)),
        ("aaaab", False, (1, 1)),
        ("aaabbbb", False, (2, 1)),
    ],
)
def test_loops(calls: str, has_answer: bool, expected: tuple[int, int]) -> None:  # noqa: FBT001
    """Three in a row are one; it is left for another call or an answer."""
    assert loops([(each, "{}") for each in calls], has_answer=has_answer) == expected


@pytest.mark.parametrize(("has_timings", "says_cached"), [(True, False), (False, True), (False, False)])
def test_the_cache(tmp_path: Path, has_timings: bool, says_cached: bool) -> None:  # noqa: FBT001
    """A reminder that keeps its place is evaluated once; one that moves on is evaluated with each request."""
    lines = tmp_path / "lines.jsonl"
    with ScriptedEndpoint(stubborn, has_timings=has_timings, says_cached=says_cached) as server:
        sample(server, lines, "--part", "cache", "--scenario", "missing-file", "--cache-turns", "6")
    by_arm = {line.arm: line.requests for line in read_lines([lines]) if isinstance(line, CacheLine)}
    assert list(by_arm) == ["none", "guard", "once", "last"]
    anew = {arm: [request.anew for request in requests] for arm, requests in by_arm.items()}
    if not has_timings and not says_cached:
        assert {value for values in anew.values() for value in values} == {None}
        return
    assert [requests[0].cached for requests in by_arm.values()] == [0, 0, 0, 0]
    turn, reminded, later = anew["none"][1], anew["guard"][2], anew["guard"][4]
    assert turn is not None
    assert reminded is not None
    assert later is not None
    assert reminded > turn
    assert later > reminded  # the detailed text is longer
    assert anew["none"][1:] == [turn] * 5
    assert anew["guard"][1:] == [turn, reminded, turn, later, turn]
    assert anew["once"][1:] == [turn, reminded, turn, later, turn]
    assert anew["last"][1:] == [turn, reminded, reminded, later, later]
    assert {body["max_tokens"] for body in server.requests} == {1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--arm", "half"], "there is no arm half; there are none, guard"),
        (["--scenario", "moon"], "there is no scenario moon"),
        (["--k", "0"], "invalid"),
        (["--part", "all"], "invalid choice"),
        (["--scenarios", "nowhere.toml"], "nowhere.toml"),
        (["--wordings", "wrong.toml"], "wrong.toml, table [odd]"),
        (["--wordings", "taken.toml"], "a table guard, and there is an arm of that name"),
    ],
)
def test_a_wrong_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    """It says what is wrong."""
    (tmp_path / "wrong.toml").write_text("[odd]\ncolour = 1\n", encoding="utf-8")
    (tmp_path / "taken.toml").write_text("[guard]\n", encoding="utf-8")
    options = [str(tmp_path / each) if each.endswith(".toml") else each for each in options]
    lines = str(tmp_path / "lines.jsonl")
    with pytest.raises(SystemExit, match="2"):
        main(["sample", lines, "--base-url", "http://127.0.0.1:1/v1", "--model", "m", *options])
    assert message in capsys.readouterr().err
