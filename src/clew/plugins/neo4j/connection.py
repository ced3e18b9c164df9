"""Connections to Neo4j, and transactions.

Who writes to a namespace locks its `ClewStore` node first, until the commit, then its workers: any
number of machines may write, one at a time within a namespace, so that ids and generations grow in
the order of the commits. Computing embeddings, which is most of indexing, needs no lock. A worker
that saves beside others locks its own node alone (`neo4j.store`).
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from clew.errors import (
    StoreBusyError,
    StoreError,
    StoreMismatchError,
    StoreUnavailableError,
    extra_for,
)
from clew.request_end import go_on
from clew.settings.place import NAMESPACE
from clew.stores.backend import half_character, other_schema

if TYPE_CHECKING:
    from neo4j import ManagedTransaction, Query, Session, Transaction

    from clew.settings import Neo4jSettings

T = TypeVar("T")
Row = list[Any]

# Writing a property takes the node's lock; what is read afterwards is what the last holder left.
_LOCK = """
MATCH (s:ClewStore {namespace: $namespace}) SET s.locked = true
WITH s CALL () {
    MATCH (w:ClewWorker {namespace: $namespace}) WHERE w.number > 0
    WITH w ORDER BY w.number SET w.locked = true
}
MATCH (v:ClewSchema {name: 'store'}) RETURN v.version
"""
_LOCK_WORKER = """
MATCH (w:ClewWorker {namespace: $namespace, number: $worker}) SET w.locked = true
WITH w MATCH (v:ClewSchema {name: 'store'}) RETURN v.version
"""
_SHOWN = 60
_log = logging.getLogger("clew")


class Neo4jDatabase:
    """One namespace of a Neo4j database; threads share one, processes open their own.

    Every query is sent with `namespace` and `worker`. Raises `StoreUnavailableError` where the
    server cannot be reached, `StoreBusyError` where something that should pass did not within
    `retry_seconds`, and `StoreError` for all else; never the driver's own errors.
    """

    def __init__(self, address: str, settings: Neo4jSettings, namespace: str) -> None:
        """Nothing is connected before the first query."""
        self.address = address
        self.namespace = namespace
        self.schema: int | None = None
        """Version that this process works with, once it has seen to it; checked at each lock."""
        self._settings = settings
        self._here = threading.local()
        with extra_for("a store on Neo4j"):
            from neo4j import GraphDatabase
        login = (settings.user, settings.password.get_secret_value())
        self._driver = GraphDatabase.driver(
            address,
            auth=login if settings.user and login[1] else None,
            connection_timeout=settings.connect_seconds,
            connection_acquisition_timeout=settings.connect_seconds + 5,
            max_transaction_retry_time=settings.retry_seconds,
            notifications_min_severity="OFF",
            user_agent="clew",
        )
        self._closed = False

    def connect(self) -> None:
        """Make sure that the server answers; at once, without trying again."""
        with self._translated(), self._session(writes=False) as session:
            session.run("RETURN 1").consume()

    def close(self) -> None:
        """Let go of connections; may be called twice."""
        self._closed = True
        self._driver.close()

    # --- queries

    def rows(self, query: str, **parameters: object) -> list[Row]:
        """The rows that a query returns, as lists; one round trip.

        Within `write`, `batch` or `reading` it is a part of their transaction; else it only reads
        and is repeated while it fails for a reason that passes.
        """
        values = {"namespace": self.namespace, "worker": self.worker, **parameters}
        started = time.perf_counter()
        with self._translated():
            if self.in_transaction:
                found = [list(row.values()) for row in self._here.transaction.run(query, values)]
            else:
                found = self._read(query, values)
        spent = 1000 * (time.perf_counter() - started)
        _log.debug("neo4j rows=%d ms=%.1f %s", len(found), spent, " ".join(query.split())[:_SHOWN])
        return found

    def value(self, query: str, **parameters: object) -> Any:  # noqa: ANN401 - any column's
        """The first value of the first row; None where there is none."""
        found = self.rows(query, **parameters)
        return found[0][0] if found else None

    def _read(self, query: str, values: dict[str, object]) -> list[Row]:
        from neo4j.exceptions import DriverError, Neo4jError

        go_on()
        asked = self._bounded(query)
        deadline, pause = time.monotonic() + self._settings.retry_seconds, 0.05
        while True:
            try:
                with self._session(writes=False) as session:
                    return [list(row.values()) for row in session.run(asked, values)]
            except (Neo4jError, DriverError) as error:
                if not error.is_retryable() or time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 2.0)

    # --- queries of others, which may only read

    def explained(self, query: str, values: Mapping[str, object]) -> tuple[str, Mapping[str, Any]]:
        """Kind of a query (`r` where it reads) and the last operator of its plan; none is run."""
        with self._translated(), self._session(writes=False) as session:
            summary = session.run(self._bounded(f"EXPLAIN {query}"), dict(values)).consume()
        return summary.query_type or "", summary.plan or {}

    def bounded_rows(
        self, query: str, values: Mapping[str, object], limit: int
    ) -> tuple[tuple[str, ...], list[Row]]:
        """Columns and the first rows of a query; the server refuses whatever writes."""
        with self._translated(), self._session(writes=False) as session:
            result = session.run(self._bounded(query), dict(values))
            return tuple(result.keys()), [list(row.values()) for row in result.fetch(limit)]

    def _bounded(self, query: str) -> Query:
        from neo4j import Query

        return Query(query, timeout=self._settings.query_seconds)

    # --- transactions

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside `write`, `batch` or `reading`."""
        return getattr(self._here, "transaction", None) is not None

    @property
    def worker(self) -> int:
        """As which worker this thread writes; 0 where it writes alone."""
        return int(getattr(self._here, "worker", 0))

    def write(self, work: Callable[[], T], *, worker: int = 0) -> T:
        """Do what writes, all of it or nothing; beside a `worker`, other workers may write, too.

        The queries of `work` (`rows`) are one transaction. It may be called again, from its
        beginning, where the transaction failed for a reason that passes.
        """
        if self.in_transaction:
            if not self._here.writes:
                raise StoreError(
                    f"cannot begin to write to the store {self.address!r} while this thread reads"
                    " one state of it; leave `reading()` first"
                )
            return work()

        def locked(transaction: ManagedTransaction) -> T:
            with self._within(transaction, writes=True, worker=worker):
                self._lock(_LOCK_WORKER if worker else _LOCK)
                return work()

        from neo4j import unit_of_work

        bounded = unit_of_work(timeout=self._settings.query_seconds)(locked)
        with self._translated(), self._session(writes=True) as session:
            return session.execute_write(bounded)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Give this thread's writes inside one commit.

        What was written before an exception of the caller's lasts; where the server fails, nothing
        of the batch does. Other writers wait until the end. There are no savepoints: what may be
        refused is to be checked before the first query that writes.
        """
        from neo4j.exceptions import DriverError, Neo4jError

        if self.in_transaction:
            raise StoreError(
                f"cannot begin a batch in the store {self.address!r} within another one or within"
                " `reading()`; leave that first"
            )
        failed: Exception | None = None
        with self._translated(), self._transaction() as transaction:
            with self._within(transaction, writes=True):
                self._lock(_LOCK)
                try:
                    yield
                except (Neo4jError, DriverError):
                    raise
                except Exception as error:  # noqa: BLE001 - raised again after the commit
                    failed = error
            transaction.commit()
        if failed is not None:
            raise failed

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let this thread's reads inside see one state: nobody writes to the namespace meanwhile.

        Neo4j reads what is committed at each moment; only the writers' lock keeps a state.
        """
        if self.in_transaction:
            yield
            return
        with self._translated(), self._transaction() as transaction:
            with self._within(transaction, writes=False):
                self._lock(_LOCK)
                yield
            transaction.rollback()

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        with (
            self._session(writes=True) as session,
            session.begin_transaction(timeout=self._settings.query_seconds) as transaction,
        ):
            yield transaction

    @contextmanager
    def _within(
        self, transaction: Transaction | ManagedTransaction, *, writes: bool, worker: int = 0
    ) -> Iterator[None]:
        here = self._here
        here.transaction, here.writes, here.worker = transaction, writes, worker
        try:
            yield
        finally:
            here.transaction, here.worker = None, 0

    def _lock(self, query: str) -> None:
        """Wait for others; raise where another version of Clew has changed the schema meanwhile."""
        found = self.value(query)
        if None not in (found, self.schema) and found != self.schema:
            raise StoreMismatchError(
                f"the store {self.address!r} has schema version {found} by now, and this process"
                f" works with {self.schema}: another version of Clew changed it; end this process"
                " and start it with that version"
            )

    @contextmanager
    def _session(self, *, writes: bool) -> Iterator[Session]:
        if self._closed:
            raise StoreError(f"the store {self.address!r} is closed; open it again")
        session = self._driver.session(
            database=self._settings.database,
            default_access_mode="WRITE" if writes else "READ",
        )
        with session:
            yield session

    # --- schema

    def define(self, statement: str) -> None:
        """Run a statement that defines a constraint or an index, in a transaction of its own.

        What another process has made meanwhile is well, too: two that make the same index at once
        both find none, and the server refuses the second.
        """
        from neo4j.exceptions import ClientError

        with self._translated(), self._session(writes=True) as session:
            try:
                session.execute_write(lambda transaction: transaction.run(statement).consume())
            except ClientError as error:
                if not (error.code or "").endswith("AlreadyExists"):
                    raise

    # --- errors

    @contextmanager
    def _translated(self) -> Iterator[None]:
        from neo4j.exceptions import DriverError, Neo4jError

        try:
            yield
        except (Neo4jError, DriverError) as error:
            # Inside a managed transaction the driver has to see its own errors to try again.
            if self.in_transaction:
                raise
            raise translated(error, self.address, self._settings) from error
        except UnicodeEncodeError as error:
            raise half_character(error) from error


