"""What it costs to find damage and to survive loss of power, as figures and ratios of one run.

    uv run --group dev python -m benchmarks.durability [--passages 20000] [--writes 100]

Measured are: how fast a file of vectors is verified, beside a product with its matrix, which is
what one question costs, and by which checksum; how long `check` takes; and writes of one short text
each that are synced one by one, beside the same ones synced together.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import numpy as np

from clew.derived_files import MappedArrays, damaged_files, write_arrays
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import make_entry

DIMENSION = 384
RUNS = 7
DOCUMENTS = 500


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--writes", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clew-durability-") as folder:
        verifying(Path(folder), given.passages)
        writing(Path(folder), given.writes)


def verifying(folder: Path, passages: int) -> None:
    """How fast damage is looked for."""
    vectors = np.random.default_rng(1).standard_normal((passages, DIMENSION), np.float32)
    path = write_arrays(folder, "vectors", 1, {"ids": np.arange(passages), "vectors": vectors})
    data = path.read_bytes()
    gigabytes = len(data) / 1e9
    query = vectors[0]
    found = {
        "CRC-32": fastest(lambda: zlib.crc32(data)),
        "BLAKE2b": fastest(lambda: hashlib.blake2b(data).digest()),
        "mapping and verifying": fastest(lambda: MappedArrays(path).is_sound()),
        "`check` of the file": fastest(lambda: list(damaged_files(folder))),
        "one product with the matrix": fastest(lambda: vectors @ query),
    }
    print(f"{passages:,} vectors of {DIMENSION}, {1000 * gigabytes:.0f} MB")
    for name, seconds in found.items():
        print(f"  {name}: {1000 * seconds:.1f} ms, {gigabytes / seconds:.1f} GB/s")


def writing(folder: Path, writes: int) -> None:
    """What a sync costs a write."""
    with closing(SqliteStore(folder / "store", embedder=("none", 8))) as store:
        with store.batch():
            for number in range(DOCUMENTS):
                store.save(make_entry(f"d{number}", f"Text {number}. " * 40, names=["Text"]))
        started = time.perf_counter()
        store.check()
        print(f"check of {DOCUMENTS} documents: {time.perf_counter() - started:.2f} s")
        seconds: dict[str, list[float]] = {"synced one by one": [], "synced together": []}
        for number in range(writes):
            ways = {"synced one by one": nullcontext, "synced together": store.grouping}
            for name, way in ways.items():
                started = time.perf_counter()
                with way():
                    for part in range(10):
                        store.save(make_entry(f"{name}{number}-{part}", f"Said {number}."))
                seconds[name].append((time.perf_counter() - started) / 10)
    alone, grouped = (statistics.median(values) for values in seconds.values())
    print(f"a document synced by itself: {1000 * alone:.2f} ms; of ten: {1000 * grouped:.2f} ms")
    print(f"ratio: {alone / grouped:.2f}")


def fastest(work: Callable[[], object]) -> float:
    """Seconds."""

    def once() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return min(once() for _ in range(RUNS))


if __name__ == "__main__":
    main()
