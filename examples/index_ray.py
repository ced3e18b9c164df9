"""Index a folder by the workers of a Ray cluster into one store on a server.

    pip install 'clew[ray]'
    python examples/index_ray.py FOLDER --shards 8 --into neo4j://HOST:7687

Each row of the data set is a shard; all machines see FOLDER under that path. A worker that is
killed, or whose machine is gone, is tried again by Ray and goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import clew


def index(row: dict[str, Any], folder: str, store: str, shards: int) -> dict[str, Any]:
    """Index one shard; what was done of it."""
    number = int(row["id"]) + 1
    with clew.open(store) as engine:
        report = engine.index([folder], shard=(number, shards))
    return {"shard": number, "documents": report.added + report.changed, "chunks": report.chunks}


def main() -> None:
    """Index."""
    import ray

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--into", metavar="STORE", required=True)
    parser.add_argument("--address", default=None, help="of the cluster; else one is started here")
    given = parser.parse_args()
    folder = str(given.folder.resolve())
    ray.init(address=given.address, num_cpus=None if given.address else given.shards)
    done = (
        ray.data.range(given.shards, override_num_blocks=given.shards)
        .map(index, fn_args=(folder, given.into, given.shards))  # type: ignore[arg-type, unused-ignore]
        .take_all()
    )
    for row in sorted(done, key=lambda row: int(row["shard"])):
        print(f"shard {row['shard']}: {row['documents']} documents, {row['chunks']} chunks")
    ray.shutdown()


if __name__ == "__main__":
    main()
