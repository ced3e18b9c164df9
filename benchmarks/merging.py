"""What merging shards costs beside indexing all at once, what comes out, and what a store weighs.

    uv run python -m benchmarks.merging BEIR_FOLDER... [--passages 2000] [--shards 4]

Times are processor time of one process that reads, extracts, links and saves itself; embeddings are
drawn beforehand and cost nothing, and what embedding costs is measured by itself with the model of
the settings. Bytes are those of the merged store, by file and by table.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import clew
from benchmarks.corpora import FreeEmbedder
from benchmarks.scale import bytes_a_passage
from clew.evaluation.beir import load_beir
from clew.settings import EmbedSettings
from clew.types import Document

EMBEDDED = 128
"""Passages embedded to tell what that costs."""
PARTS = {
    "text": ("documents", "sections", "chunks", "chunk_times", "document_versions"),
    "vectors": ("embeddings",),
    "words": ("keywords",),
    "names": ("entities", "aliases"),
    "mentions": ("mentions",),
    "relations": ("relations", "relationship_extraction_log"),
}
"""Tables of the database, with their indexes."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--passages", type=int, default=2_000)
    parser.add_argument("--shards", type=int, default=4)
    given = parser.parse_args()
    datasets = [load_beir(folder) for folder in given.folders]
    # As if each were a file: what one file holds is never in two shards.
    documents = [replace(d, origin="") for dataset in datasets for d in dataset.documents]
    documents = sorted(documents, key=lambda d: d.source.split("/"))[: given.passages]
    questions = [q.text for dataset in datasets for q in dataset.questions[:50]]
    with tempfile.TemporaryDirectory(prefix="clew-merging-") as folder:
        measure(Path(folder), documents, questions, given.shards)


def measure(
    folder: Path, documents: Sequence[Document], questions: Sequence[str], shards: int
) -> None:
    """Index at once and in shards, merge, compare, and print."""
    with opened(folder / "whole") as engine:
        whole = spent(lambda: engine.add_documents(documents))
        passages = engine.maintenance.stats()["chunks"]
        texts = [
            chunk.text for d in documents[:EMBEDDED] for chunk in engine.documents.chunks(d.id)
        ]
    stores = [folder / f"{number}" for number in range(shards)]
    apart = 0.0
    for number, store in enumerate(stores):
        with opened(store) as engine:
            part = [d for d in documents if int(d.id, 16) % shards == number]
            apart += spent(lambda: engine.add_documents(part))  # noqa: B023 - called at once
    with opened(folder / "merged") as engine:
        merged = spent(lambda: engine.maintenance.merge(stores))
    print(f"{len(documents)} documents, {passages} passages, {shards} shards")
    print(f"indexing at once        {passages / whole:8.0f} passages/s of processor time")
    print(f"indexing the shards     {passages / apart:8.0f}")
    print(f"merging                 {passages / merged:8.0f}  x {whole / merged:.2f} at once")
    print(f"embedding               {embedding_rate(texts):8.0f}")
    same = sum(
        map(is_same, asked(folder / "whole", questions), asked(folder / "merged", questions))
    )
    print(f"questions ranked alike  {same} of {len(questions)}")
    for kind, size in bytes_a_passage(folder / "merged", passages).items():
        print(f"{kind:40} {size:8.0f}")
    for part_name, size in parts(folder / "merged" / "default" / "clew.db").items():
        print(f"  of clew.db, {part_name:27} {size / passages:8.0f}")


def opened(place: Path) -> clew.Clew:
    """A store at no cost for embeddings, all of whose work is this process's."""
    settings = clew.load_settings(store=place, limits={"isolation": "none"})
    return clew.open(settings=settings, embedder=FreeEmbedder())


def spent(work: Callable[[], object]) -> float:
    """Processor seconds of this process."""
    before = time.process_time()
    work()
    return time.process_time() - before


def embedding_rate(texts: Sequence[str]) -> float:
    """Passages a second of processor time, by the model of the settings, nothing remembered."""
    from clew.models.onnx import OnnxEmbedder

    embedder = OnnxEmbedder(EmbedSettings(remembered=0, threads=1))
    embedder.embed_query("warm")
    sample = list(islice(texts, EMBEDDED))
    return len(sample) / spent(lambda: embedder.embed_documents(sample))


def asked(place: Path, questions: Sequence[str]) -> list[list[tuple[str, float]]]:
    """The hits of each question, with scores."""
    with opened(place) as engine:
        return [
            [(hit.chunk.public_id, round(hit.score, 6)) for hit in engine.search(text).hits]
            for text in questions
        ]


def is_same(one: list[tuple[str, float]], other: list[tuple[str, float]]) -> bool:
    """Whether two rankings are the same, but for the order of what scores the same."""
    return sorted(one, key=repr) == sorted(other, key=repr)


def parts(file: Path) -> Counter[str]:
    """Bytes of the database by part."""
    sizes: Counter[str] = Counter()
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute(
            "SELECT coalesce(m.tbl_name, s.name), sum(s.pgsize) FROM dbstat s"
            " LEFT JOIN sqlite_master m ON m.name = s.name GROUP BY 1"
        ).fetchall()
    for table, size in rows:
        named = (p for p, tables in PARTS.items() if table.startswith(tables))
        sizes[next(named, "all else")] += size
    return sizes


if __name__ == "__main__":
    main()
