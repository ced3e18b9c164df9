"""Vectors in Chroma, on a server or in a folder.

A tenant a namespace, in it the database `clew`, in it a collection a kind of retrieval. A record's
id is the chunk's. The collection's metadata say what it was made for, and which generation of the
store it was last brought up to. In a store of more than 1,000 chunks a search may miss a few of the
best: HNSW is approximate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.settings.place import NAMESPACE
from clew.stores.vectors.chroma_folder import ChromaFolder
from clew.stores.vectors.chroma_server import ChromaServer
from clew.stores.vectors.remote import LostError, SearchTraits

if TYPE_CHECKING:
    from chromadb.api import ServerAPI
    from chromadb.api.models.Collection import Collection
    from chromadb.types import Collection as Model

    from clew.settings import ChromaSettings
    from clew.stores.vectors.chroma_folder import ChromaConnection
    from clew.types import Ids, Scores, Vector, Vectors

DATABASE = "clew"
_GENERATION = "generation"
_BATCH = 250  # a request of a moment, even where vectors are long
_READ = 1000
_PAGE = 10_000

# A filtered search gets slower with the collection.
_TRAITS = SearchTraits(few=256, small=1000)

Recipe = dict[str, str | int]


class ChromaRemote:
    """`Remote` in Chroma: a collection of its own for each namespace."""

    name = "chroma"
    traits = _TRAITS

    def __init__(self, settings: ChromaSettings, namespace: str, folder: Path) -> None:
        """Nothing is opened before it is needed; `folder` is the store's.

        Raises `InputError` for a namespace, `SettingsError` for an address or token that cannot be.
        """
        if not re.fullmatch(NAMESPACE, namespace):
            raise InputError(
                f"the namespace {namespace!r} cannot be a tenant of Chroma; expected at most 64"
                " letters without accents, digits, dots, hyphens and underscores"
            )
        self.namespace = namespace
        self._settings = settings
        self._address = (f"documents_{settings.kind}_v1", f"clew-{namespace}", DATABASE)
        self._connection: ChromaConnection
        if settings.url:
            self._connection = ChromaServer(settings, folder)
        else:
            path = settings.path.expanduser() if settings.path else folder / "chroma"
            self._connection = ChromaFolder(path, settings.seconds, self._address)

    def reading(self) -> AbstractContextManager[None]:
        """See `Remote`."""
        return self._connection.reading()

    def writing(self) -> AbstractContextManager[None]:
        """See `Remote`."""
        return self._connection.writing()

    def close(self) -> None:
        """See `Remote`."""
        self._connection.close()

    def version(self) -> str:
        """See `Remote`."""
        return self._connection.client.get_version()

    def count(self, embedder: tuple[str, int]) -> int:
        """See `Remote`."""
        collection = self.find(embedder)
        return collection.count() if collection else 0

    def find(self, embedder: tuple[str, int]) -> ChromaCollection | None:
        """See `Remote`."""
        from chromadb.errors import NotFoundError

        try:
            model = self._connection.client.get_collection(*self._address)
        except NotFoundError:
            return None
        found = ChromaCollection(self._connection, model)
        return found if found.recipe == self._recipe(embedder) else None

    def make(self, embedder: tuple[str, int]) -> ChromaCollection:
        """See `Remote`; in a tenant and a database that are made where they are missing."""
        self.remove(embedder)
        name, tenant, database = self._address
        client = self._connection.client
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
            metadata=dict(self._recipe(embedder)),
            get_or_create=True,  # a process on another machine may be faster
            tenant=tenant,
            database=database,
        )
        return ChromaCollection(self._connection, model)

    def remove(self, embedder: tuple[str, int]) -> None:
        """See `Remote`; whatever embedder the collection was made for."""
        from chromadb.errors import NotFoundError

        with suppress(NotFoundError):
            self._connection.client.delete_collection(*self._address)

    def _recipe(self, embedder: tuple[str, int]) -> Recipe:
        """What a collection is made for; one of another recipe is of no use."""
        return {
            "embedder": embedder[0],
            "dimension": embedder[1],
            "ef_construction": self._settings.ef_construction,
            "ef_search": self._settings.ef_search,
            "max_neighbors": self._settings.max_neighbors,
        }


class ChromaCollection:
    """`RemoteCollection` in Chroma."""

    def __init__(self, connection: ChromaConnection, model: Model) -> None:
        self._connection = connection
        self._model = model
        self.key = str(model.id)
        metadata = dict(model.metadata or {})
        generation = metadata.pop(_GENERATION, -1)
        self.generation = int(generation) if isinstance(generation, int) else -1
        self.recipe = metadata
        """What it was made for."""

    def count(self) -> int:
        """See `RemoteCollection`."""
        return self._records().count()

    def chunk_ids(self) -> Ids:
        """See `RemoteCollection`."""
        found: list[str] = []
        for offset in count(0, _PAGE):
            page = self._records().get(limit=_PAGE, offset=offset, include=[])["ids"]
            found += page
            if len(page) < _PAGE:
                break
        return np.unique(np.array(found, dtype=np.int64))

    def vectors(self, chunk_ids: Ids) -> Vectors:
        """See `RemoteCollection`."""
        ids, places = np.unique(chunk_ids, return_inverse=True)
        rows = np.empty((len(ids), int(self.recipe["dimension"])), dtype=np.float32)
        for batch in _batches(ids, _READ):
            found = self._records().get(ids=_names(batch), include=["embeddings"])
            if len(found["ids"]) < len(batch):
                raise LostError(
                    f"{len(batch) - len(found['ids'])} vectors are missing from the collection"
                    f" {self._model.name!r} in Chroma; they are made again from the store"
                )
            rows[np.searchsorted(ids, _numbers(found["ids"]))] = found["embeddings"]
        return rows[places]

    def nearest(
        self, vector: Vector, limit: int, only: Ids | None, *, exact: bool
    ) -> tuple[Ids, Scores]:
        """See `RemoteCollection`; it has no choice but to be approximate."""
        found = self._records().query(
            query_embeddings=vector[None, :],
            ids=None if only is None else _names(only),
            n_results=limit,
            include=["distances"],
        )
        distances = found["distances"]
        assert distances is not None
        return _numbers(found["ids"][0]), 1 - np.array(distances[0], dtype=np.float32)

    def upsert(self, chunk_ids: Ids, rows: Vectors) -> None:
        """See `RemoteCollection`."""
        size = min(_BATCH, self._connection.client.get_max_batch_size())
        for batch in _batches(chunk_ids, size):
            places = np.searchsorted(chunk_ids, batch)
            self._records().upsert(_names(batch), embeddings=rows[places])

    def delete(self, chunk_ids: Ids) -> None:
        """See `RemoteCollection`."""
        for batch in _batches(chunk_ids, min(_READ, self._connection.client.get_max_batch_size())):
            self._records().delete(ids=_names(batch))

    def set_generation(self, generation: int) -> None:
        """See `RemoteCollection`."""
        self._records().modify(metadata={**self.recipe, _GENERATION: generation})

    def _records(self) -> Collection:
        from chromadb.api.models.Collection import Collection

        # Without a function of its own, Chroma can neither embed nor fetch a model that does.
        return Collection(
            self._connection.client, self._model, embedding_function=None, data_loader=None
        )


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
