"""A store on Neo4j against the embedded one: asking and indexing, as ratios taken in one run.

    uv run python -m benchmarks.backends BEIR_FOLDER... --neo4j ADDRESS [--passages 10000]

Asking: `hybrid` and `graph` over all passages on both stores, and the bare query of the vector
index through the same driver, for as many candidates as the strategies ask for (200) and for ten.
The embeddings of the questions are known beforehand, on every side. Indexing: the same documents
with the same model into a new store of each kind. `--store FOLDER` takes an embedded store that
holds the passages already. What is made on the server is deleted at the end.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import clew
from benchmarks.speed import take
from clew.engine import Engine
from clew.engine.maintenance import copy
from clew.plugins.neo4j.connection import Neo4jDatabase, keyword_index, vector_index
from clew.search.channels import DEPTH
from clew.settings import Settings, load_settings
from clew.types import Document, NamedStrategy

STRATEGIES = ("hybrid", "graph")
NAMESPACE = "clew-benchmark"
WARM = 20
_BARE = """
CALL db.index.vector.queryNodes($index, $limit, $vector) YIELD node, score
RETURN node.id, score
"""
_FORGET = """
MATCH (n {namespace: $namespace}) WITH n LIMIT 5000 DETACH DELETE n RETURN count(*)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--neo4j", required=True, metavar="ADDRESS")
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--indexed", type=int, default=1000, help="passages that indexing takes")
    parser.add_argument("--store", type=Path, help="an embedded store that holds the passages")
    given = parser.parse_args()
    documents, questions = take(given.folders, given.passages)
    with tempfile.TemporaryDirectory(prefix="clew-backends-") as folder:
        with on_server(given.neo4j) as engine:
            index(clew.open(Path(folder) / "indexed"), engine, documents[: given.indexed])
        store = given.store or Path(folder) / "asked"
        with clew.open(store) as embedded:
            if not given.store:
                embedded.add_documents(documents)
            with on_server(given.neo4j, copied_from=embedded) as engine:
                ask(embedded, engine, questions)


@contextmanager
def on_server(address: str, copied_from: Engine | None = None) -> Iterator[Engine]:
    """An engine on a namespace of its own on the server, deleted afterwards."""
    settings = load_settings(store=address, namespace=NAMESPACE)
    forget(settings)
    if copied_from is not None:
        copy(copied_from.settings, settings)
    try:
        with clew.open(settings=settings) as engine:
            yield engine
    finally:
        forget(settings)


def forget(settings: Settings) -> None:
    """Delete the namespace with its indexes, and what is derived from it here."""
    database = Neo4jDatabase(str(settings.store), settings.neo4j, settings.namespace)
    with closing(database):
        for index in (vector_index(settings.namespace), keyword_index(settings.namespace)):
            database.define(f"DROP INDEX `{index}` IF EXISTS")
        while database.write(lambda: database.value(_FORGET)):
            pass
    shutil.rmtree(settings.folder, ignore_errors=True)


def index(embedded: Engine, served: Engine, documents: Sequence[Document]) -> None:
    """Index the same documents into both, in turn."""
    seconds = []
    for engine in (embedded, served):
        engine.state.embedder.embed_documents(["warm"])
        report = engine.add_documents(documents)
        seconds.append(report.seconds)
        print(f"indexing {report.chunks} chunks: {report.chunks / report.seconds:.0f} chunks/s")
    embedded.close()
    print(f"  rate on the server over the embedded one: {seconds[0] / seconds[1]:.2f}")


def ask(embedded: Engine, served: Engine, questions: Sequence[str]) -> None:
    """The strategies on both stores, and the bare query."""
    for question in questions:
        vector = embedded.state.embedder.embed_query(question)
        for engine in (embedded, served):
            engine.state.query_vectors.put(question, vector)
    bare = bare_queries(served, questions)
    for name, p50 in bare.items():
        print(f"{name}: p50 {p50:.1f} ms")
    for strategy in STRATEGIES:
        p50 = typical(partial(served.search, strategy=NamedStrategy(strategy)), questions)
        shown = ", ".join(f"{p50 / alone:.2f} x {name}" for name, alone in bare.items())
        print(f"on the server {strategy}: p50 {p50:.1f} ms: {shown}")
    for strategy in STRATEGIES:
        p50 = typical(partial(embedded.search, strategy=NamedStrategy(strategy)), questions)
        print(f"embedded {strategy}: p50 {p50:.1f} ms")
    print(f"passages {served.maintenance.stats()['chunks']}, questions {len(questions)}")


def bare_queries(served: Engine, questions: Sequence[str]) -> dict[str, float]:
    """p50 in milliseconds of the vector index alone, by what was asked for."""
    vectors = {q: served.state.embedder.embed_query(q).tolist() for q in questions}

    def query(question: str, limit: int) -> None:
        database.rows(_BARE, index=vector_index(NAMESPACE), limit=limit, vector=vectors[question])

    address = str(served.settings.store)
    with closing(Neo4jDatabase(address, served.settings.neo4j, NAMESPACE)) as database:
        return {
            f"bare query of {limit}": typical(partial(query, limit=limit), questions)
            for limit in (DEPTH, 10)
        }


def typical(work: Callable[[str], object], questions: Sequence[str]) -> float:
    """The median of the milliseconds that it takes, each question once after some to warm up."""
    for question in questions[:WARM]:
        work(question)
    spent = []
    for question in questions[WARM:]:
        started = time.perf_counter()
        work(question)
        spent.append(1000 * (time.perf_counter() - started))
    return statistics.median(spent)


if __name__ == "__main__":
    main()
