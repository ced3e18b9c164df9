"""The numbered steps that make a Neo4j database what `neo4j.schema` says."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from clew.errors import StoreMismatchError
from clew.spelling import lookup_keys
from clew.stores.backend import to_text, to_time
from clew.stores.communities.rows import former_reports
from clew.stores.documents.chunk_dates import stated_date, time_rows
from clew.stores.documents.metadata import description_keys
from clew.text import name_keys
from clew.times import date_of

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase
    from clew.types import PartialDate

from clew.stores.neo4j.schema import (
    DESCRIPTION_CONSTRAINT,
    EARLIER_CONSTRAINT,
    INDEXES,
    LOG_INDEX,
    PARENT_INDEX,
    REPLY_CONSTRAINT,
    UNIQUE_NODES,
    UNIQUE_OF_COMMUNITIES,
    define_keywords,
    define_workers,
)

_MAKE_STORE = """
MERGE (s:ClewStore {namespace: $namespace})
ON CREATE SET s.store_id = randomUUID(), s.generation = 0, s.epoch = 0, s.next_section = 1,
    s.next_chunk = 1, s.next_entity = 1, s.next_alias = 1, s.next_relation = 1,
    s.copying = $copying
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

_WITHOUT_KEYS = """
MATCH (d:ClewDocument) WHERE d.file_key IS NULL WITH d LIMIT 1000
RETURN d.namespace, d.id, d.title, d.source
"""
_SET_KEYS = """
UNWIND $rows AS row
MATCH (d:ClewDocument {namespace: row.namespace, id: row.id}) SET d += row.keys
"""
_WITHOUT_DESCRIPTION = """
MATCH (d:ClewDocument) WHERE d.describes IS NULL WITH d LIMIT 1000
RETURN d.namespace, d.id, d.metadata
"""
_NAMES_AFTER = """
MATCH (a:ClewAlias) WHERE a.namespace > $of OR a.namespace = $of AND a.id > $after
RETURN a.namespace, a.id, a.name ORDER BY a.namespace, a.id LIMIT 5000
"""
_SET_LOOKUP_KEYS = """
UNWIND $rows AS row
MATCH (a:ClewAlias {namespace: row.namespace, id: row.id}) SET a += row.keys
"""

_TEXTS_OWN = """
UNWIND $rows AS row
MATCH (c:ClewCommunity {namespace: row.namespace, id: row.id})
SET c.title = row.title, c.summary = row.summary
"""
_FORGET_SUMMARIES = "MATCH (p:ClewPartition) SET p.summaries = null"


def m001_documents_and_graph(database: Neo4jDatabase) -> None:
    """Constraints and indexes of documents, their times, and the graph."""
    for label, names in UNIQUE_NODES.items():
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
    for name, place in INDEXES.items():
        database.define(f"CREATE INDEX {name} IF NOT EXISTS FOR {place}")


def m002_communities_and_topics(database: Neo4jDatabase) -> None:
    """Constraints and indexes of communities with their reports, and of topics and themes."""
    for name, (label, properties) in UNIQUE_OF_COMMUNITIES.items():
        database.define(
            f"CREATE CONSTRAINT {name} IF NOT EXISTS"
            f" FOR (n:{label}) REQUIRE ({properties}) IS UNIQUE"
        )
    database.define(
        f"CREATE INDEX {PARENT_INDEX} IF NOT EXISTS"
        " FOR (n:ClewCommunity) ON (n.namespace, n.parent)"
    )


def m003_store_id(database: Neo4jDatabase) -> None:
    """An identity of every store, as in SQLite."""
    database.define("MATCH (s:ClewStore) WHERE s.store_id IS NULL SET s.store_id = randomUUID()")


