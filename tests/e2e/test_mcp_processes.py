"""Several assistants, each with a `clew mcp` process of its own, on one store at the same time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

import clew
from clew.testing.fakes import HashEmbedder
from clew.text import entity_key
from tests.e2e.test_mcp_http import serving
from tests.security.http_attacks import INITIALIZE

pytestmark = pytest.mark.anyio
COUNT = 40
"""Entities of one client, and relations."""
HUB = "Harbour"
"""What every entity is tied to; each client makes it, again and again."""


# `clew`, which first writes down the number of its process.
_MAIN = """
import os, pathlib, sys
pathlib.Path(sys.argv.pop(1)).write_text(str(os.getpid()))
from clew.cli import main
main()
"""


@asynccontextmanager
async def connected(folder: Path, profile: str, pid: str = os.devnull) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-c", _MAIN, pid, "mcp", "--store", str(folder), "--profile", profile],
        env=dict(os.environ),
        cwd=folder,
    )
    async with Client(server) as client:
        yield client


async def call(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def remember(client: Client, name: str) -> None:
    """As the memory profile does it: an entity, then its relation."""
    made = [{"name": one, "entityType": "ship", "observations": []} for one in (name, HUB)]
    lies = {"from": name, "to": HUB, "relationType": "lies_in"}
    found = await call(client, "create_entities", entities=made)
    assert name in [entity["name"] for entity in found["entities"]]
    assert (await call(client, "create_relations", relations=[lies]))["relations"] == [lies]


async def upsert(client: Client, name: str) -> None:
    """As the profile `full` does it, by a plugin: both at once."""
    entities = [{"name": name, "entity_type": "ship"}, {"name": HUB}]
    lies = {"source": name, "target": HUB, "relation_type": "lies_in"}
    found = await call(client, "graph_upsert", entities=entities, relations=[lies])
    assert found["new_relations"] == 1


WAYS = {"memory": remember, "full": upsert}


async def write(client: Client, profile: str, names: list[str], said: list[str]) -> None:
    """Write one after the other; `said` are those of which the client was told that they are."""
    for name in names:
        await WAYS[profile](client, name)
        said.append(name)


async def search_until(client: Client, done: anyio.Event) -> int:
    """Look for what is written, all the time; what was found is never gone again."""
    before = rounds = 0
    while not done.is_set():
        page = await call(client, "search_nodes", query="Ship", limit=1000, max_tokens=100_000)
        names = [entity["name"] for entity in page["entities"]]
        assert len(names) == len(set(names))
        assert len(names) >= before
        before, rounds = len(names), rounds + 1
    return rounds


def ships(prefix: str) -> list[str]:
    return [f"Ship {prefix}{i}" for i in range(COUNT)]


def found_in(folder: Path) -> tuple[list[str], list[str]]:
    """Names of the ships, and of those tied to the harbour; the store is sound."""
    with clew.open(folder, embedder=HashEmbedder()) as engine:
        assert engine.maintenance.check().problems == ()
        made = engine.store.made_by_hand()
        names = engine.store.entity_names(made)
        relations = engine.store.unstated_relations(made)
    (hub,) = (entity_id for entity_id, name in names.items() if name == HUB)
    assert {(r.to_entity_id, r.relation_type) for r in relations} == {(hub, "lies_in")}
    tied = [names[relation.from_entity_id] for relation in relations]
    return [name for name in names.values() if name != HUB], tied


async def serve_all(
    stack: AsyncExitStack, folder: Path, profiles: Mapping[str, str]
) -> dict[str, Client]:
    """A server each, which leaves its process's number in a file."""
    return {
        prefix: await stack.enter_async_context(
            connected(folder, profile, str(folder / f"{prefix}.pid"))
        )
        for prefix, profile in profiles.items()
    }


async def test_four_writers_lose_nothing_while_a_fifth_searches(tmp_path: Path) -> None:
    profiles = {"a": "memory", "b": "full", "c": "memory", "d": "full"}
    async with AsyncExitStack() as stack:
        clients = await serve_all(stack, tmp_path, {**profiles, "reader": "memory"})
        done = anyio.Event()

        async def write_all() -> None:
            async with anyio.create_task_group() as writers:
                for prefix, profile in profiles.items():
                    writers.start_soon(write, clients[prefix], profile, ships(prefix), [])
            done.set()

        with anyio.fail_after(90):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write_all)
                assert await search_until(clients["reader"], done) > 1

    expected = sorted(name for prefix in profiles for name in ships(prefix))
    names, tied = found_in(tmp_path)
    assert sorted(names) == expected
    assert sorted(tied) == expected


