"""The store on Neo4j: one database holds every namespace; `neo4j.connection` says what it holds.

A namespace is opened here, too, to copy it or to copy into it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from clew.derived_files import make_folder
from clew.engine import Engine
from clew.errors import InputError, NoLanguageModelError, StoreError
from clew.plugins.neo4j.backend import COUNTERS, Neo4jBackend, publish
from clew.plugins.neo4j.connection import (
    IdsUsedUpError,
    KeyTakenError,
    Neo4jDatabase,
    chunk_label,
    drop_namespace,
    holds_namespace,
    keyword_index,
    lucene_phrases,
    prepare_database,
    vector_index,
)
from clew.settings import Neo4jSettings, Settings
from clew.stores.aliases import Named, keys_asked, resolve_names
from clew.stores.backend import Progress, check_characters
from clew.stores.documents import NeedsLockError, PreparedDocument, write_document
from clew.stores.entities import delete_orphans
from clew.stores.passages import KEEP_VERSIONS
from clew.stores.relations import derive_again
from clew.stores.snapshot import id_ranges
from clew.stores.state import COUNT_CHANGE, STATE, State
from clew.stores.statements.documents import DocumentValues
from clew.stores.store import NOT_BEGUN, Store
from clew.stores.vectors import VectorMatrix
from clew.text import entity_key
from clew.types import (
    AliasEvidence,
    CheckReport,
    CypherAnswer,
    Ids,
    Metadata,
    Scores,
    Unsettled,
    Vector,
    Vectors,
)
from clew.wiring import server_kind

# Saving beside others: workers add documents to one namespace, each with a lock of its own.
#
# A worker locks its own `ClewWorker` node, takes ids from a block that it was given, and counts its
# changes there; then it locks the entities that its document names, so that weights and ends of
# relations are derived from all that is said of them. Who writes in another way locks all workers
# and so meets none in the middle of a save. The server keeps the key of an alias unique: the second
# of two workers that bring the same name begins again. What takes more than adding (a document that
# was there, a name that moves to another entity) is done under the lock of the namespace.
#
# Names that two bring at the same moment and that are spelled alike are tied afterwards. Until then
# a document bears the number of its worker, so that another one can settle what one that was killed
# has left.


IDS = 5000
"""Ids of each kind that a worker is given at a time."""
_TRIES = 5
_SETTLED_AT_ONCE = 100
"""Documents."""

_TAKE_IDS = f"""
MATCH (s:ClewStore {{namespace: $namespace}}) SET s.locked = true
MERGE (w:ClewWorker {{namespace: $namespace, number: $number}})
ON CREATE SET w.generation = 0, w.epoch = 0
SET {", ".join(f"w.{name} = s.{name}" for name in COUNTERS.values())}
SET {", ".join(f"s.{name} = s.{name} + $ids" for name in COUNTERS.values())}
RETURN {", ".join(f"s.{name}" for name in COUNTERS.values())}
"""
# In one order, whoever locks. Writing a property takes a node's lock.
_LOCK_NAMED = """
UNWIND $keys AS key
MATCH (:ClewAlias {namespace: $namespace, key: key})-[:NAMES {namespace: $namespace}]->(e)
WITH DISTINCT e ORDER BY e.id SET e.tier = e.tier
RETURN e.id
"""
_UNSETTLED = """
MATCH (d:ClewDocument {namespace: $namespace})
WHERE d.worker IS NOT NULL AND $number IN [0, d.worker]
RETURN d.id, d.named LIMIT $limit
"""
# Names that are an entity's own; those that were tied to another's were compared when they came.
_NAMES = """
UNWIND $ids AS id
MATCH (a:ClewAlias {namespace: $namespace, id: id, method: 'exact'})
    -[:NAMES {namespace: $namespace}]->(e)
