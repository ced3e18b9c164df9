"""What the explorer costs: server time, drawing in a browser, bytes of a page, memory by users.

    uv run --group dev python -m benchmarks.explorer [--passages 10000]

The documents are made up: people, places and guilds that meet in sentences. Embeddings are hashes,
so that the time of a model is not in the figures; it comes on top (docs/speed.md). The browser is
the Chromium of this machine.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from clew import Clew
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import Document

if TYPE_CHECKING:
    from playwright.sync_api import Browser

STARTS = "Ad Bran Cor Dal Ed Fen Gar Hal Il Jor Kel Lor Mar Nev Ost Per Quil Ros Sten Tar".split()
ENDS = "a en ic oth ul wyn mar dan eth or is ane bold ric ven lin sa ton eck il".split()
QUESTIONS = 20
USERS = 10
PICTURES = 5
BROWSER = ["chromium", "chromium-browser"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        serve(given.serve)
        return
    with tempfile.TemporaryDirectory(prefix="clew-explorer-") as folder:
        names = fill(Path(folder), given.passages)
        with served(Path(folder)) as (url, _):
            asked(url, names)
            drawn(url, names)
        memory(Path(folder), names)


def fill(folder: Path, passages: int) -> list[str]:
    """A store of so many passages; the names of its people, the most frequent first."""
    drawn = random.Random(7)
    people = [
        f"{a}{b} {c}{d}" for a in STARTS for b in ENDS for c, d in zip(STARTS, ENDS, strict=True)
    ]
    drawn.shuffle(people)
    people = people[: max(passages // 4, 50)]

    def document(number: int) -> Document:
        # Some are named often, most now and then.
        who = [people[int(len(people) * drawn.random() ** 3)] for _ in range(4)]
        town = f"{drawn.choice(STARTS)}{drawn.choice(ENDS)} Bay"
        text = (
            f"{who[0]} works for {who[1]} since {drawn.randint(1950, 2020)}. In {town} the two met"
            f" {who[2]}, who had built the mill by the river. {who[3]} lives in {town} and keeps"
            " the books of the harbour."
        )
        return Document(source=f"{number}.md", text=text, title=f"Letter {number}")

    with store(folder) as engine:
        started = time.perf_counter()
        engine.add_documents([document(number) for number in range(passages)])
        print(f"{passages} passages indexed in {time.perf_counter() - started:.0f} s")
        return [ranked.entity.name for ranked in engine.graph.importance(limit=100)]


def store(folder: Path) -> Clew:
    """The store, open."""
    settings = load_settings(
        store=folder,
        limits={"isolation": "none"},
        serve={"rate_per_minute": 100_000, "port": 0},
    )
    return Clew(settings, embedder=HashEmbedder())


def serve(folder: Path) -> None:
    """Serve the store until this process is ended; prints the address."""
    import socket

    import uvicorn

    from clew.mcp.calls import Engines
    from clew.mcp.http import http_config, http_server
    from clew.operations.toolbox import OPERATIONS
    from clew.web.app import mount

    engine = store(folder)
    settings = engine.settings
    server = http_server(Engines(settings, OPERATIONS, engine), insecure=True)
    bound = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
    uvicorn.Server(http_config(server, settings.serve, mount)).run(sockets=[bound])


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """A server in a process of its own: its address and its process id."""
    command = [sys.executable, "-m", "benchmarks.explorer", "--serve", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.kill()
        process.wait()


def question(names: list[str], number: int) -> str:
    """One of many questions."""
    return f"Who works for {names[number % len(names)]}, and where does {names[-number - 1]} live?"


def asked(url: str, names: list[str]) -> None:
    """Server time from a question to its page and to the graph beside it."""
    pages, pictures = [], []
    with httpx2.Client(base_url=url, timeout=120) as http:
        http.get("/ui/", params={"q": "warm"})
        for number in range(QUESTIONS):
            text = question(names, number)
            pages.append(timed(http, "/ui/", q=text))
            pictures.append(timed(http, "/api/v1/graph", question=text))
    both = [page + picture for page, picture in zip(pages, pictures, strict=True)]
    print(f"question to page {statistics.median(pages):.0f} ms (median of {QUESTIONS})")
    print(f"its graph {statistics.median(pictures):.0f} ms, both {statistics.median(both):.0f} ms")


def timed(http: httpx2.Client, path: str, **query: str) -> float:
    """Milliseconds of a request, which must succeed."""
    started = time.perf_counter()
    answer = http.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return 1000 * (time.perf_counter() - started)


def drawn(url: str, names: list[str]) -> None:
    """Graphs laid out and drawn in a browser, and what the first page weighs."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSER)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for path in ("/ui/", f"/ui/?q={question(names, 1)}"):
            weigh(browser, url, path)
        for count in (1000, 5000):
            draw(browser, url, names, count)
        browser.close()


def weigh(browser: Browser, url: str, path: str) -> None:
    """Bytes and milliseconds of a page that nothing of is cached."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(url + path, wait_until="load")
    told = page.evaluate(
        """() => { const all = [...performance.getEntriesByType("resource"),
        ...performance.getEntriesByType("navigation")];
        return [all.reduce((sum, one) => sum + one.transferSize, 0),
        performance.getEntriesByType("navigation")[0].loadEventEnd]; }"""
    )
    print(f"{path.partition('?')[0]} cold: {told[0] / 1000:.0f} kB, {told[1]:.0f} ms")
    context.close()


def draw(browser: Browser, url: str, names: list[str], count: int) -> None:
    """Pictures of so many entities, each another: laid out and drawn, and from its address on."""
    page = browser.new_page()
    drawn, stands = [], []
    for first in range(PICTURES + 1):
        seeds = "&".join(f"entities={name}" for name in names[first : first + 20])
        started = time.perf_counter()
        page.goto(f"{url}/ui/graph?{seeds}&hops=3&limit={count}", timeout=120_000)
        place = page.locator("#picture[data-drawn]")
        place.wait_for(timeout=120_000)
        stands.append(1000 * (time.perf_counter() - started))
        drawn.append(int(place.get_attribute("data-drawn") or 0))
    nodes, edges = page.evaluate("[clewPictures[0].graph.order, clewPictures[0].graph.size]")
    # The first compiles what draws.
    print(
        f"{nodes} entities, {edges} ties drawn in {statistics.median(drawn[1:]):.0f} ms, page and"
        f" all {statistics.median(stands[1:]):.0f} ms (medians of {PICTURES})"
    )
    page.close()


def memory(folder: Path, names: list[str]) -> None:
    """The server's highest memory with one user asking, and with several at once."""
    highest = {}
    for users in (1, USERS):
        with served(folder) as (url, pid):
            threads = [
                threading.Thread(target=ask_all, args=(url, names, 7 * user))
                for user in range(users)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            highest[users] = peak_megabytes(pid)
    print(
        f"memory {highest[1]:.0f} MB with one user, {highest[USERS]:.0f} MB with {USERS}: ratio"
        f" {highest[USERS] / highest[1]:.2f}"
    )


def ask_all(url: str, names: list[str], first: int) -> None:
    """One user's questions."""
    with httpx2.Client(base_url=url, timeout=300) as http:
        for number in range(QUESTIONS):
            timed(http, "/ui/", q=question(names, (first + number) % 97))


def peak_megabytes(pid: int) -> float:
    """The most memory that a process had (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
