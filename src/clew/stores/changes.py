"""What changed of late: what is derived from a store takes in this alone, not the whole store.

The store keeps two logs, of the newest changes only: which chunks were deleted, by generation, and
which chunks' mentions changed, by the mentions version that this made. Names that become another
entity's, what readers find in old passages, and pruning change mentions; a commit that nobody noted
shows as a gap. Who is further behind reads everything.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

import numpy as np

from clew.stores.backend import Backend, Found, Statement
from clew.stores.state import COUNT_CHANGE, STATE, State, StoreState, remember
from clew.stores.statements import AMONG
from clew.types import Ids

MOST = 2000
"""Ids that each log keeps."""

# Columns of both: the log as JSON; no row where nothing was ever noted.
_DELETED, _MOVED = (
    Statement(
        f"SELECT value FROM meta WHERE name = '{name}'",
        f"""
MATCH (s:ClewStore {{namespace: $namespace}}) WHERE s.{name} IS NOT NULL
RETURN [s.{name}] AS row
""",
    )
    for name in ("deleted", "moved")
)
# What a deletion has to know. Columns: the chunks' ids, of which there may be none.
DELETING = (
    Statement(
        f"SELECT id FROM chunks WHERE document_id {AMONG}",
        """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id}) WHERE c.id > 0
RETURN [c.id] AS row
""",
    ),
    _DELETED,
)
# One more than are kept tells that there are too many.
_CHUNKS_OF_ALIASES = Statement(
    f"SELECT DISTINCT chunk_id FROM mentions WHERE alias_id {AMONG} LIMIT :most",
    """
UNWIND $ids AS id
MATCH (:ClewAlias {namespace: $namespace, id: id})-[:NAMES {namespace: $namespace}]->(e)
MATCH (e)<-[m:MENTIONS {namespace: $namespace, alias_id: id}]-()
WITH DISTINCT m.chunk_id AS chunk LIMIT $most
RETURN [chunk] AS row
""",
)
_CHUNKS_OF_ENTITIES = Statement(
    f"SELECT DISTINCT chunk_id FROM entity_mentions WHERE entity_id {AMONG} LIMIT :most",
    """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
MATCH (e)<-[m:MENTIONS {namespace: $namespace}]-()
WITH DISTINCT m.chunk_id AS chunk LIMIT $most
RETURN [chunk] AS row
""",
)


def note_deleted(backend: Backend, generation: int, chunks: Found, held: Found) -> None:
    """Note what `DELETING` returned before documents are deleted; call inside `write`."""
    log = _read(held)
    if not log or sum(len(ids) for _, *ids in log[1:]) + len(chunks) > MOST:
        log = [[generation]]  # what went before is not known from here on
    log.append([generation, *(row[0] for row in chunks)])
    remember(backend, deleted=json.dumps(log))


def chunks_naming(
    backend: Backend, *, aliases: Iterable[int] = (), entities: Iterable[int] = ()
) -> set[int]:
    """Ids of the chunks that mention some aliases or entities, `MOST` and one more of either."""
    asked = ((_CHUNKS_OF_ALIASES, list(aliases)), (_CHUNKS_OF_ENTITIES, list(entities)))
    return {
        row[0]
        for statement, ids in asked
        if ids
        for row in backend.rows(statement, ids=ids, most=MOST + 1)
    }


def count_move(backend: Backend, chunk_ids: Collection[int], *, changes: int = 1) -> None:
    """Count a change of the mentions of these chunks, and note them; call inside `write`, once."""
    held, state = backend.gather(_MOVED, STATE)
    log = [*_read(held), [State(state).mentions_version + 1, *sorted(map(int, chunk_ids))]]
    while log and sum(map(len, log)) - len(log) > MOST:
        del log[0]
    remember(backend, moved=json.dumps(log))
    backend.execute(COUNT_CHANGE, changes=changes, moves=1)


def count_moved_aliases(backend: Backend, aliases: Iterable[int], *, changes: int = 1) -> None:
    """Count a change by which these aliases became another entity's, and note where they stand."""
    count_move(backend, chunks_naming(backend, aliases=aliases), changes=changes)


class Changes(StoreState):
    """What changed since a generation or a mentions version."""

    def deleted_since(self, generation: int) -> Ids | None:
        """Sorted ids of the chunks deleted since a generation, and perhaps of some before.

        None: not known, since too much was deleted meanwhile.
        """
        log = _read(self.backend.rows(_DELETED))
        if not log or log[0][0] > generation:
            return None
        ids = [one for at, *some in log[1:] if at >= generation for one in some]
        return np.unique(np.array(ids, dtype=np.int64))

    def moved_since(self, mentions_version: int) -> Ids | None:
        """Sorted ids of the chunks whose mentions changed hands since a version, and perhaps more.

        None: not known, since too many did meanwhile, or old chunks came back.
        """
        now = self.mentions_version()
        notes = {version: ids for version, *ids in _read(self.backend.rows(_MOVED))}
        missed = range(mentions_version + 1, now + 1)
        if mentions_version > now or not all(version in notes for version in missed):
            return None
        found = [one for version in missed for one in notes[version]]
        return np.unique(np.array(found, dtype=np.int64))


def _read(held: Found) -> list[list[int]]:
    """A number and ids each; nothing where what is there cannot be read."""
    try:
        log = json.loads(held[0][0]) if held else []
        sound = isinstance(log, list) and all(
            one and all(type(number) is int for number in one) for one in log
        )
    except (TypeError, ValueError):
        return []
    return log if sound else []
