"""The file of a store is replaced, or written to, under processes that work on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

import clew
from clew.testing.fakes import HashEmbedder
from clew.text import entity_key
from tests.e2e.test_mcp_http import serving

pytestmark = pytest.mark.anyio
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
