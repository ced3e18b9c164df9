"""Jobs in real processes, shared and killed at a few moments: nothing is lost, nothing twice."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import clew
from clew.jobs.runner import make_runner
from clew.testing.fakes import HashEmbedder
from clew.wiring import make_jobs

MOMENTS = 4
DOCUMENTS = 60
# A lease of a moment: the next process need not wait for the dead one's.
WORK = """
import sys, clew
from clew.jobs.runner import make_runner
from clew.testing.fakes import HashEmbedder
store, root, *jobs = sys.argv[1:]
settings = clew.load_settings(store=store, access={"roots": [root]})
with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
    runner = make_runner(engine, lease_seconds=0.5)
    runner.start()
    print("ready", flush=True)
    for job in jobs:
        assert runner.wait(job, 60).ended
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for part in range(3):
        folder = root / f"letters-{part}"
        folder.mkdir(parents=True)
        for number in range(DOCUMENTS // 3):
            (folder / f"{number:03}.md").write_text(
                f"# Letter {part}.{number}\n\nAda Morn was taught by Piet Oss in {1800 + number}."
            )
    return root


def opened(store: Path, root: Path) -> clew.Clew:
    settings = clew.load_settings(store=store, access={"roots": [root]})
    return clew.open(settings=settings, embedder=HashEmbedder())


def queued(store: Path, root: Path) -> list[str]:
    """Jobs that nobody runs yet: one a folder, and a long text."""
    with opened(store, root) as engine:
        jobs = make_jobs(engine.state.journal)
        asked = [{"path": str(folder)} for folder in sorted(root.iterdir())]
        asked.append({"text": "Edda Rowe wrote a long letter. " * 200, "source": "long"})
        return [jobs.submit("ingest", given, description="")[0].id for given in asked]


def start(store: Path, root: Path, jobs: list[str]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, str(store), str(root), *jobs],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def check_all_is_there(store: Path, root: Path, jobs: list[str]) -> None:
    """Each document once, every job complete, the store sound, and all of it found."""
    with opened(store, root) as engine:
        runner = make_runner(engine)
        ended = [runner.job(job) for job in jobs]
        assert [(job.status, job.failed, job.error) for job in ended] == [("completed", 0, "")] * 4
        assert sum(job.completed for job in ended) == DOCUMENTS + 1
        assert {d.version for d in engine.documents.list()} == {1}
        assert len(engine.documents.list()) == DOCUMENTS + 1
        assert engine.maintenance.check().problems == ()
        assert engine.search("Who taught Ada Morn in 1811?").hits
    with sqlite3.connect(store / "default" / "clew.db") as connection:
        items = "SELECT count(*), count(DISTINCT name) FROM job_items WHERE status = 'done'"
        assert connection.execute(items).fetchone() == (DOCUMENTS + 1, DOCUMENTS + 1)


def test_killed_at_some_moments_then_completed(tmp_path: Path, root: Path) -> None:
    store, chance = tmp_path / "store", random.Random(11)
    jobs = queued(store, root)
    for _ in range(MOMENTS):
        with start(store, root, jobs) as process:
            time.sleep(chance.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
        with opened(store, root) as engine:
            assert engine.maintenance.check().problems == ()
    with start(store, root, jobs) as process:
        assert process.wait() == 0
    check_all_is_there(store, root, jobs)


def test_several_processes_share_the_work_and_one_is_killed(tmp_path: Path, root: Path) -> None:
    store = tmp_path / "store"
    jobs = queued(store, root)
    with start(store, root, jobs) as first, start(store, root, jobs) as second:
        first.send_signal(signal.SIGKILL)
        assert second.wait() == 0
    check_all_is_there(store, root, jobs)
