"""Steps of the schema that take more than statements, and those of single concepts."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clew.spelling import lookup_keys
from clew.stores.backend import to_text, to_time
from clew.stores.documents.chunk_dates import DateMention, TimeRow, stated_date, time_rows
from clew.stores.documents.metadata import description_keys
from clew.stores.sqlite.connection import define_checksum
from clew.stores.sqlite.tables import insert
from clew.text import name_keys
from clew.times import date_of

if TYPE_CHECKING:
    from clew.types import PartialDate

# Integers and vectors are little-endian arrays. What has no report has no embedding: it is kept
# for the partition's sake and shown nowhere. Short columns first, as in the other tables.
_M003 = """
CREATE TABLE communities (
    id INTEGER PRIMARY KEY,
    level INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    size INTEGER NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    entities TEXT NOT NULL DEFAULT '[]',
    entity_ids TEXT NOT NULL DEFAULT '[]',
    sources TEXT NOT NULL DEFAULT '[]',
    members BLOB NOT NULL,
    embedding BLOB,
    summary TEXT NOT NULL DEFAULT ''
);
CREATE INDEX communities_by_level ON communities (level);
CREATE INDEX communities_by_parent ON communities (parent);

CREATE TABLE themes (
    number INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    embedding BLOB NOT NULL
);

CREATE TABLE topics (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    theme INTEGER NOT NULL REFERENCES themes,
    passages INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    embedding BLOB NOT NULL
);

CREATE TABLE topic_chunks (
    topic_id INTEGER NOT NULL REFERENCES topics,
    chunk_id INTEGER NOT NULL,
    PRIMARY KEY (topic_id, chunk_id)
) WITHOUT ROWID;

CREATE TABLE partition_state (name TEXT PRIMARY KEY, value) WITHOUT ROWID
"""
_DATES = """
SELECT m.chunk_id, m.sentence, m.start, m."end", a.name, m.count
FROM mentions m JOIN aliases a ON a.id = m.alias_id JOIN entities e ON e.id = a.entity_id
WHERE e.entity_type = 'date' AND m.sentence >= 0
"""
_M005 = """
-- A name given by hand stays without a text: that of an entity made by hand by itself, that of
-- another as long as a text has another name of it.
DROP VIEW orphan_aliases;
CREATE VIEW orphan_aliases AS
    SELECT a.id, a.entity_id FROM aliases a
    WHERE NOT EXISTS (SELECT 1 FROM used_aliases u WHERE u.id = a.id)
        AND NOT (
            EXISTS (SELECT 1 FROM link_rules r WHERE r.key = a.key AND r.name <> '')
            AND EXISTS (SELECT 1 FROM used_aliases u WHERE u.entity_id = a.entity_id)
        )
        AND NOT (
            a.method = 'manual'
            AND EXISTS (SELECT 1 FROM entities e WHERE e.id = a.entity_id AND e.tier = 'manual')
        );

CREATE INDEX entities_by_hand ON entities (id) WHERE tier = 'manual';

-- Passages that an assistant has read for entities and relations.
CREATE TABLE readings (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    read_at TEXT NOT NULL
)
"""

_M014 = """
CREATE TABLE llm_cache (
    key TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    model TEXT NOT NULL,
    subject TEXT NOT NULL,
    documents TEXT NOT NULL,
    reason TEXT NOT NULL,
    characters INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost REAL,
    seconds REAL NOT NULL,
    at TEXT NOT NULL,
    hits INTEGER NOT NULL,
    reply TEXT NOT NULL
) WITHOUT ROWID
"""
# Blobs last: a row is found, and its columns read, without them.
_M015 = """
CREATE TABLE earlier_texts (
    document_id TEXT NOT NULL REFERENCES documents DEFERRABLE INITIALLY DEFERRED,
    version INTEGER NOT NULL,
    said_at TEXT,
    characters INTEGER NOT NULL,
    passages BLOB NOT NULL,
    vectors BLOB NOT NULL,
    PRIMARY KEY (document_id, version)
)
"""
# By kind of enrichment, as JSON: what a language model made of a passage.
_M016 = """
CREATE TABLE enrichments (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    enriched TEXT NOT NULL
)
"""


def m003_communities_and_topics(connection: sqlite3.Connection) -> None:
    """Communities with their reports, topics with their themes; all derived, none at first."""
    for statement in _M003.split(";\n"):
        connection.execute(statement)


def write_all_times(connection: sqlite3.Connection) -> None:
    """Make the times of every chunk from what else the store holds."""
    dates: dict[int, list[DateMention]] = {}
    for chunk_id, *mention in connection.execute(_DATES):
        dates.setdefault(chunk_id, []).append(DateMention(*mention))
    for chunk_id, date in _chunk_dates(connection):
        _insert_times(connection, chunk_id, time_rows(date, dates.get(chunk_id, ())))


def _chunk_dates(connection: sqlite3.Connection) -> Iterator[tuple[int, PartialDate | None]]:
    """When each chunk was said, by its own metadata or its document's."""
    rows = connection.execute(
        "SELECT c.id, c.metadata, d.metadata, d.created_at"
        " FROM chunks c JOIN documents d ON d.id = c.document_id"
    )
    for chunk_id, own, of_document, created_at in rows:
        whole = stated_date(json.loads(of_document), to_time(created_at))
        yield chunk_id, date_of(json.loads(own), whole)


def _insert_times(connection: sqlite3.Connection, chunk_id: int, times: list[TimeRow]) -> None:
    insert(connection, {"times": [{"chunk_id": chunk_id, **row._asdict()} for row in times]})