RETURN a.name, e.entity_type
"""
_SETTLE = """
UNWIND $ids AS id
MATCH (d:ClewDocument {namespace: $namespace, id: id}) REMOVE d.worker, d.named
"""


# Searching on the server by words and by vectors; filters on metadata.
#
# The server quantises vectors and its index is approximate: what it finds are candidates. Exact
# scores come from a matrix on this machine, which is derived from the server's vectors. What
# filters need is read once a generation, and kept.


T = TypeVar("T")

_WORDS = 512
"""Terms of a question that count; Lucene takes 1024 at most."""

_KEYWORDS = """
CALL db.index.fulltext.queryNodes($keywords, $phrases) YIELD node, score
WITH node.id AS id, score WHERE $allowed IS NULL OR id IN $allowed
WITH id, score ORDER BY score DESC, id LIMIT $limit
RETURN collect(id), collect(score)
"""
_NEAREST = """
CALL db.index.vector.queryNodes($vectors, $nearest, $vector) YIELD node
RETURN collect(node.id)
"""
_EMBEDDINGS = """
MATCH (c:ClewChunk {namespace: $namespace})
WHERE $after < c.id <= $until AND c.vector IS NOT NULL
WITH c ORDER BY c.id
RETURN collect(c.id), collect(c.vector)
"""
_VECTORS = 1000
"""Embeddings of a batch."""
_STATE = """
CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel'
RETURN versions[0], COUNT {{ (c:{label}) }}
"""
_LONGEST = 7000
"""Bytes of a text that is looked up; an index of Neo4j takes 8 kB, with the namespace."""


class Neo4jStore(Store):
    """The store in a namespace of a Neo4j database; threads and machines may share one.

    Raises `StoreUnavailableError` where the server cannot be reached, `StoreMismatchError` for a
    store of another embedder or schema.
    """

    backend: Neo4jBackend
    _worker = 0
    """As which worker documents are saved beside others; 0 where this store saves alone."""

    def __init__(
        self,
        address: str,
        settings: Neo4jSettings,
        namespace: str,
        folder: Path,
        *,
        embedder: tuple[str, int] | None = None,
        functional: Collection[str] | None = None,
        keep_versions: int = KEEP_VERSIONS,
    ) -> None:
        """Open the store of a namespace, made where it does not exist; the rest as in `Store`.

        `folder` is on this machine and holds what is derived.
        """
        make_folder(folder)
        database = Neo4jDatabase(address, settings, namespace)
        try:
            database.connect()
            prepare_database(database)
        except BaseException:
            database.close()
            raise
        self._kept: dict[str, tuple[int, object]] = {}
        """By name: a generation of the store, and what was read of it."""
        super().__init__(
            Neo4jBackend(database, folder),
            embedder=embedder,
            functional=functional,
            keep_versions=keep_versions,
        )

    @property
    def database(self) -> Neo4jDatabase:
        """The connection, for what else is kept on the server."""
        return self.backend.database

    def write_prepared(self, prepared: PreparedDocument, embedder: tuple[str, int]) -> None:
        """See `Documents`; a worker writes beside others."""
        if not self._worker:
            return super().write_prepared(prepared, embedder)
        keep, keys = self.keep_versions, keys_asked(prepared.names, prepared.entry.links)
        work = partial(
            write_document, self.backend, prepared, embedder, keep=keep, worker=self._worker
        )

        def beside() -> None:
            work(own={row[0] for row in self.database.rows(_LOCK_NAMED, keys=keys)})

        for attempt in range(_TRIES):
            try:
                return self.database.write(beside, worker=self._worker)
            except IdsUsedUpError:
                self._take_ids(IDS * 4**attempt)
            except KeyTakenError:
                continue
            except NeedsLockError:
                break
        return self.backend.write(work)

    def _take_ids(self, count: int) -> None:
        """Give the worker ids that nobody else has; call while it saves nothing."""
        take = partial(self.database.rows, _TAKE_IDS, number=self._worker, ids=count)
        (ends,) = self.database.write(take)
        self.backend.worker_ids = dict(zip(COUNTERS.values(), ends, strict=True))

    @contextmanager
    def beside_others(self, worker: int) -> Iterator[None]:
        """Inside it, documents are saved as those of a worker, from 1, while other workers save.

        Only a server lets them; a store that is a file has them take turns. What workers could not
        see of each other is to be settled afterwards.
        """
        self._worker = worker
        try:
            self._take_ids(IDS)
            yield
        finally:
            self._worker = 0

    def batch(self) -> AbstractContextManager[None]:
        """A context whose writes share one commit, which is faster.

        What was done before an exception of the caller's lasts. This thread sees it at once, others
        after the end; other writers wait meanwhile.

        A worker's saves each have a commit of their own.
        """
        return nullcontext() if self._worker else super().batch()

    def unsettled(self, worker: int) -> Unsettled | None:
        """Some of the documents that a worker has not settled, of any for 0; None where all are."""
        found = self.database.rows(_UNSETTLED, number=worker, limit=_SETTLED_AT_ONCE)
        ids = [id_ for _, named in found for id_ in json.loads(named)]
        names = self.database.rows(_NAMES, ids=ids) if ids else []
        return Unsettled([row[0] for row in found], dict(map(tuple, names))) if found else None

    def settle(self, unsettled: Unsettled, links: Sequence[AliasEvidence]) -> None:
        """Tie names that workers did not see of each other, and derive what follows from them."""

        def work() -> None:
            if links:
                names = {
                    entity_key(one.alias): Named(one.alias, unsettled.names[one.alias])
                    for one in links
                }
                functional = State(self.backend.rows(STATE)).functional
                moved = resolve_names(self.backend, names, links).moved
                delete_orphans(self.backend, moved)
                derive_again(self.backend, functional, moved=moved)
            self.database.rows(_SETTLE, ids=list(unsettled.documents))
            # Ids of two workers do not come in the order of their commits: all is to be read again.
            self.backend.execute(COUNT_CHANGE, changes=1, moves=1)

        self.backend.write(work)

    def check_lengths(self, prepared: PreparedDocument) -> None:
        """See `Documents`."""
        document = prepared.entry.document
        for text in (document.source, document.origin, *prepared.names):
            if len(text.encode()) > _LONGEST:
                raise InputError(
                    f"{text[:60]!r}… is {len(text.encode())} bytes long; expected names and sources"
                    f" of {_LONGEST} bytes at most, which is what Neo4j can look up: shorten it"
                )

    def publish(
        self,
        labels: Mapping[str, str],
        properties: Sequence[tuple[str, str, str, Mapping[str, Any]]],
        embed: Callable[[Sequence[str]], Vectors] | None,
    ) -> None:
        """Show the graph in the database's own terms, where people query it themselves.

        `labels` by entity type; relation types become relationships of their own; properties with
        the key and the type of their entity and the id of the document that describes it, times as
        `datetime` and `date`. Entities get vectors, those that nothing describes by `embed`.
        Nothing that is stored changes by it. A store that is a file does nothing.
        """
        publish(self.database, labels, properties, embed, self.state().dimension)

    def check(self, repair: bool = False, progress: Progress | None = None) -> CheckReport:
        """Verify every invariant; with `repair`, mend whatever can be derived from the texts.

        `progress` is called with each invariant, its number, and how many there are.
        """
        from clew.plugins.neo4j.check import Neo4jCheck

        return Neo4jCheck(self.backend, progress).run(repair=repair)

    # --- searching

    def search_keywords(
        self, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.KeywordIndex`; of several hundred terms the first ones count."""
        phrases = lucene_phrases(list(dict.fromkeys(terms))[:_WORDS])
        if not phrases or limit <= 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        ((ids, scores),) = self.database.rows(
            _KEYWORDS,
            keywords=keyword_index(self.database.namespace),
            phrases=phrases,
            limit=limit,
            allowed=None if allowed is None else allowed.tolist(),
        )
        return np.array(ids, dtype=np.int64), np.array(scores, dtype=np.float32)

    def nearest_chunks(self, vector: Vector, nearest: int) -> Ids:
        """Ids of about the nearest chunks, the nearest first; `nearest` is above 0."""
        found = self.database.value(
            _NEAREST,
            vectors=vector_index(self.database.namespace),
            vector=vector.tolist(),
            nearest=nearest,
        )
        return np.array(found, dtype=np.int64)

    def document_values(self) -> Mapping[str, DocumentValues]:
        """See `Documents`; read once a generation."""
        return self._once("documents", super().document_values)

    def chunk_values(self) -> Sequence[tuple[int, str, Metadata | None]]:
        """See `Documents`; read once a generation."""
        return self._once("chunks", super().chunk_values)

    def _once(self, name: str, read: Callable[[], T]) -> T:
        # The generation comes first: what is committed meanwhile makes the rows newer, never older.
        generation = self.generation()
        kept = self._kept.get(name)
        if kept is not None and kept[0] == generation:
            return cast("T", kept[1])
        found = read()
        # What a transaction under way has written may never be committed.
        if not self.database.in_transaction:
            self._kept[name] = generation, found
        return found

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """Chunks with an id above `after`, by id, and their embeddings."""
        ids, known = self.chunk_ids_after(after), self.embedder()
        vectors = np.empty((len(ids), known[1] if known else 0), dtype=np.float32)
        count = 0  # where others write meanwhile, fewer may be left than there were ids
        for low, high in id_ranges(ids, _VECTORS):
            ((found, rows),) = self.database.rows(_EMBEDDINGS, after=low, until=high)
            if found:
                ids[count : count + len(found)] = found
                vectors[count : count + len(found)] = rows
            count += len(found)
        return ids[:count], vectors[:count]

    def server_state(self) -> tuple[str, int]:
        """The server's version, and the number of chunks that its vector index holds."""
        query = _STATE.format(label=chunk_label(self.database.namespace))
        version, points = self.database.rows(query)[0]
        return str(version), int(points)


