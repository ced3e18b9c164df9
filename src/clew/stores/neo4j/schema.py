"""What a store on Neo4j looks like, and the numbered steps that make it so.

Every node and relationship has the property `namespace`, and every pattern names it. Ids are the
integers of `ports` (a document's is text), given out by the namespace's `ClewStore` and never used
again. Times are ISO 8601 text in UTC, as `values.to_text` writes them (they compare as text); JSON
is text.

Nodes, with their properties beside `namespace`:

- ClewStore: store_id (its identity for good), generation, epoch, embedder, dimension, functional
  (JSON), next_section, next_chunk, next_entity, next_alias, next_relation, copying (JSON: how far a
  copy into it is)
- ClewDocument: id, source, origin, title, sha256, media_type, created_at, date_source,
  date_precision, updated_at, indexed_at, characters, recipe, metadata (JSON), version, derived_from
- ClewVersion: document_id, version, sha256, derived_from, indexed_at, replaced_at
- ClewSection: id, document_id, ordinal, start, end, headings (JSON), text
- ClewChunk: id, document_id, section_id, ordinal, start, end, page, key, metadata (JSON),
  sentences (JSON of ranges in the text), context, text, terms, vector (LIST<FLOAT>), uses,
  last_used, read_at
- ClewTime: chunk_id, said (0 or 1), start, end, text, long (true, of more than a year)
- ClewEntity: id, name, key, entity_type, content, tier
- ClewAlias: id, key, name, method, score, evidence
- ClewRule: key, target, name
- ClewExtractionLog: entity_id, relationships_found, extracted_at
- ClewCommunity, ClewTopic, …: see `neo4j_communities`

Relationships, likewise:

- (ClewChunk)-[:PART_OF]->(ClewDocument), (ClewSection)-[:PART_OF]->(ClewDocument)
- (ClewChunk)-[:IN_SECTION]->(ClewSection)
- (ClewChunk)-[:AT]->(ClewTime)
- (ClewAlias)-[:NAMES]->(ClewEntity)
- (ClewChunk)-[:MENTIONS]->(ClewEntity): chunk_id, sentence (-1: the chunk is about it), alias_id,
  start, end, count
- (ClewEntity)-[:RELATES]->(ClewEntity): id, from_alias_id, to_alias_id, relation_type, weight,
  is_causal, confidence, context (JSON), valid_from, valid_until, stated_until, recorded_at,
  retracted_at, chunk_id, sentence, extractor

A mention and a relation carry the alias by which the text named the entity: where an alias moves to
another entity, they move with it.

Chunks of a namespace bear a label of their own, too, which has a vector index and a full-text index
(over `terms`, analysed by Clew, split at spaces): no namespace's candidates, word frequencies or
dimensions touch another's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from clew.errors import StoreError, StoreMismatchError
from clew.stores.chunk_dates import stated_date, time_rows
from clew.stores.neo4j.communities import COMMUNITY_INDEXES, m002_communities_and_topics
from clew.stores.values import to_text, to_time
from clew.times import date_of

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase
    from clew.types import PartialDate

_NAMESPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_UNIQUE_NODES = {
    "ClewStore": ("namespace",),
    "ClewDocument": ("namespace", "id"),
    "ClewVersion": ("namespace", "document_id", "version"),
    "ClewSection": ("namespace", "id"),
    "ClewChunk": ("namespace", "id"),
    "ClewEntity": ("namespace", "id"),
    "ClewAlias": ("namespace", "id"),
    "ClewRule": ("namespace", "key"),
}
_INDEXES = {
    "clew_documents_by_source": "(n:ClewDocument) ON (n.namespace, n.source)",
    "clew_documents_by_origin": "(n:ClewDocument) ON (n.namespace, n.origin)",
    "clew_sections_by_document": "(n:ClewSection) ON (n.namespace, n.document_id)",
    "clew_chunks_by_document": "(n:ClewChunk) ON (n.namespace, n.document_id)",
    "clew_versions_by_time": "(n:ClewVersion) ON (n.namespace, n.indexed_at)",
    "clew_times_by_saying": "(n:ClewTime) ON (n.namespace, n.said, n.start)",
    "clew_times_long": "(n:ClewTime) ON (n.namespace, n.long, n.start)",
    "clew_times_by_chunk": "(n:ClewTime) ON (n.namespace, n.chunk_id)",
    "clew_entities_by_key": "(n:ClewEntity) ON (n.namespace, n.key)",
    "clew_entities_by_type": "(n:ClewEntity) ON (n.namespace, n.entity_type)",
    "clew_entities_by_tier": "(n:ClewEntity) ON (n.namespace, n.tier)",
    "clew_rules_by_target": "(n:ClewRule) ON (n.namespace, n.target)",
    "clew_mentions_by_chunk": "()-[r:MENTIONS]-() ON (r.namespace, r.chunk_id)",
    "clew_relations_by_chunk": "()-[r:RELATES]-() ON (r.namespace, r.chunk_id)",
    "clew_relations_by_start": "()-[r:RELATES]-() ON (r.namespace, r.valid_from)",
    "clew_relations_by_end": "()-[r:RELATES]-() ON (r.namespace, r.valid_until)",
    "clew_relations_by_retraction": "()-[r:RELATES]-() ON (r.namespace, r.retracted_at)",
}
_LOG_INDEX = "clew_extraction_log_by_entity"
SHARED_INDEXES = (
    *(f"{label.lower()}_unique" for label in _UNIQUE_NODES),
    "clewalias_key_unique",
    "clewrelates_unique",
    *_INDEXES,
    *COMMUNITY_INDEXES,
    _LOG_INDEX,
)
"""Names of the indexes, those of constraints among them, that all namespaces share."""
_MAKE_STORE = """
MERGE (s:ClewStore {namespace: $namespace})
ON CREATE SET s.store_id = randomUUID(), s.generation = 0, s.epoch = 0, s.next_section = 1,
    s.next_chunk = 1, s.next_entity = 1, s.next_alias = 1, s.next_relation = 1
