"""The tables of a store in SQLite, and opening a file that has them.

There is one schema. A file says that it has it by the number in its header (`application_id`) and
by `schema_version` in `meta`; one that says anything else is refused, and nothing changes it.
"""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path

from clew.derived_files import derived_files, make_file, make_folder, remove_files
from clew.errors import StoreCorruptError, StoreError
from clew.stores.backend import other_schema
from clew.stores.sqlite.connection import Database, read_meta

SCHEMA_VERSION = 1
APPLICATION_ID = int.from_bytes(b"Clew")
"""Files with version numbers of their own, from before there was one schema, lack it."""

# Names first and long texts last: SQLite then reads the short columns of a row without its text.
# What has no report has no embedding: a community is kept for the partition's sake and shown
# nowhere. Integers and vectors are little-endian arrays, lists and objects JSON.
TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Documents and their parts.

CREATE TABLE documents (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL UNIQUE,
    origin TEXT NOT NULL,
    read_from TEXT NOT NULL DEFAULT '',
    title TEXT NOT NULL,
    title_key TEXT NOT NULL DEFAULT '',
    file_key TEXT NOT NULL DEFAULT '',
    sha256 TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    derived_from TEXT NOT NULL DEFAULT '',
    media_type TEXT NOT NULL,
    language TEXT NOT NULL DEFAULT '',
    created_at TEXT,
    date_source TEXT NOT NULL DEFAULT '',
    date_precision TEXT NOT NULL DEFAULT '',
    updated_at TEXT,
    indexed_at TEXT NOT NULL,
    characters INTEGER NOT NULL,
    recipe TEXT NOT NULL,
    describes TEXT NOT NULL DEFAULT '',
    begins TEXT NOT NULL DEFAULT '',
    ends TEXT NOT NULL DEFAULT '',
    metadata TEXT NOT NULL
);
CREATE INDEX documents_by_origin ON documents (origin);
CREATE INDEX documents_by_title ON documents (title_key);
CREATE INDEX documents_by_file ON documents (file_key);
CREATE INDEX documents_by_digest ON documents (sha256);
CREATE INDEX documents_by_language ON documents (language);
CREATE INDEX documents_by_description ON documents (describes, ends, begins);

-- A document that is written again is deleted first: only at the end must its versions have one.
CREATE TABLE document_versions (
    document_id TEXT NOT NULL REFERENCES documents DEFERRABLE INITIALLY DEFERRED,
    version INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    derived_from TEXT NOT NULL,
    indexed_at TEXT NOT NULL,
    replaced_at TEXT,
    PRIMARY KEY (document_id, version)
) WITHOUT ROWID;
CREATE INDEX document_versions_by_time ON document_versions (indexed_at);

CREATE TABLE earlier_texts (
    document_id TEXT NOT NULL REFERENCES documents DEFERRABLE INITIALLY DEFERRED,
    version INTEGER NOT NULL,
    said_at TEXT,
    characters INTEGER NOT NULL,
    passages BLOB NOT NULL,
    vectors BLOB NOT NULL,
    PRIMARY KEY (document_id, version)
);

CREATE TABLE sections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    headings TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (document_id, ordinal)
);

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    section_id INTEGER NOT NULL REFERENCES sections,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    page INTEGER,
    key TEXT,
    metadata TEXT NOT NULL,
    sentences TEXT NOT NULL,
    context TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (document_id, ordinal)
);
CREATE INDEX chunks_by_section ON chunks (section_id);

-- The checksum is the vector's, by which damage to it is found.
CREATE TABLE embeddings (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    vector BLOB NOT NULL,
    checksum INTEGER NOT NULL
);

CREATE VIRTUAL TABLE keywords USING fts5 (terms, tokenize = 'ascii');

-- Half-open, in seconds since 1970; an open side is the least or the greatest integer.
CREATE TABLE chunk_times (
    chunk_id INTEGER NOT NULL REFERENCES chunks ON DELETE CASCADE,
    said INTEGER NOT NULL CHECK (said IN (0, 1)),
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (chunk_id, said, start, "end")
) WITHOUT ROWID;
CREATE INDEX chunk_times_by_start ON chunk_times (start, "end");
CREATE INDEX chunk_times_long ON chunk_times (start, "end") WHERE "end" - start > 31622400;
CREATE INDEX chunk_times_said ON chunk_times (start) WHERE said = 1;

CREATE TABLE usage (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    uses INTEGER NOT NULL,
    last_used TEXT NOT NULL
);

