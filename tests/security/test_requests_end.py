"""What is done for a request ends with it, however long it would go on."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest

import clew
from clew import Clew
from clew.mcp.calls import Engines
from clew.operations.spec import CORE, Arguments, Call, Result, Tool
from clew.operations.toolbox import OPERATIONS as REGISTRY
from clew.request_end import RequestEndedError, go_on, request
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import Vector, Vectors
from clew.web.app import mount
from tests.unit.asked import engine_of
from tests.unit.mcp_tools import engine_in, settings_for
from tests.unit.test_mcp_access import ALICE, NEW, OLD, TOKENS, Served, served

TEXTS = {f"{n}.md": f"Jonas Reed {n} built the mill of Harrow Ford {n}." for n in range(40)}
ASKED = {
    "query": "Who built the mill?",
    "entity_ids": [1],
    "names": ["Jonas Reed 1"],
}
PATIENCE = 20.0


class Dug:
    """Work without an end, that looks at nothing but the store; how often it has looked."""

    times = 0

    def dig(self, call: Call, _: Arguments) -> Result:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            call.engine.documents.list()
            self.times += 1
            time.sleep(0.005)
        return {}


class Endless(HashEmbedder):
    """A model that is run again and again for a question."""

    times = 0

    def embed_query(self, text: str) -> Vector:
        # The engine warms its model with another text, which nobody waits for.
        until = time.monotonic() + PATIENCE * ("mill" in text)
        while time.monotonic() < until:
            go_on()
            self.times += 1
            time.sleep(0.005)
        return super().embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return HashEmbedder().embed_documents(texts)


class Ending(HashEmbedder):
    """Ends the request once so many texts were embedded, and is busy for some seconds more."""

    end: Callable[[], None]
    left = 0
    seconds = 0.0

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.left -= len(texts)
        if self.left <= 0:
            self.end()
            time.sleep(self.seconds)
        return super().embed_documents(texts)


async def stands_still(count: Callable[[], int]) -> None:
    """Fails where the work goes on."""
    with anyio.fail_after(PATIENCE / 2):
        before = -1
        while count() != before:
            before = count()
            await anyio.sleep(0.3)


@pytest.mark.anyio
@pytest.mark.parametrize("revision", [OLD, NEW])
async def test_a_call_that_is_cancelled_ends(tmp_path: Path, revision: str) -> None:
    dug = Dug()
    tool = Tool(
        name="dig",
        title="Dig",
        description="Dig.",
        parameters=(),
        result={"type": "object"},
        run=dug.dig,
        scope="read",
        profiles=CORE,
    )
    with (
        engine_in(tmp_path, "mills") as engine,
        served(Engines(settings_for(tmp_path, tokens=TOKENS), (tool,), engine)) as server,
    ):
        async with server.client(ALICE[0], revision) as client:
            with anyio.move_on_after(1.0):
                await client.call_tool("dig", {})
            assert dug.times > 0
            await stands_still(lambda: dug.times)


@contextmanager
def site(folder: Path, embedder: HashEmbedder) -> Iterator[Served]:
    """A server with its pages."""
    settings = load_settings(store=folder, namespace="mills")
    with Clew(settings, embedder=embedder) as engine:
        engine.add("Jonas Reed built the mill.", source="mill.md")
        engines = Engines(settings_for(folder, tokens=TOKENS), REGISTRY, engine)
        with served(engines, extend=mount) as server:
            yield server


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("GET /api/v1/search?query=Who+built+the+mill", {}),
        ("GET /ui/?q=Who+built+the+mill", {}),
        ("POST /ask", {"query": "Who built the mill?"}),
        ("POST /api/v1/ask", {"query": "Who built the mill?"}),
    ],
)
async def test_a_client_that_hangs_up_ends_its_request(
    tmp_path: Path, line: str, body: dict[str, str]
) -> None:
    embedder = Endless()
    with site(tmp_path, embedder) as server:
        parts, sent = urlsplit(server.url), json.dumps(body) if body else ""
        head = [
            f"{line} HTTP/1.1",
            f"Host: {parts.netloc}",
            f"Authorization: Bearer {ALICE[0]}",
            "Content-Type: application/json",
            f"Content-Length: {len(sent)}",
        ]
        with socket.create_connection((parts.hostname or "", parts.port or 0)) as connection:
            connection.sendall(("\r\n".join(head) + "\r\n\r\n" + sent).encode())
            with anyio.fail_after(PATIENCE / 2):
                while not embedder.times:
                    await anyio.sleep(0.02)
        await stands_still(lambda: embedder.times)


reading = engine_of(TEXTS)


@pytest.mark.parametrize(
    "tool", [t for t in REGISTRY if t.read_only and not t.open_world], ids=lambda tool: tool.name
)
def test_no_tool_reads_on(reading: Clew, tool: Tool) -> None:
    given = {
        p.name: ASKED.get(p.name, "mill")
        for p in tool.parameters
        if p.required or p.name == "query"
    }
    with request() as end:
        end()
        outcome = reading.tools.call(tool.name, given)

    assert isinstance(outcome.error, RequestEndedError), outcome.text


@pytest.mark.parametrize("left", [1, 10, 30])
def test_of_files_each_is_in_whole_or_not_at_all(tmp_path: Path, left: int) -> None:
    files, embedder = tmp_path / "files", Ending()
    files.mkdir()
    for source, text in TEXTS.items():
        (files / source).write_text(text * 40)
    with clew.open(tmp_path / "store", embedder=embedder) as engine:
        with request() as embedder.end:
            embedder.left = left
            with pytest.raises(RequestEndedError):
                engine.index([files])
        stored = {Path(d.source).name: engine.documents.text(d.id) for d in engine.documents.list()}
        assert len(stored) < len(TEXTS)
        assert all(text == TEXTS[name] * 40 for name, text in stored.items())
        assert engine.maintenance.check().problems == ()

        embedder.left = 10**9
        assert engine.index([files]).added == len(TEXTS) - len(stored)


def test_a_job_that_nobody_was_told_of_is_cancelled(tmp_path: Path) -> None:
    embedder = Ending()
    with clew.open(tmp_path, embedder=embedder) as engine:
        embedder.seconds = 3.0
        with request() as embedder.end:
            given = {"text": "Jonas Reed built the mill. " * 200, "source": "mill.md"}
            outcome = engine.tools.call("ingest_document", given)
        embedder.seconds = 0.0
        told = engine.tools.call("ingest_document", {**given, "source": "later.md"})

        assert outcome.content["status"] == "cancelled", outcome.text
        assert told.content["status"] == "completed"
        assert [entry.outcome for entry in engine.maintenance.audit()] == ["done", "done"]
        assert engine.maintenance.check().problems == ()