"""

_WITHOUT_PRECISION = """
MATCH (d:ClewDocument) WHERE d.date_precision IS NULL WITH d LIMIT 200
RETURN d.namespace, d.id, d.metadata, d.created_at, COLLECT {
    MATCH (c:ClewChunk {namespace: d.namespace, document_id: d.id}) WHERE c.metadata <> '{}'
    RETURN [c.id, c.metadata]
}
"""
_SET_PRECISION = """
UNWIND $rows AS row
MATCH (d:ClewDocument {namespace: row.namespace, id: row.id}) SET d += row.date
WITH row
MATCH (c:ClewChunk {namespace: row.namespace, document_id: row.id})
OPTIONAL MATCH (c)-[:AT {namespace: row.namespace}]->(t:ClewTime {said: 1})
DETACH DELETE t
WITH row, c, coalesce(row.own[toString(c.id)], row.whole) AS time WHERE time IS NOT NULL
CREATE (c)-[:AT {namespace: row.namespace}]->(n:ClewTime {namespace: row.namespace})
SET n += time, n.chunk_id = c.id
"""


def chunk_label(namespace: str) -> str:
    """The label of a namespace's chunks, quoted: the one name that is written into Cypher."""
    return f"`ClewChunk_{_checked(namespace)}`"


def vector_index(namespace: str) -> str:
    """Name of the vector index of a namespace; sent as a parameter."""
    return f"clew_vectors_{_checked(namespace)}"


def keyword_index(namespace: str) -> str:
    """Name of the full-text index of a namespace; sent as a parameter."""
    return f"clew_keywords_{_checked(namespace)}"


def _checked(namespace: str) -> str:
    if not _NAMESPACE.fullmatch(namespace):
        raise StoreError(
            f"{namespace!r} is no namespace; expected letters, digits, '_', '.' and '-', at most 64"
        )
    return namespace


def m001_documents_and_graph(database: Neo4jDatabase) -> None:
    """Constraints and indexes of documents, their times, and the graph."""
    for label, names in _UNIQUE_NODES.items():
        properties = ", ".join(f"n.{name}" for name in names)
        database.define(
            f"CREATE CONSTRAINT {label.lower()}_unique IF NOT EXISTS"
            f" FOR (n:{label}) REQUIRE ({properties}) IS UNIQUE"
        )
    database.define(
        "CREATE CONSTRAINT clewalias_key_unique IF NOT EXISTS"
        " FOR (n:ClewAlias) REQUIRE (n.namespace, n.key) IS UNIQUE"
    )
    database.define(
        "CREATE CONSTRAINT clewrelates_unique IF NOT EXISTS"
        " FOR ()-[r:RELATES]-() REQUIRE (r.namespace, r.id) IS UNIQUE"
    )
    for name, place in _INDEXES.items():
        database.define(f"CREATE INDEX {name} IF NOT EXISTS FOR {place}")


def m003_store_id(database: Neo4jDatabase) -> None:
    """An identity of every store, as in SQLite."""
    database.define("MATCH (s:ClewStore) WHERE s.store_id IS NULL SET s.store_id = randomUUID()")


