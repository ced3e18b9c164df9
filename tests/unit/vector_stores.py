"""Stores whose vectors are brought elsewhere, and what a search of them must find."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clew.errors import StoreError
from clew.plugins.chroma.remote import ChromaRemote
from clew.plugins.qdrant.remote import QdrantRemote
from clew.ports import VectorIndex
from clew.settings import ChromaSettings, QdrantSettings
from clew.stores.remote_vectors import SyncedIndex
from clew.stores.sqlite.store import SqliteStore
from clew.stores.state import COUNT_CHANGE
from clew.stores.store import Store
from clew.testing.conformance import (
    DIMENSION,
    EMBEDDER,
    FUNCTIONAL,
    VectorIndexSuite,
    make_entry,
    make_vector,
)
from clew.types import Ids, Vector, Vectors


class OverSqlite(VectorIndexSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path, embedder=EMBEDDER, functional=FUNCTIONAL)
        yield store
        store.close()


def search_while_saving(index: VectorIndex, store: SqliteStore, held: int, until: int) -> None:
    """Three threads find each text of a store that holds `held`, while others are added."""
    errors: list[Exception] = []

    def search() -> None:
        try:
            for i in range(held):
                ids, scores = index.search_vector(make_vector(f"text {i}"), 1)
                assert index.vectors(ids).shape == (1, DIMENSION)
                assert scores[0] == pytest.approx(1, abs=1e-6)
        except (AssertionError, StoreError) as error:
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(held, until):
        add(store, i, i + 1)
    for thread in threads:
        thread.join()
    assert errors == []


def filled_store(folder: Path) -> SqliteStore:
    store = SqliteStore(folder, embedder=EMBEDDER)
    add(store, 0, 20)
    return store


def qdrant_index(
    store: Store, settings: QdrantSettings, namespace: str, folder: Path
) -> SyncedIndex:
    return SyncedIndex(store, QdrantRemote(store, settings, namespace, folder))


def chroma_index(
    store: Store, settings: ChromaSettings, namespace: str, folder: Path
) -> SyncedIndex:
    return SyncedIndex(store, ChromaRemote(settings, namespace, folder))


def add(store: SqliteStore, start: int, end: int) -> None:
    with store.batch():
        for i in range(start, end):
            store.save(make_entry(f"{i:03}", f"text {i}"))


def drop(store: SqliteStore, *numbers: int) -> None:
    store.delete([make_entry(f"{i:03}", "").document.id for i in numbers])


def embed_again(store: SqliteStore, embedder: tuple[str, int], rows: Vectors) -> None:
    """Put other vectors in place of all that the store holds."""
    ids = store.chunk_ids().tolist()
    with store.database.write() as connection:
        values = [(row.astype("<f4").tobytes(), i) for i, row in zip(ids, rows, strict=True)]
        connection.executemany(
            "UPDATE embeddings SET vector = ?1, checksum = crc32(?1) WHERE chunk_id = ?2", values
        )
        named = zip(("embedder", "dimension"), embedder, strict=True)
        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", named)
        connection.execute(COUNT_CHANGE.sql, {"changes": 1, "moves": 0})


def nearest(store: SqliteStore, query: Vector, limit: int, allowed: Ids | None = None) -> list[int]:
    """By a scan of all vectors in float64."""
    ids, rows = store.embeddings()
    if allowed is not None:
        kept = np.isin(ids, allowed)
        ids, rows = ids[kept], rows[kept]
    cosines = (rows.astype(np.float64) * query).sum(axis=1).astype(np.float32)
    return ids[np.lexsort((ids, -cosines))][:limit].tolist()


def found(store: SqliteStore, index: VectorIndex, text: str = "q") -> bool:
    """Whether the index finds all that the store holds, in the right order."""
    query = make_vector(text, store.embeddings()[1].shape[1])
    return index.search_vector(query, 10_000)[0].tolist() == nearest(store, query, 10_000)
