"""Damage is found, told, and mended where it can be."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

import clew
from clew.errors import StoreCorruptError
from clew.search.pipeline import STRATEGIES
from clew.stores.sqlite.backup import back_up
from clew.stores.sqlite.store import SqliteStore, open_for_copying
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import EMBEDDER, make_entry, make_vector
from clew.testing.fakes import HashEmbedder
from clew.text import terms
from clew.types import CheckReport, NamedStrategy

# --- sqlite check


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    relations = [("Danube", "passes", "Vienna")]
    with closing(SqliteStore(tmp_path, embedder=EMBEDDER)) as store:
        for source in ("a", "b"):
            names = ["Danube", "Vienna", source * 5]
            text = f"The Danube passes Vienna. So says {source * 5}."
            store.save(make_entry(source, text, "Water flows.", names=names, relations=relations))
        yield store


def break_it(store: SqliteStore, *statements: str) -> CheckReport:
    """Do by force what the store would never do, then check."""
    write(store.folder, *statements)
    return store.check()


def test_a_sound_store_has_no_problems(store: SqliteStore) -> None:
    report = store.check()
    assert (report.problems, report.repaired, "integrity" in report.checked) == ((), (), True)
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


@pytest.mark.parametrize(
    ("harm", "invariant", "told"),
    [
        (
            lambda path: path.rename(path.with_name("vectors-3.arrays")),
            "generation",
            "vectors-3.arrays is ahead of the database, at 2",
        ),
        (
            lambda path: path.write_bytes(path.read_bytes()[:-1]),
            "derived files",
            "vectors-2.arrays is damaged",
        ),
    ],
)
def test_a_derived_file_that_is_wrong_is_reported_and_removed(
    store: SqliteStore, harm: Callable[[Path], object], invariant: str, told: str
) -> None:
    VectorMatrix(store, store.folder).persist()
    harm(store.folder / "vectors-2.arrays")
    (problem,) = store.check().problems
    assert problem.detail.startswith(told)
    report = store.check(repair=True)
    assert (report.problems, report.repaired) == ((), (f"{invariant}: {problem.detail}",))
    assert not list(store.folder.glob("*.arrays"))


def grown_file(store: SqliteStore) -> Path:
    """The file of the store, closed, once it holds texts of many pages."""
    with store.batch():
        for i in range(20):
            store.save(make_entry(f"{i}", f"Text {i}. " * 50, names=["Text"]))
    store.close()  # writes the log back into the file
    return store.folder / "clew.db"


def test_a_damaged_file_is_reported_and_nothing_else(store: SqliteStore) -> None:
    path = grown_file(store)
    data = bytearray(path.read_bytes())
    pages = range(0, len(data), 4096)
    first = next(at for at in pages if data.count(b"Text ", at, at + 4096) > 20)
    data[first : first + 4096] = b"\xa5" * 4096
    path.write_bytes(data)
    with closing(SqliteStore(store.folder)) as again:
        (problem,) = again.check(repair=True).problems
    assert (problem.invariant, problem.repairable) == ("integrity", False)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_damaged_check_reports_and_never_fails(store: SqliteStore, seed: int) -> None:
    path = grown_file(store)
    whole, chance = path.read_bytes(), random.Random(seed)
    for _ in range(12):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 5])):
            start = chance.randrange(len(whole) - 64)
            damaged[start : start + 64] = chance.randbytes(64)
        path.write_bytes(damaged)
        with suppress(StoreCorruptError), closing(SqliteStore(store.folder)) as again:
            reports = again.check(), again.check(repair=True)
            assert all(problem.detail for report in reports for problem in report.problems)


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


def spoiled_columns(
    store: SqliteStore, spoil: Callable[[SqliteStore, str, str], None]
) -> Iterator[str]:
    """Each column of texts, while its first text is spoiled; it is put back afterwards."""
    with closing(sqlite3.connect(store.folder / "clew.db", isolation_level=None)) as connection:
        columns = connection.execute(
            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
            " WHERE m.type = 'table' AND c.type = 'TEXT' AND m.sql NOT LIKE '%WITHOUT ROWID%'"
            " AND m.name NOT LIKE 'keywords%' ORDER BY 1, 2"
        ).fetchall()
        for table, column in columns:
            first = f"WHERE rowid = (SELECT min(rowid) FROM {table})"
            row = connection.execute(f'SELECT "{column}" FROM {table} {first}').fetchone()
            if row and row[0] is not None:
                spoil(store, table, column)
                yield f"{table}.{column}"
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
    spoil(store, "documents", "title")
    listed = [document.title for document in store.documents()]
    assert listed == ["\ufffdc\ufffd", ""]
    (problem,) = store.check().problems
    assert (problem.invariant, problem.repairable) == ("titles", True)
    report = store.check(repair=True)
    assert (report.problems, len(report.repaired)) == ((), 1)
    assert [document.title for document in store.documents()] == listed


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


def write(folder: Path, *statements: str) -> None:
    """Change the file by force."""
    with closing(sqlite3.connect(folder / "clew.db", isolation_level=None)) as connection:
        for statement in statements:
            connection.executescript(statement)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store that was closed, and files derived from it."""
    with closing(SqliteStore(tmp_path / "store", embedder=EMBEDDER)) as store:
        store.save(make_entry("a", "The Danube passes Vienna.", names=["Danube"]))
        store.save(make_entry("b", "Water flows."))
        VectorMatrix(store, store.folder).persist()
        back_up(store, tmp_path / "backup.db")
    return tmp_path / "store"


