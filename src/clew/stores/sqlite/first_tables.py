"""The tables of a store as its first version made them: see `migrations` for what came after."""

from __future__ import annotations

import sqlite3

from clew.stores.sqlite.migration_steps import write_all_times

# Names first and long texts last: SQLite then reads the short columns of a row without its text.
_M001 = """
CREATE TABLE documents (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL UNIQUE,
    origin TEXT NOT NULL,
    title TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    media_type TEXT NOT NULL,
    created_at TEXT,
    updated_at TEXT,
    indexed_at TEXT NOT NULL,
    characters INTEGER NOT NULL,
    recipe TEXT NOT NULL,
    metadata TEXT NOT NULL
);
CREATE INDEX documents_by_origin ON documents (origin);

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

CREATE TABLE embeddings (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    vector BLOB NOT NULL
);

CREATE VIRTUAL TABLE keywords USING fts5 (terms, tokenize = 'ascii');

CREATE TABLE entities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    entity_type TEXT NOT NULL,
    content TEXT NOT NULL DEFAULT '',
    tier TEXT NOT NULL DEFAULT 'extracted'
);

CREATE TABLE aliases (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    entity_id INTEGER NOT NULL REFERENCES entities,
    method TEXT NOT NULL CHECK (method IN ('exact', 'acronym', 'fuzzy', 'manual')),
    score REAL NOT NULL,
    evidence TEXT NOT NULL
);
CREATE INDEX aliases_by_entity ON aliases (entity_id);

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
    recorded_at TEXT NOT NULL,
    retracted_at TEXT,
    chunk_id INTEGER REFERENCES chunks ON DELETE CASCADE,
    sentence INTEGER,
    extractor TEXT NOT NULL
);
CREATE INDEX relations_by_head ON relations (from_alias_id);
CREATE INDEX relations_by_tail ON relations (to_alias_id);
CREATE INDEX relations_by_chunk ON relations (chunk_id);

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
        r.recorded_at, r.retracted_at, r.chunk_id, r.sentence, r.extractor
    FROM relations r
    JOIN aliases h ON h.id = r.from_alias_id
    JOIN aliases t ON t.id = r.to_alias_id;

CREATE VIEW used_aliases AS
    SELECT a.id, a.entity_id FROM aliases a
    WHERE EXISTS (SELECT 1 FROM mentions m WHERE m.alias_id = a.id)
        OR EXISTS (SELECT 1 FROM relations r WHERE r.from_alias_id = a.id)
        OR EXISTS (SELECT 1 FROM relations r WHERE r.to_alias_id = a.id);

-- A name given by hand need not occur in a text, as long as another name of its entity does.
CREATE VIEW orphan_aliases AS
    SELECT a.id, a.entity_id FROM aliases a
    WHERE NOT EXISTS (SELECT 1 FROM used_aliases u WHERE u.id = a.id)
        AND NOT (
            EXISTS (SELECT 1 FROM link_rules r WHERE r.key = a.key AND r.name <> '')
            AND EXISTS (SELECT 1 FROM used_aliases u WHERE u.entity_id = a.entity_id)
        )
"""

_M002 = """
ALTER TABLE documents ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE documents ADD COLUMN derived_from TEXT NOT NULL DEFAULT '';

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
INSERT INTO document_versions SELECT id, 1, sha256, '', indexed_at, NULL FROM documents;

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

ALTER TABLE relations ADD COLUMN stated_until TEXT;
UPDATE relations SET stated_until = valid_until WHERE valid_until IS NOT NULL;
DROP INDEX relations_by_head;
CREATE INDEX relations_by_head ON relations (from_alias_id, relation_type, valid_from);
CREATE INDEX relations_by_end ON relations (valid_until) WHERE valid_until IS NOT NULL;
CREATE INDEX relations_retracted ON relations (retracted_at) WHERE retracted_at IS NOT NULL;

DROP VIEW entity_relations;
CREATE VIEW entity_relations AS
    SELECT r.id, h.entity_id AS from_entity_id, t.entity_id AS to_entity_id, r.relation_type,
        r.weight, r.is_causal, r.confidence, r.context, r.valid_from, r.valid_until,
        r.stated_until, r.recorded_at, r.retracted_at, r.chunk_id, r.sentence, r.extractor
    FROM relations r
    JOIN aliases h ON h.id = r.from_alias_id
    JOIN aliases t ON t.id = r.to_alias_id
"""


def m001_documents_and_graph(connection: sqlite3.Connection) -> None:
    """Documents, sections, chunks, vectors, keywords; entities, aliases, mentions, relations."""
    for statement in _M001.split(";\n"):
        connection.execute(statement)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [("generation", 0), ("epoch", 0)])


def m002_times_and_versions(connection: sqlite3.Connection) -> None:
    """Versions of documents, times of chunks, usage; ends of relations, said and derived."""
    for statement in _M002.split(";\n"):
        connection.execute(statement)
    write_all_times(connection)
