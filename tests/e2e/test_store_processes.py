"""Several real processes on one store: nothing is lost, and a killed one leaves it sound."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from clew.errors import StoreBusyError
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors.matrix import VectorMatrix
from clew.testing.entries import EMBEDDER, make_entry, make_vector

# Saves documents `prefix 0`, `prefix 1`, … and prints the number of each one when it is saved.
_WRITER = """
import sys
from pathlib import Path
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry

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


def start(folder: Path, prefix: str, count: int) -> subprocess.Popen[str]:
    command: Sequence[str] = [sys.executable, "-c", _WRITER, str(folder), prefix, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_writing_processes_lose_nothing_and_a_reader_sees_their_commits(tmp_path: Path) -> None:
    writers = [start(tmp_path, prefix, 40) for prefix in ("x", "y")]  # both make the store, too
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


def test_a_process_killed_at_any_moment_leaves_a_sound_store_that_can_be_completed(
    tmp_path: Path,
) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    undisturbed = start(whole, "k", 40)
    chance = random.Random(11)
    for attempt in range(5):
        writer = start(killed, "k", 100_000)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(chance.uniform(0, 0.15))
        writer.kill()
        output, _ = writer.communicate()
        store = SqliteStore(killed)
        assert store.check().problems == (), f"after kill {attempt}"
        documents = len(store.documents())
        assert documents >= min(1 + len(output.splitlines()), 40)
        ids, _ = VectorMatrix(store, killed).search_vector(make_vector("q"), 100)
        assert len(ids) == documents
        store.close()
    for last in (undisturbed, start(killed, "k", 40)):
        _, errors = last.communicate()
        assert (last.returncode, errors) == (0, "")
    first, second = (SqliteStore(folder) for folder in (killed, whole))
    assert _content(first) == _content(second)
    first.close()
    second.close()


def _content(store: SqliteStore) -> object:
    """All that a store holds, without ids and times of its own."""
    names = {alias.entity_id: alias.key for alias in store.aliases()}
    documents = {
        d.source: (d.id, d.sha256, [c.text for c in store.document_chunks(d.id)])
        for d in store.documents()
    }
    public = {c.id: c.public_id for c in store.chunks(store.chunk_ids().tolist())}
    mentions = sorted((public[c], s, names[e], n) for c, s, e, n in store.mention_rows().tolist())
    relations = sorted(
        (public[r.chunk_id or 0], r.sentence, names[r.from_entity_id], names[r.to_entity_id])
        for r in store.relations(list(names), limit=10_000)
    )
    return documents, mentions, relations


def test_a_busy_store_waits_and_then_names_the_setting(tmp_path: Path) -> None:
    SqliteStore(tmp_path, embedder=EMBEDDER).close()
    holder = sqlite3.connect(tmp_path / "clew.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    writer = start(tmp_path, "w", 1)
    impatient = SqliteStore(tmp_path, busy_seconds=0.1, embedder=EMBEDDER)
    with pytest.raises(StoreBusyError, match=r"longer than 0\.1 s.*setting busy_seconds"):
        impatient.save(make_entry("a", "Text."))
    assert impatient.documents() == []
    assert writer.poll() is None  # the patient one, with 30 seconds, is still waiting
    holder.execute("ROLLBACK")
    holder.close()
    _, errors = writer.communicate()
    assert (writer.returncode, errors) == (0, "")
    assert [d.source for d in impatient.documents()] == ["w 0"]
    impatient.close()