# The one place where errors of Neo4j's driver become Clew's.


class KeyTakenError(StoreError):
    """Somebody else has made a node with the same key meanwhile."""


class IdsUsedUpError(StoreError):
    """A worker has not as many ids left as what it saves takes."""


def translated(error: Exception, address: str, settings: Neo4jSettings) -> StoreError:
    """The error of Clew for one of the driver's."""
    from neo4j.exceptions import AuthError, ServiceUnavailable, SessionExpired, TransientError

    place = f"the store {address!r}"
    if isinstance(error, AuthError):
        return StoreError(
            f"{place} refuses the user {settings.user!r}; set CLEW_NEO4J__USER and"
            " CLEW_NEO4J__PASSWORD"
        )
    late = type(error).__name__ in ("ConnectionAcquisitionTimeoutError", "ReadServiceUnavailable")
    if late or isinstance(error, ServiceUnavailable | SessionExpired):
        return StoreUnavailableError(
            f"{place} cannot be reached; start the server, or give another address with --store"
            " (setting store)"
        )
    if isinstance(error, TransientError):
        return StoreBusyError(
            f"{place} was busy for longer than {settings.retry_seconds:g} s"
            f" ({_shown(error)}); try again, or raise the setting neo4j.retry_seconds"
        )
    code = getattr(error, "code", "") or ""
    if code.endswith("ConstraintValidationFailed"):
        return KeyTakenError(f"{place} has what was to be made already ({_shown(error)})")
    if code.endswith("DatabaseNotFound"):
        return StoreError(f"{place} has no database {settings.database!r}; set neo4j.database")
    return StoreError(f"{place} failed ({_shown(error)})")


