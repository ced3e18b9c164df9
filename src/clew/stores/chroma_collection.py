"""A collection in Chroma, which holds the embeddings of one namespace's chunks.

A tenant a namespace, in it the database `clew`, in it a collection a kind of retrieval. A record's
id is the chunk's. The collection's metadata say what it was made for (`recipe`), and which
generation of the store it was last brought up to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.settings import NAMESPACE
from clew.stores.chroma_connection import LostError

if TYPE_CHECKING:
    from chromadb.api import ServerAPI
    from chromadb.api.models.Collection import Collection
    from chromadb.types import Collection as Model

    from clew.settings import ChromaSettings
    from clew.types import Ids, Scores, Vector, Vectors

DATABASE = "clew"
_GENERATION = "generation"
_BATCH = 250  # a request of a moment, even where vectors are long
_READ = 1000
_PAGE = 10_000

Recipe = dict[str, str | int]


class CollectionPlace:
    """Where a namespace's collection is."""

    def __init__(self, settings: ChromaSettings, namespace: str) -> None:
        """Raises `InputError` for what is no namespace's name."""
        if not re.fullmatch(NAMESPACE, namespace):
            raise InputError(
                f"the namespace {namespace!r} cannot be a tenant of Chroma; expected at most 64"
                " letters without accents, digits, dots, hyphens and underscores"
            )
        self.address = (f"documents_{settings.kind}_v1", f"clew-{namespace}", DATABASE)
        """Name, tenant and database."""
        self._settings = settings

    def recipe(self, embedder: tuple[str, int]) -> Recipe:
        """What a collection is made for; one of another recipe is of no use."""
        return {
            "embedder": embedder[0],
            "dimension": embedder[1],
            "ef_construction": self._settings.ef_construction,
            "ef_search": self._settings.ef_search,
            "max_neighbors": self._settings.max_neighbors,
        }

    def find(self, client: ServerAPI) -> KeptCollection | None:
        """The collection; None where there is none."""
        from chromadb.errors import NotFoundError

        with suppress(NotFoundError):
            return KeptCollection(client.get_collection(*self.address))
        return None

    def remove(self, client: ServerAPI) -> None:
        """Delete the collection, where there is one."""
        from chromadb.errors import NotFoundError

        with suppress(NotFoundError):
            client.delete_collection(*self.address)

    def make(self, client: ServerAPI, recipe: Recipe) -> KeptCollection:
        """A new collection, in a tenant and a database that are made where they are missing."""
        name, tenant, database = self.address
        _make_database(client, tenant, database)
        model = client.create_collection(
            name,
            configuration={
                "hnsw": {
                    "space": "cosine",  # the default is the Euclidean distance
                    "ef_construction": self._settings.ef_construction,
                    "ef_search": self._settings.ef_search,
                    "max_neighbors": self._settings.max_neighbors,
                }
            },
            metadata=dict(recipe),
            get_or_create=True,  # a process on another machine may be faster
            tenant=tenant,
            database=database,
        )
        return KeptCollection(model)


class KeptCollection:
    """A collection as it was found; its records are read and written by a client given."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.id = str(model.id)
        """Another one where it was made again."""
        metadata = dict(model.metadata or {})
        generation = metadata.pop(_GENERATION, -1)
        self.generation = int(generation) if isinstance(generation, int) else -1
        """That of the store which the collection held whole when it was found; -1 for none."""
        self.recipe = metadata
        """What it was made for."""

    def set_generation(self, client: ServerAPI, generation: int) -> None:
        """Note that the collection holds the store of a generation."""
        self._of(client).modify(metadata={**self.recipe, _GENERATION: generation})

    def count(self, client: ServerAPI) -> int:
        """How many records there are."""
        return self._of(client).count()

    def chunk_ids(self, client: ServerAPI) -> Ids:
        """(n,) sorted ids of all records."""
        found: list[str] = []
        for offset in count(0, _PAGE):
            page = self._of(client).get(limit=_PAGE, offset=offset, include=[])["ids"]
            found += page
            if len(page) < _PAGE:
                return np.unique(np.array(found, dtype=np.int64))
        raise AssertionError  # `count` has no end

    def upsert(self, client: ServerAPI, ids: Ids, vectors: Vectors) -> None:
        """Write records, those that there are in their places."""
        for batch in _batches(ids, min(_BATCH, client.get_max_batch_size())):
            places = np.searchsorted(ids, batch)
            self._of(client).upsert(_names(batch), embeddings=vectors[places])

    def delete(self, client: ServerAPI, ids: Ids) -> None:
        """Delete records."""
        for batch in _batches(ids, min(_READ, client.get_max_batch_size())):
            self._of(client).delete(ids=_names(batch))

    def vectors(self, client: ServerAPI, chunk_ids: Ids) -> Vectors:
        """(len(chunk_ids), dimension) embeddings, within 1e-7, in the order of the ids given.

        Raises `LostError` where one is not there.
        """
        ids, places = np.unique(chunk_ids, return_inverse=True)
        rows = np.empty((len(ids), int(self.recipe["dimension"])), dtype=np.float32)
        for batch in _batches(ids, _READ):
            found = self._of(client).get(ids=_names(batch), include=["embeddings"])
            if len(found["ids"]) < len(batch):
                raise LostError(
                    f"{len(batch) - len(found['ids'])} vectors are missing from the collection"
                    f" {self._model.name!r} in Chroma; they are made again from the store"
                )
            rows[np.searchsorted(ids, _numbers(found["ids"]))] = found["embeddings"]
        return rows[places]

    def nearest(
        self, client: ServerAPI, vector: Vector, limit: int, only: Ids | None
    ) -> tuple[Ids, Scores]:
        """At most `limit` nearest records, `only` among those given; best first.

        Scores are the cosines, within 1e-6. Some of the nearest may be missing: HNSW is
        approximate.
        """
        found = self._of(client).query(
            query_embeddings=vector[None, :],
            ids=None if only is None else _names(only),
            n_results=limit,
            include=["distances"],
        )
        distances = found["distances"]
        assert distances is not None
        return _numbers(found["ids"][0]), 1 - np.array(distances[0], dtype=np.float32)

    def _of(self, client: ServerAPI) -> Collection:
        from chromadb.api.models.Collection import Collection

        # Without a function of its own, Chroma can neither embed nor fetch a model that does.
        return Collection(client, self._model, embedding_function=None, data_loader=None)


def _make_database(client: ServerAPI, tenant: str, database: str) -> None:
    from chromadb.errors import ChromaError, NotFoundError

    try:
        client.get_database(database, tenant)
    except NotFoundError:
        # Either may be there by now; where one cannot be made, the last line says why.
        with suppress(ChromaError):
            client.create_tenant(tenant)
        with suppress(ChromaError):
            client.create_database(database, tenant)
        client.get_database(database, tenant)


def _batches(ids: Ids, size: int) -> Iterator[Ids]:
    return (ids[start : start + size] for start in range(0, len(ids), size))


def _names(ids: Ids) -> list[str]:
    return [str(chunk_id) for chunk_id in ids.tolist()]


def _numbers(names: list[str]) -> Ids:
    return np.array(names, dtype=np.int64)