_COPY_SECONDS = 3600.0
"""How long reading a store may take; who writes waits as long as its own settings let it."""


def _place(settings: Settings) -> tuple[str, Neo4jSettings, str, Path]:
    return str(settings.store), settings.neo4j, settings.namespace, settings.folder


def open_for_copying(settings: Settings, *, make: bool) -> Neo4jBackend:
    """See `StoreKind`."""
    return open_backend(*_place(settings), make=make)


def open_backend(
    address: str, login: Neo4jSettings, namespace: str, folder: Path, *, make: bool
) -> Neo4jBackend:
    """Open a namespace to be copied from or into.

    One that is made is an unfinished copy from its first moment. Raises `InputError` where there is
    none, else what `Neo4jStore` raises.
    """
    patient = login.model_copy(update={"query_seconds": max(login.query_seconds, _COPY_SECONDS)})
    backend = Neo4jBackend(Neo4jDatabase(address, patient, namespace), folder)
    try:
        backend.database.connect()
        if not make and not holds_namespace(backend.database):
            raise InputError(
                f"there is no store {backend.place}; give the one to copy with --from and"
                " --namespace"
            )
        prepare_database(backend.database, copying=NOT_BEGUN)
    except BaseException:
        backend.close()
        raise
    return backend


# The vector index of a store on a server: candidates from there, exact scores from here.


