"""Retrieval measures for one question and their means over many.

recall@k, nDCG@10 and the reciprocal rank come from ir-measures; `all@5` is computed here.
All lie between 0 and 1, higher is better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from clew.errors import MissingExtraError

if TYPE_CHECKING:
    from ir_measures import Metric
    from ir_measures.measures import Measure

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
