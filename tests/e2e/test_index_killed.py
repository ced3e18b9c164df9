"""Indexing is killed at twenty random moments: the store is sound and can be completed."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import clew
from clew.testing.fakes import HashEmbedder

MOMENTS = 20
DOCUMENTS = 120
INDEX = """
import sys, clew
from clew.testing.fakes import HashEmbedder
with clew.open(sys.argv[1], embedder=HashEmbedder()) as engine:
    print("ready", flush=True)
    engine.index([sys.argv[2]])
"""
# Everything but what says when: the rows are compared with those of an undisturbed run.
TABLES = {
    "documents": "id, source, title, sha256, metadata, recipe, characters",
    "sections": 'document_id, ordinal, start, "end", text',
    "chunks": 'document_id, ordinal, start, "end", text, context, sentences',
    "entities": "name, key, entity_type",
    "aliases": "key, name, method, score, evidence",
}
JOINED = {
    "mentions": """
        SELECT c.document_id, c.ordinal, m.sentence, a.key, e.key, m.start, m.count
        FROM mentions m JOIN chunks c ON c.id = m.chunk_id
        JOIN aliases a ON a.id = m.alias_id JOIN entities e ON e.id = a.entity_id""",
    "relations": """
        SELECT c.document_id, c.ordinal, r.sentence, h.key, r.relation_type, t.key, r.confidence
        FROM relations r JOIN chunks c ON c.id = r.chunk_id
        JOIN aliases h ON h.id = r.from_alias_id JOIN aliases t ON t.id = r.to_alias_id""",
    "embeddings": """
        SELECT c.document_id, c.ordinal, v.vector
        FROM embeddings v JOIN chunks c ON c.id = v.chunk_id""",
}


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


def _content(store: Path) -> dict[str, list[Any]]:
    with sqlite3.connect(store / "default" / "clew.db") as connection:
        queries = {name: f"SELECT {columns} FROM {name}" for name, columns in TABLES.items()}
        return {
            name: sorted(connection.execute(query).fetchall(), key=repr)
            for name, query in {**queries, **JOINED}.items()
        }


def _start(store: Path, folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", INDEX, str(store), str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_killed_at_twenty_moments_then_completed(tmp_path: Path) -> None:
    folder, undisturbed, killed = tmp_path / "letters", tmp_path / "whole", tmp_path / "killed"
    _write_corpus(folder)
    started = time.perf_counter()
    with _start(undisturbed, folder) as process:
        assert process.wait() == 0
    length = time.perf_counter() - started
    chance = random.Random(7)
    for _ in range(MOMENTS):
        # Short runs: each of the twenty goes on where the one before was cut.
        with _start(killed, folder) as process:
            time.sleep(chance.uniform(0, length / 6))
            process.send_signal(signal.SIGKILL)
        with clew.open(killed, embedder=HashEmbedder()) as engine:
            assert engine.maintenance.check().problems == ()
    with clew.open(killed, embedder=HashEmbedder()) as engine:
        engine.index([folder])
        assert engine.maintenance.check().problems == ()
        assert engine.search("Who taught Ada Morn?").entities == ("Ada Morn",)
    assert _content(killed) == _content(undisturbed)


def test_two_processes_index_into_one_store(tmp_path: Path) -> None:
    folder, store = tmp_path / "letters", tmp_path / "store"
    _write_corpus(folder)
    other = tmp_path / "more"
    other.mkdir()
    for path in sorted(folder.iterdir())[::2]:
        path.rename(other / path.name)
    with _start(store, folder) as first, _start(store, other) as second:
        assert (first.wait(), second.wait()) == (0, 0)
    with clew.open(store, embedder=HashEmbedder()) as engine:
        assert engine.maintenance.stats()["documents"] == DOCUMENTS
        assert engine.maintenance.check().problems == ()
        assert engine.entities.get("Ada Morn").documents > 0
