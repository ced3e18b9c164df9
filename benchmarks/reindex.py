"""Time of indexing again, as a ratio to indexing the same documents afresh in the same run.

    uv run python -m benchmarks.reindex BEIR_FOLDER... [--passages 2000]

A store is indexed with large chunks and then made anew with those of the settings, while another
thread begins a write every few milliseconds: how long it had to wait is what other writers notice
of the switch.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import clew
from benchmarks.speed import take
from clew.stores.sqlite.store import SqliteStore
from clew.types import Document

BEFORE = {"chunk_tokens": 400, "section_tokens": 800}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--passages", type=int, default=2_000)
    given = parser.parse_args()
    documents, _ = take(given.folders, given.passages)
    with tempfile.TemporaryDirectory(prefix="clew-reindex-") as folder:
        measure(documents, Path(folder))


def measure(documents: list[Document], folder: Path) -> None:
    """Index, index again, and index afresh."""
    settings = clew.load_settings(store=folder / "store", split=BEFORE)
    with clew.open(settings=settings) as engine:
        engine.embedder.embed_documents(["warm"])
        engine.add_documents(documents)
    with clew.open(folder / "store") as engine:
        engine.embedder.embed_documents(["warm"])
        with waits(engine.store.folder) as longest, worked() as again_worked:
            again = engine.reindex()
    with clew.open(folder / "fresh") as engine:
        engine.embedder.embed_documents(["warm"])
        with worked() as fresh_worked:
            fresh = engine.add_documents(documents)
    print(f"chunks {fresh.chunks}, documents {again.changed}")
    print(f"indexing {fresh.seconds:.1f} s (embedding {fresh.embedding_seconds:.1f} s)")
    print(f"indexing again {again.seconds:.1f} s (embedding {again.embedding_seconds:.1f} s)")
    print(f"ratio {again.seconds / fresh.seconds:.2f}")
    print(f"ratio of the processor's time {again_worked[0] / fresh_worked[0]:.2f}")
    print(f"a writer waited for {longest[0]:.2f} s at the most")


@contextmanager
def worked() -> Iterator[list[float]]:
    """Seconds that the processor worked, which other programs do not lengthen; a list of one."""
    seconds, started = [0.0], time.process_time()
    yield seconds
    seconds[0] = time.process_time() - started


@contextmanager
def waits(folder: Path) -> Iterator[list[float]]:
    """The longest time that a writer had to wait for the store, in a list of one."""
    longest, done = [0.0], threading.Event()

    def write() -> None:
        store = SqliteStore(folder)
        while not done.wait(0.02):
            started = time.perf_counter()
            with store.database.write():
                longest[0] = max(longest[0], time.perf_counter() - started)
        store.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield longest
    finally:
        done.set()
        thread.join()


if __name__ == "__main__":
    main()