def m005_memory(connection: sqlite3.Connection) -> None:
    """Entities made by hand, which no text needs to name; passages that an assistant has read."""
    for statement in _M005.split(";\n"):
        connection.execute(statement)


def m007_store_id(connection: sqlite3.Connection) -> None:
    """An identity that the store keeps whatever is restored into it, and that its backups carry."""
    connection.execute("INSERT INTO meta VALUES ('store_id', ?)", (secrets.token_hex(16),))


def m008_checksums(connection: sqlite3.Connection) -> None:
    """A checksum of each embedding, by which damage to it is found."""
    define_checksum(connection)
    connection.execute("ALTER TABLE embeddings ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")
    connection.execute("UPDATE embeddings SET checksum = crc32(vector)")


def m009_agent_extractions(connection: sqlite3.Connection) -> None:
    """Passages that an agent has read bear the name of what they are."""
    connection.execute("ALTER TABLE readings RENAME TO agent_extractions")


def m010_date_precision(connection: sqlite3.Connection) -> None:
    """What says the date of a document, and how precisely; when chunks were said follows."""
    for name in ("date_source", "date_precision"):
        connection.execute(f"ALTER TABLE documents ADD COLUMN {name} TEXT NOT NULL DEFAULT ''")
    for id_, metadata, created_at in connection.execute(
        "SELECT id, metadata, created_at FROM documents"
    ).fetchall():
        if date := stated_date(json.loads(metadata), to_time(created_at)):
            connection.execute(
                "UPDATE documents SET created_at = ?, date_source = 'metadata', date_precision = ?"
                " WHERE id = ?",
                (to_text(date.start), date.precision, id_),
            )
    connection.execute("DELETE FROM chunk_times WHERE said = 1")
    for chunk_id, date in _chunk_dates(connection):
        _insert_times(connection, chunk_id, time_rows(date, ()))


def m011_sketches(connection: sqlite3.Connection) -> None:
    """Sketches of chunks, by which near-duplicates are found; null for those that there are."""
    connection.execute("ALTER TABLE chunks ADD COLUMN sketch TEXT")


def m012_name_keys(connection: sqlite3.Connection) -> None:
    """The keys by which documents are looked up: those of their titles and of their files."""
    for name in ("title_key", "file_key"):
        connection.execute(f"ALTER TABLE documents ADD COLUMN {name} TEXT NOT NULL DEFAULT ''")
    documents = connection.execute("SELECT id, title, source FROM documents").fetchall()
    connection.executemany(
        "UPDATE documents SET title_key = :title_key, file_key = :file_key WHERE id = :id",
        [{"id": id_, **name_keys(title, source)} for id_, title, source in documents],
    )
    connection.execute("CREATE INDEX documents_by_title ON documents (title_key)")
    connection.execute("CREATE INDEX documents_by_file ON documents (file_key)")


def m013_languages(connection: sqlite3.Connection) -> None:
    """The language of each document; unknown, and read as English, for those that there are."""
    connection.execute("ALTER TABLE documents ADD COLUMN language TEXT NOT NULL DEFAULT ''")
    connection.execute("CREATE INDEX documents_by_language ON documents (language)")


def m014_replies(connection: sqlite3.Connection) -> None:
    """What language models were asked and what they answered; nothing at first."""
    connection.execute(_M014)


def m015_earlier_texts(connection: sqlite3.Connection) -> None:
    """Texts that documents had before the ones held; none of those replaced until now."""
    connection.execute(_M015)


def m016_enrichments(connection: sqlite3.Connection) -> None:
    """What language models made of passages; nothing at first."""
    connection.execute(_M016)


def m017_lookup_keys(connection: sqlite3.Connection) -> None:
    """What names are looked up by: the block of those spelled alike, and the words of a term.

    Documents are looked up by their digest.
    """
    for name in ("block", "term"):
        connection.execute(f"ALTER TABLE aliases ADD COLUMN {name} TEXT")
    names = connection.execute("SELECT id, name FROM aliases").fetchall()
    connection.executemany(
        "UPDATE aliases SET block = :block, term = :term WHERE id = :id",
        ({"id": id_, **lookup_keys(name)} for id_, name in names),
    )
    for name in ("block", "term"):
        connection.execute(
            f"CREATE INDEX aliases_by_{name} ON aliases ({name}) WHERE {name} IS NOT NULL"
        )
    connection.execute("CREATE INDEX documents_by_digest ON documents (sha256)")


def m019_descriptions(connection: sqlite3.Connection) -> None:
    """What documents that describe an entity are looked up by: its type, and when it holds."""
    for name in ("describes", "begins", "ends"):
        connection.execute(f"ALTER TABLE documents ADD COLUMN {name} TEXT NOT NULL DEFAULT ''")
    found = connection.execute(
        "SELECT id, metadata FROM documents WHERE metadata LIKE '%\"entity_type\"%'"
    ).fetchall()
    connection.executemany(
        "UPDATE documents SET describes = :describes, begins = :begins, ends = :ends"
        " WHERE id = :id",
        ({"id": id_, **description_keys(json.loads(metadata))} for id_, metadata in found),
    )
    connection.execute(
        "CREATE INDEX documents_by_description ON documents (describes, ends, begins)"
    )


def m023_read_from(connection: sqlite3.Connection) -> None:
    """Whether documents were read from files; of those that there are, their sources tell."""
    if "read_from" not in {row[1] for row in connection.execute("PRAGMA table_info(documents)")}:
        connection.execute("ALTER TABLE documents ADD COLUMN read_from TEXT NOT NULL DEFAULT ''")
    connection.execute(
        "UPDATE documents SET read_from = 'file' WHERE origin LIKE '/%' OR origin LIKE '_:/%'"
    )
