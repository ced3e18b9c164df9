"""Workers that save into one namespace of a Neo4j server: in turn, and beside each other.

    uv run python -m benchmarks.workers BEIR_FOLDER... --neo4j ADDRESS [--passages 400] [--delay 5]

Each worker is a process with a shard of the documents, which it has read and extracted before the
clock starts; embeddings cost nothing. In turn they save as a `clew index` without `--shard` does,
several documents a transaction, under the lock of the namespace. `--delay` is added to each query,
in milliseconds: a server is seldom on the machine of all its workers. What is made is deleted.
"""

from __future__ import annotations

import argparse
import multiprocessing
import secrets
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import clew
from benchmarks.backends import forget
from benchmarks.corpora import FreeEmbedder
from benchmarks.speed import take
from clew.plugins.neo4j.connection import Neo4jDatabase
from clew.settings import Settings, load_settings
from clew.types import Document

_PATIENCE = 600


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--neo4j", required=True, metavar="ADDRESS")
    parser.add_argument("--passages", type=int, default=400)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--delay", type=float, default=0.0)
    given = parser.parse_args()
    documents, _ = take(given.folders, given.passages)
    for workers in given.workers:
        rates = [
            len(documents) / measure(given.neo4j, documents, workers, given.delay, beside=beside)
            for beside in (False, True)
        ]
        print(
            f"{workers} workers: {rates[0]:.1f} documents a second in turn,"
            f" {rates[1]:.1f} beside each other, {rates[1] / rates[0]:.2f} times",
            flush=True,
        )


def measure(
    address: str, documents: Sequence[Document], workers: int, delay: float, *, beside: bool
) -> float:
    """Seconds from when all workers are ready to when the last one is done."""
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(workers + 1)
    settings = load_settings(store=address, namespace=f"workers-{secrets.token_hex(4)}")
    with clew.open(settings=settings, embedder=FreeEmbedder()) as engine:
        engine.state.bound_ingest()
    parts = [documents[n::workers] for n in range(workers)]
    shards = [Shard(part, n if beside else 0, delay / 1000) for n, part in enumerate(parts, 1)]
    started = [context.Process(target=save, args=(settings, shard, ready)) for shard in shards]
    for process in started:
        process.start()
    ready.wait(_PATIENCE)
    began = time.perf_counter()
    for process in started:
        process.join(_PATIENCE)
        assert process.exitcode == 0
    spent = time.perf_counter() - began
    forget(settings)
    return spent


@dataclass(frozen=True)
class Shard:
    """What one worker does."""

    documents: Sequence[Document]
    worker: int
    """Its number; 0: it saves in turn with the others."""
    delay: float
    """Seconds, of each query."""


def save(settings: Settings, shard: Shard, ready: Barrier) -> None:
    """Save a shard, once all are ready."""
    send = Neo4jDatabase.rows

    def send_later(*arguments: Any, **values: Any) -> Any:  # noqa: ANN401 - the query's own
        time.sleep(shard.delay)
        return send(*arguments, **values)

    with clew.open(settings=settings, embedder=FreeEmbedder()) as engine:
        state = engine.state
        ingest = state.bound_ingest()
        prepared = [ingest.prepare(document) for document in shard.documents]
        ready.wait(_PATIENCE)
        setattr(Neo4jDatabase, "rows", send_later)  # noqa: B010 - a process of its own
        beside = state.store.beside_others(shard.worker) if shard.worker else nullcontext()
        with beside:
            ingest.run(iter(prepared), lambda document: None, state.writing)
        ingest.settle(shard.worker, state.writing)


if __name__ == "__main__":
    main()
