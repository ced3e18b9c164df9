"""Index a folder by the workers of a Ray cluster, then merge what they made into one store.

    pip install 'clew[ray]'
    python examples/index_ray.py FOLDER --shards 8 --work SHARED_FOLDER --into STORE

Each row of the data set is a shard, and each worker that takes one indexes it into a store of its
own below `--work`, which all machines see under that path, as they see FOLDER. Where STORE is on a
server (neo4j://HOST), all index into it beside each other, and nothing is merged. A worker that is
killed, or whose machine is gone, is tried again by Ray and goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import clew


def index(row: dict[str, Any], folder: str, work: str, shards: int) -> dict[str, Any]:
    """Index one shard into a folder of its own, or into a server's store; what was done of it."""
    number = int(row["id"]) + 1
    with clew.open(work if "://" in work else Path(work, str(number))) as engine:
        report = engine.index([folder], shard=(number, shards))
    return {"shard": number, "documents": report.added + report.changed, "chunks": report.chunks}


def main() -> None:
    """Index and merge."""
    import ray

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--work", type=Path, help="where shards go, unless STORE is on a server")
    parser.add_argument("--into", metavar="STORE", required=True)
    parser.add_argument("--address", default=None, help="of the cluster; else one is started here")
    given = parser.parse_args()
    on_server = "://" in given.into
    if not (given.work or on_server):
        parser.error("expected --work, a folder for the shards")
    folder = str(given.folder.resolve())
    work = given.into if on_server else str(given.work.resolve())
    ray.init(address=given.address, num_cpus=None if given.address else given.shards)
    done = (
        ray.data.range(given.shards, override_num_blocks=given.shards)
        .map(index, fn_args=(folder, work, given.shards))  # type: ignore[arg-type, unused-ignore]
        .take_all()
    )
    for row in sorted(done, key=lambda row: int(row["shard"])):
        print(f"shard {row['shard']}: {row['documents']} documents, {row['chunks']} chunks")
    ray.shutdown()
    if on_server:
        return
    stores = [Path(work, str(number)) for number in range(1, given.shards + 1)]
    with clew.open(given.into) as engine:
        merged = engine.maintenance.merge(stores)
    print(f"{merged.documents} documents merged, {merged.unchanged} unchanged")


if __name__ == "__main__":
    main()
