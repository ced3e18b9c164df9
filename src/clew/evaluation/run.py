"""Ask every question of a data set by every strategy, and measure what comes back."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import clew
from clew.errors import InputError, MissingExtraError
from clew.evaluation.beir import BeirDataset, load_beir
from clew.search.options import RAG_TYPES
from clew.settings import Settings
from clew.types import Hit, SearchResult

if TYPE_CHECKING:
    from ir_measures import Metric
    from ir_measures.measures import Measure
    from rich.table import Table

    from clew.engine import Engine
    from clew.graph.entity_graph import EntityGraph
    from clew.stores.backend import Progress


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


# Retrieval measures for one question and their means over many.
#
# recall@k, nDCG@10 and the reciprocal rank come from ir-measures; `all@5` is computed here.
# All lie between 0 and 1, higher is better.


NDCG_DEPTH = 10
ALL_DEPTH = 5


def measure_names(ks: Sequence[int]) -> tuple[str, ...]:
    """The measures in the order in which reports show them."""
    return (*(f"recall@{k}" for k in ks), f"all@{ALL_DEPTH}", f"ndcg@{NDCG_DEPTH}", "mrr")


def score_rankings(
    rankings: Mapping[str, Sequence[str]],
    qrels: Mapping[str, Mapping[str, int]],
    ks: Sequence[int],
) -> dict[str, dict[str, float]]:
    """Every measure by name, by question id.

    `rankings` holds passage ids, best first and each once, by question id. `qrels` holds grades by
    passage id; those above 0 are gold, and nDCG takes them as gains. Each question of `rankings`
    must have gold. The reciprocal rank is 0 where no gold is in the ranking.

    Raises `MissingExtraError` where ir-measures is not installed.
    """
    measures = _library_measures(ks)
    scores = {question: dict.fromkeys(measure_names(ks), 0.0) for question in rankings}
    judged = {question: dict(qrels[question]) for question in rankings}
    for value in _iter_calc(measures, judged, rankings):
        scores[value.query_id][measures[value.measure]] = float(value.value)
    for question, ranking in rankings.items():
        scores[question][f"all@{ALL_DEPTH}"] = all_gold(ranking, qrels[question], ALL_DEPTH)
    return scores


def all_gold(ranking: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """1.0 where every passage graded above 0 is among the first k of the ranking, else 0.0."""
    gold = {passage for passage, grade in grades.items() if grade > 0}
    return float(gold <= set(ranking[:k]))


def mean_scores(scores: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Mean of each measure over questions (at least one), names in the order of the first."""
    rows = list(scores)
    return {name: fmean(row[name] for row in rows) for name in rows[0]}


def _library_measures(ks: Sequence[int]) -> dict[Measure, str]:
    """Our name by the library's measure."""
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("evaluation", "eval") from error
    return {
        **{ir_measures.R @ k: f"recall@{k}" for k in ks},
        ir_measures.nDCG @ NDCG_DEPTH: f"ndcg@{NDCG_DEPTH}",
        ir_measures.RR: "mrr",
    }


def _iter_calc(
    measures: Mapping[Measure, str],
    qrels: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Sequence[str]],
) -> Iterator[Metric]:
    import ir_measures

    # The library sorts by score and breaks ties by id, so each rank gets a score of its own.
    run = {
        question: {passage: float(-rank) for rank, passage in enumerate(ranking)}
        for question, ranking in rankings.items()
    }
    found: Iterator[Metric] = ir_measures.iter_calc(list(measures), qrels, run)
    return found


# What the graph adds to retrieval: its coverage, the hops to what answers, its communities.


FARTHEST = 5
"""Hops that are told apart; more count as these."""


def graph_coverage(engine: Engine) -> dict[str, float]:
    """Shares, 0 to 1: passages that mention an entity, and entities that an edge ties to others."""
    state = engine.state
    snapshot, graph = state.snapshot.whole, state.entity_graph
    mentions = [len(snapshot.passage_entities.row(row)) for row in range(snapshot.size)]
    return {
        "passages_with_entities": float(np.mean(np.array(mentions) > 0)) if mentions else 0.0,
        "entities_with_edges": float(np.mean(np.diff(graph.starts) > 0))
        if len(graph.entity_ids)
        else 0.0,
    }


def community_cohesion(engine: Engine) -> float | None:
    """Share of the strength of edges at a community's entities that stays within it, 0 to 1.

    The mean over the communities of the coarsest level; None where there are none.
    """
    members = engine.state.communities.members()
    return cohesion(engine.state.entity_graph, members[members[:, 1] == 0])


