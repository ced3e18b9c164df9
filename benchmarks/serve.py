"""How soon `clew mcp` is ready, and how fast `clew serve` answers, beside a bare server.

    uv run python benchmarks/serve.py            both
    uv run python benchmarks/serve.py --starts 9

A start is timed from the launch of the process to the answer to `tools/list`, the two servers in
turn, and the medians are compared. Calls are timed over HTTP, ten at a time, against the demo's
documents: a search, and a bare `MCPServer` with one empty tool, in turn as well.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from mcp import StdioServerParameters
from mcp.client.client import Client

BARE = """
from mcp.server import MCPServer
server = MCPServer("bare")
@server.tool()
def nothing() -> str:
    return ""
{run}
"""
BARE_STDIO = BARE.format(run="server.run()")
BARE_HTTP = BARE.format(run='server.run("streamable-http", port={port})')
CONCURRENCY = 10
QUESTION = "Who built the bell of the lighthouse?"
FREE_PORT = 18766


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description="Time the server beside a bare one.")
    parser.add_argument("--starts", type=int, default=5, help="starts of each server")
    parser.add_argument("--seconds", type=float, default=5.0, help="of calls, each server")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = {
            "start": anyio.run(time_starts, Path(folder), arguments.starts),
            "calls": anyio.run(time_calls, Path(folder), arguments.seconds),
        }
    print(json.dumps(report, indent=2))


async def time_starts(folder: Path, starts: int) -> dict[str, float]:
    """Medians in seconds, and their ratio."""
    bare = [sys.executable, "-c", BARE_STDIO]
    clew = [sys.executable, "-m", "clew", "mcp", "--store", str(folder / "empty")]
    times: dict[str, list[float]] = {"bare": [], "clew": []}
    for _ in range(starts):
        for name, command in (("bare", bare), ("clew", clew)):
            times[name].append(await time_start(command))
    medians = {name: statistics.median(found) for name, found in times.items()}
    return {**medians, "ratio": medians["clew"] / medians["bare"]}


async def time_start(command: list[str]) -> float:
    """Seconds until the tools are listed."""
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    started = time.perf_counter()
    async with Client(server, mode="legacy") as client:
        await client.list_tools()
        return time.perf_counter() - started


async def time_calls(folder: Path, seconds: float) -> dict[str, dict[str, float]]:
    """Calls a second, milliseconds at the median and the 95th percentile, ratio of the medians."""
    store = folder / "demo"
    subprocess.run(
        [sys.executable, "-m", "clew", "demo", "--store", str(store)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    clew = ["-m", "clew", "serve", "--insecure", "--store", str(store), "--port"]
    bare = ["-c", BARE_HTTP.format(port=FREE_PORT)]
    found = {}
    with running([*clew, str(FREE_PORT)]):
        found["search"] = await load("search", seconds, "query")
    with running(bare):
        found["bare"] = await load("nothing", seconds)
    found["ratio"] = {"p50": found["search"]["p50_ms"] / found["bare"]["p50_ms"]}
    return found


@contextmanager
def running(arguments: list[str]) -> Iterator[None]:
    """A server process."""
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


async def load(tool: str, seconds: float, question: str = "") -> dict[str, float]:
    """Call a tool, ten at a time, for so many seconds; no question is asked twice."""
    url = f"http://127.0.0.1:{FREE_PORT}/mcp"
    spent: list[float] = []
    async with await connected(url) as client:
        await client.call_tool(tool, {question: QUESTION} if question else {})
        until = time.perf_counter() + seconds

        async def call_again() -> None:
            while time.perf_counter() < until:
                arguments = {question: f"{QUESTION} ({time.perf_counter_ns()})"} if question else {}
                started = time.perf_counter()
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, result
                spent.append(1000 * (time.perf_counter() - started))

        async with anyio.create_task_group() as tasks:
            for _ in range(CONCURRENCY):
                tasks.start_soon(call_again)
    return {
        "calls_per_second": len(spent) / seconds,
        "p50_ms": statistics.median(spent),
        "p95_ms": statistics.quantiles(spent, n=20)[-1],
    }


async def connected(url: str) -> Client:
    """A client, once the server listens."""
    host, port = "127.0.0.1", FREE_PORT
    for _ in range(200):
        try:
            await (await anyio.connect_tcp(host, port)).aclose()
        except OSError:
            await anyio.sleep(0.1)
        else:
            return Client(url)
    raise TimeoutError(f"no server at {url} after 20 seconds")


if __name__ == "__main__":
    main()
