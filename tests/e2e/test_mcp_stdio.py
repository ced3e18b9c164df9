"""`clew mcp` as an assistant starts it: a real process on standard input and output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client

from tests.security.http_attacks import INITIALIZE

pytestmark = pytest.mark.anyio


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
        names = [tool.name for tool in (await client.list_tools()).tools]
        text = "The mill at Harrow Ford was built by Jonas Reed."
        kept = await client.call_tool("ingest_document", {"text": text, "title": "The mill"})
        found = await client.call_tool("search", {"query": "Who built the mill?"})

    assert len(names) <= 14
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
