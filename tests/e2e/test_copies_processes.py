"""Backups while other processes write and are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import clew
from clew.testing.fakes import HashEmbedder
from clew.types import Document
from tests.content import content

# --- Backups and restoring among real processes that read, write and are killed.


DOCUMENTS = 300
MOMENTS = 6
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
def store(tmp_path: Path) -> Path:
    letters = [
        Document(source=f"{number:04}", text=f"Ada Morn wrote letter {number} from Delft.")
        for number in range(DOCUMENTS)
    ]
    with opened(tmp_path / "store") as engine:
        engine.add_documents(letters)
    return tmp_path / "store"


def opened(store: Path) -> clew.Clew:
    return clew.open(store, embedder=HashEmbedder(64))


def contents(store: Path) -> object:
    return content(store / "default" / "clew.db")


def start(code: str, store: Path, *arguments: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, str(store), *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def length_of(code: str, store: Path, *arguments: Path) -> float:
    """Seconds that a process takes which is left alone."""
    with start(code, store, *arguments) as process:
        started = time.perf_counter()
        assert process.wait() == 0
        return time.perf_counter() - started


def count(engine: clew.Clew) -> int:
    return len(engine.store.document_digests())


def test_a_backup_is_of_one_moment_while_others_write(store: Path, tmp_path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    with opened(store) as engine, start(WRITE, store) as writer:
        for number in range(1000):
            before, file = count(engine), tmp_path / f"{number}.db"
            assert engine.maintenance.backup(file) == file.stat().st_size
            after = count(engine)
            if after > before > DOCUMENTS or time.monotonic() > deadline:
                break
        assert writer.poll() is None
        writer.kill()
    with opened(tmp_path / "other") as copy:
        copy.maintenance.restore(file)
        later = [d.source for d in copy.documents.list() if d.source.startswith("later")]
        assert later == [f"later {number:05}" for number in range(len(later))]
        assert before <= DOCUMENTS + len(later) <= after
        assert before < after
        assert copy.maintenance.check().problems == ()
        assert copy.search("What did Piet Oss write?").hits


def test_restoring_is_seen_by_readers_all_at_once(store: Path, tmp_path: Path) -> None:
    seen: list[str] = []
    with opened(store) as engine:
        engine.maintenance.backup(tmp_path / "copy.db")
        engine.delete([document.id for document in engine.documents.list()[:100]])
        with start(READ, store) as reader:
            assert reader.stdout is not None
            seen.append(reader.stdout.readline())
            engine.maintenance.restore(tmp_path / "copy.db")
            while len(seen) < 10_000 and seen[-1] == seen[0]:
                seen.append(reader.stdout.readline())
            seen += [reader.stdout.readline() for _ in range(20)]
            reader.kill()
    smaller, whole = f"{DOCUMENTS - 100} {DOCUMENTS - 100}\n", f"{DOCUMENTS} {DOCUMENTS}\n"
    assert list(dict.fromkeys(seen)) == [smaller, whole]
    assert seen == sorted(seen)  # once new, always new


def test_a_backup_that_is_killed_leaves_no_file_but_a_whole_one(
    store: Path, tmp_path: Path
) -> None:
    folder, held = tmp_path / "copies", contents(store)
    folder.mkdir()
    length = length_of(BACK_UP, store, folder / "whole.db")
    for moment in range(MOMENTS):
        file = folder / f"{moment}.db"
        with start(BACK_UP, store, file) as process:
            time.sleep(length * moment / MOMENTS)
            process.send_signal(signal.SIGKILL)
        if file.exists():
            assert content(file) == held
    for _ in range(MOMENTS):  # the moments above may have met no copy that was being written
        if left := list(folder.glob(".clew-copy-*")):
            break
        with start(BACK_UP, store, folder / "late.db") as process:
            while process.poll() is None and not any(folder.glob(".clew-copy-*")):
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
    assert left  # else nothing was killed
    make_old(left[:-1])
    with opened(store) as engine:
        engine.maintenance.backup(folder / "last.db")
    # What another process may still be writing stays.
    assert list(folder.glob(".clew-copy-*")) == left[-1:]
    assert content(folder / "last.db") == content(folder / "whole.db") == held


def test_restoring_that_is_killed_leaves_the_old_or_the_new(store: Path, tmp_path: Path) -> None:
    full, ready = contents(store), tmp_path / "ready"
    with opened(store) as engine:
        engine.maintenance.backup(tmp_path / "copy.db")
        engine.delete([document.id for document in engine.documents.list()[:100]])
    smaller = contents(store)
    shutil.copytree(store, ready)
    length = length_of(RESTORE, store, tmp_path / "copy.db")
    assert contents(store) == full
    for moment in range(MOMENTS):
        shutil.rmtree(store)
        shutil.copytree(ready, store)
        with start(RESTORE, store, tmp_path / "copy.db") as process:
            time.sleep(length * moment / MOMENTS)
            process.send_signal(signal.SIGKILL)
        assert contents(store) in (smaller, full)
        make_old(list((store / "default").glob(".clew-copy-*")))
        with opened(store) as engine:
            assert engine.maintenance.check().problems == ()
            engine.maintenance.restore(tmp_path / "copy.db")
        assert contents(store) == full
        assert not list((store / "default").glob(".clew-copy-*"))


def make_old(folders: list[Path]) -> None:
    """Let what was left look as if nobody had written to it for two hours."""
    long_ago = time.time() - 7200
    for folder in folders:
        for path in (*folder.iterdir(), folder):
            os.utime(path, (long_ago, long_ago))


def test_a_backup_says_how_far_it_is(store: Path, tmp_path: Path) -> None:
    said: dict[str, list[tuple[int, int | None]]] = {}
    with opened(store) as engine:
        engine.maintenance.backup(
            tmp_path / "copy",
            progress=lambda step, done, total: said.setdefault(step, []).append((done, total)),
        )
    assert list(said) == ["pages written", "invariants checked"]
    pages = said["pages written"]
    assert pages == sorted(pages)
    assert pages[-1][0] == pages[-1][1]
