from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import clew
from clew.stores import changes as deletions
from clew.testing.fakes import HashEmbedder


def filled(folder: Path, documents: int) -> clew.Clew:
    engine = clew.open(folder, embedder=HashEmbedder())
    for number in range(documents):
        engine.add(f"Note {number} is about mill {number}.", source=f"n{number}")
    return engine


def gone(engine: clew.Clew, source: str) -> set[int]:
    """Ids of the chunks of a document, which is deleted."""
    (document,) = (one for one in engine.documents.list() if one.source == source)
    ids = {chunk.id for chunk in engine.store.document_chunks(document.id)}
    assert engine.documents.delete([document.id])
    return ids


def test_too_many_deletions_are_not_known_until_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "MOST", 3)
    with filled(tmp_path, 6) as engine:
        start = engine.store.generation()
        ids = gone(engine, "n0") | gone(engine, "n1") | gone(engine, "n2")
        known = engine.store.deleted_since(start)
        assert known is not None
        assert set(known.tolist()) == ids

        last, fourth = engine.store.generation(), gone(engine, "n3")
        assert engine.store.deleted_since(start) is None
        known = engine.store.deleted_since(last)
        assert known is not None
        assert set(known.tolist()) == fourth


@pytest.mark.parametrize("value", ["", "{", "[]", "[[]]", "[3]", '[["x"]]', "null", "[[1.5]]"])
def test_a_damaged_note_is_no_note(tmp_path: Path, value: str) -> None:
    with filled(tmp_path, 3) as engine:
        before = {hit.chunk.id for hit in engine.search("Note about mill", limit=9).hits}
        ids = gone(engine, "n0")
        generation = engine.store.generation()
        with closing(sqlite3.connect(engine.store.folder / "clew.db")) as database, database:
            database.execute("UPDATE meta SET value = ? WHERE name = 'deleted'", (value,))
        assert engine.store.deleted_since(0) is None
        found = {hit.chunk.id for hit in engine.search("Note about mill", limit=9).hits}
        assert found == before - ids
        again = gone(engine, "n1")
        known = engine.store.deleted_since(generation)
        assert known is not None
        assert set(known.tolist()) == again
