"""How much slower one tenant's search is while another's requests take long, and once they ended.

    uv run python benchmarks/tenants.py            all of them
    uv run python benchmarks/tenants.py paths      one

`clew serve` holds two namespaces with a token each. One caller asks short questions, one after the
other. The other sends requests of one kind, several at a time, for some seconds; then all of them
are given up. Printed as JSON: the median of a search in milliseconds alone, and as multiples of it
while the requests run and after they were given up; how many there were, and what became of them.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

import clew
from clew.mcp.auth import new_token
from clew.types import Document

PORT = 18767
AT_ONCE = 8
REVISION = "2026-07-28"
VICTIM, OTHER = "victim", "other"
QUESTION = "Who built the mill at Harrow Ford?"
PEOPLE, DOCUMENTS = 300, 600
FIRST = "Ansel Brida Corin Della Edwin Frida Gerda Hanno"
LAST = "Barl Carv Dorm Fenw Garth Holm Lang Marsh"


def event(number: int, rule: str) -> str:
    """An event of a calendar, with when it recurs."""
    return (
        f"BEGIN:VEVENT\r\nUID:{number}\r\nSUMMARY:Meeting {number}\r\n"
        f"DTSTART:20240101T09{number % 60:02}00Z\r\nRRULE:{rule}\r\nEND:VEVENT\r\n"
    )


def calendar(events: int, rule: str) -> str:
    """A calendar with so many series."""
    lines = "".join(event(number, rule) for number in range(events))
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{lines}END:VCALENDAR\r\n"


def person(number: int) -> str:
    """A name that no other number has."""
    first, last = FIRST.split()[number % 8], LAST.split()[number // 8 % 8]
    return f"{first} {last}{'aeiou'[number // 64]}n"


def ties() -> str:
    """A few sentences that tie people."""
    some = random.sample(range(PEOPLE), 8)
    return " ".join(f"{person(a)} works with {person(b)}." for a, b in pairwise(some))


def attacks() -> dict[str, tuple[str, dict[str, Any]]]:
    """Requests that take long: the tool, and what it is given; `{n}` differs in each."""
    question = " ".join(f"How is {person(n)} tied to {person(n + 7)} {{n}}?" for n in range(240))
    ends = {"source": person(1), "target": person(2), "max_hops": 5, "limit": 50}
    never = calendar(90, "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31")
    many = " ".join(ties() for _ in range(400))
    return {
        "never": ("ingest_document", {"source": "never{n}.ics", "text": never}),
        "series": ("calendar_query", {"time_range": "2025-01-01 to 2034-12-31"}),
        "paths": ("find_paths", ends),
        "question": ("query_documents", {"query": question[:10_000]}),
        "ingest": ("ingest_document", {"source": "many{n}.txt", "text": f"{{n}} {many}"[:95_000]}),
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description="Time one tenant's search beside another's work.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(attacks())}; all if left out")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each phase")
    arguments = parser.parse_args()
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as tokens:
        found = anyio.run(measure, tokens, arguments.names or list(attacks()), arguments.seconds)
    print(json.dumps(found, indent=2))


@contextmanager
def served(folder: Path) -> Iterator[dict[str, str]]:
    """A server of two namespaces, and the token of each."""
    tokens = {name: new_token() for name in (VICTIM, OTHER)}
    with clew.open(folder / "store", namespace=VICTIM) as store:
        store.add("Jonas Reed built the mill at Harrow Ford.", source="mill.md")
    with clew.open(folder / "store", namespace=OTHER, packs=["personal"]) as store:
        texts = [*(ties() for _ in range(DOCUMENTS))]
        store.documents.add_documents(
            [Document(source=f"{n}.md", text=text) for n, text in enumerate(texts)]
        )
        file = folder / "days.ics"
        file.write_text(calendar(60, "FREQ=DAILY;BYDAY=MO,WE,FR"))
        store.index([file])
    lines = [f'store = "{folder / "store"}"', "[serve]", "rate_per_minute = 100000"]
    for name, (_, digest) in tokens.items():
        told = f'name = "{name}"\nsha256 = "{digest}"\nnamespaces = ["{name}"]'
        lines += ["[[serve.tokens]]", told, 'scopes = ["read", "write"]']
    (folder / "clew.toml").write_text("\n".join(lines))
    command = [sys.executable, "-m", "clew", "serve", "--profile", "full", "--port", str(PORT)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        yield {name: token for name, (token, _) in tokens.items()}
    finally:
        process.terminate()
        process.wait()


async def measure(tokens: dict[str, str], names: list[str], seconds: float) -> dict[str, Any]:
    """The figures of each kind."""
    found: dict[str, Any] = {}
    async with client(tokens[VICTIM]) as victim, client(tokens[OTHER]) as other:
        await ask(victim, 2.0)
        for name in names:
            tool, given = attacks()[name]
            alone, counts = await ask(victim, seconds), {"sent": 0, "answered": 0, "refused": 0}
            async with anyio.create_task_group() as tasks:
                for _ in range(AT_ONCE):
                    tasks.start_soon(send, other, tool, given, counts)
                await anyio.sleep(0.5)
                during = await ask(victim, seconds)
                tasks.cancel_scope.cancel()
            after = await ask(victim, seconds)
            found[name] = {
                "alone_ms": alone,
                "during": during / alone,
                "after": after / alone,
                **counts,
            }
            await anyio.sleep(5)
    return found


async def send(other: Client, tool: str, given: dict[str, Any], counts: dict[str, int]) -> None:
    """Call a tool again and again."""
    while True:
        counts["sent"] += 1
        own = {k: v.replace("{n}", f"{counts['sent']}") if isinstance(v, str) else v
               for k, v in given.items()}  # fmt: skip
        result = await other.call_tool(tool, own)
        counts["refused" if result.is_error else "answered"] += 1
        if result.is_error and counts["refused"] == 1:
            print(str(result.content)[:300], file=sys.stderr)


async def ask(victim: Client, seconds: float) -> float:
    """Median milliseconds of a search."""
    spent, until = [], time.perf_counter() + seconds
    while time.perf_counter() < until:
        started = time.perf_counter()
        result = await victim.call_tool("search", {"query": f"{QUESTION} {started}"})
        assert not result.is_error, result
        spent.append(1000 * (time.perf_counter() - started))
    return statistics.median(spent)


@asynccontextmanager
async def client(token: str) -> AsyncIterator[Client]:
    """A client with a token, once the server listens."""
    for _ in range(200):
        try:
            await (await anyio.connect_tcp("127.0.0.1", PORT)).aclose()
            break
        except OSError:
            await anyio.sleep(0.1)
    url, headers = f"http://127.0.0.1:{PORT}/mcp", {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        Client(streamable_http_client(url, http_client=http), mode=REVISION) as connected,
    ):
        yield connected


if __name__ == "__main__":
    main()
