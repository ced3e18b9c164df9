"""Speed and memory, as figures and as ratios taken in the same run.

    uv run python -m benchmarks.speed BEIR_FOLDER... [--passages 10000]

Passages of the BEIR folders are taken in turn until there are enough. Measured are: indexing
against embedding the same chunks alone, the memory that indexing adds up to, asking (warm) against
embedding the question alone, and `clew search` from a cold shell against importing numpy and
onnxruntime. Machines are noisy: the ratios are what to look at.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import clew
from clew.evaluation.beir import load_beir
from clew.types import Document

COLD_RUNS = 7
QUESTIONS = 100


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--passages", type=int, default=10_000)
    given = parser.parse_args()
    documents, questions = take(given.folders, given.passages)
    with tempfile.TemporaryDirectory(prefix="clew-speed-") as folder:
        store = Path(folder)
        with clew.open(store) as engine:
            index(engine, documents)
            ask(engine, questions[:QUESTIONS])
        cold(store, questions[0])


def take(folders: list[Path], passages: int) -> tuple[list[Document], list[str]]:
    """Documents of the folders up to a number of passages, and the questions of all."""
    documents: list[Document] = []
    questions: list[str] = []
    room = passages
    for folder in folders:
        dataset = load_beir(folder)
        questions.extend(question.text for question in islice(dataset.questions, QUESTIONS))
        for document in dataset.documents:
            size = max(1, len(document.pieces))
            if size <= room:
                documents.append(document)
                room -= size
    print(f"passages {passages - room}, documents {len(documents)}")
    return documents, questions[:: max(1, len(questions) // QUESTIONS)]


def index(engine: clew.Clew, documents: list[Document]) -> None:
    """Index, then embed the same chunks alone."""
    engine.state.embedder.embed_documents(["warm"])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = engine.add_documents(documents)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    texts = [
        f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text
        for document in engine.documents.list()
        for chunk in engine.store.document_chunks(document.id)
    ]
    alone = timed(lambda: engine.state.embedder.embed_documents(texts))
    print(f"chunks {len(texts)}")
    print(f"indexing {report.seconds:.1f} s, {len(texts) / report.seconds:.0f} chunks/s")
    print(f"embedding alone {alone:.1f} s, {len(texts) / alone:.0f} chunks/s")
    print(f"ratio indexing / embedding alone {report.seconds / alone:.3f}")
    print(f"memory {after / 1024:.0f} MB at the most, {before / 1024:.0f} MB before indexing")


def ask(engine: clew.Clew, questions: list[str]) -> None:
    """Ask by each strategy, warm; the embedding of each question is timed beside it."""
    engine.search(questions[0])
    embedding = [timed(partial(engine.state.embedder.embed_query, q)) for q in questions]
    base = statistics.median(embedding)
    print(f"embedding a question p50 {1000 * base:.1f} ms")
    for strategy in ("vector", "keyword", "hybrid", "graph"):
        spent = [timed(partial(engine.search, q, strategy=strategy)) for q in questions]
        p50, p95 = statistics.median(spent), sorted(spent)[int(0.95 * len(spent))]
        print(
            f"{strategy} p50 {1000 * p50:.1f} ms, p95 {1000 * p95:.1f} ms,"
            f" ratio p50 / embedding {p50 / base:.2f}"
        )


def cold(store: Path, question: str) -> None:
    """`clew search` in a new process, in turn with the bare imports."""
    search = [sys.executable, "-m", "clew", "search", question, "--store", str(store)]
    bare = [sys.executable, "-c", "import numpy, onnxruntime"]
    commands = partial(run, search), partial(run, bare)
    for command in commands:
        command()
    pairs = [(timed(commands[0]), timed(commands[1])) for _ in range(COLD_RUNS)]
    ours, imports = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"cold search {ours:.2f} s, bare imports {imports:.2f} s, ratio {ratio:.2f}")


def run(command: list[str]) -> None:
    """Run a command and throw its output away; raises where it fails.

    Compiled code is kept, as it is wherever nobody asked for the contrary.
    """
    kept = tempfile.gettempdir() + "/clew-speed-bytecode"
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONPYCACHEPREFIX": kept}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(command, check=True, capture_output=True, env=environment)


def timed(work: Callable[[], object]) -> float:
    """Seconds that the work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