def m004_extraction_log(database: Neo4jDatabase) -> None:
    """The log of reading for relations bears the name of what it is, in all namespaces."""
    label = "ClewExtractionLog"
    database.define(
        f"CREATE INDEX {_LOG_INDEX} IF NOT EXISTS FOR (n:{label}) ON (n.namespace, n.entity_id)"
    )
    rename = f"MATCH (n:ClewReading) WITH n LIMIT 10000 SET n:{label} REMOVE n:ClewReading"
    while database.write(lambda: database.value(f"{rename} RETURN count(*)")):
        pass
    database.define("DROP INDEX clew_readings_by_entity IF EXISTS")


def m005_date_precision(database: Neo4jDatabase) -> None:
    """What says the date of a document, and how precisely; when chunks were said follows."""
    while rows := database.rows(_WITHOUT_PRECISION):
        dated = [_dated(*row) for row in rows]
        database.write(partial(database.rows, _SET_PRECISION, rows=dated))


def _dated(
    namespace: str, id_: str, metadata: str, created_at: str | None, chunks: list[tuple[int, str]]
) -> dict[str, object]:
    """A document's date, and when its chunks were said: those with a date of their own apart."""
    date = stated_date(json.loads(metadata), to_time(created_at))
    own = {id_: date_of(json.loads(values)) for id_, values in chunks}
    return {
        "namespace": namespace,
        "id": id_,
        "date": {
            "created_at": to_text(date.start if date else None),
            "date_source": "metadata" if date else "",
            "date_precision": date.precision if date else "",
        },
        "whole": _said(date),
        "own": {str(id_): _said(stated) for id_, stated in own.items() if stated},
    }


def _said(date: PartialDate | None) -> dict[str, object] | None:
    return next((row._asdict() for row in time_rows(date, ())), None)


MIGRATIONS: tuple[Callable[[Neo4jDatabase], None], ...] = (
    m001_documents_and_graph,
    m002_communities_and_topics,
    m003_store_id,
    m004_extraction_log,
    m005_date_precision,
)
"""Each may run twice at once, from two machines: it makes only what there is not."""
SCHEMA_VERSION = len(MIGRATIONS)


def migrate(database: Neo4jDatabase) -> None:
    """Apply what is missing to the whole database, and make the namespace's store.

    Raises `StoreMismatchError` for a database that a newer version of Clew has written to.
    """
    version = int(database.value("MATCH (s:ClewSchema) RETURN max(s.version)") or 0)
    if version > SCHEMA_VERSION:
        raise StoreMismatchError(
            f"the store {database.address!r} has schema version {version}, but this Clew knows"
            f" {SCHEMA_VERSION} at most: a newer Clew wrote it; upgrade with `pip install --upgrade"
            " clew`"
        )
    if version < SCHEMA_VERSION:
        database.define(
            "CREATE CONSTRAINT clewschema_unique IF NOT EXISTS"
            " FOR (s:ClewSchema) REQUIRE s.name IS UNIQUE"
        )
    for number, migration in enumerate(MIGRATIONS[version:], version + 1):
        migration(database)
        database.define(f"MERGE (s:ClewSchema {{name: 'clew'}}) SET s.version = {number}")
    if not holds_namespace(database):
        define_keywords(database)
        database.write(lambda: database.rows(_MAKE_STORE))


def holds_namespace(database: Neo4jDatabase) -> bool:
    """Whether the namespace has a store."""
    return bool(database.rows("MATCH (s:ClewStore {namespace: $namespace}) RETURN s.namespace"))


def define_keywords(database: Neo4jDatabase) -> None:
    """Make the namespace's full-text index where there is none."""
    database.define(
        f"CREATE FULLTEXT INDEX `{keyword_index(database.namespace)}` IF NOT EXISTS"
        f" FOR (c:{chunk_label(database.namespace)}) ON EACH [c.terms]"
        " OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}"
    )
    database.rows("CALL db.awaitIndex($name, 60)", name=keyword_index(database.namespace))


def define_vectors(database: Neo4jDatabase, dimension: int) -> None:
    """Make the namespace's vector index, of cosine similarity, in place of one of another size."""
    name = vector_index(database.namespace)
    options = database.value(
        "SHOW VECTOR INDEXES YIELD name, options WHERE name = $name RETURN options", name=name
    )
    if options and options["indexConfig"].get("vector.dimensions") != dimension:
        database.define(f"DROP INDEX `{name}` IF EXISTS")
    database.define(
        f"CREATE VECTOR INDEX `{name}` IF NOT EXISTS"
        f" FOR (c:{chunk_label(database.namespace)}) ON c.vector OPTIONS {{indexConfig: {{"
        f"`vector.dimensions`: {int(dimension)}, `vector.similarity_function`: 'cosine'}}}}"
    )
    database.rows("CALL db.awaitIndex($name, 60)", name=name)
