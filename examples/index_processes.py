"""Index a folder by several processes side by side into one store on a server.

    python examples/index_processes.py FOLDER --shards 4 --into neo4j://HOST:7687

Each worker is `clew index FOLDER --shard I/N`; all index beside each other. One that ends
badly, since it was killed or memory ran out, is started again: it goes on where it was. So does
this program when it is run again. Settings come from the environment, as for every command: with
`n` workers on one machine, give each its part of the cores (CLEW_EMBED__THREADS).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ATTEMPTS = 3
DONE = (0, 1)
"""Statuses of `clew`: all is done, or all but what could not be read."""


def clew(*arguments: str | Path, name: str) -> bool:
    """Run a command until it is done, at most so many times; whether it was."""
    for attempt in range(1, ATTEMPTS + 1):
        command = [sys.executable, "-m", "clew", *map(str, arguments)]
        with subprocess.Popen(command) as process:
            tell(f"{name}: process {process.pid}")
        if process.returncode in DONE:
            return True
        tell(f"{name}: attempt {attempt} ended with {process.returncode}")
    return False


def tell(line: str) -> None:
    """Write a line in one piece: `print` writes its end apart, and threads come between."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Index; 0 where all was done."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--into", metavar="STORE", required=True)
    given = parser.parse_args()

    def index(number: int) -> bool:
        shard = f"{number}/{given.shards}"
        command = ("index", given.folder, "--shard", shard, "--store", given.into)
        return clew(*command, name=f"shard {shard}")

    with ThreadPoolExecutor(given.shards) as workers:
        done = all(list(workers.map(index, range(1, given.shards + 1))))
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
