"""Searching on the server by words, vectors or both in one round trip; filters on metadata.

The server quantises vectors and its index is approximate: what it finds are candidates. Exact
scores come from a matrix on this machine, which is derived from the server's vectors. What filters
need is read once a generation, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from clew.stores.documents.metadata import DocumentValues
from clew.stores.neo4j.backend import Neo4jBackend
from clew.stores.neo4j.schema import chunk_label, keyword_index, vector_index
from clew.stores.snapshot import id_ranges
from clew.stores.store import Store
from clew.types import Metadata

if TYPE_CHECKING:
    from clew.types import Ids, Scores, Vector, Vectors

T = TypeVar("T")

_WORDS = 512
"""Terms of a question that count; Lucene takes 1024 at most."""

_KEYWORDS = """
CALL db.index.fulltext.queryNodes($keywords, $phrases) YIELD node, score
WITH node.id AS id, score ORDER BY score DESC, id LIMIT $limit
RETURN collect(id), collect(score)
"""
_ALLOWED_KEYWORDS = """
CALL db.index.fulltext.queryNodes($keywords, $phrases) YIELD node, score
WITH node.id AS id, score WHERE id IN $allowed
WITH id, score ORDER BY score DESC, id LIMIT $limit
RETURN collect(id), collect(score)
"""
_NEAREST = """
CALL db.index.vector.queryNodes($vectors, $nearest, $vector) YIELD node
RETURN collect(node.id)
"""
_BOTH = """
CALL () {
    CALL db.index.vector.queryNodes($vectors, $nearest, $vector) YIELD node, score
    RETURN collect(node.id) AS near_ids, collect(score) AS near_scores
}
CALL () {
    WITH $phrases AS phrases WHERE phrases <> ''
    CALL db.index.fulltext.queryNodes($keywords, phrases) YIELD node, score
    WITH node, score ORDER BY score DESC, node.id LIMIT $limit
    RETURN collect(node.id) AS held_ids, collect(score) AS held_scores
}
RETURN near_ids, near_scores, held_ids, held_scores
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


class Neo4jSearch(Store):
    """What a store on a server searches in a way of its own."""

    backend: Neo4jBackend

    def search_keywords(
        self, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.KeywordIndex`; of several hundred terms the first ones count."""
        phrases = _phrases(terms)
        if not phrases or limit <= 0:
            return _ranking([], [])
        values = {
            "keywords": keyword_index(self.backend.database.namespace),
            "phrases": phrases,
            "limit": limit,
        }
        if allowed is None:
            return _ranking(*self.backend.database.rows(_KEYWORDS, **values)[0])
        rows = self.backend.database.rows(_ALLOWED_KEYWORDS, **values, allowed=allowed.tolist())
        return _ranking(*rows[0])

    def find_candidates(
        self, vector: Vector, terms: Sequence[str], limit: int, *, nearest: int
    ) -> tuple[tuple[Ids, Scores], tuple[Ids, Scores]]:
        """The `nearest` chunks by vector and the `limit` best by words, in one round trip.

        Scores by vector are cosines of quantised vectors, off by hundredths: candidates, no scores;
        those by words are `ports.KeywordIndex`'s. Both numbers are above 0. Raises `StoreError` for
        a vector of another dimension.
        """
        rows = self.backend.database.rows(
            _BOTH,
            vectors=vector_index(self.backend.database.namespace),
            keywords=keyword_index(self.backend.database.namespace),
            vector=vector.tolist(),
            phrases=_phrases(terms),
            nearest=nearest,
            limit=limit,
        )
        near_ids, near_scores, held_ids, held_scores = rows[0]
        # The server says (1 + cosine) / 2.
        by_vector = _ranking(near_ids, 2 * np.array(near_scores) - 1)
        return by_vector, _ranking(held_ids, held_scores)

    def nearest_chunks(self, vector: Vector, nearest: int) -> Ids:
        """Ids of about the nearest chunks, the nearest first; `nearest` is above 0."""
        found = self.backend.database.value(
            _NEAREST,
            vectors=vector_index(self.backend.database.namespace),
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
        if not self.backend.database.in_transaction:
            self._kept[name] = generation, found
        return found

    @cached_property
    def _kept(self) -> dict[str, tuple[int, object]]:
        """By name: a generation of the store, and what was read of it."""
        return {}

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """See `ports.SnapshotSource`."""
        ids, known = self.chunk_ids_after(after), self.embedder()
        vectors = np.empty((len(ids), known[1] if known else 0), dtype=np.float32)
        count = 0  # where others write meanwhile, fewer may be left than there were ids
        for low, high in id_ranges(ids, _VECTORS):
            ((found, rows),) = self.backend.database.rows(_EMBEDDINGS, after=low, until=high)
            if found:
                ids[count : count + len(found)] = found
                vectors[count : count + len(found)] = rows
            count += len(found)
        return ids[:count], vectors[:count]

    def server_state(self) -> tuple[str, int]:
        """The server's version, and the number of chunks that its vector index holds."""
        query = _STATE.format(label=chunk_label(self.backend.database.namespace))
        version, points = self.backend.database.rows(query)[0]
        return str(version), int(points)


def _phrases(terms: Sequence[str]) -> str:
    """A Lucene query for any of the terms, which are no syntax in it."""
    return " OR ".join(_quoted(term) for term in list(dict.fromkeys(terms))[:_WORDS])


def _quoted(term: str) -> str:
    escaped = term.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _ranking(ids: Sequence[int], scores: Sequence[float] | Scores) -> tuple[Ids, Scores]:
    return np.array(ids, dtype=np.int64), np.array(scores, dtype=np.float32)
