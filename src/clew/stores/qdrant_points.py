"""What is kept in Qdrant of a namespace's chunks; every call of its client is made here.

A collection holds the chunks of all namespaces that share an embedder, a point a chunk: the
embedding, the weights of its terms for BM25, and as payload `namespace`, `document_id` and
`chunk_id`. One more point a namespace, without vectors, says which generation of the store was last
brought here whole.
"""

from __future__ import annotations

import uuid
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.stores.qdrant_collections import DENSE, PREFIX, SPARSE
from clew.text import terms

if TYPE_CHECKING:
    from qdrant_client.http import models

    from clew.ports import PassageRow
    from clew.stores.qdrant_connection import QdrantConnection
    from clew.types import Ids, Scores, Vector

# Any UUID, but always the same: a chunk has the same point whoever writes it.
_POINT_IDS = uuid.UUID("8b5f7a52-3f0e-4c0c-9d43-0d2f6f1c7b1e")
_UPSERTED = 256
_PAGE = 10_000
_READ = 500

# BM25 as in SQLite's full-text search. The average length of a chunk is taken as given: it changes
# with every chunk, and what a chunk weighs must not.
_K1, _B, _AVERAGE_TERMS = 1.2, 0.75, 64

_HNSW_CANDIDATES = 128


def term_weights(found: Sequence[str]) -> dict[int, float]:
    """How much a chunk is about each of its terms, by the term's number: BM25 without the IDF.

    Qdrant multiplies by the IDF when it is asked. A term's number is its CRC-32.
    """
    counts = Counter(map(_term_number, found))
    length = _K1 * (1 - _B + _B * len(found) / _AVERAGE_TERMS)
    return {term: n * (_K1 + 1) / (n + length) for term, n in sorted(counts.items())}


def _term_number(term: str) -> int:
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


