"""Runs an agent in DBOS, or recovers its run; to be started as a process of its own.

usage: durable_worker.py FOLDER processor|capability [model:N|tool:N]

The last argument kills the process while its N-th request or call of a tool is on its way. The first
process on a folder starts the run; the next ones find its database, and wait for the run to be recovered.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai import capabilities as capabilities_module
from pydantic_ai.durable_exec import dbos as durable
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from repeatguard_pydantic_ai import RepeatGuard, RepeatGuardProcessor

CALLS = 6
WORKFLOW = "the-run"

FOLDER = Path(sys.argv[1])
FORM, DIES_AT = sys.argv[2:4]
counts = {"model": 0, "tool": 0}


def note(kind: str, **what: Any) -> None:
    """Write down what happens, and die where this process is to die."""
    counts[kind] += 1
    with (FOLDER / f"{kind}.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps({"pid": os.getpid(), **what}) + "\n")
    if f"{kind}:{counts[kind]}" == DIES_AT:
        os.kill(os.getpid(), signal.SIGKILL)


def as_json(messages: list[ModelMessage]) -> Any:
    """Write messages down."""
    return ModelMessagesTypeAdapter.dump_python(messages, mode="json")


def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Make the same call six times, and then answer."""
    note("model", messages=as_json(messages))
    answered = sum(isinstance(message, ModelResponse) for message in messages)
    if answered < CALLS:
        return ModelResponse([ToolCallPart("search", {"q": 1}, tool_call_id=f"call-{answered}")])
    return ModelResponse([TextPart("done")])


def search(q: int) -> str:
    """Search."""
    note("tool", q=q)
    return "nothing found"


def make_agent() -> Agent[Any, Any]:
    """Make the agent, as the installed release wants it."""
    options: dict[str, Any] = {"capabilities": []}
    process_history = getattr(capabilities_module, "ProcessHistory", None)
    if FORM == "capability":
        options["capabilities"].append(RepeatGuard())
    elif process_history is None:
        options["history_processors"] = [RepeatGuardProcessor()]
    else:
        options["capabilities"].append(process_history(RepeatGuardProcessor()))
    if hasattr(durable, "DBOSDurability"):
        options["capabilities"].append(durable.DBOSDurability())
    return Agent(FunctionModel(respond), name="searcher", tools=[search], **options)


agent = make_agent()
is_new = not (FOLDER / "dbos.sqlite").exists()
# It listens nowhere: there is no administrator's server, and nobody to report to.
config: Any = {
    "name": "repeatguard",
    "system_database_url": f"sqlite:///{FOLDER / 'dbos.sqlite'}",
    "application_version": "1",
    "executor_id": "local",
    "run_admin_server": False,
    "enable_otlp": False,
    "log_level": "ERROR",
    "notification_listener_polling_interval_sec": 0.01,
}
DBOS(config=config)

if hasattr(durable, "DBOSDurability"):

    @DBOS.workflow(name="work")
    async def start() -> Any:
        """Run the agent as a workflow."""
        return await agent.run("Search.")
else:
    wrapped: Any = getattr(durable, "DBOSAgent")(agent)  # noqa: B009 - later releases call it deprecated
    start = partial(wrapped.run, "Search.")


async def begin() -> Any:
    """Start the workflow, under a name by which it can be found again."""
    with SetWorkflowID(WORKFLOW):
        return await start()


DBOS.launch()
try:
    result = asyncio.run(begin()) if is_new else DBOS.retrieve_workflow(WORKFLOW).get_result(polling_interval_sec=0.05)
    outcome = {"output": result.output, "messages": as_json(result.all_messages())}
    (FOLDER / "result.json").write_text(json.dumps(outcome), encoding="utf-8")
finally:
    DBOS.destroy()
