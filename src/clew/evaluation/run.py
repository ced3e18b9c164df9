"""Ask every question of a data set by every strategy, and measure what comes back."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import clew
from clew.errors import InputError
from clew.evaluation.beir import BeirDataset, load_beir
from clew.evaluation.metrics import ALL_DEPTH, NDCG_DEPTH, mean_scores, score_rankings
from clew.search.options import RAG_TYPES
from clew.settings import Settings
from clew.types import Hit, SearchResult

if TYPE_CHECKING:
    from clew.engine.state import Progress

LEARNED = frozenset({"graph", "multi_hop", "temporal", "local", "drift", "auto"})
"""Strategies that rank by what was learned."""
DEFAULT_KS = (2, 5, 10, 20)
FAILURES_DEPTH = 20
"""Passages among which a gold one must be to count as found, for kinds of retrieval."""

# Several chunks of one passage count once, so more hits are asked for than passages are needed.
_HITS_PER_PASSAGE = 3


class Searcher(Protocol):
    """What measuring needs of an engine."""

    def search(self, question: str, *, strategy: str, limit: int) -> SearchResult:
        """The passages that answer the question, best first."""
        ...


class RagSearcher(Protocol):
    """What measuring kinds of retrieval needs of an engine."""

    def search(self, question: str, *, rag_type: str, limit: int | None = None) -> SearchResult:
        """The passages that answer the question, best first."""
        ...


def evaluate(
    folder: Path,
    *,
    strategies: Sequence[str],
    ks: Sequence[int] = DEFAULT_KS,
    store: Path | str | None,
    settings: Settings,
    split: str = "test",
    rag_types: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Index a BEIR folder, ask its questions by each strategy, and measure.

    With `rag_types`, by each kind of retrieval in place of a strategy; see `measure_rag_type`.

    Indexes into `store`, or into a temporary one. The answer has the keys `dataset`, `passages`,
    `questions` (those with gold), `index_seconds` (`total`, `embedding`) and `rows`, one a
    strategy; see `measure_strategy`. `trained_on` is there, and true, where a strategy that learned
    was measured on a set that the shipped ranker was trained on; `unknown_judgements` where qrels
    name ids that the set does not hold; `skipped`, where there were any, counts documents that were
    not indexed.

    Raises `InputError` for a folder that is not BEIR, `MissingExtraError` without `clew[eval]`.
    """
    if not strategies and not rag_types:
        raise InputError("no strategy given; name at least one, such as 'graph'")
    if not ks or min(ks) < 1:
        raise InputError(f"ks must be one or more ranks of at least 1, not {tuple(ks)!r}")
    dataset = load_beir(folder, split=split)
    with store_folder(store) as place, clew.open(store=place, settings=settings) as engine:
        indexed = engine.add_documents(dataset.documents, progress=progress)
        if rag_types:
            strategies = tuple(RAG_TYPES)
            rows = [
                measure_rag_type(engine, dataset, kind, progress=progress) for kind in RAG_TYPES
            ]
        else:
            rows = [
                measure_strategy(engine, dataset, strategy, ks, progress=progress)
                for strategy in strategies
            ]
    return {
        "dataset": dataset.name,
        "passages": dataset.passages,
        "questions": len(dataset.questions),
        "index_seconds": {"total": indexed.seconds, "embedding": indexed.embedding_seconds},
        "rows": rows,
        **_remarks(dataset, strategies, len(indexed.skipped)),
    }