class NamespacePoints:
    """The points of one namespace in the collection of one embedder."""

    def __init__(self, connection: QdrantConnection, namespace: str, collection: str) -> None:
        self._connection = connection
        self._namespace = namespace
        self.collection = collection
        """Its name."""

    # --- what is there

    def generation(self) -> int | None:
        """The store's generation that was last brought here whole; None where none was."""
        with self._connection.client() as client:
            found = client.retrieve(self.collection, [self._marker()], with_payload=True)
        return found[0].payload["generation"] if found and found[0].payload else None

    def count(self) -> int:
        """Points of the namespace."""
        with self._connection.client() as client:
            return client.count(self.collection, self._scope(), exact=True).count

    def are_alone(self, count: int) -> bool:
        """Whether so many points of the namespace, and the one of its generation, are all."""
        with self._connection.client() as client:
            return client.count(self.collection, exact=True).count == count + 1

    def chunk_ids(self) -> Ids:
        """Ids (sorted) of the chunks that have a point."""
        found: list[int] = []
        page: Any = None
        while True:
            with self._connection.client() as client:
                records, page = client.scroll(
                    self.collection,
                    self._scope(),
                    limit=_PAGE,
                    offset=page,
                    with_payload=["chunk_id"],
                )
            found += _chunk_ids(records)
            if page is None:
                return np.unique(np.array(found, dtype=np.int64))

    def vectors(self, chunk_ids: Ids) -> dict[int, Any]:
        """Embeddings (lists of numbers) by chunk id, of those that are there."""
        found: dict[int, Any] = {}
        for part in _parts(chunk_ids.tolist(), _READ):
            with self._connection.client() as client:
                records = client.retrieve(
                    self.collection,
                    [self._point(chunk_id) for chunk_id in part],
                    with_payload=["chunk_id"],
                    with_vectors=[DENSE],
                )
            for record in records:
                if record.payload is not None and isinstance(record.vector, dict):
                    found[record.payload["chunk_id"]] = record.vector[DENSE]
        return found

    # --- searching

    def nearest(
        self, vector: Vector, limit: int, allowed: Ids | None, *, alone: bool, exact: bool
    ) -> tuple[Ids, Scores]:
        """The points nearest to a vector and their dot products with it, best first.

        `alone`: the collection holds no other namespace, and need not be filtered. `exact`: compare
        with every point, without the index.
        """
        with self._connection.client() as client:
            found = client.query_points(
                self.collection,
                query=vector.tolist(),
                using=DENSE,
                query_filter=None if alone and allowed is None else self._scope(allowed),
                search_params=self._dense_params(limit, exact=exact),
                limit=limit,
                with_payload=["chunk_id"],
            ).points
        return _hits(found)

    def fused(
        self,
        vector: Vector,
        query_terms: Sequence[str],
        limit: int,
        allowed: Ids | None,
        *,
        alone: bool,
        exact: bool,
    ) -> tuple[Ids, Scores]:
        """The `limit` best by vector and by BM25, fused by reciprocal rank, best first."""
        from qdrant_client.http import models

        scope = None if alone and allowed is None else self._scope(allowed)
        channels = [
            models.Prefetch(
                query=vector.tolist(),
                using=DENSE,
                filter=scope,
                params=self._dense_params(limit, exact=exact),
                limit=limit,
            )
        ]
        if numbers := sorted(set(map(_term_number, query_terms))):
            # How rare a term is must not depend on what other namespaces hold.
            own = None if alone else models.IdfCorpusParams(corpus=self._scope())
            channels.append(
                models.Prefetch(
                    query=models.SparseVector(indices=numbers, values=[1.0] * len(numbers)),
                    using=SPARSE,
                    filter=scope,
                    params=models.SearchParams(idf=own),
                    limit=limit,
                )
            )
        with self._connection.client() as client:
            found = client.query_points(
                self.collection,
                prefetch=channels,
                query=models.FusionQuery(fusion=models.Fusion.RRF),
                limit=len(channels) * limit,
                with_payload=["chunk_id"],
            ).points
        return _hits(found)

    # --- changing

    def upsert(self, rows: Iterable[tuple[PassageRow, Vector]]) -> None:
        """Write the points of chunks, each whole, in place of those with the same id."""
        for part in _parts(rows, _UPSERTED):
            points = [self._struct(passage, vector) for passage, vector in part]
            with self._connection.client() as client:
                client.upsert(self.collection, points, wait=True)

    def delete(self, chunk_ids: Ids) -> None:
        """Delete the points of chunks."""
        from qdrant_client.http import models

        for part in _parts(chunk_ids.tolist(), _PAGE):
            chosen = models.PointIdsList(points=[self._point(chunk_id) for chunk_id in part])
            with self._connection.client() as client:
                client.delete(self.collection, chosen, wait=True)

    def delete_all(self) -> None:
        """Delete every point of the namespace, the one of its generation first."""
        from qdrant_client.http import models

        marker = models.PointIdsList(points=[self._marker()])
        with self._connection.client() as client:
            client.delete(self.collection, marker, wait=True)
            client.delete(self.collection, models.FilterSelector(filter=self._scope()), wait=True)

    def set_generation(self, generation: int) -> None:
        """Say that all of the store's generation is here."""
        from qdrant_client.http import models

        payload = {"generation_of": self._namespace, "generation": generation}
        marker = models.PointStruct(id=self._marker(), vector={}, payload=payload)
        with self._connection.client() as client:
            client.upsert(self.collection, [marker], wait=True)

    def delete_elsewhere(self) -> None:
        """Delete what other collections hold of the namespace: another embedder's points."""
        with self._connection.client() as client:
            names = [found.name for found in client.get_collections().collections]
        for name in names:
            other = NamespacePoints(self._connection, self._namespace, name)
            ours = name.startswith(PREFIX) and name != self.collection
            if ours and other.generation() is not None:
                other.delete_all()

    # --- parts of requests

    def _point(self, chunk_id: int) -> str:
        # A slash stands in no namespace's name: no two namespaces share a point.
        return str(uuid.uuid5(_POINT_IDS, f"{self._namespace}/{chunk_id}"))

    def _marker(self) -> str:
        return str(uuid.uuid5(_POINT_IDS, self._namespace))

    def _struct(self, passage: PassageRow, vector: Vector) -> models.PointStruct:
        from qdrant_client.http import models

        weights = term_weights(terms(f"{passage.context}\n{passage.text}"))
        sparse = models.SparseVector(indices=list(weights), values=list(weights.values()))
        return models.PointStruct(
            id=self._point(passage.chunk_id),
            vector={DENSE: vector.tolist(), SPARSE: sparse},
            payload={
                "namespace": self._namespace,
                "document_id": passage.document_id,
                "chunk_id": passage.chunk_id,
            },
        )

    def _scope(self, allowed: Ids | None = None) -> models.Filter:
        """The namespace's points, or those of some of its chunks."""
        from qdrant_client.http import models

        own = models.FieldCondition(key="namespace", match=models.MatchValue(value=self._namespace))
        if allowed is None:
            return models.Filter(must=[own])
        chosen: models.HasIdCondition | models.FieldCondition
        if self._connection.local:  # which compares each number with each point
            chosen = models.HasIdCondition(has_id=[self._point(i) for i in allowed.tolist()])
        else:
            chosen = models.FieldCondition(
                key="chunk_id", match=models.MatchAny(any=allowed.tolist())
            )
        return models.Filter(must=[own, chosen])

    def _dense_params(self, limit: int, *, exact: bool) -> models.SearchParams | None:
        from qdrant_client.http import models

        if self._connection.local:  # which is always exact, and warns of being told
            return None
        if exact:
            return models.SearchParams(exact=True)
        rescored = models.QuantizationSearchParams(rescore=True, oversampling=2.0)
        return models.SearchParams(
            hnsw_ef=max(_HNSW_CANDIDATES, 2 * limit),
            quantization=rescored if self._connection.settings.quantization else None,
        )


def _parts(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part


def _chunk_ids(found: Sequence[models.Record] | Sequence[models.ScoredPoint]) -> list[int]:
    return [point.payload["chunk_id"] for point in found if point.payload is not None]


def _hits(found: Sequence[models.ScoredPoint]) -> tuple[Ids, Scores]:
    ids = np.array(_chunk_ids(found), dtype=np.int64)
    return ids, np.array([point.score for point in found], dtype=np.float32)
