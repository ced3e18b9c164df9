"""What is damaged is said to be, before anything is lost or answered from it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import clew
from clew.errors import StoreCorruptError, StoreError
from clew.search.strategies import STRATEGIES
from clew.stores.copy import StoreCopy
from clew.stores.sqlite.backup import back_up
from clew.stores.sqlite.store import SqliteStore, open_for_copying
from clew.stores.vectors.matrix import VectorMatrix
from clew.testing.entries import EMBEDDER, make_entry, make_vector
from clew.testing.fakes import HashEmbedder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store that was closed, and files derived from it."""
    with closing(SqliteStore(tmp_path / "store", embedder=EMBEDDER)) as store:
        store.save(make_entry("a", "The Danube passes Vienna.", names=["Danube"]))
        store.save(make_entry("b", "Water flows."))
        VectorMatrix(store, store.folder).persist()
        back_up(store, tmp_path / "backup.db")
    return tmp_path / "store"


@pytest.mark.parametrize("loss", ["emptied", "deleted", "all tables"])
def test_a_database_that_was_lost_is_not_an_empty_store(folder: Path, loss: str) -> None:
    path = folder / "clew.db"
    if loss == "emptied":
        path.write_bytes(b"")
    else:
        path.unlink()
    if loss == "all tables":
        with closing(sqlite3.connect(path)) as made:
            made.execute("VACUUM")
    before = {p.name for p in folder.glob("*.arrays")}
    for _ in range(2):
        with pytest.raises(StoreCorruptError, match=r"was emptied or lost.*copy a backup to"):
            SqliteStore(folder)
    assert {p.name for p in folder.glob("*.arrays")} == before
    shutil.copy(folder.parent / "backup.db", path)
    with closing(SqliteStore(folder)) as store:
        assert len(store.documents()) == 2
        assert store.check().problems == ()


@pytest.mark.parametrize("value", ["'x'", "NULL", "-3", "0", "2.5", "x'00'", None])
@pytest.mark.parametrize("name", ["schema_version", "generation", "functional"])
def test_meta_that_cannot_be_read_is_named(folder: Path, name: str, value: str | None) -> None:
    statement = (
        "DELETE FROM meta WHERE name = ?"
        if value is None
        else f"INSERT OR REPLACE INTO meta VALUES (?, {value})"
    )
    with closing(sqlite3.connect(folder / "clew.db", isolation_level=None)) as connection:
        connection.execute(statement, (name,))
    means_something = {"generation": ("-3", "0", "2.5", None), "functional": (None,)}
    if value in means_something.get(name, ()):
        return
    with pytest.raises(StoreCorruptError, match=f"damaged: its {name} is .*from a backup"):
        SqliteStore(folder, functional=())


def test_the_mark_of_a_copy_that_cannot_be_read_is_named(folder: Path) -> None:
    for mark in ("{", "[]", "{}", '{"after": 1, "source": []}'):
        with closing(sqlite3.connect(folder / "clew.db", isolation_level=None)) as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('copying', ?)", (mark,))
        with pytest.raises(StoreCorruptError, match=r"unfinished copy, whose mark .* is damaged"):
            SqliteStore(folder)


def test_files_of_a_state_that_the_database_never_reached_are_not_used(folder: Path) -> None:
    """As after a power failure that took the last commits, and not what was derived from them."""
    with closing(SqliteStore(folder)) as store:
        generation = store.generation()
    [path] = folder.glob("vectors-*")
    path.rename(folder / f"vectors-{generation + 1}.arrays")
    (folder / f"snapshot-{generation + 1}.arrays").write_bytes(b"another life's")
    with closing(SqliteStore(folder, embedder=EMBEDDER)) as store:
        store.save(make_entry("c", "Another text."))
        assert not list(folder.glob("*.arrays"))
        assert len(VectorMatrix(store, folder).search_vector(make_vector("q"), 9)[0]) == 3


def test_a_damaged_embedding_is_not_copied_as_a_sound_one(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "clew.db", isolation_level=None)) as connection:
        connection.execute("UPDATE embeddings SET vector = zeroblob(32) WHERE chunk_id = 2")
    with (
        closing(open_for_copying(folder)) as source,
        pytest.raises(StoreCorruptError, match="of chunk 2, of the document 'b', is damaged"),
    ):
        source.read_rows("chunks", None, 10)


def test_a_target_of_a_copy_says_from_its_first_moment_that_it_is_unfinished(
    folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    open_for_copying(target, make=True).close()
    with pytest.raises(StoreError, match="a copy that was interrupted before it began"):
        SqliteStore(target)
    with closing(StoreCopy(open_for_copying(target, make=True))) as again:
        assert again.mark() is None
        assert again.count_rows("documents") == 0


@pytest.fixture
def library(tmp_path: Path) -> Path:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add("Jonas Reed built the mill at Harrow Ford.", source="mill", title="Mill")
        text = "Jonas Reed repaired the roof of Tarn Abbey. Tarn Abbey is part of Lorne Estate."
        engine.add(text, source="abbey", title="Abbey", metadata={"author": "Ann"})
        return engine.store.folder


def spoil(folder: Path, table: str, column: str, old: str) -> None:
    """Put a byte that is no UTF-8 in place of the last one of a word."""
    with closing(sqlite3.connect(folder / "clew.db")) as connection, connection:
        before, after = old[:-1].encode(), old.encode()
        rows = connection.execute(f"SELECT rowid, CAST({column} AS BLOB) FROM {table}").fetchall()
        spoiled = [(d.replace(after, before + b"\xff"), i) for i, d in rows if after in d]
        assert spoiled
        sql = f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?"
        connection.executemany(sql, spoiled)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("table", "column", "old"),
    [
        ("documents", "title", "Abbey"),
        ("documents", "metadata", "Ann"),
        ("documents", "source", "abbey"),
        ("chunks", "text", "roof"),
        ("chunks", "context", "Abbey"),
    ],
)
def test_what_is_damaged_keeps_no_search_from_the_rest(
    tmp_path: Path, library: Path, strategy: str, table: str, column: str, old: str
) -> None:
    """The same passages, with the mark of what cannot be read in its place."""
    question = "Who repaired the roof of Tarn Abbey?"
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        before = [hit.chunk.id for hit in engine.search(question, strategy=strategy).hits]
    spoil(library, table, column, old)
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        hits = engine.search(question, strategy=strategy).hits
        assert {hit.chunk.id for hit in hits} == set(before)
        assert f"{old[:-1]}\ufffd" in repr(hits)


def test_a_damaged_text_is_not_processed_again_as_a_sound_one(
    tmp_path: Path, library: Path
) -> None:
    spoil(library, "sections", "text", "roof")
    settings = clew.load_settings(store=tmp_path, split={"chunk_tokens": 16})
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        with pytest.raises(StoreCorruptError, match="clew check"):
            engine.maintenance.reindex()
        assert any("the text of sections" in p.detail for p in engine.maintenance.check().problems)
