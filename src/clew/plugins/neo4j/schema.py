"""What a store on Neo4j looks like, and making it so.

There is one schema; the node `(ClewSchema {name: 'store', version})` of the database says that it
has it. A database that holds any other such node is refused, and nothing changes it.

Every node and relationship has the property `namespace`, and every pattern names it. Ids are the
integers of `ports` (a document's is text), given out by the namespace's `ClewStore` and never used
again. Times are ISO 8601 text in UTC, as `values.to_text` writes them (they compare as text); JSON
is text.

Nodes, with their properties beside `namespace`:

- ClewStore: store_id (its identity for good), generation, epoch, embedder, dimension, functional
  (JSON), packs (JSON), pruned (JSON), next_section, next_chunk, next_entity,
  next_alias, next_relation, copying (JSON: how far a copy into it is)
- ClewWorker: number (from 1), generation, epoch, next_section, next_chunk, next_entity, next_alias,
  next_relation: what one that saves beside others counts by itself, see `neo4j.store`
- ClewDocument: id, source, origin, read_from, title, sha256, media_type, created_at, date_source,
  date_precision, updated_at, indexed_at, characters, recipe, metadata (JSON), version,
  derived_from, title_key, file_key, language, describes, begins, ends; until it is settled also
  worker (a number) and named (JSON of the ids of the aliases that came with it)
- ClewVersion: document_id, version, sha256, derived_from, indexed_at, replaced_at
- ClewEarlierText: document_id, version, said_at, characters, passages (compressed JSON), vectors
- ClewSection: id, document_id, ordinal, start, end, headings (JSON), text
- ClewChunk: id, document_id, section_id, ordinal, start, end, page, key, metadata (JSON),
  sentences (JSON of ranges in the text), context, text, terms, vector (LIST<FLOAT>), uses,
  last_used, read_at, enriched (JSON)
- ClewTime: chunk_id, said (0 or 1), start, end, text, long (true, of more than a year)
- ClewEntity: id, name, key, entity_type, content, tier; where packs are enabled what `published`
  adds: labels, fields, vector (LIST<FLOAT>), vector_of (what the vector is of)
- ClewAlias: id, key, name, method, score, evidence, block and term (what it is looked up by; none
  where there is none)
- ClewRule: key, target, name
- ClewExtractionLog: entity_id, relationships_found, extracted_at
- ClewPartition: built, moved, next_id, next_topic, and arrays: entity_ids, neighbourhoods,
  strengths
- ClewCommunity: id, level, parent (0: none), size, members (entity ids); where it has a report
  also title, summary, entities, entity_ids, sources and embedding
- ClewTheme: number, title, embedding
- ClewTopic: id, key, name, theme (a number), passages, documents, chunks (ids), embedding
- ClewDescription: key, name, title, text, sources (JSON), documents (JSON), basis, reason
- ClewReply: key, task, model, subject, documents (JSON), reason, reply (JSON), characters,
  input_tokens, cached_tokens, output_tokens, cost (none where unknown), seconds, at, hits

Members and chunks are ids and no relationships: entities and chunks may have gone since. Arrays and
embeddings are little-endian bytes, which come ten times as fast as lists: they are read whole.

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

import re
from typing import TYPE_CHECKING

from clew.errors import StoreError
from clew.settings.place import NAMESPACE
from clew.stores.backend import other_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.plugins.neo4j.connection import Neo4jDatabase


SCHEMA_VERSION = 1
UNIQUE = {
    "clewstore_unique": "(n:ClewStore) REQUIRE (n.namespace)",
    "clewworker_unique": "(n:ClewWorker) REQUIRE (n.namespace, n.number)",
    "clewdocument_unique": "(n:ClewDocument) REQUIRE (n.namespace, n.id)",
    "clewversion_unique": "(n:ClewVersion) REQUIRE (n.namespace, n.document_id, n.version)",
    "clewearliertext_unique": "(n:ClewEarlierText) REQUIRE (n.namespace, n.document_id, n.version)",
    "clewsection_unique": "(n:ClewSection) REQUIRE (n.namespace, n.id)",
    "clewchunk_unique": "(n:ClewChunk) REQUIRE (n.namespace, n.id)",
    "clewentity_unique": "(n:ClewEntity) REQUIRE (n.namespace, n.id)",
    "clewalias_unique": "(n:ClewAlias) REQUIRE (n.namespace, n.id)",
    "clewalias_key_unique": "(n:ClewAlias) REQUIRE (n.namespace, n.key)",
    "clewrelates_unique": "()-[r:RELATES]-() REQUIRE (r.namespace, r.id)",
    "clewrule_unique": "(n:ClewRule) REQUIRE (n.namespace, n.key)",
    "clewpartition_unique": "(n:ClewPartition) REQUIRE (n.namespace)",
    "clewcommunity_unique": "(n:ClewCommunity) REQUIRE (n.namespace, n.id)",
    "clewtheme_unique": "(n:ClewTheme) REQUIRE (n.namespace, n.number)",
    "clewtopic_unique": "(n:ClewTopic) REQUIRE (n.namespace, n.id)",
    "clewtopic_key_unique": "(n:ClewTopic) REQUIRE (n.namespace, n.key)",
    "clewdescription_unique": "(n:ClewDescription) REQUIRE (n.namespace, n.key)",
    "clewreply_unique": "(n:ClewReply) REQUIRE (n.namespace, n.key)",
    "clewschema_unique": "(n:ClewSchema) REQUIRE (n.name)",
}
INDEXES = {
    "clew_documents_by_source": "(n:ClewDocument) ON (n.namespace, n.source)",
    "clew_documents_by_origin": "(n:ClewDocument) ON (n.namespace, n.origin)",
    "clew_documents_by_digest": "(n:ClewDocument) ON (n.namespace, n.sha256)",
    "clew_documents_by_title": "(n:ClewDocument) ON (n.namespace, n.title_key)",
    "clew_documents_by_file": "(n:ClewDocument) ON (n.namespace, n.file_key)",
    "clew_documents_by_language": "(n:ClewDocument) ON (n.namespace, n.language)",
    "clew_documents_by_description": "(n:ClewDocument) ON (n.namespace, n.describes, n.ends)",
    "clew_documents_unsettled": "(n:ClewDocument) ON (n.namespace, n.worker)",
    "clew_sections_by_document": "(n:ClewSection) ON (n.namespace, n.document_id)",
    "clew_chunks_by_document": "(n:ClewChunk) ON (n.namespace, n.document_id)",
    "clew_versions_by_time": "(n:ClewVersion) ON (n.namespace, n.indexed_at)",
    "clew_times_by_saying": "(n:ClewTime) ON (n.namespace, n.said, n.start)",
    "clew_times_long": "(n:ClewTime) ON (n.namespace, n.long, n.start)",
    "clew_times_by_chunk": "(n:ClewTime) ON (n.namespace, n.chunk_id)",
    "clew_entities_by_key": "(n:ClewEntity) ON (n.namespace, n.key)",
    "clew_entities_by_type": "(n:ClewEntity) ON (n.namespace, n.entity_type)",
    "clew_entities_by_tier": "(n:ClewEntity) ON (n.namespace, n.tier)",
    "clew_aliases_by_block": "(n:ClewAlias) ON (n.namespace, n.block)",
    "clew_aliases_by_term": "(n:ClewAlias) ON (n.namespace, n.term)",
    "clew_extraction_log_by_entity": "(n:ClewExtractionLog) ON (n.namespace, n.entity_id)",
    "clew_communities_by_parent": "(n:ClewCommunity) ON (n.namespace, n.parent)",
    "clew_rules_by_target": "(n:ClewRule) ON (n.namespace, n.target)",
    "clew_mentions_by_chunk": "()-[r:MENTIONS]-() ON (r.namespace, r.chunk_id)",
    "clew_relations_by_chunk": "()-[r:RELATES]-() ON (r.namespace, r.chunk_id)",
    "clew_relations_by_start": "()-[r:RELATES]-() ON (r.namespace, r.valid_from)",
    "clew_relations_by_end": "()-[r:RELATES]-() ON (r.namespace, r.valid_until)",
    "clew_relations_by_retraction": "()-[r:RELATES]-() ON (r.namespace, r.retracted_at)",
}
SHARED_INDEXES = (*UNIQUE, *INDEXES)
"""Names of the indexes, those of constraints among them, that all namespaces share."""
_MAKE_STORE = """
MERGE (s:ClewStore {namespace: $namespace})
ON CREATE SET s.store_id = randomUUID(), s.generation = 0, s.epoch = 0, s.next_section = 1,
    s.next_chunk = 1, s.next_entity = 1, s.next_alias = 1, s.next_relation = 1,
    s.copying = $copying
