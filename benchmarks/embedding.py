"""Embedding against a bare loop over the same tokens, in turn within one run.

    uv run python -m benchmarks.embedding BEIR_FOLDER... [--passages 600] [--rounds 5]

The bare loop hands the tokens to onnxruntime and does nothing else: ready cut, sorted by length,
eight texts a batch. What is remembered of earlier runs is not used.
Rates are per second of the processor, so that they hold on a busy machine; ratios are of medians of
pairs in turn.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from clew.models.onnx import OnnxEmbedder, padded
from clew.plugins.evaluation.run import load_beir
from clew.settings import EmbedSettings

BATCH = 8


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--passages", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    found = [load_beir(folder).documents for folder in given.folders]
    share = given.passages // len(found)
    texts = [document.text[:1500] for documents in found for document in islice(documents, share)]
    embedder = OnnxEmbedder(EmbedSettings(remembered=0))
    works: dict[str, Callable[[], object]] = {
        "bare": bare(embedder, texts),
        "embedder": partial(embedder.embed_documents, texts),
    }
    for work in works.values():
        work()
    rounds = [[timed(work) for work in works.values()] for _ in range(given.rounds)]
    for name, column in zip(works, zip(*rounds, strict=True), strict=True):
        ratio = statistics.median(row[0] / one for row, one in zip(rounds, column, strict=True))
        rate = len(texts) / statistics.median(column)
        print(f"{name} {rate:.0f} passages/s of the processor, ratio {ratio:.3f}")


def bare(embedder: OnnxEmbedder, texts: Sequence[str]) -> Callable[[], None]:
    """A loop over what the embedder would hand to onnxruntime."""
    tokens = sorted(embedder._token_ids(texts), key=len)
    session = embedder._session
    inputs = []
    for start in range(0, len(tokens), BATCH):
        ids = padded(tokens[start : start + BATCH], 0)
        mask = padded([np.ones_like(row) for row in tokens[start : start + BATCH]], 0)
        inputs.append({"input_ids": ids, "attention_mask": mask})
        if len(session.get_inputs()) > len(inputs[-1]):
            inputs[-1]["token_type_ids"] = np.zeros_like(ids)

    def loop() -> None:
        for batch in inputs:
            session.run(None, batch)

    return loop


def timed(work: Callable[[], object]) -> float:
    """Seconds of the processor that the work takes."""
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
