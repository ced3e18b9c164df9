"""A store that an older Clew wrote opens, and comes out as if this one had written it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.ports.language_model import Message
from clew.sentences import sentences
from clew.spelling import block_of
from clew.stores.communities.communities import Communities
from clew.stores.sqlite.first_tables import m001_documents_and_graph
from clew.stores.sqlite.jobs.audit import SqliteAudit
from clew.stores.sqlite.jobs.conversations import SqliteConversations
from clew.stores.sqlite.migrations import SCHEMA_VERSION, migrate, schema_version
from clew.stores.sqlite.store import SqliteStore
from clew.stores.statements.documents import DESCRIBED, LANGUAGES, NAMED_CHUNKS
from clew.testing.entries import EMBEDDER, make_entry, make_vector
from clew.text import entity_key, question_terms, terms
from clew.types import ChunkExtraction, Period
from tests.contract.suites.communities import make_changes

_INDEXED = "2024-01-02T03:04:05+00:00"
_DIARY = "Anna lives in Paris. She met Bob on 7 May 2023.", "Anna lives in Rome since 2024."
_NAMES = {"Anna": "person", "Paris": "place", "Rome": "place", "Bob": "person"}
_DATES = ("7 May 2023", "2023", "2024")


def _at(*date: int) -> datetime:
    year, month, day = date
    return datetime(year, month, day, tzinfo=UTC)


@pytest.fixture
def old(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A database of schema version 1 that holds two documents."""
    with closing(sqlite3.connect(tmp_path / "clew.db", isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID")
        m001_documents_and_graph(connection)
        meta = {"schema_version": 1, "embedder": EMBEDDER[0], "dimension": EMBEDDER[1]}
        connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        _fill(connection)
        connection.execute("COMMIT")
        yield connection


def _fill(connection: sqlite3.Connection) -> None:
    for number, name in enumerate([*_NAMES, *_DATES], 1):
        entity = (number, name, entity_key(name), _NAMES.get(name, "date"))
        connection.execute("INSERT INTO entities VALUES (?, ?, ?, ?, '', 'extracted')", entity)
        connection.execute(
            "INSERT INTO aliases VALUES (?1, ?3, ?2, ?1, 'exact', 1, '')", entity[:3]
        )
    _fill_document(connection, "diary", "2023-05-08T00:00:00+00:00", {}, [{}, {"date": "2024-06"}])
    _fill_document(connection, "undated", None, {"author": "Ann"}, [{}, {}])
    connection.executemany(
        "INSERT INTO relations (from_alias_id, to_alias_id, relation_type, weight, is_causal,"
        " confidence, valid_from, valid_until, recorded_at, chunk_id, sentence, extractor)"
        " VALUES (1, ?, 'lives_in', 0.5, 0, 0.8, ?, ?, ?, ?, 0, 'x')",
        [
            (2, _at(2020, 1, 1).isoformat(), None, _INDEXED, 1),
            (3, _at(2024, 1, 1).isoformat(), _at(2025, 1, 1).isoformat(), _INDEXED, 2),
        ],
    )


def _fill_document(
    connection: sqlite3.Connection,
    source: str,
    created_at: str | None,
    metadata: dict[str, str],
    own: list[dict[str, str]],
) -> None:
    entry = make_entry(source, *_DIARY, names=[*_NAMES, *_DATES])
    document = entry.document
    connection.execute(
        "INSERT INTO documents VALUES (?, ?, ?, '', ?, 'text/plain', ?, NULL, ?, ?, '', ?)",
        (
            document.id,
            source,
            source,
            document.sha256,
            created_at,
            _INDEXED,
            len(document.text),
            json.dumps(metadata),
        ),
    )
    for section, chunk in zip(entry.split.sections, entry.split.chunks, strict=True):
        text = document.text[section.start : section.end]
        values = (document.id, section.ordinal, section.start, section.end, text)
        row = connection.execute(
            "INSERT INTO sections VALUES (NULL, ?, ?, ?, ?, '[]', ?)", values
        ).lastrowid
        chunk_id = connection.execute(
            "INSERT INTO chunks VALUES (NULL, ?, ?, ?, ?, ?, NULL, NULL, ?, ?, '', ?)",
            (
                document.id,
                row,
                chunk.ordinal,
                chunk.start,
                chunk.end,
                json.dumps(own[chunk.ordinal]),
                json.dumps(sentences(chunk.text)),
                chunk.text,
            ),
        ).lastrowid
        vector = make_vector(chunk.text).tobytes()
        connection.execute("INSERT INTO embeddings VALUES (?, ?)", (chunk_id, vector))
        connection.execute(
            "INSERT INTO keywords (rowid, terms) VALUES (?, ?)",
            (chunk_id, " ".join(terms(chunk.text))),
        )
        connection.executemany(
            "INSERT INTO mentions SELECT ?, ?, id, ?, ?, ? FROM aliases WHERE key = ?",
            [
                (chunk_id, m.sentence, m.start, m.end, m.count, entity_key(m.name))
                for m in entry.extraction.chunks[chunk.ordinal].mentions
            ],
        )


def test_an_old_store_opens_sound_and_its_documents_are_first_versions(
    old: sqlite3.Connection, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path, functional=("lives_in",))
    assert store.check().problems == ()
    assert {d.source: (d.version, d.derived_from) for d in store.documents()} == {
        "diary": (1, ""),
        "undated": (1, ""),
    }
    (diary, *_) = store.documents()
    (version,) = store.lineage(diary.id)
    assert (version.sha256, version.indexed_at.isoformat()) == (diary.sha256, _INDEXED)
    assert version.replaced_at is None
    assert store.provenance([3])[3].author == "Ann"
    store.close()


def test_an_old_stores_chunks_have_the_times_that_a_new_ones_have(
    old: sqlite3.Connection, tmp_path: Path
) -> None:
    migrated = SqliteStore(tmp_path)
    fresh = SqliteStore(tmp_path / "fresh", embedder=EMBEDDER)
    names = {**_NAMES, **dict.fromkeys(_DATES, "date")}
    own = [{}, {"date": "2024-06"}]
    written = _at(2023, 5, 8)
    fresh.save(make_entry("diary", *_DIARY, names=names, created_at=written, chunk_metadata=own))
    fresh.save(make_entry("undated", *_DIARY, names=names))
    every = fresh.chunk_ids().tolist()
    assert migrated.chunk_times(every) == fresh.chunk_times(every)
    assert len(migrated.published_at(every)) == 2
    march = Period(start=_at(2023, 3, 1), end=_at(2023, 4, 1))
    assert migrated.chunks_within(march).tolist() == []
    for store in (migrated, fresh):
        store.close()


def test_an_old_stores_relations_keep_the_ends_that_their_texts_state(
    old: sqlite3.Connection, tmp_path: Path
) -> None:
    for functional, ends in [(("lives_in",), [2024, 2025]), ((), [None, 2025])]:
        store = SqliteStore(tmp_path, functional=functional)
        found = sorted(store.relations([1]), key=lambda r: r.id)
        assert [r.valid_until.year if r.valid_until else None for r in found] == ends
        assert [r.id for r in store.relations([1], as_of=_at(2022, 1, 1))] == [found[0].id]
        store.close()


def test_an_old_store_goes_on_as_any_other(old: sqlite3.Connection, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    store.save(make_entry("diary", "Nothing new."))
    assert [v.version for v in store.lineage(make_entry("diary").document.id)] == [1, 2]
    assert store.relations([1]) == []
    store.delete([d.id for d in store.documents()])
    assert store.aliases() == []
    assert store.check().problems == ()
    store.close()


def test_a_migration_that_fails_changes_nothing(old: sqlite3.Connection) -> None:
    before = list(old.iterdump())
    (pages,) = old.execute("PRAGMA page_count").fetchone()
    old.execute(f"PRAGMA max_page_count = {pages + 1}")
    old.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        migrate(old)
    if old.in_transaction:
        old.execute("ROLLBACK")
    assert schema_version(old) == 1
    assert list(old.iterdump()) == before
    old.execute("PRAGMA max_page_count = 100000")
    old.execute("BEGIN IMMEDIATE")
    migrate(old)
    old.execute("COMMIT")
    assert schema_version(old) == SCHEMA_VERSION


def test_passages_that_an_agent_has_read_stay_read(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    store.save(make_entry("diary", *_DIARY))
    store.record_readings({1: ChunkExtraction()})
    store.close()
    with closing(sqlite3.connect(tmp_path / "clew.db")) as connection, connection:
        _take_back_to_9(connection)
        connection.execute("ALTER TABLE agent_extractions RENAME TO readings")
        connection.execute("UPDATE meta SET value = 8 WHERE name = 'schema_version'")
    store = SqliteStore(tmp_path)
    assert (store.unread(0, 10), store.count_unread()) == ([2], 1)
    assert store.check().problems == ()
    store.close()


def _take_back_to_20(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE audit DROP COLUMN undo")
    connection.execute("UPDATE meta SET value = 20 WHERE name = 'schema_version'")


def test_changes_of_before_are_known_and_cannot_be_taken_back(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    SqliteAudit(store.database).record("ada", "rename_entity", {"entity_id": 1})
    store.close()
    with closing(sqlite3.connect(tmp_path / "clew.db")) as connection, connection:
        _take_back_to_20(connection)
    store = SqliteStore(tmp_path)
    log = SqliteAudit(store.database)
    (entry,) = log.entries()
    assert (entry.subjects, entry.undo) == ({"entity_id": 1}, None)
    log.keep_undo(entry.id, {"before": "x"})
    assert log.entries()[0].undo == {"before": "x"}
    store.close()


def _take_back_to_19(connection: sqlite3.Connection) -> None:
    _take_back_to_20(connection)
    connection.execute("DROP TABLE descriptions")
    connection.execute("UPDATE meta SET value = 19 WHERE name = 'schema_version'")


def test_reports_that_a_model_wrote_are_the_texts_own_again(tmp_path: Path) -> None:
    """What stood in their place is written again without asking: the replies are kept."""
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    Communities(store.backend).write(make_changes())
    store.close()
    before = {"reason": "", "title": "Report 3", "summary": "Summary of “3”."}
    with closing(sqlite3.connect(tmp_path / "clew.db")) as connection, connection:
        _take_back_to_19(connection)
        connection.execute("UPDATE communities SET title = 'T', summary = 'S' WHERE id = 3")
        kept = json.dumps({"3": before, "4": {"reason": "malformed"}})
        connection.execute("INSERT INTO partition_state VALUES ('summaries', ?)", (kept,))
    store = SqliteStore(tmp_path)
    (found,) = Communities(store.backend).communities(ids=[3])
    assert (found.title, found.summary) == ("Report 3", "Summary of “3”.")
    assert store.check().problems == ()
    store.close()


def _take_back_to_18(connection: sqlite3.Connection) -> None:
    _take_back_to_19(connection)
    connection.execute("DROP INDEX documents_by_description")
    for name in ("describes", "begins", "ends"):
        connection.execute(f"ALTER TABLE documents DROP COLUMN {name}")
    connection.execute("UPDATE meta SET value = 18 WHERE name = 'schema_version'")


def test_what_documents_of_before_describe_is_looked_up(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    store.save(make_entry("plain", "One."))
    event = {"entity_type": "event", "start": "2024-05-14T12:00:00+00:00", "last": "2024-05-15"}
    store.save(make_entry("meeting", "Two.", metadata=event))
    store.close()
    with closing(sqlite3.connect(tmp_path / "clew.db")) as connection, connection:
        _take_back_to_18(connection)
    with closing(SqliteStore(tmp_path)) as store:
        found = store.described("event", "2024-05-15", "2024-05-16")
        assert [one.source for one in found] == ["meeting"]
        assert store.described("event", "2024-05-16") == []
        with store.backend.database.read() as connection:
            values = {"type": "event", "since": "", "until": "~"}
            rows = connection.execute(f"EXPLAIN QUERY PLAN {DESCRIBED.sql}", values)
            assert "documents_by_description" in " ".join(row[3] for row in rows)


def _take_back_to_17(connection: sqlite3.Connection) -> None:
    _take_back_to_18(connection)
    connection.execute("DROP TABLE conversation_messages")
    connection.execute("UPDATE meta SET value = 17 WHERE name = 'schema_version'")


def test_an_old_store_keeps_conversations_from_now_on(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    store.save(make_entry("a", "One."))
    store.close()
    with closing(sqlite3.connect(tmp_path / "clew.db")) as connection, connection:
        _take_back_to_17(connection)
    store = SqliteStore(tmp_path)
    log = SqliteConversations(store.database)
    log.append("talk", [Message(role="user", text="Who?")])
    assert [message.text for message in log.messages("talk")] == ["Who?"]
    assert store.check().problems == ()
    store.close()


def _take_back_to_16(connection: sqlite3.Connection) -> None:
    _take_back_to_17(connection)
    for name in ("block", "term"):
        connection.execute(f"DROP INDEX aliases_by_{name}")
        connection.execute(f"ALTER TABLE aliases DROP COLUMN {name}")
    connection.execute("DROP INDEX documents_by_digest")
    connection.execute("UPDATE meta SET value = 16 WHERE name = 'schema_version'")


def test_names_of_a_store_of_before_are_looked_up(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    store.save(
        make_entry("old", "Muhammad Ali met Quay-Cranes.", names=["Muhammad Ali", "Quay-Cranes"])
    )
    store.close()
    with closing(sqlite3.connect(tmp_path / "clew.db")) as connection, connection:
        _take_back_to_16(connection)
    with closing(SqliteStore(tmp_path)) as store:
        block = block_of("mohammad ali")
        assert block is not None
        found = store.link_candidates(["muhammad ali", "mohammad ali"], [block])
        assert (found.known, found.names) == (
            {"muhammad ali"},
            {block: [("muhammad ali", "Muhammad Ali")]},
        )
        assert [known.name for known in store.known_terms(["quay crane"])] == ["Quay-Cranes"]


def _take_back_to_14(connection: sqlite3.Connection) -> None:
    _take_back_to_16(connection)
    connection.execute("DROP TABLE enrichments")
    connection.execute("DROP TABLE earlier_texts")
    connection.execute("UPDATE meta SET value = 14 WHERE name = 'schema_version'")


def test_an_old_store_keeps_the_texts_that_change_from_now_on(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    for text in ("One.", "Two."):
        store.save(make_entry("a", text))
    store.close()
    with closing(sqlite3.connect(tmp_path / "clew.db")) as connection, connection:
        _take_back_to_14(connection)
    store = SqliteStore(tmp_path)
    store.save(make_entry("a", "Three."))
    versions = store.lineage(make_entry("a").document.id)
    assert [version.is_kept for version in versions] == [False, True, True]
    assert store.earlier_text(make_entry("a").document.id, 2) == "Two."
    assert store.check().problems == ()
    store.close()


def _take_back_to_13(connection: sqlite3.Connection) -> None:
    _take_back_to_14(connection)
    connection.execute("DROP TABLE llm_cache")
    connection.execute("UPDATE meta SET value = 13 WHERE name = 'schema_version'")


def _take_back_to_12(connection: sqlite3.Connection) -> None:
    _take_back_to_13(connection)
    connection.execute("DROP INDEX documents_by_language")
    connection.execute("ALTER TABLE documents DROP COLUMN language")
    connection.execute("UPDATE meta SET value = 12 WHERE name = 'schema_version'")


def test_a_store_without_languages_is_searched_as_it_was_indexed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    store.save(make_entry("old", "Die Häuser stehen leer."))
    store.close()
    with closing(sqlite3.connect(tmp_path / "clew.db")) as connection, connection:
        _take_back_to_12(connection)
    store = SqliteStore(tmp_path)
    assert (store.languages(), store.documents()[0].language) == (frozenset(), "")
    assert store.check().problems == ()
    entry = make_entry("new", "Ein Haus am See, das leer steht.")
    store.save(replace(entry, document=replace(entry.document, language="de")))
    found, _ = store.search_keywords(question_terms("häuser", store.languages()), 10)
    assert sorted(found.tolist()) == [1, 2]
    with store.backend.database.read() as connection:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {LANGUAGES.sql}")
        plan = " ".join(row[3] for row in rows)
    assert "documents_by_language" in plan
    assert "SCAN documents" not in plan
    store.close()


def _take_back_to_11(connection: sqlite3.Connection) -> None:
    _take_back_to_12(connection)
    for index, name in (("title", "title_key"), ("file", "file_key")):
        connection.execute(f"DROP INDEX documents_by_{index}")
        connection.execute(f"ALTER TABLE documents DROP COLUMN {name}")
    connection.execute("UPDATE meta SET value = 11 WHERE name = 'schema_version'")


def test_documents_of_an_old_store_are_found_by_their_names(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    store.save(make_entry("docs/rfc-0077.txt", "One.", title="Rivers of Europe"))
    keys = (["rfc 77"], ["rivers of europe"])
    expected = [store.named_documents(key) for key in keys]
    assert [len(found) for found in expected] == [1, 1]
    store.close()
    with closing(sqlite3.connect(tmp_path / "clew.db")) as connection, connection:
        _take_back_to_11(connection)
    store = SqliteStore(tmp_path)
    assert [store.named_documents(key) for key in keys] == expected
    with store.backend.database.read() as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {NAMED_CHUNKS.sql}", {"keys": "[]"})
        steps = " ".join(row[3] for row in plan)
    assert "documents_by_title" in steps
    assert "documents_by_file" in steps
    store.close()


def _take_back_to_9(connection: sqlite3.Connection) -> None:
    _take_back_to_11(connection)
    for name in ("date_source", "date_precision"):
        connection.execute(f"ALTER TABLE documents DROP COLUMN {name}")
    connection.execute("ALTER TABLE chunks DROP COLUMN sketch")
    connection.execute("UPDATE meta SET value = 9 WHERE name = 'schema_version'")


def test_an_old_stores_dates_are_as_precise_as_their_documents_say(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    store.save(make_entry("year", "One.", metadata={"date": "2019"}, created_at=_at(2019, 1, 1)))
    store.save(make_entry("day", "Two.", created_at=_at(2019, 3, 2)))
    store.save(make_entry("time", "Three.", created_at=_at(2019, 3, 2).replace(hour=8)))
    store.save(make_entry("undated", "Four.", "Five.", chunk_metadata=[{"date": "2020-05"}]))
    chunks = store.chunk_ids().tolist()
    dates = {document.source: document.date for document in store.documents()}
    times = store.chunk_times(chunks)
    store.close()
    with closing(sqlite3.connect(tmp_path / "clew.db")) as connection, connection:
        _take_back_to_9(connection)
        connection.execute('UPDATE chunk_times SET "end" = start + 1')
    store = SqliteStore(tmp_path)
    found = {document.source: document for document in store.documents()}
    assert {source: document.date for source, document in found.items()} == dates
    assert [found[s].date_precision for s in ("year", "day", "time", "undated")] == [
        *("year", "day", "time"),
        "",
    ]
    assert {document.date_source for document in found.values()} == {"metadata", ""}
    assert store.chunk_times(chunks) == times
    assert store.check().problems == ()
    store.close()
