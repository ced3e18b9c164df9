"""Saving beside others: workers add documents to one namespace, each with a lock of its own.

A worker locks its own `ClewWorker` node, takes ids from a block that it was given, and counts its
changes there; then it locks the entities that its document names, so that weights and ends of
relations are derived from all that is said of them. Who writes in another way locks all workers and
so meets none in the middle of a save. The server keeps the key of an alias unique: the second of
two workers that bring the same name begins again. What takes more than adding (a document that was
there, a name that moves to another entity) is done under the lock of the namespace.

Names that two bring at the same moment and that are spelled alike are tied afterwards. Until then a
document bears the number of its worker, so that another one can settle what one that was killed has
left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from clew.stores.aliases import Named, keys_asked, resolve_names
from clew.stores.entities import delete_orphans
from clew.stores.neo4j.backend import COUNTERS
from clew.stores.neo4j.connection import IdsUsedUpError, KeyTakenError
from clew.stores.relations import (
    heads_around,
    recompute_valid_until,
    recompute_weights,
    recompute_weights_around,
)
from clew.stores.save import NeedsLockError, write_document
from clew.stores.state import COUNT_CHANGE, STATE, State
from clew.text import entity_key
from clew.types import AliasEvidence, Unsettled

if TYPE_CHECKING:
    from clew.stores.neo4j.backend import Neo4jBackend
    from clew.stores.save import PreparedDocument

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


class WorkerSaves:
    """The saves of one worker; its ids are this process's own."""

    def __init__(self, backend: Neo4jBackend, number: int) -> None:
        self._backend = backend
        self._number = number
        self._take_ids(IDS)

    def write(self, prepared: PreparedDocument, embedder: tuple[str, int], keep: int) -> None:
        """Write a document beside others, or alone where that is the only way."""
        work = partial(
            write_document, self._backend, prepared, embedder, keep=keep, worker=self._number
        )
        keys = keys_asked(prepared.names, prepared.entry.links)

        def beside() -> None:
            work(own={row[0] for row in self._backend.database.rows(_LOCK_NAMED, keys=keys)})

        for attempt in range(_TRIES):
            try:
                return self._backend.database.write(beside, worker=self._number)
            except IdsUsedUpError:
                self._take_ids(IDS * 4**attempt)
            except KeyTakenError:
                continue
            except NeedsLockError:
                break
        return self._backend.write(work)

    def _take_ids(self, count: int) -> None:
        """Give the worker ids that nobody else has; call while it saves nothing."""
        database = self._backend.database
        take = partial(database.rows, _TAKE_IDS, number=self._number, ids=count)
        (ends,) = database.write(take)
        self._backend.worker_ids = dict(zip(COUNTERS.values(), ends, strict=True))


def read_unsettled(backend: Neo4jBackend, number: int) -> Unsettled | None:
    """Some of the documents that a worker, or any for 0, has not settled; None where all are."""
    found = backend.database.rows(_UNSETTLED, number=number, limit=_SETTLED_AT_ONCE)
    ids = [id_ for _, named in found for id_ in json.loads(named)]
    names = backend.database.rows(_NAMES, ids=ids) if ids else []
    return Unsettled([row[0] for row in found], dict(map(tuple, names))) if found else None


def settle(backend: Neo4jBackend, unsettled: Unsettled, links: Sequence[AliasEvidence]) -> None:
    """Tie names that workers did not see of each other; call inside `write`."""
    if links:
        _link(backend, unsettled.names, links)
    backend.database.rows(_SETTLE, ids=list(unsettled.documents))
    # Ids of two workers do not come in the order of their commits: all is to be read again.
    backend.execute(COUNT_CHANGE, changes=1, moves=1)


def _link(backend: Neo4jBackend, types: Mapping[str, str], links: Sequence[AliasEvidence]) -> None:
    names = {entity_key(one.alias): Named(one.alias, types[one.alias]) for one in links}
    functional = State(backend.rows(STATE)).functional
    moved = resolve_names(backend, names, links).moved
    delete_orphans(backend, moved)
    heads = heads_around(backend, moved, functional)
    recompute_weights(backend, recompute_valid_until(backend, heads, functional))
    recompute_weights_around(backend, moved)
