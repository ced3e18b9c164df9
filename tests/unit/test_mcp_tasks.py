"""Jobs as tasks, for clients that declare the extension: messages by hand over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from clew.mcp.engines import Engines
from clew.mcp.tasks import TASKS
from clew.tools.registry import TOOLS
from tests.unit.mcp_tools import engine_in, settings_for
from tests.unit.test_mcp_access import Served, served

pytestmark = pytest.mark.anyio
VERSION = "2026-07-28"
LONG = {"text": "".join(f"Jonas Reed built mill {i} at Harrow Ford.\n\n" for i in range(2000))}
MISSING_CAPABILITY, UNKNOWN = -32021, -32602


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    settings = settings_for(tmp_path, profile="full")
    with (
        engine_in(tmp_path) as engine,
        served(Engines(settings, TOOLS, engine), insecure=True) as server,
    ):
        yield server


async def send(server: Served, method: str, *, declared: bool = True, **params: Any) -> Any:  # noqa: ANN401
    """The answer to one request."""
    capabilities: dict[str, Any] = {"extensions": {TASKS: {}}} if declared else {}
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
    }
    name = params.get("name") or params.get("taskId")
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    async with httpx2.AsyncClient(timeout=30) as http:
        answer = await http.post(
            server.url, json=message, headers={**headers, **({"Mcp-Name": name} if name else {})}
        )
    return answer.json()


async def ingest(server: Served, *, declared: bool = True) -> Any:  # noqa: ANN401
    answer = await send(
        server, "tools/call", declared=declared, name="ingest_document", arguments=LONG
    )
    return answer["result"]


async def finished(server: Served, task_id: str) -> Any:  # noqa: ANN401
    with anyio.fail_after(30):
        while True:
            task = (await send(server, "tasks/get", taskId=task_id))["result"]
            if task["status"] != "working":
                return task
            await anyio.sleep(0.05)


async def test_a_long_text_is_a_task_until_it_is_stored(server: Served) -> None:
    created = await ingest(server)
    task = await finished(server, created["taskId"])

    assert created["resultType"] == "task"
    assert created["status"] == "working"
    assert isinstance(created["ttlMs"], int)
    assert task["status"] == "completed"
    assert task["result"]["structuredContent"]["progress"] == 1.0


async def test_what_is_done_at_once_is_no_task(server: Served) -> None:
    note = {"text": "A short note."}
    answer = await send(server, "tools/call", name="ingest_document", arguments=note)
    result = answer["result"]

    assert result["resultType"] == "complete"
    assert result["structuredContent"]["status"] == "completed"


async def test_clients_that_do_not_declare_it_get_the_job(server: Served) -> None:
    result = await ingest(server, declared=False)
    job = result["structuredContent"]["job_id"]
    refused = await send(server, "tasks/get", declared=False, taskId=job)

    assert result["resultType"] == "complete"
    assert refused["error"]["code"] == MISSING_CAPABILITY


async def test_a_cancelled_task_ends_as_cancelled_or_was_done(server: Served) -> None:
    created = await ingest(server)
    answer = await send(server, "tasks/cancel", taskId=created["taskId"])
    again = await send(server, "tasks/cancel", taskId=created["taskId"])
    task = await finished(server, created["taskId"])

    assert answer["result"]["resultType"] == again["result"]["resultType"] == "complete"
    assert task["status"] in {"cancelled", "completed"}


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_an_unknown_task(server: Served, method: str) -> None:
    answer = await send(server, method, taskId="none")

    assert answer["error"]["code"] == UNKNOWN
    assert "no task 'none'" in answer["error"]["message"]