"""


def prepare_database(database: Neo4jDatabase, *, copying: str | None = None) -> None:
    """Define what all namespaces share where the database is new, and make the namespace's store.

    A store that is made holds `copying` as the mark of an unfinished copy, where one is given.
    Raises `StoreMismatchError` for a database of another schema.
    """
    found = database.rows("MATCH (s:ClewSchema) RETURN s.name, s.version ORDER BY s.name")
    for name, version in found:
        if (name, version) != ("store", SCHEMA_VERSION):
            earlier = name != "store"
            raise other_schema(database.address, version, SCHEMA_VERSION, earlier=earlier)
    if not found:
        define_shared(database)
        database.define(f"MERGE (s:ClewSchema {{name: 'store'}}) SET s.version = {SCHEMA_VERSION}")
    if not holds_namespace(database):
        define_keywords(database)
        database.write(lambda: database.rows(_MAKE_STORE, copying=copying))
    database.schema = SCHEMA_VERSION


def holds_namespace(database: Neo4jDatabase) -> bool:
    """Whether the namespace has a store."""
    return bool(database.rows("MATCH (s:ClewStore {namespace: $namespace}) RETURN s.namespace"))


def define_shared(database: Neo4jDatabase) -> None:
    """Make the constraints and indexes that there are not; two machines may do so at once."""
    for name, place in UNIQUE.items():
        database.define(f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR {place} IS UNIQUE")
    for name, place in INDEXES.items():
        database.define(f"CREATE INDEX {name} IF NOT EXISTS FOR {place}")


def chunk_label(namespace: str) -> str:
    """The label of a namespace's chunks, quoted: the one name that is written into Cypher."""
    return f"`ClewChunk_{_checked(namespace)}`"


