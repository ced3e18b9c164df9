"""What each step costs as a store grows, as figures and as ratios to the smallest size of the run.

Times are processor time of the process, and are compared in units of a bare operation, reading and
extracting the same few documents, which is timed beside each size: a machine is never equally busy.

    uv run python -m benchmarks.scale BEIR_FOLDER... [--sizes 5000 20000 50000] [--store neo4j://…]
    uv run python -m benchmarks.scale BEIR_FOLDER... --sizes 1000000 --keep FOLDER

One store grows from size to size. At each are measured: linking and saving documents whose
embeddings are at hand (passages/s), adding one document and deleting one (read to searchable), the
first question after each, merging two entities and the snapshot after it, questions by strategy,
and in a process of its own opening and asking, with its memory. Bytes are those of the store's
folder. A store that was kept is not filled again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import clew
from benchmarks.corpora import Corpus, FreeEmbedder, take
from benchmarks.speed import keeping_compiled
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.indexing.processes import Prepared, Steps
from clew.settings import LimitSettings, SplitSettings
from clew.types import Document, NamedStrategy

STRATEGIES = ("vector", "keyword", "graph")
ASKED = 30
"""Questions of each strategy."""
ADDED = 12
"""Documents added and deleted one by one."""
MOST_MENTIONED = 20
"""Passages of an entity that is merged, at most."""
_FIRST_ADDED = 10_000
"""Copies from which documents are added one by one: none that the store was filled with."""

PORTION = 2_000
"""Passages that are made and then filled in, so that memory holds no more of them."""

BARE = 40
"""Documents of the bare operation."""
UNIT = "the bare operation, a document, ms each"

Figures = dict[str, float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sizes", nargs="+", type=int, default=[5_000, 20_000, 50_000])
    parser.add_argument("--base", type=int, default=2_000, help="passages that are not copies")
    parser.add_argument("--store", default=None, help="a server instead of a folder")
    parser.add_argument("--keep", type=Path, help="folder of a store that stays, or is there")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ask:
        print(json.dumps(asked_anew(given.ask, given.store, [str(q) for q in given.folders])))
        return
    embedder = FreeEmbedder()
    steps = Steps(
        tokens=embedder,
        extractor=PatternExtractor(),
        split_settings=SplitSettings(),
        limits=LimitSettings(),
    )
    started = time.process_time()
    corpus = Corpus(given.folders, given.base, steps.prepare)
    print(f"{given.base / (time.process_time() - started):.0f} passages/s read and extracted alone")
    sample = [item.document for item in islice(corpus.prepared(), BARE)]
    bare = partial(in_turn, steps.prepare, sample)
    if given.keep:
        measure(corpus, given.keep, given.store, given.sizes, bare)
        return
    with tempfile.TemporaryDirectory(prefix="clew-scale-") as folder:
        measure(corpus, Path(folder), given.store, given.sizes, bare)


def measure(
    corpus: Corpus,
    folder: Path,
    store: str | None,
    sizes: Sequence[int],
    bare: Callable[[], None],
) -> None:
    """Grow a store and print what it costs at each size."""
    filling, adding = corpus.prepared(), corpus.documents(_FIRST_ADDED)
    first: Figures = {}
    with opened(folder, store) as engine:
        for size in sizes:
            figures = filled(engine, filling, size - engine.store.chunk_count())
            unit = [timed(bare)]
            figures |= changed(engine, adding, corpus.questions[0])
            figures |= merged(engine)
            unit.append(timed(bare))
            figures |= asked(engine, corpus.questions[:ASKED])
            unit.append(timed(bare))
            figures |= asked_apart(folder, store, corpus.questions[:ASKED])
            figures |= bytes_a_passage(folder, size)
            figures[UNIT] = 1000 * statistics.mean(unit) / BARE
            first = first or figures
            report(size, figures, first)


def opened(folder: Path, store: str | None, embedder: FreeEmbedder | None = None) -> clew.Clew:
    """The engine of the store, with vectors at no cost."""
    return clew.open(store or folder, namespace="scale", embedder=embedder or FreeEmbedder())


def filled(engine: clew.Clew, prepared: Iterator[Prepared], passages: int) -> Figures:
    """Link and save so many passages; the rate of all and of the last tenth."""
    rates: list[tuple[int, float]] = []
    left = passages
    if left <= 0:  # a store that was kept
        return {}
    while left > 0:
        items = list(take(prepared, min(left, PORTION)))
        left -= sum(len(item.split.chunks) for item in items)
        with engine.store.grouping():  # making copies is no part of it
            started = time.process_time()
            rates.append((run(engine, items), time.process_time() - started))
        print(f"  filled {passages - left} of {passages}", file=sys.stderr, flush=True)
    last = rates[-max(1, len(rates) // 10) :]
    started = time.process_time()
    engine.state.persist()
    return {
        "link and save, passages/s": _rate(rates),
        "link and save, last tenth, passages/s": _rate(last),
        "persist after filling, ms": 1000 * (time.process_time() - started),
        "memory of the indexing process, MB": own_memory(),
    }


def _rate(portions: Sequence[tuple[int, float]]) -> float:
    """Passages a second of portions, each of so many in so many seconds."""
    return sum(count for count, _ in portions) / sum(seconds for _, seconds in portions)


def run(engine: clew.Clew, items: Sequence[Prepared]) -> int:
    """Embed, link and save; the number of passages."""
    return engine.state.bound_ingest().run(iter(items), lambda document: None).chunks


def changed(engine: clew.Clew, documents: Iterator[Document], question: str) -> Figures:
    """Add documents one by one, asking after each, then delete them one by one, then old ones.

    After each of the latter, which the large arrays hold, the snapshot is brought up to date.
    """
    engine.search(question)
    new = list(islice(documents, ADDED))
    figures: dict[str, list[float]] = {}
    for document in new:
        added = timed(partial(engine.add_documents, [document]))
        figures.setdefault("one add, ms", []).append(1000 * added)
        after = timed(partial(engine.search, question, strategy="graph"))
        figures.setdefault("question after an add, ms", []).append(1000 * after)
    for document in new:
        deleted = timed(partial(engine.documents.delete, [document.id]))
        figures.setdefault("one delete, ms", []).append(1000 * deleted)
    for old in engine.documents.list()[: len(new)]:
        engine.store.delete([old.id])
        after = timed(lambda: engine.state.snapshot)
        figures.setdefault("snapshot after an old one is gone, ms", []).append(1000 * after)
    return {name: statistics.median(values) for name, values in figures.items()}


def merged(engine: clew.Clew) -> Figures:
    """Merge entities of a few passages each, the snapshot brought up to date after each."""
    snapshot, store = engine.state.snapshot.whole, engine.store
    few = (snapshot.entity_frequency > 1) & (snapshot.entity_frequency <= MOST_MENTIONED)
    ids = snapshot.entity_ids[few][: 2 * ADDED].tolist()
    figures: dict[str, list[float]] = {}
    for source, target in zip(ids[::2], ids[1::2], strict=True):
        spent = timed(partial(store.merge, source, target, "by hand"))
        figures.setdefault("one merge of entities, ms", []).append(1000 * spent)
        after = timed(lambda: engine.state.snapshot)
        figures.setdefault("snapshot after a merge, ms", []).append(1000 * after)
    return {name: statistics.median(values) for name, values in figures.items()}


def asked(engine: clew.Clew, questions: Sequence[str]) -> Figures:
    """Questions by strategy, warm: p50 and p95 in milliseconds."""
    figures: Figures = {}
    for strategy in STRATEGIES:
        engine.search(questions[-1], strategy=NamedStrategy(strategy))
        spent = sorted(
            1000 * timed(partial(engine.search, q, strategy=NamedStrategy(strategy)))
            for q in questions
        )
        figures[f"{strategy} p50, ms"] = statistics.median(spent)
        figures[f"{strategy} p95, ms"] = spent[int(0.95 * len(spent))]
    return figures


def asked_apart(folder: Path, store: str | None, questions: Sequence[str]) -> Figures:
    """`asked_anew` in a process of its own, the second one: the first compiles what it imports."""
    command = [sys.executable, "-m", "benchmarks.scale", *questions[:ADDED], "--ask", str(folder)]
    command += ["--store", store] if store else []
    for _ in range(2):
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env=keeping_compiled()
        )
    found: Figures = json.loads(done.stdout)
    return found


def asked_anew(folder: Path, store: str | None, questions: Sequence[str]) -> Figures:
    """Open the store and ask, with what that takes of time and memory."""
    before, embedder = own_memory(), FreeEmbedder()
    started = time.process_time()
    with opened(folder, store, embedder) as engine:
        open_for = time.process_time() - started
        first = timed(partial(engine.search, questions[0], strategy="graph"))
        for question in questions:
            engine.search(question, strategy="graph")
    return {
        "opening, ms": 1000 * open_for,
        "first question after opening, ms": 1000 * first,
        "memory of an asking process, MB above imports": own_memory() - before,
    }


def bytes_a_passage(folder: Path, passages: int) -> Figures:
    """Bytes of the store's files by kind."""
    sizes: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file():
            kind = path.relative_to(folder).parts[1]  # below the namespace
            sizes[kind.partition("-")[0]] += path.stat().st_size
    return {f"{kind}, bytes a passage": size / passages for kind, size in sizes.items()}


def report(size: int, figures: Figures, first: Figures) -> None:
    """Print the figures of a size, and how many times those of the first size they are."""
    print(f"\n{size} passages")
    slower = figures[UNIT] / first[UNIT]
    for name, value in figures.items():
        times = value / first[name] if first.get(name) else 0.0
        if name.endswith(", ms"):
            times /= slower
        elif name.endswith("/s"):
            times *= slower
        print(f"  {name:48} {value:10.1f}  x {times:.2f}", flush=True)


def in_turn(work: Callable[[Document], object], documents: Sequence[Document]) -> None:
    """Do some work for each document."""
    for document in documents:
        work(document)


def own_memory() -> float:
    """The most memory that this process had, MB; `getrusage` would count its parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def timed(work: Callable[[], object]) -> float:
    """Processor seconds that the work takes."""
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
