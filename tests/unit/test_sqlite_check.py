"""Damage is found, told, and mended where it can be."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import clew
from clew.errors import StoreCorruptError
from clew.search.strategies import STRATEGIES
from clew.stores import state as deletions
from clew.stores.sqlite.backup import back_up
from clew.stores.sqlite.store import SqliteStore, open_for_copying
from clew.stores.vectors.matrix import VectorMatrix
from clew.testing.entries import EMBEDDER, make_entry, make_vector
from clew.testing.fakes import HashEmbedder
from clew.text import terms
from clew.types import CheckReport

# --- sqlite check


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    for source in ("a", "b"):
        relations = [("Danube", "passes", "Vienna")]
        names = ["Danube", "Vienna", source * 5]
        text = f"The Danube passes Vienna. So says {source * 5}."
        store.save(make_entry(source, text, "Water flows.", names=names, relations=relations))
    yield store
    store.close()


def break_it(store: SqliteStore, *statements: str) -> CheckReport:
    """Do by force what the store would never do, then check."""
    connection = sqlite3.connect(store.folder / "clew.db", isolation_level=None)
    for statement in statements:
        connection.executescript(statement)
    connection.close()
    return store.check()


def test_a_sound_store_has_no_problems(store: SqliteStore) -> None:
    report = store.check()
    assert report.problems == ()
    assert report.repaired == ()
    assert "integrity" in report.checked
    assert store.check(repair=True) == report


@pytest.mark.parametrize(
    ("statement", "invariant", "detail"),
    [
        ("DELETE FROM sections WHERE id = 1", "sections", "section 0 of 'a' does not go on"),
        ("DELETE FROM sections WHERE id = 2", "sections", "sections of 'a' end at"),
        ("UPDATE sections SET text = 'x' WHERE id = 1", "sections", "section 0 of 'a'"),
        (
            "UPDATE chunks SET start = start + 1 WHERE id = 1",
            "chunks",
            "is not the document's at 1:",
        ),
        (
            "UPDATE chunks SET section_id = 2 WHERE id = 1",
            "chunks",
            "does not begin in its section",
        ),
        ("UPDATE chunks SET sentences = '[[0,999]]' WHERE id = 2", "chunks", "out of its text"),
        ("UPDATE chunks SET sentences = '[[4,2]]' WHERE id = 2", "chunks", "out of order"),
        (
            'UPDATE mentions SET "end" = 999 WHERE chunk_id = 1',
            "mentions",
            "chunk 1: mention at 4:999",
        ),
        (
            "UPDATE mentions SET sentence = sentence + 7",
            "mentions",
            "of sentence 7, 1 times (and 5",
        ),
        (
            "UPDATE relations SET sentence = 2",
            "mentions",
            "relation 1 is from sentence 2 of chunk 1",
        ),
        ("DELETE FROM embeddings WHERE chunk_id = 1", "vectors", "chunk 1 has no embedding"),
        ("UPDATE embeddings SET vector = x'00'", "vectors", "has 0.25 of 8 numbers (and 3 more)"),
        (
            f"UPDATE embeddings SET vector = zeroblob(32), checksum = {zlib.crc32(bytes(32))}",
            "vectors",
            "has length 0, not 1",
        ),
        (
            "UPDATE embeddings SET vector = (SELECT vector FROM embeddings WHERE chunk_id = 1)"
            " WHERE chunk_id = 2",
            "vectors",
            "the embedding of chunk 2 is damaged: index its document anew",
        ),
        ("UPDATE chunks SET sentences = '[[' WHERE id = 2", "chunks", "cannot be examined"),
        ("UPDATE documents SET version = 'x'", "versions", "cannot be examined"),
        ("UPDATE meta SET value = 'x' WHERE name = 'dimension'", "vectors", "its dimension is 'x'"),
        ("DELETE FROM document_versions", "versions", "of 'a' do not lead from 1 to the one held"),
        ("UPDATE documents SET version = 2", "versions", "to the one held, 2 (and 1 more)"),
        ("UPDATE documents SET sha256 = 'x'", "versions", "of 'a' do not lead from 1"),
        (
            "UPDATE documents SET derived_from = 'x';"
            "UPDATE document_versions SET derived_from = 'x'",
            "versions",
            "a version of 'a' is not derived from the one before",
        ),
        (
            "UPDATE document_versions SET replaced_at = indexed_at",
            "versions",
            "not the last version of 'a', and that alone, is the one held",
        ),
        (
            "INSERT INTO chunk_times VALUES (1, 0, 9, 9, 'never')",
            "times",
            "chunk 1 has the time 'never', which ends before it starts",
        ),
        (
            "INSERT INTO chunk_times VALUES (1, 1, 8, 9, ''), (1, 1, 9, 10, '')",
            "times",
            "chunk 1 was said at more than one time",
        ),
    ],
)
def test_what_is_lost_or_wrong_is_found_and_cannot_be_mended(
    store: SqliteStore, statement: str, invariant: str, detail: str
) -> None:
    found = {p.invariant: p for p in break_it(store, statement).problems}
    assert detail in found[invariant].detail
    assert not found[invariant].repairable
    left = {p.invariant: p for p in store.check(repair=True).problems}
    assert left[invariant] == found[invariant]


@pytest.mark.parametrize(
    ("statement", "invariant", "detail"),
    [
        (
            "DELETE FROM documents WHERE id = (SELECT id FROM documents WHERE source = 'a')",
            "references",
            "1 rows of document_versions have a document_id that is not in documents",
        ),
        ("DELETE FROM entities WHERE key = 'danube'", "references", "1 rows of aliases"),
        ("DELETE FROM aliases WHERE key = 'vienna'", "references", "2 rows of mentions"),
        ("DELETE FROM mentions WHERE alias_id = 3", "names", "the alias 'aaaaa' is in no mention"),
        ("UPDATE entities SET key = 'x' WHERE id = 1", "names", "the entity 'Danube' has no alias"),
        (
            "INSERT INTO entities (name, key, entity_type) VALUES ('x', 'x', 'name')",
            "names",
            "the entity 'x' has no alias of that name",
        ),
        ("DELETE FROM keywords WHERE rowid = 1", "keywords", "chunk 1 is not in the keyword index"),
        ("UPDATE keywords SET terms = 'x'", "keywords", "as it should be (and 3 more)"),
        ("INSERT INTO keywords (rowid, terms) VALUES (99, 'x')", "keywords", "holds chunk 99"),
        ("UPDATE keywords_content SET c0 = 'x'", "keywords", "chunk 1 is not in the keyword index"),
        ("DELETE FROM keywords_data WHERE id > 10", "keyword index", "is damaged"),
        (
            "INSERT INTO chunk_times VALUES (99, 0, 8, 9, 'x')",
            "references",
            "1 rows of chunk_times have a chunk_id that is not in chunks",
        ),
        (
            "INSERT INTO document_versions VALUES ('x', 1, '', '', '', NULL)",
            "references",
            "1 rows of document_versions have a document_id",
        ),
        (
            "INSERT INTO earlier_texts SELECT id, 1, NULL, 3, x'', x'' FROM documents",
            "earlier texts",
            "which is none",
        ),
        ("INSERT INTO usage VALUES (99, 1, '')", "references", "1 rows of usage"),
        (
            "UPDATE relations SET valid_until = '2020-01-01T00:00:00+00:00'",
            "validity",
            "relation 1 does not end where the text or another relation says (and 1 more)",
        ),
    ],
)
def test_what_is_derived_is_mended(
    store: SqliteStore, statement: str, invariant: str, detail: str
) -> None:
    found = {p.invariant: p for p in break_it(store, statement).problems}
    assert detail in found[invariant].detail
    assert found[invariant].repairable
    generation, mentions_version = store.generation(), store.mentions_version()
    report = store.check(repair=True)
    assert report.problems == ()
    assert any(line.startswith(f"{invariant}: ") for line in report.repaired)
    assert store.check().problems == ()
    assert (store.generation(), store.mentions_version()) > (generation, mentions_version)
    assert len(store.search_keywords(terms("water"), 9)[0]) == len(store.documents())


def test_derived_files_ahead_of_the_database_are_removed(store: SqliteStore) -> None:
    VectorMatrix(store, store.folder).persist()
    os.replace(store.folder / "vectors-2.arrays", store.folder / "vectors-3.arrays")
    (problem,) = store.check().problems
    assert problem.detail == "vectors-3.arrays is ahead of the database, at 2"
    report = store.check(repair=True)
    assert (report.problems, report.repaired) == ((), (f"generation: {problem.detail}",))
    assert not list(store.folder.glob("*.arrays"))


def test_a_damaged_file_is_reported_and_nothing_else(store: SqliteStore) -> None:
    with store.batch():
        for i in range(50):
            store.save(make_entry(f"{i}", f"Text {i}. " * 50))
    store.close()  # writes the log back into the file
    path = store.folder / "clew.db"
    pages = [path.read_bytes()[at : at + 4096] for at in range(0, path.stat().st_size, 4096)]
    with_texts = [place for place, page in enumerate(pages) if page.count(b"Text ") > 20]
    for place in with_texts[:10]:
        pages[place] = b"\xa5" * 4096
    path.write_bytes(b"".join(pages))
    again = SqliteStore(store.folder)
    (problem,) = again.check(repair=True).problems
    assert (problem.invariant, problem.repairable) == ("integrity", False)
    again.close()


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_damaged_check_reports_and_never_fails(store: SqliteStore, seed: int) -> None:
    with store.batch():
        for i in range(20):
            store.save(make_entry(f"{i}", f"Text {i}. " * 50, names=["Text"]))
    store.close()
    path = store.folder / "clew.db"
    whole, chance = path.read_bytes(), random.Random(seed)
    for _ in range(12):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 5])):
            start = chance.randrange(len(whole) - 64)
            damaged[start : start + 64] = chance.randbytes(64)
        path.write_bytes(damaged)
        try:
            again = SqliteStore(store.folder)
        except StoreCorruptError:
            continue
        for repair in (False, True):
            report = again.check(repair=repair)
            assert all(problem.detail for problem in report.problems)
        again.close()


def test_a_damaged_derived_file_is_reported_and_removed(store: SqliteStore) -> None:
    VectorMatrix(store, store.folder).persist()
    [path] = store.folder.glob("vectors-*")
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    (problem,) = store.check().problems
    assert problem.detail.startswith(f"{path.name} is damaged")
    report = store.check(repair=True)
    assert (report.problems, report.repaired) == ((), (f"derived files: {problem.detail}",))
    assert not path.exists()


def test_a_damaged_embedding_is_never_answered_from(store: SqliteStore) -> None:
    swapped = (
        "UPDATE embeddings SET vector = (SELECT e.vector FROM embeddings e WHERE e.chunk_id = 2)"
        " WHERE chunk_id = 3"
    )
    break_it(store, swapped)
    with pytest.raises(StoreCorruptError, match=r"of chunk 3, of the document 'b', is damaged;"):
        VectorMatrix(store, store.folder).search_vector(make_vector("q"), 3)
    store.delete([make_entry("b", "").document.id])
    assert len(VectorMatrix(store, store.folder).search_vector(make_vector("q"), 3)[0]) == 2


# --- texts that are none


def spoil(store: SqliteStore, table: str, column: str) -> None:
    """Put bytes that are no UTF-8 into a column of one row, which stays a text for SQLite."""
    with closing(sqlite3.connect(store.folder / "clew.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(
            f'UPDATE {table} SET "{column}" = CAST(CAST("{column}" AS BLOB) || x\'e963ff\' AS TEXT)'
            f" WHERE rowid = (SELECT min(rowid) FROM {table})"
        )


def text_columns(store: SqliteStore) -> list[tuple[str, str]]:
    with store.database.read() as connection:
        return connection.execute(
            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
            " WHERE m.type = 'table' AND c.type = 'TEXT' AND m.sql NOT LIKE '%WITHOUT ROWID%'"
            " AND m.name NOT LIKE 'keywords%' ORDER BY 1, 2"
        ).fetchall()


def spoiled_columns(
    store: SqliteStore, spoil: Callable[[SqliteStore, str, str], None]
) -> Iterator[str]:
    """Each column of texts, while its first text is spoiled; it is put back afterwards."""
    for table, column in text_columns(store):
        first = f"WHERE rowid = (SELECT min(rowid) FROM {table})"
        with store.database.read() as connection:
            row = connection.execute(f'SELECT "{column}" FROM {table} {first}').fetchone()
        if row and row[0] is not None:
            spoil(store, table, column)
            yield f"{table}.{column}"
            with closing(sqlite3.connect(store.folder / "clew.db")) as connection, connection:
                connection.execute(f'UPDATE {table} SET "{column}" = ? {first}', row)
            assert store.check().problems == (), (table, column)


def test_a_text_that_is_none_is_found_in_every_column(store: SqliteStore) -> None:
    """Whichever column it is, the row and the column are named."""
    found = []
    for name in spoiled_columns(store, spoil):
        found.append(name)
        table, _, column = name.partition(".")
        details = [problem.detail for problem in store.check().problems]
        # What SQLite itself forbids it names in its own way.
        told = (f"the {column} of {table} ", f"CHECK constraint failed in {table}")
        assert any(text in detail for detail in details for text in told), (name, details)
    assert len(found) >= 25


def test_a_title_that_is_no_text_stops_no_listing_and_is_mended(store: SqliteStore) -> None:
    (title,) = {document.title for document in store.documents()} or {""}
    spoil(store, "documents", "title")
    listed = {document.source: document.title for document in store.documents()}
    assert listed == {"a": f"{title}\ufffdc\ufffd", "b": title}
    (problem,) = store.check().problems
    assert (problem.invariant, problem.repairable) == ("titles", True)
    report = store.check(repair=True)
    assert report.problems == ()
    assert len(report.repaired) == 1
    assert {document.source: document.title for document in store.documents()} == listed


def test_a_document_with_a_text_that_is_none_can_be_deleted(store: SqliteStore) -> None:
    spoil(store, "documents", "metadata")
    (damaged, _) = store.documents()
    assert store.delete([damaged.id]) == 1
    assert store.check().problems == ()


# --- what is found of a text that was changed by force


def change(store: SqliteStore, table: str, column: str) -> None:
    """Put another value that is a text into the first row of a column."""
    with closing(sqlite3.connect(store.folder / "clew.db")) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(
            f'UPDATE {table} SET "{column}" = CASE WHEN json_valid("{column}")'
            f" THEN '[[\"z\",1]]' ELSE \"{column}\" || 'z' END"
            f" WHERE rowid = (SELECT min(rowid) FROM {table})"
        )


def test_the_documentation_names_every_column_of_which_a_change_is_not_found(
    store: SqliteStore,
) -> None:
    docs = Path(__file__).parents[2] / "docs" / "durability.md"
    (told,) = re.findall(r"(?s)<!-- unnoticed -->(.*?)<!-- end -->", docs.read_text("utf-8"))
    changed = spoiled_columns(store, change)
    unnoticed = {name for name in changed if store.check().problems == ()}
    assert set(re.findall(r"`(\w+\.\w+)`", told)) >= unnoticed


# --- What is damaged is said to be, before anything is lost or answered from it.


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


@pytest.fixture
def library(tmp_path: Path) -> Path:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add("Jonas Reed built the mill at Harrow Ford.", source="mill", title="Mill")
        text = "Jonas Reed repaired the roof of Tarn Abbey. Tarn Abbey is part of Lorne Estate."
        engine.add(text, source="abbey", title="Abbey", metadata={"author": "Ann"})
        return engine.store.folder


def damage_spoil(folder: Path, table: str, column: str, old: str) -> None:
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
    damage_spoil(library, table, column, old)
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        hits = engine.search(question, strategy=strategy).hits
        assert {hit.chunk.id for hit in hits} == set(before)
        assert f"{old[:-1]}\ufffd" in repr(hits)


def test_a_damaged_text_is_not_processed_again_as_a_sound_one(
    tmp_path: Path, library: Path
) -> None:
    damage_spoil(library, "sections", "text", "roof")
    settings = clew.load_settings(store=tmp_path, split={"chunk_tokens": 16})
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        with pytest.raises(StoreCorruptError, match="clew check"):
            engine.maintenance.reindex()
        assert any("the text of sections" in p.detail for p in engine.maintenance.check().problems)


# --- deletions


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