def _shown(error: Exception) -> str:
    """The error in one line, without what parameters held."""
    text = str(getattr(error, "message", "") or error).strip().splitlines()
    return (text[0] if text else type(error).__name__)[:300]


# What a store on Neo4j looks like, and making it so.
#
# There is one schema; the node `(ClewSchema {name: 'store', version})` of the database says that it
# has it. A database that holds any other such node is refused, and nothing changes it.
#
# Every node and relationship has the property `namespace`, and every pattern names it. Ids are the
# integers of `ports` (a document's is text), given out by the namespace's `ClewStore` and never
# used again. Times are ISO 8601 text in UTC, as `values.to_text` writes them (they compare as
# text); JSON is text.
#
# Nodes, with their properties beside `namespace`:
#
# - ClewStore: store_id (its identity for good), generation, epoch, embedder, dimension, functional
#   (JSON), packs (JSON), pruned (JSON), next_section, next_chunk, next_entity, next_alias,
#   next_relation, copying (JSON: how far a copy into it is)
# - ClewWorker: number (from 1), generation, epoch, next_section, next_chunk, next_entity,
#   next_alias, next_relation: what one that saves beside others counts by itself, see
#   `neo4j.store`
# - ClewDocument: id, source, origin, read_from, title, sha256, media_type, created_at, date_source,
#   date_precision, updated_at, indexed_at, characters, recipe, metadata (JSON), version,
#   derived_from, title_key, file_key, language, describes, begins, ends; until it is settled also
#   worker (a number) and named (JSON of the ids of the aliases that came with it)
# - ClewVersion: document_id, version, sha256, derived_from, indexed_at, replaced_at
# - ClewEarlierText: document_id, version, said_at, characters, passages (compressed JSON), vectors
# - ClewSection: id, document_id, ordinal, start, end, headings (JSON), text
# - ClewChunk: id, document_id, section_id, ordinal, start, end, page, key, metadata (JSON),
#   sentences (JSON of ranges in the text), context, text, terms, vector (LIST<FLOAT>), uses,
#   last_used, read_at, enriched (JSON)
# - ClewTime: chunk_id, said (0 or 1), start, end, text, long (true, of more than a year)
# - ClewEntity: id, name, key, entity_type, content, tier; where packs are enabled what `published`
#   adds: labels, fields, vector (LIST<FLOAT>), vector_of (what the vector is of)
# - ClewAlias: id, key, name, method, score, evidence, block and term (what it is looked up by; none
#   where there is none)
# - ClewRule: key, target, name
# - ClewExtractionLog: entity_id, relationships_found, extracted_at
# - ClewPartition: built, moved, next_id, next_topic, and arrays: entity_ids, neighbourhoods,
#   strengths
# - ClewCommunity: id, level, parent (0: none), size, members (entity ids); where it has a report
#   also title, summary, entities, entity_ids, sources and embedding
# - ClewTheme: number, title, embedding
# - ClewTopic: id, key, name, theme (a number), passages, documents, chunks (ids), embedding
# - ClewDescription: key, name, title, text, sources (JSON), documents (JSON), basis, reason
# - ClewReply: key, task, model, subject, documents (JSON), reason, reply (JSON), characters,
#   input_tokens, cached_tokens, output_tokens, cost (none where unknown), seconds, at, hits
#
# Members and chunks are ids and no relationships: entities and chunks may have gone since. Arrays
# and embeddings are little-endian bytes, which come ten times as fast as lists: they are read
# whole.
#
# Relationships, likewise:
#
# - (ClewChunk)-[:PART_OF]->(ClewDocument), (ClewSection)-[:PART_OF]->(ClewDocument)
# - (ClewChunk)-[:IN_SECTION]->(ClewSection)
# - (ClewChunk)-[:AT]->(ClewTime)
# - (ClewAlias)-[:NAMES]->(ClewEntity)
# - (ClewChunk)-[:MENTIONS]->(ClewEntity): chunk_id, sentence (-1: the chunk is about it), alias_id,
#   start, end, count
# - (ClewEntity)-[:RELATES]->(ClewEntity): id, from_alias_id, to_alias_id, relation_type, weight,
#   is_causal, confidence, context (JSON), valid_from, valid_until, stated_until, recorded_at,
#   retracted_at, chunk_id, sentence, extractor
#
# A mention and a relation carry the alias by which the text named the entity: where an alias moves
# to another entity, they move with it.
#
# Chunks of a namespace bear a label of their own, too, which has a vector index and a full-text
# index (over `terms`, analysed by Clew, split at spaces): no namespace's candidates, word
# frequencies or dimensions touch another's.


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
            raise other_schema(database.address, version, SCHEMA_VERSION, earlier=name != "store")
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


def drop_namespace(database: Neo4jDatabase) -> None:
    """Forget a namespace that holds nothing any more: its indexes, and that it is a store."""
    for index in (vector_index, entity_index, keyword_index):
        database.define(f"DROP INDEX `{index(database.namespace)}` IF EXISTS")
    for label in ("ClewWorker", "ClewStore"):
        query = f"MATCH (n:{label} {{namespace: $namespace}}) DETACH DELETE n"
        database.write(partial(database.rows, query))


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
