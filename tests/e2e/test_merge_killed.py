"""Workers and merges are killed: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.content import content
from tests.e2e.conftest import NOTES, WORKSHOP, Run

LAUNCHER = Path(__file__).parents[2] / "examples" / "index_processes.py"
RAY = LAUNCHER.with_name("index_ray.py")
PATIENCE = 120
# A commit for each document, and a word after each.
_MERGE = """
import sys, clew
import clew.indexing.pipeline as pipeline
from clew.testing.fakes import HashEmbedder

pipeline.GROUP_SECONDS, pipeline.BATCH_CHUNKS = 0.0, 1
with clew.open(sys.argv[1], embedder=HashEmbedder()) as engine:
    engine.maintenance.merge(sys.argv[2:], progress=lambda *done: print(*done, flush=True))
"""
_BUILD = """
import sys, clew
from clew.testing.fakes import HashEmbedder
from clew.types import NewEntity

for number in (1, 2):
    with clew.open(f"{sys.argv[2]}/{number}", embedder=HashEmbedder()) as engine:
        engine.index([sys.argv[1]], shard=(number, 2))
        engine.store.add_entities([NewEntity(name="Ghost Ship", entity_type="product")])
"""


def write_notes(folder: Path) -> Path:
    folder.mkdir()
    for name, text in {**NOTES, **WORKSHOP}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def held(store: Path, *, vectors: bool = True) -> dict[str, list[object]]:
    found = content(store / "default" / "clew.db")
    return found if vectors else {**found, "embeddings": []}


def test_a_killed_merge_is_completed(tmp_path: Path) -> None:
    notes, work = write_notes(tmp_path / "notes"), tmp_path / "shards"
    subprocess.run([sys.executable, "-c", _BUILD, str(notes), str(work)], check=True)
    shards = [str(work / "1"), str(work / "2")]

    def start(store: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _MERGE, str(store), *shards]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    with start(tmp_path / "whole") as process:
        told, _ = process.communicate(timeout=PATIENCE)
    documents = len(told.splitlines())
    for after in (1, documents // 3):
        with start(tmp_path / "killed") as process:
            assert process.stdout is not None
            assert all(process.stdout.readline() for _ in range(after))
            process.send_signal(signal.SIGKILL)
    with start(tmp_path / "killed") as process:
        told, _ = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    assert 0 < len(told.splitlines()) < documents
    assert held(tmp_path / "killed") == held(tmp_path / "whole")


def test_a_killed_worker_is_started_again(clew: Run, tmp_path: Path) -> None:
    notes = write_notes(tmp_path / "notes")
    store = tmp_path / "store"
    command = [sys.executable, str(LAUNCHER), str(notes), "--shards", "2", "--into", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout is not None
        first = re.fullmatch(r"shard (\d)/2: process (\d+)\n", launcher.stdout.readline())
        assert first
        database = tmp_path / "store-shards" / first[1] / "default" / "clew.db"
        deadline = time.monotonic() + PATIENCE
        while not database.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(int(first[2]), signal.SIGKILL)
        told, _ = launcher.communicate(timeout=PATIENCE)
    whole = clew("index", notes, "--store", "whole")

    assert (launcher.returncode, whole.returncode) == (0, 0)
    assert f"shard {first[1]}/2: attempt 1 ended with -9" in told
    # Vectors depend a little on what else is in a batch.
    assert held(store, vectors=False) == held(tmp_path / "whole", vectors=False)
    assert clew("check", "--store", store).returncode == 0


def test_what_cannot_be_merged_is_told_in_one_line(clew: Run, tmp_path: Path) -> None:
    refused = clew("merge", "nowhere", "--into", "there")
    wrong = clew("index", tmp_path, "--shard", "3/2")

    assert refused.returncode == wrong.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "there is no store" in refused.stderr
    assert "expected I/N" in wrong.stderr


def test_a_cluster_goes_on_without_a_killed_worker(clew: Run, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    notes, store, work = write_notes(tmp_path / "notes"), tmp_path / "store", tmp_path / "work"
    command = [sys.executable, str(RAY), str(notes), "--shards", "2"]
    command += ["--work", str(work), "--into", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as launcher:
        deadline = time.monotonic() + PATIENCE
        while not list(work.glob("*/default/clew.db")) and time.monotonic() < deadline:
            time.sleep(0.05)
        worker = next(pid for pid in descendants(launcher.pid) if "Map(index)" in title(pid))
        os.kill(worker, signal.SIGKILL)
        told, _ = launcher.communicate(timeout=PATIENCE)
    whole = clew("index", notes, "--store", "whole")

    assert (launcher.returncode, whole.returncode) == (0, 0)
    assert "8 documents merged, 0 unchanged" in told
    assert held(store, vectors=False) == held(tmp_path / "whole", vectors=False)


def descendants(pid: int) -> list[int]:
    """Processes that a process has started, and those that these have, on Linux."""
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        children += map(int, task.read_text().split())
    return children + [one for child in children for one in descendants(child)]


def title(pid: int) -> str:
    """What a process calls itself."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    return ""
