"""Which chunks' mentions changed of late: a snapshot takes in these alone, not the whole store.

Names that become another entity's, what readers find in old passages, and pruning change them. Each
such commit is noted with the mentions version that it makes, so that one that nobody noted shows as
a gap. The store keeps the newest notes only; who is further behind reads all mentions.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

from clew.stores.backend import Backend, Found, Statement
from clew.stores.state import COUNT_CHANGE, REMEMBER, STATE, State, StoreState
from clew.stores.statements import AMONG

if TYPE_CHECKING:
    from clew.types import Ids

MOST = 2000
"""Ids that are kept."""

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
# Column: the notes as JSON; no row where nothing was ever noted.
_NOTES = Statement(
    "SELECT value FROM meta WHERE name = 'moved'",
    """
MATCH (s:ClewStore {namespace: $namespace}) WHERE s.moved IS NOT NULL
RETURN [s.moved] AS row
""",
)


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
    held, state = backend.gather(_NOTES, STATE)
    notes = [*_read(held), [State(state).mentions_version + 1, *sorted(map(int, chunk_ids))]]
    while notes and sum(map(len, notes)) - len(notes) > MOST:
        del notes[0]
    backend.execute_many(REMEMBER, [{"name": "moved", "value": json.dumps(notes)}])
    backend.execute(COUNT_CHANGE, changes=changes, moves=1)


def count_moved_aliases(backend: Backend, aliases: Iterable[int], *, changes: int = 1) -> None:
    """Count a change by which these aliases became another entity's, and note where they stand."""
    count_move(backend, chunks_naming(backend, aliases=aliases), changes=changes)


class MovedMentions(StoreState):
    """`ports.VectorSource.moved_since`."""

    def moved_since(self, mentions_version: int) -> Ids | None:
        """See `ports.VectorSource`."""
        now = self.mentions_version()
        notes = {version: ids for version, *ids in _read(self.backend.rows(_NOTES))}
        missed = range(mentions_version + 1, now + 1)
        if mentions_version > now or not all(version in notes for version in missed):
            return None
        found = [one for version in missed for one in notes[version]]
        return np.unique(np.array(found, dtype=np.int64))


def _read(held: Found) -> list[list[int]]:
    """A mentions version and ids each; none where what is there cannot be read."""
    try:
        notes = json.loads(held[0][0]) if held else []
        sound = isinstance(notes, list) and all(note and all(map(_is_id, note)) for note in notes)
    except (TypeError, ValueError):
        return []
    return notes if sound else []


def _is_id(value: object) -> bool:
    return type(value) is int
