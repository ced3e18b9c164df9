"""Reading everything at once: what matrices and other derived structures are built from.

Rows come as columns or lists that the server collects: a driver's row costs twenty times a value.
Batches are ranges of ids, which an index serves; a keyset with a limit would sort all that is left.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.ports import PassageRow, RelationRows
from clew.stores.derived import folder_size
from clew.stores.neo4j import check as neo4j_check
from clew.stores.neo4j import statistics as neo4j_statistics
from clew.stores.snapshot_rows import id_ranges, merge_mentions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.stores.neo4j.connection import Neo4jDatabase
    from clew.types import CheckReport, Ids, Vectors

_CHUNK_IDS = """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > $after RETURN collect(c.id)
"""
_PASSAGES = """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE $after < c.id <= $until
WITH c ORDER BY c.id
RETURN collect([c.id, c.document_id, c.ordinal, c.text, c.context, c.sentences])
"""
_MENTIONS = """
MATCH ()-[m:MENTIONS {namespace: $namespace}]->(e:ClewEntity)
WHERE $after < m.chunk_id <= $until
RETURN collect(m.chunk_id), collect(m.sentence), collect(e.id), collect(m.count)
"""
_RELATION_IDS = """
MATCH ()-[r:RELATES {namespace: $namespace}]->() WHERE r.id > 0 RETURN collect(r.id)
"""
_RELATIONS = """
MATCH (head:ClewEntity)-[r:RELATES {namespace: $namespace}]->(tail:ClewEntity)
WHERE $after < r.id <= $until AND r.retracted_at IS NULL
WITH r, head, tail ORDER BY r.id
RETURN collect(r.id), collect(head.id), collect(tail.id), collect(r.weight),
    collect(coalesce(r.chunk_id, 0)), collect(coalesce(r.sentence, -1))
"""
_RELATION = (np.int64, np.int64, np.int64, np.float32, np.int64, np.int64)
_OF_TYPE = """
MATCH (e:ClewEntity {namespace: $namespace, entity_type: $type})
USING INDEX e:ClewEntity(namespace, entity_type)
RETURN collect(e.id)
"""
_DIMENSION = "MATCH (s:ClewStore {namespace: $namespace}) RETURN s.dimension"
_EMBEDDINGS = """
MATCH (c:ClewChunk {namespace: $namespace})
WHERE $after < c.id <= $until AND c.vector IS NOT NULL
WITH c ORDER BY c.id
RETURN collect(c.id), collect(c.vector)
"""
_VECTORS, _TEXTS, _ROWS = 1000, 1000, 5000
"""How many a batch holds."""


class Neo4jSnapshot:
    """`ports.SnapshotSource` and the store as a whole."""

    folder: Path
    _database: Neo4jDatabase

    def reading(self) -> AbstractContextManager[None]:
        """See `ports.SnapshotSource`; writers of the namespace wait meanwhile."""
        return self._database.reading()

    def chunk_ids(self) -> Ids:
        """See `ports.SnapshotSource`."""
        return self._chunk_ids(after=0)

    def passages(self, after: int = 0) -> Iterator[PassageRow]:
        """See `ports.SnapshotSource`; read in batches, so that the caller may write meanwhile."""
        for low, high in id_ranges(self._chunk_ids(after), _TEXTS):
            for row in self._database.value(_PASSAGES, after=low, until=high):
                yield _passage(*row)

    def mention_rows(self, after: int = 0) -> NDArray[np.int64]:
        """See `ports.SnapshotSource`."""
        parts = [np.empty((0, 4), dtype=np.int64)]
        for low, high in id_ranges(self._chunk_ids(after), _ROWS):
            (columns,) = self._database.rows(_MENTIONS, after=low, until=high)
            parts.append(np.array(columns, dtype=np.int64).T)
        return merge_mentions(np.concatenate(parts))

    def relation_rows(self) -> RelationRows:
        """See `ports.SnapshotSource`."""
        columns: list[list[Any]] = [[] for _ in _RELATION]
        for low, high in id_ranges(_sorted(self._database.value(_RELATION_IDS)), _ROWS):
            (found,) = self._database.rows(_RELATIONS, after=low, until=high)
            for column, values in zip(columns, found, strict=True):
                column += values
        return RelationRows(*map(np.array, columns, _RELATION))

    def entities_of_type(self, entity_type: str) -> Ids:
        """See `ports.SnapshotSource`."""
        return _sorted(self._database.value(_OF_TYPE, type=entity_type))

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """See `ports.SnapshotSource`."""
        ids = self._chunk_ids(after)
        vectors = np.empty((len(ids), self._database.value(_DIMENSION) or 0), dtype=np.float32)
        count = 0  # where others write meanwhile, fewer may be left than there were ids
        for low, high in id_ranges(ids, _VECTORS):
            ((found, rows),) = self._database.rows(_EMBEDDINGS, after=low, until=high)
            if found:
                ids[count : count + len(found)] = found
                vectors[count : count + len(found)] = rows
            count += len(found)
        return ids[:count], vectors[:count]

    def statistics(self) -> dict[str, Any]:
        """Counts by name, `relation_types` by type, `embedder`, `generation`, `bytes` here."""
        counts = neo4j_statistics.read_statistics(self._database)
        return {**counts, "bytes": folder_size(self.folder)}

    def check(self, repair: bool = False) -> CheckReport:
        """Verify every invariant; with `repair`, mend whatever can be derived from the texts."""
        return neo4j_check.check(self._database, self.folder, repair=repair)

    def _chunk_ids(self, after: int) -> Ids:
        return _sorted(self._database.value(_CHUNK_IDS, after=after))


def _sorted(values: list[int]) -> Ids:
    return np.sort(np.array(values, dtype=np.int64))


def _passage(
    chunk_id: int, document_id: str, ordinal: int, text: str, context: str, sentences: str
) -> PassageRow:
    return PassageRow(
        chunk_id=chunk_id,
        document_id=document_id,
        ordinal=ordinal,
        text=text,
        context=context,
        sentences=tuple((start, end) for start, end in json.loads(sentences)),
    )
