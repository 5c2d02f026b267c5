"""More than one machine: AutoGen's own distributed runtime, with a host and two worker processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from autogen_core import AgentId, AgentRuntime, SingleThreadedAgentRuntime
from autogen_ext.runtimes.grpc import GrpcWorkerAgentRuntime, GrpcWorkerAgentRuntimeHost

from tests.autogen.distributed import KINDS, Task, know_messages, register

ROOT = Path(__file__).parents[2]


def free_address() -> str:
    """Find an address on this machine that nobody listens at."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listening.getsockname()[1]}"


@contextlib.asynccontextmanager
async def worker(address: str, role: str) -> AsyncGenerator[int]:
    """Run a worker process, from when it is ready to the end of the block, and give its number."""
    command = [sys.executable, "-m", "tests.autogen.distributed", address, role]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"ready\n"
        yield process.pid
        process.stdin.close()
        await asyncio.wait_for(process.wait(), timeout=60)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@contextlib.asynccontextmanager
async def distributed() -> AsyncGenerator[AgentRuntime]:
    """Run a host in this process, and two workers in processes of their own."""
    address = free_address()
    host = GrpcWorkerAgentRuntimeHost(address)
    host.start()
    try:
        async with worker(address, "tools") as first, worker(address, "assistant") as second:
            assert len({first, second, os.getpid()}) == 3
            runtime = GrpcWorkerAgentRuntime(address)
            await runtime.start()
            know_messages(runtime)
            yield runtime
            await runtime.stop()
    finally:
        await host.stop(grace=0)


@contextlib.asynccontextmanager
async def on_one_machine() -> AsyncGenerator[AgentRuntime]:
    """Run the same agents in this process."""
    runtime = SingleThreadedAgentRuntime()
    for role in ("tools", "assistant"):
        await register(runtime, role)
    runtime.start()
    yield runtime
    await runtime.stop_when_idle()


async def ask(runtime: AgentRuntime, kind: str, key: str) -> list[list[str]]:
    """Give an agent a task, and get back what its model was sent."""
    answer: Any = await runtime.send_message(Task("go"), AgentId(kind, key))
    requests: list[list[str]] = json.loads(answer.requests)
    return requests


@pytest.mark.rules("D1", "D12", "M1", "M5")
async def test_two_worker_processes_deliver_as_one_process_does() -> None:
    """An agent whose tools run in another process, and one of AgentChat's; each twice, under two keys."""
    requests: list[dict[tuple[str, str], list[list[str]]]] = []
    for running in (on_one_machine(), distributed()):
        async with running as runtime:
            agents = [(kind, key) for key in ("a", "b") for kind in KINDS]
            requests.append({each: await ask(runtime, *each) for each in agents})
    on_one, on_two = requests
    turn = ["call", "result"]
    expected = ["user", *turn * 3, "reminder", *turn * 2, "reminder"]
    assert {json.dumps(each[-1]) for each in on_two.values()} == {json.dumps(expected)}
    assert on_two == on_one


@pytest.mark.rules("D11", "M5", "M6")
async def test_a_further_task_for_an_agent_on_another_machine() -> None:
    """It starts the count anew, on what the agent has kept."""
    async with distributed() as runtime:
        first = await ask(runtime, "remote", "a")
        second = await ask(runtime, "remote", "a")
    assert second[-1] == [*first[-1], "answer", *first[-1]]