def vector_index(namespace: str) -> str:
    """Name of the vector index of a namespace; sent as a parameter."""
    return f"clew_vectors_{_checked(namespace)}"


def entity_label(namespace: str) -> str:
    """The label of a namespace's entities that have a vector."""
    return f"ClewEntity_{_checked(namespace)}"


def entity_index(namespace: str) -> str:
    """Name of the vector index of a namespace's entities, for people's own Cypher."""
    return f"clew_entities_{_checked(namespace)}"


def keyword_index(namespace: str) -> str:
    """Name of the full-text index of a namespace; sent as a parameter."""
    return f"clew_keywords_{_checked(namespace)}"


def _checked(namespace: str) -> str:
    if not re.fullmatch(NAMESPACE, namespace):
        raise StoreError(
            f"{namespace!r} is no namespace; expected letters, digits, '_', '.' and '-', at most 64"
        )
    return namespace


def lucene_phrases(texts: Iterable[str]) -> str:
    """A query for a full-text index that finds any of the texts, each once, as a phrase."""
    escaped = (text.replace("\\", "\\\\").replace('"', '\\"') for text in dict.fromkeys(texts))
    return " ".join(f'"{text}"' for text in escaped)


def define_keywords(database: Neo4jDatabase) -> None:
    """Make the namespace's full-text index where there is none."""
    database.define(
        f"CREATE FULLTEXT INDEX `{keyword_index(database.namespace)}` IF NOT EXISTS"
        f" FOR (c:{chunk_label(database.namespace)}) ON EACH [c.terms]"
        " OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}"
    )
    database.rows("CALL db.awaitIndex($name, 60)", name=keyword_index(database.namespace))


def define_vectors(database: Neo4jDatabase, dimension: int) -> None:
    """Make the vector index of the namespace's chunks, in place of one of another size."""
    namespace = database.namespace
    _define_vectors(database, vector_index(namespace), chunk_label(namespace), dimension)


def define_entity_vectors(database: Neo4jDatabase, dimension: int) -> None:
    """Make the vector index of the namespace's entities, in place of one of another size."""
    namespace = database.namespace
    label = f"`{entity_label(namespace)}`"
    _define_vectors(database, entity_index(namespace), label, dimension)


def _define_vectors(database: Neo4jDatabase, name: str, label: str, dimension: int) -> None:
    """Make an index of cosine similarity over the property `vector`; `label` is quoted."""
    options = database.value(
        "SHOW VECTOR INDEXES YIELD name, options WHERE name = $name RETURN options", name=name
    )
    if options and options["indexConfig"].get("vector.dimensions") != dimension:
        database.define(f"DROP INDEX `{name}` IF EXISTS")
    database.define(
        f"CREATE VECTOR INDEX `{name}` IF NOT EXISTS"
        f" FOR (n:{label}) ON n.vector OPTIONS {{indexConfig: {{"
        f"`vector.dimensions`: {int(dimension)}, `vector.similarity_function`: 'cosine'}}}}"
    )
    database.rows("CALL db.awaitIndex($name, 60)", name=name)