SMALL = 50_000
"""Chunks below which the matrix on this machine is faster than the server's index."""
_SPARE = 100
# The last bits of a cosine differ with the order of its sum.
_EQUAL = 1e-6


class Neo4jVectors(VectorMatrix):
    """The matrix of a `Neo4jStore`, and the server's index where that is faster.

    Scores are exact and ties go to the smaller id, whoever finds the candidates: the matrix in
    `folder` alone where the store is small, where `allowed` is given, inside a transaction (which
    the server's index does not see) and where a tie goes on beyond the candidates.
    """

    _store: Neo4jStore

    def __init__(self, store: Neo4jStore, folder: Path, *, small: int = SMALL) -> None:
        """Nothing is read before it is needed; below `small` chunks the matrix answers alone."""
        super().__init__(store, folder)
        self._small = small

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.VectorIndex`. Raises `StoreError` for a vector of another dimension."""
        with self._store.pinned_generation():
            held = int(super().state()["points"])
            worth = held >= self._small and limit > 0 and _wanted(limit) < held
            if worth and allowed is None and not self._store.database.in_transaction:
                candidates = self._store.nearest_chunks(vector, _wanted(limit))
                ids, scores = super().search_vector(vector, len(candidates), candidates)
                last = scores[ids == candidates[-1:]]
                if len(ids) >= limit and len(last) and scores[limit - 1] > last[0] + _EQUAL:
                    return ids[:limit], scores[:limit]
            return super().search_vector(vector, limit, allowed)

    def state(self) -> dict[str, Any]:
        """See `ports.SyncedVectorIndex`; what the server's index holds."""
        state = {"backend": "neo4j", "available": True, "connected": True, "problem": ""}
        try:
            version, points = self._store.server_state()
        except StoreError as error:
            return {**state, "connected": False, "version": "", "points": None} | {
                "problem": str(error)
            }
        return {**state, "version": version, "points": points}


def _wanted(limit: int) -> int:
    """Candidates that hold the best ones: at 10,000 chunks of 384 dimensions, all of them."""
    return 2 * limit + _SPARE


# How a store on a Neo4j server is reached: a `clew.hookspecs.StoreKind`.


def open(settings: Settings) -> Neo4jStore:
    """See `StoreKind`."""
    return Neo4jStore(*_place(settings), keep_versions=settings.versions.keep)


def exists(settings: Settings) -> bool:
    """See `StoreKind`."""
    address, login, namespace, _ = _place(settings)
    with closing(Neo4jDatabase(address, login, namespace)) as database:
        return holds_namespace(database)


def namespaces(settings: Settings) -> list[str]:
    """See `StoreKind`."""
    address, login, namespace, _ = _place(settings)
    with closing(Neo4jDatabase(address, login, namespace)) as database:
        return [str(name) for (name,) in database.rows("MATCH (s:ClewStore) RETURN s.namespace")]


def drop(settings: Settings) -> None:
    """See `StoreKind`; the namespace's own indexes and its mark go last."""
    with closing(open_for_copying(settings, make=False)) as backend:
        backend.clear()
        drop_namespace(backend.database)


def vectors(settings: Settings, store: Neo4jStore) -> Neo4jVectors:
    """See `StoreKind`."""
    return Neo4jVectors(store, settings.folder)


def by_cypher(engine: Engine, question: str, *, limit: int = 50, run: bool = True) -> CypherAnswer:
    """The rows of a query that the language model writes for the store's graph on a server.

    Without `run` the query is only shown. Raises `InputError` for a store that is a folder and
    where no query that only reads was written, `NoLanguageModelError`, `ModelError`.
    """
    from clew.plugins.neo4j.cypher import ask_by_cypher, read_examples

    state = engine.state
    state.check_length("question", question)
    check_characters(question)
    server_kind(state.settings)
    if state.language_model is None:
        raise NoLanguageModelError
    address, login, namespace, _ = _place(state.settings)
    examples = read_examples(login.examples) if login.examples else ()
    with closing(Neo4jDatabase(address, login, namespace)) as database:
        return ask_by_cypher(
            database,
            state.language_model,
            question,
            embedder=state.embedder,
            examples=examples,
            limit=limit,
            run=run,
        )