@pytest.mark.parametrize("kept", [b"", None])
def test_a_database_that_was_lost_is_not_an_empty_store(folder: Path, kept: bytes | None) -> None:
    path = folder / "clew.db"
    path.unlink()
    if kept is not None:
        path.write_bytes(kept)
    files = set(folder.glob("*.arrays"))
    for _ in range(2):
        with pytest.raises(StoreCorruptError, match=r"was emptied or lost.*copy a backup to"):
            SqliteStore(folder)
    assert set(folder.glob("*.arrays")) == files
    shutil.copy(folder.parent / "backup.db", path)
    with closing(SqliteStore(folder)) as store:
        assert len(store.documents()) == 2
        assert store.check().problems == ()


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        *(
            (name, values, f"damaged: its {name} is .*from a backup")
            for name, values in (
                ("schema_version", ["'x'", "NULL", "-3", "0", "2.5", "x'00'"]),
                ("generation", ["'x'", "NULL", "x'00'"]),
                ("functional", ["'x'", "NULL", "-3", "0", "2.5", "x'00'"]),
            )
        ),
        (
            "copying",
            ["'{'", "'[]'", "'{}'", """'{"after": 1, "source": []}'"""],
            r"unfinished copy, whose mark .* is damaged",
        ),
    ],
)
def test_meta_that_cannot_be_read_is_named(
    folder: Path, name: str, values: list[str], said: str
) -> None:
    for value in values:
        write(folder, f"INSERT OR REPLACE INTO meta VALUES ('{name}', {value})")
        with pytest.raises(StoreCorruptError, match=said):
            SqliteStore(folder, functional=())


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
    write(folder, "UPDATE embeddings SET vector = zeroblob(32) WHERE chunk_id = 2")
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


def spoil_word(folder: Path, table: str, column: str, word: str) -> None:
    """Put a byte that is no UTF-8 in place of the last one of a word."""
    place = f"instr({column}, '{word}') + {len(word) - 1}"
    before, after = f"substr({column}, 1, {place} - 1)", f"substr({column}, {place} + 1)"
    spoiled = f"CAST(CAST({before} AS BLOB) || x'ff' || CAST({after} AS BLOB) AS TEXT)"
    write(folder, f"UPDATE {table} SET {column} = {spoiled} WHERE instr({column}, '{word}')")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_damaged_keeps_no_search_from_the_rest(
    tmp_path: Path, library: Path, strategy: str
) -> None:
    """The same passages, with the mark of what cannot be read in its place."""
    question = "Who repaired the roof of Tarn Abbey?"
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        before = {
            hit.chunk.id for hit in engine.search(question, strategy=NamedStrategy(strategy)).hits
        }
    for column, word in (("title", "Abbey"), ("metadata", "Ann"), ("source", "abbey")):
        spoil_word(library, "documents", column, word)
    spoil_word(library, "chunks", "text", "roof")
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        hits = engine.search(question, strategy=NamedStrategy(strategy)).hits
    assert {hit.chunk.id for hit in hits} == before
    assert all(f"{word}\ufffd" in repr(hits) for word in ("Abbe", "An", "abbe", "roo"))


def test_a_damaged_text_is_not_processed_again_as_a_sound_one(
    tmp_path: Path, library: Path
) -> None:
    spoil_word(library, "sections", "text", "roof")
    settings = clew.load_settings(store=tmp_path, split={"chunk_tokens": 16})
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        with pytest.raises(StoreCorruptError, match="clew check"):
            engine.maintenance.reindex()
        assert any("the text of sections" in p.detail for p in engine.maintenance.check().problems)


# --- deletions


def gone(store: SqliteStore, source: str) -> list[int]:
    """Ids of the chunks of a document, which is deleted."""
    document = make_entry(source, "").document.id
    ids = [chunk.id for chunk in store.document_chunks(document)]
    store.delete([document])
    return ids


def deleted_since(store: SqliteStore, generation: int) -> list[int] | None:
    ids = store.deleted_since(generation)
    return None if ids is None else ids.tolist()


def test_too_many_deletions_are_not_known_until_the_next(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.stores.state.MOST", 3)
    store.save(make_entry("c", "More."))
    start = store.generation()
    ids = gone(store, "a") + gone(store, "c")
    assert deleted_since(store, start) == ids
    last, more = store.generation(), gone(store, "b")
    assert deleted_since(store, start) is None
    assert deleted_since(store, last) == more


@pytest.mark.parametrize(
    "value", ["", "{", "{}", "[]", "[[]]", "[3]", '[["x"]]', "null", "[[1.5]]"]
)
def test_a_damaged_note_is_no_note(store: SqliteStore, value: str) -> None:
    gone(store, "a")
    write(store.folder, f"UPDATE meta SET value = '{value}' WHERE name = 'deleted'")
    assert deleted_since(store, 0) is None
    generation, ids = store.generation(), gone(store, "b")
    assert deleted_since(store, generation) == ids