@pytest.mark.parametrize("profile", ["memory", "full"])
async def test_what_a_killed_writer_was_told_is_there_and_the_others_lose_nothing(
    tmp_path: Path, profile: str
) -> None:
    said: list[str] = []
    async with AsyncExitStack() as stack:
        clients = await serve_all(stack, tmp_path, dict.fromkeys("abcx", profile))

        async def be_killed() -> None:
            with pytest.raises(MCPError, match="closed"):
                await write(clients["x"], profile, ships("x"), said)

        async def kill() -> None:
            while len(said) < COUNT // 2:
                await anyio.sleep(0.001)
            os.kill(int((tmp_path / "x.pid").read_text()), signal.SIGKILL)

        with anyio.fail_after(90):
            async with anyio.create_task_group() as tasks:
                for prefix in "abc":
                    tasks.start_soon(write, clients[prefix], profile, ships(prefix), [])
                tasks.start_soon(be_killed)
                tasks.start_soon(kill)

    expected = {name for prefix in "abc" for name in ships(prefix)}
    for found in found_in(tmp_path):
        assert len(found) == len(set(found))
        told = {name for name in found if name[5] == "x"}
        assert set(found) - told == expected
        # One may have been written of which nobody was told.
        assert set(said) <= told <= set(ships("x")[: len(said) + 1])


# --- `clew mcp` as an assistant starts it: a process on standard input and output.


@contextmanager
def started(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A server that was greeted, and has answered."""
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", "mcp", "--store", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    try:
        assert ask(process, INITIALIZE)["result"]["protocolVersion"] == "2025-11-25"
        yield process
    finally:
        process.kill()
        process.communicate()


def ask(process: subprocess.Popen[str], message: dict[str, Any]) -> Any:  # noqa: ANN401
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{json.dumps(message)}\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize("revision", ["legacy", "2026-07-28"])
async def test_an_assistant_keeps_and_finds_in_both_revisions(
    tmp_path: Path, revision: str
) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "clew", "mcp", "--store", str(tmp_path)],
        env=dict(os.environ),
        cwd=tmp_path,
    )
    async with Client(server, mode=revision) as client:
        text = "The mill at Harrow Ford was built by Jonas Reed."
        kept = await client.call_tool("ingest_document", {"text": text, "title": "The mill"})
        found = await client.call_tool("search", {"query": "Who built the mill?"})

    assert not kept.is_error, kept.content
    assert found.structured_content is not None
    assert [result["title"] for result in found.structured_content["results"]] == ["The mill"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, None])
def test_a_signal_or_the_end_of_its_input_ends_it_cleanly(
    tmp_path: Path, number: int | None
) -> None:
    with started(tmp_path) as process:
        if number is not None:
            process.send_signal(number)
        out, err = process.communicate(timeout=30)

    assert (process.returncode, out, err) == (0, "", "")


def test_what_is_no_message_does_not_end_it(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write("this is no JSON\n\n[1, 2]\n")
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}

        assert ask(process, ping)["id"] == 2


# --- The file of a store is replaced, or written to, under processes that work on it.


ROOT = Path(__file__).parent.parent.parent
WRITER = """
import sys
import clew
from clew.testing.fakes import HashEmbedder

with clew.open(sys.argv[1], embedder=HashEmbedder()) as engine:
    print("ready", flush=True)
    for number in range(100_000):
        text = f"Ada Morn repairs the clock {number % 12} with Piet Oss, turn {number}. " * 3
        engine.add(text, source=f"d{number % 12}")
"""


async def create(client: Client, name: str) -> bool:
    """Whether the server acknowledged an entity."""
    entity = {"name": name, "entityType": "person", "observations": [f"{name} repairs clocks."]}
    return not (await client.call_tool("create_entities", {"entities": [entity]})).is_error


PEOPLE = ("Ada Morn", "Bo Lund", "Cy Dahl", "Di Ek")


def held(store: Path) -> set[str]:
    with clew.open(store) as engine:
        assert engine.maintenance.check().problems == ()
        return {name for name in PEOPLE if engine.store.resolve([entity_key(name)])}


async def test_a_server_loses_no_acknowledged_write_to_a_file_that_was_replaced(
    tmp_path: Path,
) -> None:
    folder, backup = tmp_path / "store", tmp_path / "backup.db"
    with clew.open(folder) as engine:
        engine.add("Piet Oss built the tower.", source="one")
        engine.maintenance.backup(backup)
    file = folder / "default" / "clew.db"
    with serving(folder, "--insecure", "--profile", "full") as (url, _):
        async with Client(streamable_http_client(url)) as client:
            assert await create(client, PEOPLE[0])
            for ending in ("-wal", "-shm"):
                file.with_name(file.name + ending).unlink(missing_ok=True)
            os.replace(backup, file)
            acknowledged = {name for name in PEOPLE[1:] if await create(client, name)}
            assert acknowledged, "the server goes on with the file that is there"
    assert held(folder) == acknowledged, "and the first was in the file that was taken away"


def test_questions_are_answered_while_another_process_replaces_all_passages(
    tmp_path: Path,
) -> None:
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        for number in range(12):
            engine.add(f"Ada Morn repairs the clock {number}.", source=f"d{number}")
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "store")],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            for number in range(60):
                options: dict[str, Any] = {"strategy": ("auto", "graph", "hybrid")[number % 3]}
                assert engine.search(f"Who repairs the clock {number}?", **options).hits
            assert writer.poll() is None
        finally:
            writer.kill()
            writer.communicate()