def cohesion(graph: EntityGraph, members: np.ndarray) -> float | None:
    """See `community_cohesion`; `members` are rows of entity id, level, community id."""
    if not len(members):
        return None
    community = np.full(len(graph.entity_ids), -1, dtype=np.int64)
    known = np.isin(members[:, 0], graph.entity_ids)
    community[np.searchsorted(graph.entity_ids, members[known, 0])] = members[known, 2]
    owner = np.repeat(np.arange(len(graph.entity_ids)), np.diff(graph.starts))
    strengths = graph.strengths[graph.edges].astype(np.float64)
    ours, theirs = community[owner], community[graph.neighbours]
    shares = []
    for one in np.unique(community[community >= 0]).tolist():
        at = ours == one
        if total := strengths[at].sum():
            shares.append(strengths[at & (theirs == one)].sum() / total)
    return float(np.mean(shares)) if shares else None


def count_hops(hits: Sequence[Hit], passages: Sequence[str | None], gold: set[str]) -> Counter[str]:
    """How many hits that answer were reached by how many hops; `0`: not through the graph."""
    return Counter(
        str(min(len(hit.path), FARTHEST))
        for hit, passage in zip(hits, passages, strict=True)
        if passage in gold
    )


def traversal_efficiency(found: Sequence[Mapping[str, Any]]) -> float | None:
    """Of the hits that a path of the graph led to, the share that answers; None without any."""
    reached = sum(one["reached"] for one in found)
    return sum(one["reached_gold"] for one in found) / reached if reached else None


# Show what `evaluate` answers: side by side on a terminal, or as Markdown.


# Keys of a row that are not measures.
_OTHER = frozenset({"strategy", "questions", "query_ms", "by_type"})


def to_table(report: Mapping[str, Any]) -> Table:
    """One folder's report as a table for a terminal; measures in per cent."""
    from rich.table import Table

    header, *rows = _cells(report)
    table = Table(title=_title(report), caption=" ".join(notes(report)), title_justify="left")
    for position, name in enumerate(header):
        table.add_column(name, justify="left" if position == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def to_markdown(reports: Sequence[Mapping[str, Any]]) -> str:
    """Reports of several folders as Markdown, a heading and a table each; measures in per cent."""
    return "\n\n".join(_markdown_section(report) for report in reports) + "\n"


def notes(report: Mapping[str, Any]) -> list[str]:
    """What a reader should know before comparing the figures, as sentences."""
    found: list[str] = []
    if report.get("trained_on"):
        found.append("The ranker of `graph` was trained on this set: its row shows the fit.")
    if report.get("skipped"):
        found.append(f"{report['skipped']} documents could not be indexed.")
    unknown = report.get("unknown_judgements", {})
    if unknown.get("questions"):
        found.append(f"{unknown['questions']} judgements name unknown questions (left out).")
    if unknown.get("passages"):
        found.append(f"{unknown['passages']} judgements name unknown passages (never found).")
    return found


def _markdown_section(report: Mapping[str, Any]) -> str:
    header, *rows = _cells(report)
    alignment = ["---"] + ["---:"] * (len(header) - 1)
    table = "\n".join(f"| {' | '.join(_escape(row))} |" for row in (header, alignment, *rows))
    return "\n\n".join([f"### {_title(report)}", table, *notes(report)])


def _escape(row: Sequence[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in row]


def _title(report: Mapping[str, Any]) -> str:
    seconds = report["index_seconds"]
    return (
        f"{report['dataset']}: {report['passages']:,} passages, {report['questions']:,} questions, "
        f"indexed in {seconds['total']:.1f} s ({seconds['embedding']:.1f} s of it embedding)"
    )


def _cells(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """The heading, then each strategy and under it its question types."""
    names = [name for name in report["rows"][0] if name not in _OTHER]
    yield ["strategy", *names, "p50 ms", "p95 ms"]
    for row in report["rows"]:
        times = row["query_ms"]
        yield [row["strategy"], *_percent(row, names), f"{times['p50']:.1f}", f"{times['p95']:.1f}"]
        for kind, means in row["by_type"].items():
            yield [f"- {kind} ({means['questions']})", *_percent(means, names), "", ""]


def _percent(row: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [
        f"{row[name]:,.0f}" if name == "context_tokens" else f"{100 * row[name]:.1f}"
        for name in names
    ]
