"""Chroma as a vector index: bringing vectors there, searching, and what HNSW misses.

    uv run python -m benchmarks.chroma [--url ADDRESS] [--vectors FILE.npy] [--count 10000]

Without an address, Chroma is kept in a folder. The file holds unit vectors, questions after
`count` of them; without one they are random, of 32 degrees of freedom and some noise, which is near
what embeddings of texts are; with `--uniform` without any structure, which is the hardest for HNSW.
What is made on a server stays there, in a tenant of its own.
"""

from __future__ import annotations

import argparse
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.plugins.chroma.remote import ChromaRemote
from clew.settings import ChromaSettings
from clew.stores.remote_vectors import SyncedIndex
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import make_entry

if TYPE_CHECKING:
    from clew.types import Ids, Vector, Vectors

QUESTIONS = 200
DIMENSION = 384
LATENT = 32
NOISE = 0.3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--url", default="")
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--uniform", action="store_true")
    given = parser.parse_args()
    if given.vectors:
        rows = np.load(given.vectors)[: given.count + QUESTIONS]
    else:
        rows = make_rows(given.count + QUESTIONS, uniform=given.uniform)
    with tempfile.TemporaryDirectory(prefix="clew-chroma-") as folder:
        store = fill(Path(folder), rows[: given.count])
        namespace = f"benchmark-{secrets.token_hex(4)}"
        settings = ChromaSettings(url=given.url, seconds=60)
        index = SyncedIndex(store, ChromaRemote(settings, namespace, Path(folder)))
        measure(store, index, rows[given.count :])
        index.close()
        store.close()


def make_rows(count: int, *, uniform: bool = False, dimension: int = DIMENSION) -> Vectors:
    """(count, dimension) unit vectors, the same each time."""
    random = np.random.default_rng(0)
    rows = random.standard_normal((count, dimension))
    if not uniform:
        latent = random.standard_normal((count, LATENT))
        rows = latent @ random.standard_normal((LATENT, dimension)) / LATENT**0.5 + NOISE * rows
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def fill(folder: Path, rows: Vectors) -> SqliteStore:
    """A store of one document with a chunk a row."""
    store = SqliteStore(folder, embedder=("benchmark", rows.shape[1]))
    entry = make_entry("all", *(f"text {i}" for i in range(len(rows))))
    store.save(replace(entry, vectors=rows))
    return store


def measure(store: SqliteStore, index: SyncedIndex, questions: Vectors) -> None:
    """Print seconds, milliseconds and the recall."""
    index.state()  # imports the client
    print(f"bring {timed(index.refresh):.1f} s")
    ids, rows = store.embeddings()
    print(f"unchanged {1000 * timed(index.refresh):.2f} ms")
    for limit in (10, 100, 200):
        recalls = [recall(index, ids, rows, question, limit) for question in questions]
        spent = median(partial(index.search_vector, limit=limit), questions)
        print(f"search {limit}: p50 {spent:.1f} ms, recall {statistics.fmean(recalls):.4f}")
    random = np.random.default_rng(1)
    for count in (20, 256, 1000, len(ids) // 2):
        allowed = np.sort(random.choice(ids, count, replace=False))
        spent = median(partial(index.search_vector, limit=10, allowed=allowed), questions[:50])
        print(f"search 10 of {count} allowed: p50 {spent:.1f} ms")
    for count in (10, 100, 500):
        spent = statistics.median(timed(partial(index.vectors, ids[:count])) for _ in range(50))
        print(f"vectors {count}: p50 {1000 * spent:.1f} ms")


def recall(index: SyncedIndex, ids: Ids, rows: Vectors, question: Vector, limit: int) -> float:
    """Share of the nearest by a scan that the index finds."""
    nearest = ids[np.argsort(-(rows @ question), kind="stable")[:limit]]
    return np.isin(nearest, index.search_vector(question, limit)[0]).mean().item()


def timed(action: Callable[[], object]) -> float:
    """Seconds that an action takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def median(action: Callable[[Vector], object], questions: Vectors) -> float:
    """Milliseconds that an action takes of each question."""
    return 1000 * statistics.median(timed(partial(action, question)) for question in questions)


if __name__ == "__main__":
    main()