def measure_strategy(
    engine: Searcher,
    dataset: BeirDataset,
    strategy: str,
    ks: Sequence[int] = DEFAULT_KS,
    *,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """One row of the report: each measure (0 to 1) by name, `query_ms`, `by_type`.

    `query_ms` is the wall time of a search in milliseconds (`p50`, `p95`), after one question that
    is not counted. `by_type` has, by `metadata.type`, the number of `questions` and each measure;
    it is empty where questions have no type. The reciprocal rank is taken over the first
    max(ks, 10) passages.
    """
    depth = max(*ks, NDCG_DEPTH, ALL_DEPTH)
    limit = _HITS_PER_PASSAGE * depth
    engine.search(dataset.questions[0].text, strategy=strategy, limit=limit)
    rankings: dict[str, list[str]] = {}
    milliseconds: list[float] = []
    for done, question in enumerate(dataset.questions, start=1):
        began = time.perf_counter()
        result = engine.search(question.text, strategy=strategy, limit=limit)
        milliseconds.append(1000 * (time.perf_counter() - began))
        rankings[question.id] = rank_passages(result.hits, dataset)[:depth]
        if progress is not None:
            progress(strategy, done, len(dataset.questions))
    scores = score_rankings(rankings, dataset.qrels, ks)
    p50, p95 = np.percentile(milliseconds, [50, 95]).tolist()
    return {
        "strategy": strategy,
        **mean_scores(scores.values()),
        "query_ms": {"p50": p50, "p95": p95},
        "by_type": _by_type(dataset, scores),
    }


def measure_rag_type(
    engine: RagSearcher, dataset: BeirDataset, rag_type: str, *, progress: Progress | None = None
) -> dict[str, Any]:
    """One row of the report of kinds of retrieval: each as its callers get it.

    `failures@20` (0 to 1) is the share of gold passages that are not among the first 20,
    `context_tokens` the mean size of the context, `query_ms` as in `measure_strategy`.
    """
    engine.search(dataset.questions[0].text, rag_type=rag_type)
    missed: list[float] = []
    tokens: list[int] = []
    milliseconds: list[float] = []
    for done, question in enumerate(dataset.questions, start=1):
        began = time.perf_counter()
        tokens.append(engine.search(question.text, rag_type=rag_type).context.tokens)
        milliseconds.append(1000 * (time.perf_counter() - began))
        deep = engine.search(
            question.text, rag_type=rag_type, limit=_HITS_PER_PASSAGE * FAILURES_DEPTH
        )
        found = rank_passages(deep.hits, dataset)[:FAILURES_DEPTH]
        gold = {passage for passage, grade in dataset.qrels[question.id].items() if grade > 0}
        missed.append(len(gold.difference(found)) / len(gold))
        if progress is not None:
            progress(rag_type, done, len(dataset.questions))
    p50, p95 = np.percentile(milliseconds, [50, 95]).tolist()
    return {
        "strategy": rag_type,
        f"failures@{FAILURES_DEPTH}": float(np.mean(missed)),
        "context_tokens": float(np.mean(tokens)),
        "query_ms": {"p50": p50, "p95": p95},
        "by_type": {},
    }


def rank_passages(hits: Iterable[Hit], dataset: BeirDataset) -> list[str]:
    """Passage ids in the order of the hits, each at the place of its best hit.

    Hits on documents that are not of the data set (a store may hold others) are left out.
    """
    found = (dataset.passage_of(hit.chunk.source, hit.chunk.key) for hit in hits)
    return list(dict.fromkeys(passage for passage in found if passage is not None))


def _by_type(
    dataset: BeirDataset, scores: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Mapping[str, float]]] = {}
    for question in dataset.questions:
        if question.type is not None:
            groups.setdefault(question.type, []).append(scores[question.id])
    return {
        kind: {"questions": len(rows), **mean_scores(rows)} for kind, rows in sorted(groups.items())
    }


def _remarks(dataset: BeirDataset, strategies: Sequence[str], skipped: int) -> dict[str, Any]:
    remarks: dict[str, Any] = {}
    if skipped:
        remarks["skipped"] = skipped
    if dataset.unknown_questions or dataset.unknown_passages:
        remarks["unknown_judgements"] = {
            "questions": dataset.unknown_questions,
            "passages": dataset.unknown_passages,
        }
    if not LEARNED.isdisjoint(strategies) and _was_trained_on(dataset.digest):
        remarks["trained_on"] = True
    return remarks


def _was_trained_on(digest: str) -> bool:
    from clew.search.ranking.ranker import shipped

    return digest in shipped().trained_on


@contextmanager
def store_folder(store: Path | str | None) -> Iterator[Path | str]:
    """Where to index: the place given, or a temporary one."""
    if store is not None:
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="clew-eval-") as folder:
        yield Path(folder)
