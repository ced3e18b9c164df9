"""Indexes beside a large store against the store's own, as figures and ratios of one run.

    uv run python -m benchmarks.large STORE BEIR_FOLDER... [--namespace default]

The store is only read: what is derived is written to a folder that is deleted afterwards. Times are
the process's own (CPU), medians. Words are those of questions in the folders, asked of the store's
own table, too: `same` are the questions whose first ten, and whose first 200, are equal. Vectors
that are asked for are the store's own, each moved by 0.3 in some direction; the bare operation is
the product of all vectors with one.
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
from clew.plugins.evaluation.run import load_beir
from clew.search.channels import DEPTH
from clew.stores.keywords import KIND, DerivedKeywords
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors import VectorMatrix
from clew.text import question_terms

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
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--namespace", default="default")
    given = parser.parse_args()
    store = SqliteStore(given.store / given.namespace)
    try:
        print(f"{len(store.chunk_ids())} passages")
        questions = [q.text for f in given.folders for q in load_beir(f).questions]
        if questions:
            measure_words(store, questions[:: len(questions) // ASKED + 1])
        measure_vectors(store)
    finally:
        store.close()


def measure_words(store: SqliteStore, questions: Sequence[str]) -> None:
    """The store's own table, and the index beside it."""
    languages, ids = store.languages(), store.chunk_ids()
    asked = [question_terms(question, languages) for question in questions]
    with tempfile.TemporaryDirectory() as folder:
        index = DerivedKeywords(store, Path(folder), least=0)
        built = spent_ms(index.persist)
        size = folder_size(Path(folder) / KIND) / len(ids)
        print(f"words    built {built:.0f} ms, {size:.0f} bytes a passage")
        for among in (None, ids[::10], ids[:500]):
            by_table = [partial(store.search_keywords, terms, DEPTH, among) for terms in asked]
            by_index = [partial(index.search, terms, DEPTH, among) for terms in asked]
            pairs = [(a(), b()) for a, b in zip(by_table, by_index, strict=True)]
            same = [np.array_equal(a[0][:10], b[0][:10]) for a, b in pairs if b]
            whole = [np.array_equal(a[0], b[0]) for a, b in pairs if b]
            table, indexed = list(map(spent_ms, by_table)), list(map(spent_ms, by_index))
            print(
                f"among {len(ids) if among is None else len(among):7} table p50"
                f" {statistics.median(table):.2f} p95 {p95(table):.2f} ms, index p50"
                f" {statistics.median(indexed):.2f} p95 {p95(indexed):.2f} ms; of {len(asked)}"
                f" asked {len(same)} by it, same {sum(same)}, {sum(whole)}"
            )


def p95(values: Sequence[float]) -> float:
    """The value that one in twenty is above."""
    return sorted(values)[int(0.95 * len(values))]


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
