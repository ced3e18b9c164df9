"""Qdrant as a vector index: bringing vectors there and searching.

    uv run python -m benchmarks.qdrant [--url ADDRESS] [--vectors FILE.npy] [--count 10000]

Without an address, Qdrant is kept in a folder. The vectors are those of `benchmarks.chroma`. What
is made on a server is deleted afterwards, but for its collection.
"""

from __future__ import annotations

import argparse
import secrets
import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.chroma import QUESTIONS, fill, make_rows, median, timed
from clew.plugins.qdrant.remote import QdrantRemote
from clew.settings import QdrantSettings
from clew.stores.remote_vectors import SyncedIndex

if TYPE_CHECKING:
    from clew.stores.sqlite.store import SqliteStore
    from clew.types import Vectors


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--url", default="")
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--count", type=int, default=10_000)
    given = parser.parse_args()
    wanted = given.count + QUESTIONS
    rows = np.load(given.vectors)[:wanted] if given.vectors else make_rows(wanted)
    with tempfile.TemporaryDirectory(prefix="clew-qdrant-") as folder:
        store = fill(Path(folder), rows[: given.count])
        namespace = f"benchmark-{secrets.token_hex(4)}"
        settings = QdrantSettings(url=given.url, seconds=60)
        index = SyncedIndex(store, QdrantRemote(store, settings, namespace, Path(folder)))
        measure(store, index, rows[given.count :])
        store.delete([document.id for document in store.documents()])
        if given.url:
            index.refresh()
        index.close()
        store.close()


def measure(store: SqliteStore, index: SyncedIndex, questions: Vectors) -> None:
    """Print seconds, milliseconds and the recall."""
    index.state()  # imports the client
    print(f"bring {timed(index.refresh):.1f} s")
    print(f"unchanged {1000 * timed(index.refresh):.2f} ms")
    ids, rows = store.embeddings()
    for limit in (10, 100):
        spent = median(partial(index.search_vector, limit=limit), questions)
        print(f"search {limit}: p50 {spent:.1f} ms")
    nearest = [ids[np.argsort(-(rows @ question), kind="stable")[:10]] for question in questions]
    shares = [
        np.isin(best, index.search_vector(question, 10)[0]).mean()
        for best, question in zip(nearest, questions, strict=True)
    ]
    print(f"recall at 10: {statistics.fmean(shares):.4f}")
    random = np.random.default_rng(1)
    for count in (20, 256, 1000, len(ids) // 2):
        allowed = np.sort(random.choice(ids, count, replace=False))
        spent = median(partial(index.search_vector, limit=10, allowed=allowed), questions[:50])
        print(f"search 10 of {count} allowed: p50 {spent:.1f} ms")
    spent = statistics.median(timed(partial(index.vectors, ids[:100])) for _ in range(50))
    print(f"vectors 100: p50 {1000 * spent:.1f} ms")


if __name__ == "__main__":
    main()
