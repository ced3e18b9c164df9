"""Ask every question of a data set by every strategy, and measure what comes back."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import clew
from clew.errors import InputError, MissingExtraError
from clew.plugins.evaluation.beir import BeirDataset, load_beir
from clew.search.options import RAG_TYPES
from clew.types import Hit, SearchResult

if TYPE_CHECKING:
    from rich.table import Table

    from clew.settings import Settings
    from clew.stores.backend import Progress


LEARNED = frozenset({"graph", "multi_hop", "temporal", "local", "drift", "auto"})
"""Strategies that rank by what was learned."""
DEFAULT_KS = (2, 5, 10, 20)
NDCG_DEPTH, ALL_DEPTH = 10, 5
FAILURES_DEPTH = 20
"""Passages among which a gold one must be to count as found, for kinds of retrieval."""

# Several chunks of one passage count once, so more hits are asked for than passages are needed.
_HITS_PER_PASSAGE = 3
T = TypeVar("T")


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
            strategies, measure = tuple(RAG_TYPES), measure_rag_type
        else:
            measure = partial(measure_strategy, ks=ks)
        rows = [measure(engine, dataset, name, progress=progress) for name in strategies]
    report: dict[str, Any] = {
        "dataset": dataset.name,
        "passages": dataset.passages,
        "questions": len(dataset.questions),
        "index_seconds": {"total": indexed.seconds, "embedding": indexed.embedding_seconds},
        "rows": rows,
    }
    if indexed.skipped:
        report["skipped"] = len(indexed.skipped)
    unknown = {"questions": dataset.unknown_questions, "passages": dataset.unknown_passages}
    if any(unknown.values()):
        report["unknown_judgements"] = unknown
    if not LEARNED.isdisjoint(strategies):
        from clew.search.ranker import shipped

        if dataset.digest in shipped().trained_on:
            report["trained_on"] = True
    return report


def measure_strategy(
    engine: Any,  # noqa: ANN401 - an engine, or whatever searches
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
    ask = partial(engine.search, strategy=strategy, limit=_HITS_PER_PASSAGE * depth)

    def read(found: SearchResult) -> list[str]:
        return rank_passages(found.hits, dataset)[:depth]

    rankings, query_ms = _asked(dataset, strategy, ask, read, progress)
    scores = score_rankings(rankings, dataset.qrels, ks)
    groups: dict[str, list[Mapping[str, float]]] = {}
    for question in dataset.questions:
        if question.type is not None:
            groups.setdefault(question.type, []).append(scores[question.id])
    by_type = {
        kind: {"questions": len(rows), **mean_scores(rows)} for kind, rows in sorted(groups.items())
    }
    means = mean_scores(scores.values())
    return {"strategy": strategy, **means, "query_ms": query_ms, "by_type": by_type}


def measure_rag_type(
    engine: Any,  # noqa: ANN401 - as in `measure_strategy`
    dataset: BeirDataset,
    rag_type: str,
    *,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """One row of the report of kinds of retrieval: each as its callers get it.

    `failures@20` (0 to 1) is the share of gold passages that are not among the first 20,
    `context_tokens` the mean size of the context, `query_ms` as in `measure_strategy`.
    """
    ask = partial(engine.search, rag_type=rag_type)
    tokens, query_ms = _asked(dataset, rag_type, ask, lambda found: found.context.tokens, progress)
    missed: list[float] = []
    for question in dataset.questions:
        deep = ask(question.text, limit=_HITS_PER_PASSAGE * FAILURES_DEPTH)
        found = rank_passages(deep.hits, dataset)[:FAILURES_DEPTH]
        gold = gold_of(dataset, question.id)
        missed.append(len(gold.difference(found)) / len(gold))
    return {
        "strategy": rag_type,
        f"failures@{FAILURES_DEPTH}": fmean(missed),
        "context_tokens": fmean(tokens.values()),
        "query_ms": query_ms,
        "by_type": {},
    }


def _asked(
    dataset: BeirDataset,
    name: str,
    ask: Callable[[str], SearchResult],
    read: Callable[[SearchResult], T],
    progress: Progress | None,
) -> tuple[dict[str, T], dict[str, float]]:
    """What is read of each question's result, by its id, and what asking took."""
    ask(dataset.questions[0].text)
    found, milliseconds = {}, []
    for done, question in enumerate(dataset.questions, start=1):
        began = time.perf_counter()
        result = ask(question.text)
        milliseconds.append(1000 * (time.perf_counter() - began))
        found[question.id] = read(result)
        if progress is not None:
            progress(name, done, len(dataset.questions))
    return found, percentiles(milliseconds)


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """The median and the 95th percentile; 0 of nothing."""
    p50, p95 = np.percentile(values, [50, 95]).tolist() if values else (0.0, 0.0)
    return {"p50": p50, "p95": p95}


