"""Train the ranker that ships with the package.

    python -m training.train BENCH_DIR [--out FILE]

Everything below BENCH_DIR that has the BEIR layout is learned from. The same data and the same
versions of the tools make the same file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from clew.search.ranking.ranker import FILE, save_ranker
from training.prepare import prepare, read_sources
from training.regime import fit

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "clew" / "query"


def train(bench: Path, out: Path) -> None:
    """Learn from every data set below `bench`, and write the ranker to `out`."""
    sources = read_sources(bench)
    digests = frozenset(source.data.digest for source in sources)
    save_ranker(fit(prepare(sources, say), digests), out)
    say(f"wrote {out} ({out.stat().st_size} bytes)")


def say(line: str) -> None:
    """Progress, on stderr."""
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description="Train the ranker that ships with the package.")
    parser.add_argument("bench", type=Path, help="folder of folders in the BEIR layout")
    parser.add_argument("--out", type=Path, default=PACKAGE / FILE)
    given = parser.parse_args()
    train(given.bench, given.out)


if __name__ == "__main__":
    main()
