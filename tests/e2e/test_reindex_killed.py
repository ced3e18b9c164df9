"""Indexing again in real processes, killed at every stage: all of the old, then all of the new."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.jobs.runner import make_runner
from clew.testing.fakes import HashEmbedder
from clew.wiring import make_jobs
from tests.content import content

DOCUMENTS = 120
MOMENTS = 6
SPLIT = {"chunk_tokens": 20, "section_tokens": 40}
# `how` is `reindex`, or the id of a job, whose lease is one of a moment.
WORK = """
import sys, clew
from clew.jobs.runner import make_runner
from clew.testing.fakes import HashEmbedder

root, how = sys.argv[1:]

class Counted(HashEmbedder):
    def embed_documents(self, texts):
        with open(f"{root}/embedded", "a") as file:
            file.write(f"{len(texts)}\\n")
        return super().embed_documents(texts)

split = {"chunk_tokens": 20, "section_tokens": 40}
settings = clew.load_settings(store=f"{root}/store", access={"roots": [root]}, split=split)
with clew.open(settings=settings, embedder=Counted(64)) as engine:
    print("ready", flush=True)
    if how == "reindex":
        engine.maintenance.reindex(progress=lambda *step: print(*step, flush=True))
    else:
        runner = make_runner(engine, lease_seconds=0.5)
        runner.start()
        while not (job := runner.wait(how, 0.05)).ended:
            print(f"reindex {job.completed}", flush=True)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Letters, indexed as they were once into `store`, and as they are to be into `fresh`."""
    (tmp_path / "letters").mkdir()
    people = ["Ada Morn", "Piet Oss", "Brida Kall", "Tobias Fenn", "Edda Rowe", "Muhammad Ali"]
    for number in range(DOCUMENTS):
        first, second = people[number % 6], people[(number * 5 + 1) % 6]
        (tmp_path / "letters" / f"{number:03}.md").write_text(
            f"# Letter {number}\n\n{first} was taught by {second}. In {1800 + number} they met at"
            f" the Guild of Lisse (GOL), where {first} lived. Barges went up to Harrow Ford."
            f"\n\n## Answer\n\n{second} wrote back from Delft."
        )
    with opened(tmp_path, "store") as engine:
        engine.index([tmp_path / "letters"])
    with opened(tmp_path, "fresh", **SPLIT) as engine:
        engine.index([tmp_path / "letters"])
    return tmp_path


def opened(root: Path, store: str, **split: int) -> clew.Clew:
    settings = clew.load_settings(store=root / store, access={"roots": [root]}, split=split)
    return clew.open(settings=settings, embedder=HashEmbedder(64))


def contents(root: Path, store: str = "store") -> dict[str, list[Any]]:
    return content(root / store / "default" / "clew.db")


def start(root: Path, how: str = "reindex") -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, str(root), how], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def embedded(root: Path) -> int:
    return sum(map(int, (root / "embedded").read_text().split()))


def read_until(process: subprocess.Popen[str], line: str) -> list[str]:
    """What a process says until it says this, or ends."""
    said: list[str] = []
    for text in process.stdout or ():
        said.append(text.strip())
        if text.startswith(line):
            break
    return said


def check_whole(root: Path, old: dict[str, list[Any]], new: dict[str, list[Any]]) -> bool:
    """The store is sound, and all of it the old or the new one; whether it is the new one."""
    with opened(root, "store", **SPLIT) as engine:
        assert engine.maintenance.check().problems == ()
        assert engine.search("Who taught Ada Morn?", strategy="graph").hits
    now = contents(root)
    assert now in (old, new)
    return now == new


def test_killed_at_every_stage_then_completed(root: Path) -> None:
    old, new, ready = contents(root), contents(root, "fresh"), 0
    last = DOCUMENTS - 1
    stages = ["reindex 0", "reindex 20", "reindex 90", "switch 0", "switch 60", f"switch {last}"]
    for stage in stages:
        with start(root) as process:
            said = read_until(process, f"{stage} ")
            process.send_signal(signal.SIGKILL)
        # What was ready is ready: no document is made again.
        assert int(said[0].split()[1]) >= ready, stage
        ready = max([ready, *(int(s.split()[1]) for s in said if s.startswith("reindex"))])
        assert not check_whole(root, old, new)
    assert ready == DOCUMENTS
    with start(root) as process:
        assert process.wait() == 0
    assert check_whole(root, old, new)
    assert not (root / "store" / "default" / ".reindex").exists()


def test_killed_while_the_content_is_replaced(root: Path) -> None:
    old, new = contents(root), contents(root, "fresh")
    with start(root) as process:
        read_until(process, "switch 0 ")
        process.send_signal(signal.SIGKILL)
    store, ready = root / "store", root / "ready"
    shutil.copytree(store, ready)
    length = 0.0
    for attempt in range(MOMENTS):
        shutil.rmtree(store)
        shutil.copytree(ready, store)
        with start(root) as process:
            read_until(process, f"switch {DOCUMENTS - 1} ")
            started = time.perf_counter()
            if attempt:  # the first one shows how long it takes
                time.sleep(length * ((attempt - 1) / MOMENTS) ** 2)  # the end is not of interest
                process.send_signal(signal.SIGKILL)
            process.wait()
        length = length or time.perf_counter() - started
        switched = check_whole(root, old, new)
        assert switched or attempt
        with start(root) as process:  # whatever was left is gone on with, or removed
            assert process.wait() == 0
        assert check_whole(root, old, new)
        assert not (store / "default" / ".reindex").exists()


def test_a_job_is_gone_on_with_by_the_next_process(root: Path) -> None:
    old, new = contents(root), contents(root, "fresh")
    with opened(root, "store") as engine:
        job = make_jobs(engine.state.journal).submit("reindex", {}, description="")[0].id
    for stage in ("reindex 16", "reindex 64"):
        with start(root, job) as process:
            read_until(process, stage)
            process.send_signal(signal.SIGKILL)
        check_whole(root, old, new)
    with start(root, job) as process:
        assert process.wait() == 0
    assert check_whole(root, old, new)
    with opened(root, "store", **SPLIT) as engine:
        ended = make_runner(engine).job(job)
        assert (ended.status, ended.completed, ended.total) == ("completed", DOCUMENTS, DOCUMENTS)


def test_a_job_and_a_command_share_the_work(root: Path) -> None:
    old, new = contents(root), contents(root, "fresh")
    with opened(root, "store") as engine:
        job = make_jobs(engine.state.journal).submit("reindex", {}, description="")[0].id
    with start(root, job) as server, start(root) as command:
        assert (server.wait(), command.wait()) == (0, 0)
    assert check_whole(root, old, new)
    assert embedded(root) == len(new["chunks"])
