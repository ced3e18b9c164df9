"""Train the ranker that ships with the package.

    python -m training.train BENCH_DIR [--real FOLDER] [--out FILE]

Everything below BENCH_DIR that has the BEIR layout is learned from, but for the families that
`NOT_LEARNED_FROM` names. The same data and the same versions of the tools make the same file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from clew.models.onnx import OnnxEmbedder
from clew.search import ranker
from clew.search.ranker import FILE
from clew.settings import load_settings
from training.forest import save_ranker
from training.prepare import Remembering, prepare
from training.real import prepare_real, real_digest
from training.regime import fit
from training.sources import read_sources

FOLDER = Path(ranker.__file__).parent
NOT_LEARNED_FROM = frozenset({"locomo", "realtalk", "scifact"})
"""Families whose licence does not let a ranker under Apache-2.0 learn from them."""


def train(bench: Path, real: Path | None, out: Path) -> None:
    """Learn from the data sets below `bench` whose licence allows it, and write the ranker.

    `real` is the folder that `benchmarks.real.fetch` fills; without it, real files are left out.
    """
    embedder = Remembering(OnnxEmbedder(load_settings().embed))
    sources = [one for one in read_sources(bench) if one.family not in NOT_LEARNED_FROM]
    say(f"learning from {', '.join(source.name for source in sources)}")
    digests = {source.data.digest for source in sources}
    groups = prepare(sources, say, embedder=embedder)
    if real is not None:
        groups += prepare_real(real, embedder)
        digests.add(real_digest())
    save_ranker(fit(groups, frozenset(digests)), out)
    say(f"wrote {out} ({out.stat().st_size} bytes)")


def say(line: str) -> None:
    """Progress, on stderr."""
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description="Train the ranker that ships with the package.")
    parser.add_argument("bench", type=Path, help="folder of folders in the BEIR layout")
    parser.add_argument("--real", type=Path, help="folder of real files, by benchmarks.real.fetch")
    parser.add_argument("--out", type=Path, default=FOLDER / FILE)
    given = parser.parse_args()
    train(given.bench, given.real, given.out)


if __name__ == "__main__":
    main()
