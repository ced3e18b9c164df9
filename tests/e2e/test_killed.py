"""Indexing, jobs, reindexing, backups and restoring in processes that are killed, and completed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.jobs import make_runner
from clew.stores.sqlite.journal import SqliteJobs
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import make_vector
from clew.testing.fakes import HashEmbedder
from clew.types import Document
from tests.content import content

# --- Indexing is killed at a dozen random moments: the store is sound and can be completed.


MOMENTS = 12
DOCUMENTS = 60
INDEX = """
import sys, clew
from clew.testing.fakes import HashEmbedder
with clew.open(sys.argv[1], embedder=HashEmbedder()) as engine:
    print("ready", flush=True)
    engine.index([sys.argv[2]])
"""


def _write_corpus(folder: Path) -> None:
    folder.mkdir()
    people = ["Ada Morn", "Piet Oss", "Brida Kall", "Tobias Fenn", "Edda Rowe", "Muhammad Ali"]
    for number in range(DOCUMENTS):
        first, second = people[number % 6], people[(number * 5 + 1) % 6]
        spelled = second.replace("Muhammad", "Mohammad") if number % 2 else second
        (folder / f"{number:03}.md").write_text(
            f"# Letter {number}\n\n{first} was taught by {spelled}. In {1800 + number} they met at"
            f" the Guild of Lisse (GOL).\n\n## Answer\n\n{second} wrote back from Delft."
        )


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that says when it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def contents(root: Path, store: str = "store") -> dict[str, list[Any]]:
    return content(root / store / "default" / "clew.db")


def test_killed_at_a_dozen_moments_then_completed(tmp_path: Path) -> None:
    folder, undisturbed, killed = tmp_path / "letters", tmp_path / "whole", tmp_path / "killed"
    _write_corpus(folder)
    started = time.perf_counter()
    with start(INDEX, undisturbed, folder) as process:
        assert process.wait() == 0
    length = time.perf_counter() - started
    chance = random.Random(7)
    for _ in range(MOMENTS):
        # Short runs: each of the dozen goes on where the one before was cut.
        with start(INDEX, killed, folder) as process:
            time.sleep(chance.uniform(0, length / 6))
            process.send_signal(signal.SIGKILL)
        with clew.open(killed, embedder=HashEmbedder()) as engine:
            assert engine.maintenance.check().problems == ()
    with clew.open(killed, embedder=HashEmbedder()) as engine:
        engine.index([folder])
        assert engine.maintenance.check().problems == ()
        assert engine.search("Who taught Ada Morn?").entities == ("Ada Morn",)
    assert contents(tmp_path, "killed") == contents(tmp_path, "whole")


def test_two_processes_index_into_one_store(tmp_path: Path) -> None:
    folder, store = tmp_path / "letters", tmp_path / "store"
    _write_corpus(folder)
    other = tmp_path / "more"
    other.mkdir()
    for path in sorted(folder.iterdir())[::2]:
        path.rename(other / path.name)
    with start(INDEX, store, folder) as first, start(INDEX, store, other) as second:
        assert (first.wait(), second.wait()) == (0, 0)
    with clew.open(store, embedder=HashEmbedder()) as engine:
        assert engine.maintenance.stats()["documents"] == DOCUMENTS
        assert engine.maintenance.check().problems == ()
        assert engine.entities.get("Ada Morn").documents > 0


# --- Jobs in real processes, shared and killed at a few moments: nothing is lost, nothing
# twice.


JOBS_MOMENTS = 3
JOBS_DOCUMENTS = 60
# A lease of a moment: the next process need not wait for the dead one's.
WORK = """
import sys, clew
from clew.jobs import make_runner
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
        for number in range(JOBS_DOCUMENTS // 3):
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
        jobs = SqliteJobs(engine.state.journal)
        asked = [{"path": str(folder)} for folder in sorted(root.iterdir())]
        asked.append({"text": "Edda Rowe wrote a long letter. " * 200, "source": "long"})
        return [jobs.submit("ingest", given, description="")[0].id for given in asked]


def check_all_is_there(store: Path, root: Path, jobs: list[str]) -> None:
    """Each document once, every job complete, the store sound, and all of it found."""
    with opened(store, root) as engine:
        runner = make_runner(engine)
        ended = [runner.job(job) for job in jobs]
        assert [(job.status, job.failed, job.error) for job in ended] == [("completed", 0, "")] * 4
        assert sum(job.completed for job in ended) == JOBS_DOCUMENTS + 1
        assert {d.version for d in engine.documents.list()} == {1}
        assert len(engine.documents.list()) == JOBS_DOCUMENTS + 1
        assert engine.maintenance.check().problems == ()
        assert engine.search("Who taught Ada Morn in 1811?").hits
    with sqlite3.connect(store / "default" / "clew.db") as connection:
        items = "SELECT count(*), count(DISTINCT name) FROM job_items WHERE status = 'done'"
        assert connection.execute(items).fetchone() == (JOBS_DOCUMENTS + 1, JOBS_DOCUMENTS + 1)


def test_killed_at_some_moments_then_completed(tmp_path: Path, root: Path) -> None:
    store, chance = tmp_path / "store", random.Random(11)
    jobs = queued(store, root)
    for _ in range(JOBS_MOMENTS):
        with start(WORK, store, root, *jobs) as process:
            time.sleep(chance.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
        with opened(store, root) as engine:
            assert engine.maintenance.check().problems == ()
    with start(WORK, store, root, *jobs) as process:
        assert process.wait() == 0
    check_all_is_there(store, root, jobs)


def test_several_processes_share_the_work_and_one_is_killed(tmp_path: Path, root: Path) -> None:
    store = tmp_path / "store"
    jobs = queued(store, root)
    with start(WORK, store, root, *jobs) as first, start(WORK, store, root, *jobs) as second:
        first.send_signal(signal.SIGKILL)
        assert second.wait() == 0
    check_all_is_there(store, root, jobs)


# --- Indexing again in real processes, killed at every stage: all of the old, then all of the
# new.


REINDEX_MOMENTS = 4
SPLIT = {"chunk_tokens": 20, "section_tokens": 40}
# Says what it has done, and waits where it is told to: a killer may be late.
REINDEX_WORK = """
import sys, time, clew
from clew.testing.fakes import HashEmbedder

root, waits = sys.argv[1], tuple(sys.argv[2:])

def told(*step):
    print(*step, flush=True)
    if " ".join(map(str, step)).startswith(waits):
        time.sleep(60)

split = {"chunk_tokens": 20, "section_tokens": 40}
settings = clew.load_settings(store=f"{root}/store", access={"roots": [root]}, split=split)
with clew.open(settings=settings, embedder=HashEmbedder(64)) as engine:
    print("ready", flush=True)
    engine.maintenance.reindex(progress=told)
"""


@pytest.fixture
def reindex_root(tmp_path: Path) -> Path:
    """Letters, indexed as they were once into `store`, and as they are to be into `fresh`."""
    _write_corpus(tmp_path / "letters")
    with reindex_opened(tmp_path, "store") as engine:
        engine.index([tmp_path / "letters"])
    with reindex_opened(tmp_path, "fresh", **SPLIT) as engine:
        engine.index([tmp_path / "letters"])
    return tmp_path


def reindex_opened(root: Path, store: str, **split: int) -> clew.Clew:
    settings = clew.load_settings(store=root / store, access={"roots": [root]}, split=split)
    return clew.open(settings=settings, embedder=HashEmbedder(64))


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
    with reindex_opened(root, "store", **SPLIT) as engine:
        assert engine.maintenance.check().problems == ()
        assert engine.search("Who taught Ada Morn?", strategy="graph").hits
    now = contents(root)
    assert now in (old, new)
    return now == new


def test_killed_at_every_stage_then_completed(reindex_root: Path) -> None:
    old, new, ready = contents(reindex_root), contents(reindex_root, "fresh"), 0
    last = DOCUMENTS - 1
    stages = ["reindex 0", "reindex 20", "reindex 45", "switch 0", "switch 30", f"switch {last}"]
    for stage in stages:
        with start(REINDEX_WORK, reindex_root, f"{stage} ") as process:
            said = read_until(process, f"{stage} ")
            process.send_signal(signal.SIGKILL)
        # What was ready is ready: no document is made again.
        assert int(said[0].split()[1]) >= ready, stage
        ready = max([ready, *(int(s.split()[1]) for s in said if s.startswith("reindex"))])
        assert not check_whole(reindex_root, old, new)
    assert ready == DOCUMENTS
    with start(REINDEX_WORK, reindex_root) as process:
        assert process.wait() == 0
    assert check_whole(reindex_root, old, new)
    assert not (reindex_root / "store" / "default" / ".reindex").exists()


def test_killed_while_the_content_is_replaced(reindex_root: Path) -> None:
    old, new = contents(reindex_root), contents(reindex_root, "fresh")
    with start(REINDEX_WORK, reindex_root) as process:
        read_until(process, "switch 0 ")
        process.send_signal(signal.SIGKILL)
    store, ready = reindex_root / "store", reindex_root / "ready"
    shutil.copytree(store, ready)
    length = 0.0
    for attempt in range(REINDEX_MOMENTS):
        shutil.rmtree(store)
        shutil.copytree(ready, store)
        with start(REINDEX_WORK, reindex_root) as process:
            read_until(process, f"switch {DOCUMENTS - 1} ")
            started = time.perf_counter()
            if attempt:  # the first one shows how long it takes
                time.sleep(
                    length * ((attempt - 1) / REINDEX_MOMENTS) ** 2
                )  # the end is not of interest
                process.send_signal(signal.SIGKILL)
            process.wait()
        length = length or time.perf_counter() - started
        switched = check_whole(reindex_root, old, new)
        assert switched or attempt
        # Whatever was left is gone on with, or removed.
        with start(REINDEX_WORK, reindex_root) as process:
            assert process.wait() == 0
        assert check_whole(reindex_root, old, new)
        assert not (store / "default" / ".reindex").exists()


# --- Several real processes on one store: nothing is lost, and a killed one leaves it sound.


# Saves documents `prefix 0`, `prefix 1`, … and prints the number of each one when it is saved.
_WRITER = """
import sys
from pathlib import Path
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER, make_entry

folder, prefix, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = SqliteStore(folder, embedder=EMBEDDER)
for i in range(count):
    name = f"Person {prefix}{i % 7}"
    text = f"{name} met Vienna. Number {i}."
    relations = [(name, "met", "Vienna")]
    store.save(make_entry(f"{prefix} {i % 40}", text, names=[name, "Vienna"], relations=relations))
    print(i, flush=True)
store.close()
"""


def store_start(folder: Path, prefix: str, count: int) -> subprocess.Popen[str]:
    command: Sequence[str] = [sys.executable, "-c", _WRITER, str(folder), prefix, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_writing_processes_lose_nothing_and_a_reader_sees_their_commits(tmp_path: Path) -> None:
    writers = [
        store_start(tmp_path, prefix, 40) for prefix in ("x", "y")
    ]  # both make the store, too
    assert writers[0].stdout is not None
    writers[0].stdout.readline()
    reader = SqliteStore(tmp_path)
    matrix = VectorMatrix(reader, tmp_path)
    seen = [len(reader.documents())]
    while any(writer.poll() is None for writer in writers):
        seen.append(len(reader.documents()))
        matrix.search_vector(make_vector("q"), 3)
        time.sleep(0.01)
    for writer in writers:
        _, errors = writer.communicate()
        assert (writer.returncode, errors) == (0, "")
    assert seen[0] >= 1
    assert seen == sorted(seen)
    assert len(reader.documents()) == 80
    assert reader.generation() == 80
    assert len(matrix.search_vector(make_vector("q"), 100)[0]) == 80
    (vienna,) = reader.find_entities("Vienna")
    assert (vienna.mentions, len(reader.relations([vienna.id]))) == (80, 80)
    assert reader.check().problems == ()
    reader.close()


# --- Backups and restoring among real processes that read, write and are killed.


LETTERS = 300
COPY_MOMENTS = 6
PATIENCE = 30.0
OPEN = """
import sys, clew
from clew.testing.fakes import HashEmbedder
engine = clew.open(sys.argv[1], embedder=HashEmbedder(64))
print("ready", flush=True)
"""
WRITE = f"""{OPEN}
for number in range(10_000):
    engine.add(f"Piet Oss wrote letter {{number}} to Ada Morn.", source=f"later {{number:05}}")
"""
# Says, of one state of the store, how many documents and how many passages there are.
READ = f"""{OPEN}
while True:
    with engine.store.reading():
        print(len(engine.documents.list()), len(engine.store.chunk_ids()), flush=True)
"""
BACK_UP = f"{OPEN}engine.maintenance.backup(sys.argv[2])"
RESTORE = f"{OPEN}engine.maintenance.restore(sys.argv[2])"


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    letters = [
        Document(source=f"{number:04}", text=f"Ada Morn wrote letter {number} from Delft.")
        for number in range(LETTERS)
    ]
    with copies_opened(tmp_path / "store") as engine:
        engine.add_documents(letters)
    return tmp_path / "store"


def copies_opened(store: Path) -> clew.Clew:
    return clew.open(store, embedder=HashEmbedder(64))


def length_of(code: str, store: Path, *arguments: Path) -> float:
    """Seconds that a process takes which is left alone."""
    with start(code, store, *arguments) as process:
        started = time.perf_counter()
        assert process.wait() == 0
        return time.perf_counter() - started


def count(engine: clew.Clew) -> int:
    return len(engine.store.document_digests())


def test_a_backup_is_of_one_moment_while_others_write(letters: Path, tmp_path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    with copies_opened(letters) as engine, start(WRITE, letters) as writer:
        for number in range(1000):
            before, file = count(engine), tmp_path / f"{number}.db"
            assert engine.maintenance.backup(file) == file.stat().st_size
            after = count(engine)
            if after > before > LETTERS or time.monotonic() > deadline:
                break
        assert writer.poll() is None
        writer.kill()
    with copies_opened(tmp_path / "other") as copy:
        copy.maintenance.restore(file)
        later = [d.source for d in copy.documents.list() if d.source.startswith("later")]
        assert later == [f"later {number:05}" for number in range(len(later))]
        assert before <= LETTERS + len(later) <= after
        assert before < after
        assert copy.maintenance.check().problems == ()
        assert copy.search("What did Piet Oss write?").hits


def test_restoring_is_seen_by_readers_all_at_once(letters: Path, tmp_path: Path) -> None:
    seen: list[str] = []
    with copies_opened(letters) as engine:
        engine.maintenance.backup(tmp_path / "copy.db")
        engine.delete([document.id for document in engine.documents.list()[:100]])
        with start(READ, letters) as reader:
            assert reader.stdout is not None
            seen.append(reader.stdout.readline())
            engine.maintenance.restore(tmp_path / "copy.db")
            while len(seen) < 10_000 and seen[-1] == seen[0]:
                seen.append(reader.stdout.readline())
            seen += [reader.stdout.readline() for _ in range(20)]
            reader.kill()
    smaller, whole = f"{LETTERS - 100} {LETTERS - 100}\n", f"{LETTERS} {LETTERS}\n"
    assert list(dict.fromkeys(seen)) == [smaller, whole]
    assert seen == sorted(seen)  # once new, always new


def test_a_backup_that_is_killed_leaves_no_file_but_a_whole_one(
    letters: Path, tmp_path: Path
) -> None:
    folder, held = tmp_path / "copies", contents(tmp_path)
    folder.mkdir()
    length = length_of(BACK_UP, letters, folder / "whole.db")
    for moment in range(COPY_MOMENTS):
        file = folder / f"{moment}.db"
        with start(BACK_UP, letters, file) as process:
            time.sleep(length * moment / COPY_MOMENTS)
            process.send_signal(signal.SIGKILL)
        if file.exists():
            assert content(file) == held
    for _ in range(COPY_MOMENTS):  # the moments above may have met no copy that was being written
        if left := list(folder.glob(".clew-copy-*")):
            break
        with start(BACK_UP, letters, folder / "late.db") as process:
            while process.poll() is None and not any(folder.glob(".clew-copy-*")):
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
    assert left  # else nothing was killed
    make_old(left[:-1])
    with copies_opened(letters) as engine:
        engine.maintenance.backup(folder / "last.db")
    # What another process may still be writing stays.
    assert list(folder.glob(".clew-copy-*")) == left[-1:]
    assert content(folder / "last.db") == content(folder / "whole.db") == held


def test_restoring_that_is_killed_leaves_the_old_or_the_new(letters: Path, tmp_path: Path) -> None:
    full, ready = contents(tmp_path), tmp_path / "ready"
    with copies_opened(letters) as engine:
        engine.maintenance.backup(tmp_path / "copy.db")
        engine.delete([document.id for document in engine.documents.list()[:100]])
    smaller = contents(tmp_path)
    shutil.copytree(letters, ready)
    length = length_of(RESTORE, letters, tmp_path / "copy.db")
    assert contents(tmp_path) == full
    for moment in range(COPY_MOMENTS):
        shutil.rmtree(letters)
        shutil.copytree(ready, letters)
        with start(RESTORE, letters, tmp_path / "copy.db") as process:
            time.sleep(length * moment / COPY_MOMENTS)
            process.send_signal(signal.SIGKILL)
        assert contents(tmp_path) in (smaller, full)
        make_old(list((letters / "default").glob(".clew-copy-*")))
        with copies_opened(letters) as engine:
            assert engine.maintenance.check().problems == ()
            engine.maintenance.restore(tmp_path / "copy.db")
        assert contents(tmp_path) == full
        assert not list((letters / "default").glob(".clew-copy-*"))


def make_old(folders: list[Path]) -> None:
    """Let what was left look as if nobody had written to it for two hours."""
    long_ago = time.time() - 7200
    for folder in folders:
        for path in (*folder.iterdir(), folder):
            os.utime(path, (long_ago, long_ago))


def test_a_backup_says_how_far_it_is(letters: Path, tmp_path: Path) -> None:
    said: dict[str, list[tuple[int, int | None]]] = {}
    with copies_opened(letters) as engine:
        engine.maintenance.backup(
            tmp_path / "copy",
            progress=lambda step, done, total: said.setdefault(step, []).append((done, total)),
        )
    assert list(said) == ["pages written", "invariants checked"]
    pages = said["pages written"]
    assert pages == sorted(pages)
    assert pages[-1][0] == pages[-1][1]