-- Passages that an assistant has read for entities and relations.
CREATE TABLE agent_extractions (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    read_at TEXT NOT NULL
);

-- By kind of enrichment: what a language model made of a passage.
CREATE TABLE enrichments (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    enriched TEXT NOT NULL
);

-- The graph.

CREATE TABLE entities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    entity_type TEXT NOT NULL,
    content TEXT NOT NULL DEFAULT '',
    tier TEXT NOT NULL DEFAULT 'extracted'
);
CREATE INDEX entities_by_hand ON entities (id) WHERE tier = 'manual';

CREATE TABLE aliases (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    entity_id INTEGER NOT NULL REFERENCES entities,
    method TEXT NOT NULL CHECK (method IN ('exact', 'acronym', 'fuzzy', 'manual')),
    score REAL NOT NULL,
    evidence TEXT NOT NULL,
    block TEXT,
    term TEXT
);
CREATE INDEX aliases_by_entity ON aliases (entity_id);
CREATE INDEX aliases_by_block ON aliases (block) WHERE block IS NOT NULL;
CREATE INDEX aliases_by_term ON aliases (term) WHERE term IS NOT NULL;

CREATE TABLE mentions (
    chunk_id INTEGER NOT NULL REFERENCES chunks ON DELETE CASCADE,
    sentence INTEGER NOT NULL,
    alias_id INTEGER NOT NULL REFERENCES aliases,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (chunk_id, sentence, alias_id)
) WITHOUT ROWID;
CREATE INDEX mentions_by_alias ON mentions (alias_id, count);

CREATE TABLE relations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    from_alias_id INTEGER NOT NULL REFERENCES aliases,
    to_alias_id INTEGER NOT NULL REFERENCES aliases,
    relation_type TEXT NOT NULL,
    weight REAL NOT NULL CHECK (weight BETWEEN 0 AND 1),
    is_causal INTEGER NOT NULL,
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    context TEXT NOT NULL DEFAULT '{}',
    valid_from TEXT,
    valid_until TEXT,
    stated_until TEXT,
    recorded_at TEXT NOT NULL,
    retracted_at TEXT,
    chunk_id INTEGER REFERENCES chunks ON DELETE CASCADE,
    sentence INTEGER,
    extractor TEXT NOT NULL
);
CREATE INDEX relations_by_head ON relations (from_alias_id, relation_type, valid_from);
CREATE INDEX relations_by_tail ON relations (to_alias_id);
CREATE INDEX relations_by_chunk ON relations (chunk_id);
CREATE INDEX relations_by_end ON relations (valid_until) WHERE valid_until IS NOT NULL;
CREATE INDEX relations_retracted ON relations (retracted_at) WHERE retracted_at IS NOT NULL;

CREATE TABLE link_rules (
    key TEXT PRIMARY KEY,
    target TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX link_rules_by_target ON link_rules (target);

CREATE TABLE relationship_extraction_log (
    entity_id INTEGER NOT NULL REFERENCES entities ON DELETE CASCADE,
    relationships_found INTEGER NOT NULL,
    extracted_at TEXT NOT NULL
);
CREATE INDEX relationship_extraction_log_by_entity ON relationship_extraction_log (entity_id);

CREATE VIEW entity_mentions AS
    SELECT m.chunk_id, m.sentence, a.entity_id, m.alias_id, m.start, m."end", m.count
    FROM mentions m JOIN aliases a ON a.id = m.alias_id;

CREATE VIEW entity_relations AS
    SELECT r.id, h.entity_id AS from_entity_id, t.entity_id AS to_entity_id, r.relation_type,
        r.weight, r.is_causal, r.confidence, r.context, r.valid_from, r.valid_until,
        r.stated_until, r.recorded_at, r.retracted_at, r.chunk_id, r.sentence, r.extractor
    FROM relations r
    JOIN aliases h ON h.id = r.from_alias_id
    JOIN aliases t ON t.id = r.to_alias_id;

CREATE VIEW used_aliases AS
    SELECT a.id, a.entity_id FROM aliases a
    WHERE EXISTS (SELECT 1 FROM mentions m WHERE m.alias_id = a.id)
        OR EXISTS (SELECT 1 FROM relations r WHERE r.from_alias_id = a.id)
        OR EXISTS (SELECT 1 FROM relations r WHERE r.to_alias_id = a.id);

-- A name given by hand stays without a text: that of an entity made by hand by itself, that of
-- another as long as a text has another name of it.
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

-- Communities with their reports, topics with their themes; all derived.

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

CREATE TABLE partition_state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Language models: what they say of what is stored, by `kind:identity`, and what they answered.

CREATE TABLE descriptions (
    key TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    sources TEXT NOT NULL,
    documents TEXT NOT NULL,
    basis TEXT NOT NULL,
    reason TEXT NOT NULL
) WITHOUT ROWID;

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
) WITHOUT ROWID;

