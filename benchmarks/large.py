"""Indexes beside a large store against the store's own, as figures and ratios of one run.

    uv run python -m benchmarks.large STORE [--namespace default]

The store is only read: what is derived is written to a folder that is deleted afterwards. Times are
the process's own (CPU), medians. Vectors that are asked for are the store's own, each moved by 0.3
in some direction; the bare operation is the product of all vectors with one.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.derived_files import folder_size
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors.matrix import VectorMatrix

if TYPE_CHECKING:
    from clew.types import Ids, Vectors

ASKED = 100
"""Questions of each kind."""
LIMIT = 100
"""Passages that a question asks for."""
_MOVED = 0.3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--namespace", default="default")
    given = parser.parse_args()
    store = SqliteStore(given.store / given.namespace)
    try:
        print(f"{len(store.chunk_ids())} passages")
        measure_vectors(store)
    finally:
        store.close()


def measure_vectors(store: SqliteStore) -> None:
    """All vectors compared, and those that codes choose."""
    ids, rows = store.embeddings()
    chance = np.random.default_rng(0)
    moved = chance.standard_normal((ASKED, rows.shape[1])).astype(np.float32)
    moved *= _MOVED / np.linalg.norm(moved, axis=1, keepdims=True)
    questions = rows[chance.integers(0, len(rows), ASKED)] + moved
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    bare = median_ms([partial(np.dot, rows, question) for question in questions])
    print(f"bare product: {bare:.2f} ms")
    some = ids[:: len(ids) // 10_000 + 1] if len(ids) > 10_000 else ids[::2]
    best = [partial(nearest, ids, rows, question) for question in questions]
    exact = [find() for find in best]
    for name, coded_from in (("exact", None), ("codes", 1)):
        with tempfile.TemporaryDirectory() as folder:
            matrix = VectorMatrix(store, Path(folder), coded_from=coded_from)
            built = spent_ms(matrix.persist)
            matrix = VectorMatrix(store, Path(folder), coded_from=coded_from)
            first = spent_ms(partial(matrix.search_vector, questions[0], LIMIT))
            asks = [partial(matrix.search_vector, question, LIMIT) for question in questions]
            among = [partial(ask, allowed=some) for ask in asks]
            every, of_some = median_ms(asks), median_ms(among)
            found = [ask()[0] for ask in asks]
            size = folder_size(Path(folder)) / len(ids)
        recall = np.mean([np.isin(b, f).mean() for b, f in zip(exact, found, strict=True)])
        print(
            f"{name:8} built {built:.0f} ms, {size:.0f} bytes a passage, first {first:.0f} ms,"
            f" p50 {every:.2f} ms ({every / bare:.2f} of bare), among {len(some)} {of_some:.2f} ms,"
            f" recall@{LIMIT} {recall:.4f}"
        )


def nearest(ids: Ids, rows: Vectors, question: Vectors) -> Ids:
    """The nearest by all products."""
    return ids[np.argsort(-(rows @ question), kind="stable")[:LIMIT]]


def median_ms(work: Sequence[Callable[[], object]]) -> float:
    """The median of the milliseconds that each takes."""
    return statistics.median(map(spent_ms, work))


def spent_ms(work: Callable[[], object]) -> float:
    """Milliseconds of the processor that some work takes in this process, threads included."""
    started = time.process_time()
    work()
    return 1000 * (time.process_time() - started)


if __name__ == "__main__":
    main()