def rank_passages(hits: Iterable[Hit], dataset: BeirDataset) -> list[str]:
    """Passage ids in the order of the hits, each at the place of its best hit.

    Hits on documents that are not of the data set (a store may hold others) are left out.
    """
    found = (dataset.passage_of(hit.chunk.source, hit.chunk.key) for hit in hits)
    return list(dict.fromkeys(passage for passage in found if passage is not None))


def gold_of(dataset: BeirDataset, question: str) -> set[str]:
    """Ids of the passages that answer a question, by its id."""
    return {passage for passage, grade in dataset.qrels[question].items() if grade > 0}


def store_folder(store: Path | str | None) -> AbstractContextManager[Path | str]:
    """Where to index: the place given, or a temporary one."""
    return tempfile.TemporaryDirectory(prefix="clew-eval-") if store is None else nullcontext(store)


# Retrieval measures for one question and their means over many, 0 to 1, higher is better.


def score_rankings(
    rankings: Mapping[str, Sequence[str]],
    qrels: Mapping[str, Mapping[str, int]],
    ks: Sequence[int],
) -> dict[str, dict[str, float]]:
    """`recall@k`, `all@5`, `ndcg@10` and `mrr` by question id, by ir-measures but for `all@5`.

    `rankings` holds passage ids, best first and each once, by question id. `qrels` holds grades by
    passage id; those above 0 are gold, and nDCG takes them as gains. Each question of `rankings`
    must have gold. `all@5` is 1 where all gold is among the first five, the reciprocal rank is 0
    where no gold is in the ranking.

    Raises `MissingExtraError` where ir-measures is not installed.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("evaluation", "eval") from error
    all_gold, ndcg = f"all@{ALL_DEPTH}", f"ndcg@{NDCG_DEPTH}"
    names = {ir_measures.R @ k: f"recall@{k}" for k in ks}
    measures = {**names, ir_measures.nDCG @ NDCG_DEPTH: ndcg, ir_measures.RR: "mrr"}
    ordered = (*names.values(), all_gold, ndcg, "mrr")
    scores = {question: dict.fromkeys(ordered, 0.0) for question in rankings}
    judged = {question: dict(qrels[question]) for question in rankings}
    # The library sorts by score and breaks ties by id, so each rank gets a score of its own.
    run = {
        question: {passage: float(-rank) for rank, passage in enumerate(ranking)}
        for question, ranking in rankings.items()
    }
    for value in ir_measures.iter_calc(list(measures), judged, run):
        scores[value.query_id][measures[value.measure]] = float(value.value)
    for question, ranking in rankings.items():
        gold = {passage for passage, grade in qrels[question].items() if grade > 0}
        scores[question][all_gold] = float(gold <= set(ranking[:ALL_DEPTH]))
    return scores


def mean_scores(scores: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Mean of each measure over questions (at least one), names in the order of the first."""
    rows = list(scores)
    return {name: fmean(row[name] for row in rows) for name in rows[0]}


# Show what `evaluate` answers, side by side on a terminal.


# Keys of a row that are not measures.
_OTHER = frozenset({"strategy", "questions", "query_ms", "by_type"})


def to_table(report: Mapping[str, Any]) -> Table:
    """One folder's report: each strategy and under it its question types; measures in per cent."""
    from rich.table import Table

    seconds = report["index_seconds"]
    title = (
        f"{report['dataset']}: {report['passages']:,} passages, {report['questions']:,} questions, "
        f"indexed in {seconds['total']:.1f} s ({seconds['embedding']:.1f} s of it embedding)"
    )
    table = Table(title=title, caption=" ".join(notes(report)), title_justify="left")
    table.add_column("strategy", no_wrap=True)
    names = [name for name in report["rows"][0] if name not in _OTHER]
    for name in (*names, "p50 ms", "p95 ms"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in report["rows"]:
        times = [f"{row['query_ms'][name]:.1f}" for name in ("p50", "p95")]
        table.add_row(row["strategy"], *_percent(row, names), *times)
        for kind, means in row["by_type"].items():
            table.add_row(f"- {kind} ({means['questions']})", *_percent(means, names))
    return table


def notes(report: Mapping[str, Any]) -> list[str]:
    """What a reader should know before comparing the figures, as sentences."""
    unknown = report.get("unknown_judgements", {})
    said = {
        "The ranker of `graph` was trained on this set: its row shows the fit.": "trained_on",
        "{} documents could not be indexed.": "skipped",
        "{} judgements name unknown questions (left out).": "questions",
        "{} judgements name unknown passages (never found).": "passages",
    }
    counts = {name: report.get(name) for name in ("trained_on", "skipped")}
    counts |= {name: unknown.get(name) for name in ("questions", "passages")}
    return [text.format(counts[name]) for text, name in said.items() if counts[name]]


def _percent(row: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [
        f"{row[name]:,.0f}" if name == "context_tokens" else f"{100 * row[name]:.1f}"
        for name in names
    ]
