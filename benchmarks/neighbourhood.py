"""`graph` over what each question reads of the store, next to `graph` over a snapshot of all of it.

    uv run python -m benchmarks.neighbourhood BEIR_FOLDER... --store PLACE [--questions 100]

The store at PLACE (a folder, or neo4j://…) holds each folder's set in the namespace of its name, as
`clew eval` fills it. Both ways are asked the same questions in turn, in one process, so that the
times are comparable, whatever else the machine does; embedding the question is part of both.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import clew
from clew.plugins.evaluation.run import BeirDataset, load_beir, rank_passages
from clew.settings import load_settings

DEPTH = 5


def main() -> None:
    """Print recall@5 and milliseconds of both ways, for each set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--store", required=True)
    parser.add_argument("--questions", type=int, default=100)
    given = parser.parse_args()
    for folder in given.folders:
        compare(load_beir(folder), given.store, folder.name, given.questions)


def compare(dataset: BeirDataset, store: str, namespace: str, number: int) -> None:
    """One set: every n-th of its questions, those that warm the caches left out of the times."""
    whole, near = (
        clew.open(store, namespace=namespace, settings=load_settings(search=search))
        for search in ({"snapshot": "always", "cache": 0}, {"snapshot": "never", "cache": 0})
    )
    questions = dataset.questions[:: max(1, len(dataset.questions) // number)][:number]
    found = np.zeros((2, len(questions), 2))
    with whole, near:
        for place, question in enumerate(questions):
            gold = {id_ for id_, grade in dataset.qrels[question.id].items() if grade > 0}
            for way in (0, 1) if place % 2 else (1, 0):
                started = time.perf_counter()
                hits = (whole, near)[way].search(question.text, strategy="graph", limit=15).hits
                spent = time.perf_counter() - started
                best = rank_passages(hits, dataset)[:DEPTH]
                found[way, place] = len(gold.intersection(best)) / len(gold), 1000 * spent
    recall = 100 * found[:, :, 0].mean(axis=1)
    p50, p95 = np.percentile(found[:, min(10, len(questions) // 2) :, 1], (50, 95), axis=1)
    print(
        f"{dataset.name}: R@{DEPTH} {recall[0]:.1f} with a snapshot, {recall[1]:.1f} without;"
        f" p50 {p50[0]:.0f} and {p50[1]:.0f} ms, p95 {p95[0]:.0f} and {p95[1]:.0f} ms:"
        f" {p95[1] / p95[0]:.2f} times",
        flush=True,
    )


if __name__ == "__main__":
    main()