CREATE TABLE conversation_messages (
    conversation TEXT NOT NULL,
    position INTEGER NOT NULL,
    at TEXT NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (conversation, position)
) WITHOUT ROWID;

-- What is done here, who did it, and what took more than a limit allows.

CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled')),
    -- Growing by one: jobs are run in the order in which they came.
    number INTEGER NOT NULL UNIQUE,
    attempts INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    lease_until REAL NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    total INTEGER,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    idempotency_key TEXT UNIQUE,
    digest TEXT NOT NULL,
    description TEXT NOT NULL,
    error TEXT NOT NULL DEFAULT '',
    arguments TEXT NOT NULL
);
CREATE INDEX jobs_to_do ON jobs (status, number);

CREATE TABLE job_items (
    job_id TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'done', 'failed')),
    name TEXT NOT NULL,
    error TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (job_id, ordinal)
) WITHOUT ROWID;
CREATE INDEX job_items_by_status ON job_items (job_id, status, ordinal);

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    recorded_at TEXT NOT NULL,
    caller TEXT NOT NULL,
    tool TEXT NOT NULL,
    subjects TEXT NOT NULL,
    undo TEXT,
    outcome TEXT NOT NULL DEFAULT 'unknown'
);
CREATE INDEX audit_by_time ON audit (recorded_at);

CREATE TABLE refusals (
    source TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    refused_at TEXT NOT NULL
) WITHOUT ROWID
"""


def make_tables(connection: sqlite3.Connection) -> None:
    """Make an empty store of an empty file; call inside a write transaction."""
    for statement in TABLES.split(";\n"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    meta = {
        "schema_version": SCHEMA_VERSION,
        "generation": 0,
        "epoch": 0,
        # Kept whatever is restored into the store; its backups carry it.
        "store_id": secrets.token_hex(16),
    }
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())


def has_tables(connection: sqlite3.Connection, place: str) -> bool:
    """Whether a file holds a store, or is empty; `place` names it in errors.

    Raises `StoreMismatchError` where the schema is another one, and `StoreCorruptError` where the
    file holds something, and no version that can be read.
    """
    made = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'"
    if connection.execute(made).fetchone() is None:
        return False
    version = read_meta(connection, "schema_version", _version, None)
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if (application_id, version) != (APPLICATION_ID, SCHEMA_VERSION):
        raise other_schema(place, version, SCHEMA_VERSION, earlier=application_id != APPLICATION_ID)
    return True


def _version(value: object) -> int:
    if not isinstance(value, int) or value < 1:
        raise ValueError("no number of a schema")
    return value


STORE_FILE = "clew.db"


def open_database(folder: Path, busy_seconds: float, name: str = STORE_FILE) -> Database:
    """A file with these tables in a folder, made where there is none; the store's, or a journal.

    Raises `StoreError` where the folder cannot be made, `StoreCorruptError` where a store is gone
    but not what was derived from it, and what `has_tables` raises.
    """
    try:
        make_folder(folder)
        make_file(folder / name)
    except OSError as error:
        raise StoreError(
            f"cannot make the store's folder {str(folder)!r} ({error.strerror});"
            " give another one with --store"
        ) from error
    database, place = Database(folder / name, busy_seconds), str(folder / name)
    derived = derived_files(folder) if name == STORE_FILE else {}
    try:
        with database.read() as connection:
            made = has_tables(connection, place)
            generation = read_meta(connection, "generation", int, 0) if made else 0
        if not made and derived:
            names = ", ".join(path.name for path in derived)
            raise StoreCorruptError(
                f"the store in {str(folder)!r} was emptied or lost: clew.db holds nothing, but what"
                f" was derived from it is there ({names}); copy a backup to"
                f" {str(folder / 'clew.db')!r}, or delete that folder to begin an empty store"
            )
        if not made:
            with database.write() as connection:
                if not has_tables(connection, place):  # another process may have been faster
                    make_tables(connection)
        elif not database.read_only:
            # A power failure may have taken back what they were derived from.
            remove_files(path for path, of in derived.items() if of > generation)
    except BaseException:
        database.close()
        raise
    database.schema = SCHEMA_VERSION
    return database
