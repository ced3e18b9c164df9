"""Speed and memory, as figures and as ratios taken in the same run.

    uv run python -m benchmarks.speed BEIR_FOLDER... [--passages 10000]
    uv run python -m benchmarks.speed BEIR_FOLDER... --only cold [--before SOURCES]

Passages of the BEIR folders are taken in turn until there are enough. Measured are: indexing
against embedding the same chunks alone, the memory that indexing adds up to, asking (warm) against
embedding the question alone, and `clew search` from a cold shell against importing numpy and
onnxruntime. Machines are noisy: the ratios are what to look at. `--only cold` measures the last
alone; `--before` names the folder `src` of another checkout, whose search takes turns with
this one's. Embeddings that are remembered would be no measure of the model: none are here.
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
from clew.plugins.evaluation.run import load_beir
from clew.types import Document

COLD_RUNS = 7
QUESTIONS = 100


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--only", choices=["cold"])
    parser.add_argument("--before", type=Path, metavar="SOURCES")
    given = parser.parse_args()
    os.environ |= {"CLEW_EMBED__REMEMBERED": "0", "CLEW_SEARCH__CACHE": "0"}
    documents, questions = take(given.folders, given.passages)
    with tempfile.TemporaryDirectory(prefix="clew-speed-") as folder:
        store = Path(folder)
        with clew.open(store) as engine:
            if given.only:
                engine.add_documents(documents)
            else:
                index(engine, documents)
                ask(engine, questions[:QUESTIONS])
        del os.environ["CLEW_EMBED__REMEMBERED"], os.environ["CLEW_SEARCH__CACHE"]
        cold(store, questions[0], given.before)


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


def cold(store: Path, question: str, before: Path | None) -> None:
    """`clew search` in a new process, in turn with the bare imports and with another checkout's."""
    search = [sys.executable, "-m", "clew", "search", question, "--store", str(store)]
    bare = [sys.executable, "-c", "import numpy, onnxruntime"]
    commands = {"bare imports": partial(run, bare), "cold search": partial(run, search)}
    if before is not None:
        commands["cold search before"] = partial(run, search, PYTHONPATH=str(before.resolve()))
    for command in commands.values():
        command()
    rounds = [[command() for command in commands.values()] for _ in range(COLD_RUNS)]
    for name, column in zip(commands, zip(*rounds, strict=True), strict=True):
        taken, spent = (statistics.median(one[which] for one in column) for which in (0, 1))
        beside = list(zip(column, (row[0] for row in rounds), strict=True))
        ratios = [statistics.median(a[which] / b[which] for a, b in beside) for which in (0, 1)]
        print(
            f"{name} {taken:.2f} s, ratio {ratios[0]:.2f};"
            f" {spent:.2f} s of the processor, ratio {ratios[1]:.2f}"
        )


def run(command: list[str], **environment: str) -> tuple[float, float]:
    """Seconds that a command takes, and those of the processor; raises where it fails."""
    given = {**keeping_compiled(), "NO_COLOR": "1", **environment}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = timed(lambda: subprocess.run(command, check=True, capture_output=True, env=given))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def keeping_compiled() -> dict[str, str]:
    """The environment of processes that keep compiled code, as where nobody forbids it."""
    kept = os.environ | {"PYTHONPYCACHEPREFIX": f"{tempfile.gettempdir()}/clew-bytecode"}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept


def timed(work: Callable[[], object]) -> float:
    """Seconds that the work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