def m004_extraction_log(database: Neo4jDatabase) -> None:
    """The log of reading for relations bears the name of what it is, in all namespaces."""
    label = "ClewExtractionLog"
    database.define(
        f"CREATE INDEX {LOG_INDEX} IF NOT EXISTS FOR (n:{label}) ON (n.namespace, n.entity_id)"
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


def m006_name_keys(database: Neo4jDatabase) -> None:
    """The keys by which documents are looked up: those of their titles and of their files."""
    for name in ("clew_documents_by_title", "clew_documents_by_file"):
        database.define(f"CREATE INDEX {name} IF NOT EXISTS FOR {INDEXES[name]}")
    while found := database.rows(_WITHOUT_KEYS):
        rows = [
            {"namespace": namespace, "id": id_, "keys": name_keys(title, source)}
            for namespace, id_, title, source in found
        ]
        database.write(partial(database.rows, _SET_KEYS, rows=rows))


def m007_languages(database: Neo4jDatabase) -> None:
    """The language of each document; unknown, and read as English, for those that there are."""
    name = "clew_documents_by_language"
    database.define(f"CREATE INDEX {name} IF NOT EXISTS FOR {INDEXES[name]}")
    unknown = "MATCH (d:ClewDocument) WHERE d.language IS NULL WITH d LIMIT 10000"
    while database.write(lambda: database.value(f"{unknown} SET d.language = '' RETURN count(*)")):
        pass


def m008_replies(database: Neo4jDatabase) -> None:
    """What language models were asked, found by its key."""
    database.define(
        f"CREATE CONSTRAINT {REPLY_CONSTRAINT} IF NOT EXISTS"
        " FOR (n:ClewReply) REQUIRE (n.namespace, n.key) IS UNIQUE"
    )


def m009_earlier_texts(database: Neo4jDatabase) -> None:
    """Texts that documents had before the ones held, found by document and version."""
    database.define(
        f"CREATE CONSTRAINT {EARLIER_CONSTRAINT} IF NOT EXISTS"
        " FOR (n:ClewEarlierText) REQUIRE (n.namespace, n.document_id, n.version) IS UNIQUE"
    )


def m010_lookup_keys(database: Neo4jDatabase) -> None:
    """What names are looked up by: the block of those spelled alike, and the words of a term."""
    for name in ("clew_aliases_by_block", "clew_aliases_by_term", "clew_documents_by_digest"):
        database.define(f"CREATE INDEX {name} IF NOT EXISTS FOR {INDEXES[name]}")
    found = database.rows(_NAMES_AFTER, of="", after=0)
    while found:
        rows = [{"namespace": of, "id": id_, "keys": lookup_keys(name)} for of, id_, name in found]
        database.write(partial(database.rows, _SET_LOOKUP_KEYS, rows=rows))
        last, after, _ = found[-1]
        found = database.rows(_NAMES_AFTER, of=last, after=after)


def m011_descriptions(database: Neo4jDatabase) -> None:
    """What documents that describe an entity are looked up by: its type, and when it holds."""
    name = "clew_documents_by_description"
    database.define(f"CREATE INDEX {name} IF NOT EXISTS FOR {INDEXES[name]}")
    while found := database.rows(_WITHOUT_DESCRIPTION):
        rows = [
            {"namespace": namespace, "id": id_, "keys": description_keys(json.loads(metadata))}
            for namespace, id_, metadata in found
        ]
        database.write(partial(database.rows, _SET_KEYS, rows=rows))


def m012_model_descriptions(database: Neo4jDatabase) -> None:
    """What a language model says of what is stored, found by its key; reports are texts' own again.

    The model's replies are kept: writing its reports again asks nothing.
    """
    database.define(
        f"CREATE CONSTRAINT {DESCRIPTION_CONSTRAINT} IF NOT EXISTS"
        " FOR (n:ClewDescription) REQUIRE (n.namespace, n.key) IS UNIQUE"
    )
    found = database.rows(
        "MATCH (p:ClewPartition) WHERE p.summaries IS NOT NULL RETURN p.namespace, p.summaries"
    )
    for namespace, summaries in found:
        rows = [{"namespace": namespace, **row} for row in former_reports(summaries)]
        database.write(partial(database.rows, _TEXTS_OWN, rows=rows))
    database.write(partial(database.rows, _FORGET_SUMMARIES))


def m014_read_from(database: Neo4jDatabase) -> None:
    """Whether documents were read from files; of those that there are, their sources tell."""
    database.write(
        partial(
            database.rows,
            "MATCH (d:ClewDocument) WHERE d.read_from IS NULL"
            " SET d.read_from = CASE WHEN d.origin =~ '(.:)?/.*' THEN 'file' ELSE '' END",
        )
    )


MIGRATIONS: tuple[Callable[[Neo4jDatabase], None], ...] = (
    m001_documents_and_graph,
    m002_communities_and_topics,
    m003_store_id,
    m004_extraction_log,
    m005_date_precision,
    m006_name_keys,
    m007_languages,
    m008_replies,
    m009_earlier_texts,
    m010_lookup_keys,
    m011_descriptions,
    m012_model_descriptions,
    define_workers,
    m014_read_from,
)
"""Each may run twice at once, from two machines: it makes only what there is not."""
SCHEMA_VERSION = len(MIGRATIONS)


def migrate(database: Neo4jDatabase, *, copying: str | None = None) -> None:
    """Apply what is missing to the whole database, and make the namespace's store.

    A store that is made holds `copying` as the mark of an unfinished copy, where one is given.
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
        database.write(lambda: database.rows(_MAKE_STORE, copying=copying))
    database.schema = SCHEMA_VERSION


def holds_namespace(database: Neo4jDatabase) -> bool:
    """Whether the namespace has a store."""
    return bool(database.rows("MATCH (s:ClewStore {namespace: $namespace}) RETURN s.namespace"))
