"""Searching on the server by words, vectors or both in one round trip; filters on metadata.

The server quantises vectors and its index is approximate: what it finds are candidates. Exact
scores come from a matrix on this machine, which is derived from the server's vectors. What filters
need is read once a generation, and kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.stores.documents.metadata import COLUMNS, DocumentValues, meets_all
from clew.stores.neo4j.backend import Neo4jBackend
from clew.stores.neo4j.schema import chunk_label, keyword_index, vector_index
from clew.stores.snapshot import id_ranges
from clew.stores.state import CHANGES
from clew.stores.store import Store
from clew.types import Condition, Metadata

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase
    from clew.types import Ids, Scores, Vector, Vectors


# The generation comes first: what is committed meanwhile makes the rows newer, never older.
_ROWS = f"""{CHANGES}
WITH generation
CALL (generation) {{
    WITH generation WHERE generation <> $kept
    MATCH (d:ClewDocument {{namespace: $namespace}}) WHERE d.id >= ''
    RETURN collect([d.id, d.metadata, {", ".join(f"d.{name}" for name in COLUMNS)}]) AS documents
}}
CALL (generation) {{
    WITH generation WHERE generation <> $kept
    MATCH (c:ClewChunk {{namespace: $namespace}}) WHERE c.id > 0
    RETURN collect([c.id, c.document_id, CASE c.metadata WHEN '{{}}' THEN null ELSE c.metadata END])
        AS chunks
}}
RETURN generation, documents, chunks
"""


class _Rows(NamedTuple):
    """What conditions may ask about, as of a generation of the store."""

    generation: int
    documents: dict[str, DocumentValues]
    chunks: list[tuple[int, str, Metadata]]
    """(id, id of the document, own metadata)"""


class MetadataFilter:
    """Finds the chunks that meet conditions; threads may share one."""

    def __init__(self, database: Neo4jDatabase) -> None:
        self._database = database
        self._kept: _Rows | None = None

    def matching_chunks(self, where: Sequence[Condition]) -> list[int]:
        """Ids of the chunks that meet every condition."""
        rows = self._rows()
        verdicts = {id_: meets_all(where, of, {}) for id_, of in rows.documents.items()}
        return [
            chunk_id
            for chunk_id, document_id, own in rows.chunks
            # A document that was deleted while the rows were read has no verdict.
            if verdicts.get(document_id) is not None
            and (
                meets_all(where, rows.documents[document_id], own) if own else verdicts[document_id]
            )
        ]

    def matching_documents(self, where: Sequence[Condition]) -> list[str]:
        """Ids of the documents that meet every condition."""
        documents = self._rows().documents
        return [id_ for id_, of in documents.items() if meets_all(where, of, {})]

    def metadata_names(self) -> set[str]:
        """Names of all metadata, of documents and of chunks."""
        rows = self._rows()
        values = [
            *(of.metadata for of in rows.documents.values()),
            *(own for *_, own in rows.chunks),
        ]
        return {name for metadata in values for name in metadata}

    def _rows(self) -> _Rows:
        kept = self._kept
        known = -1 if kept is None else kept.generation
        generation, documents, chunks = self._database.rows(_ROWS, kept=known)[0]
        if kept is not None and generation == known:
            return kept
        found = _to_rows(generation, documents, chunks)
        # What a transaction under way has written may never be committed.
        self._kept = None if self._database.in_transaction else found
        return found


def _to_rows(
    generation: int,
    documents: list[list[str]],
    chunks: list[tuple[int, str, str | None]],
) -> _Rows:
    return _Rows(
        generation,
        {
            id_: DocumentValues(columns, json.loads(metadata))
            for id_, metadata, *columns in documents
        },
        [(id_, document_id, json.loads(own or "{}")) for id_, document_id, own in chunks],
    )


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

    def matching_chunks(self, where: Sequence[Condition]) -> Ids:
        """See `ports.PassageStore`."""
        found = self._filter.matching_chunks(where)
        self.check_fields(where, found)
        return np.sort(np.array(found, dtype=np.int64))

    def matching_documents(self, where: Sequence[Condition]) -> list[str]:
        """See `Documents`."""
        found = self._filter.matching_documents(where)
        self.check_fields(where, found)
        return found

    def metadata_names(self) -> set[str]:
        """See `Documents`."""
        return self._filter.metadata_names()

    @cached_property
    def _filter(self) -> MetadataFilter:
        return MetadataFilter(self.backend.database)

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
