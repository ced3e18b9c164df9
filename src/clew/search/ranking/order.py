"""The order of the candidates: both rankings, the confidence, and the second hop of the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.search.ranking.pairwise_features import pairwise_features
from clew.search.ranking.second_hop import HELD, find_second_hop

if TYPE_CHECKING:
    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.ranking.features import Evidence
    from clew.search.ranking.ranker import Ranker
    from clew.search.ranking.second_hop import SecondHop
    from clew.types import Vectors


@dataclass(frozen=True, slots=True)
class Ordered:
    """The candidates of a question, best first."""

    order: Ints
    """(n,) places of the candidates."""
    scores: Floats
    """(n,) 0 to 1, falling."""
    confidences: Floats
    """(n,) probability that each candidate answers, in the candidates' own order."""
    second_hop: SecondHop | None


def rank_candidates(
    ranker: Ranker, evidence: Evidence, snapshot: Snapshot, vectors: Vectors
) -> Ordered:
    """The candidates by what was learned; a second hop stands right before its first.

    `vectors` (n, dim) are the candidates' embeddings. A second hop is as sure as its first is,
    times the share of such that answer.
    """
    first = ranker.rank_first(evidence.matrix)
    related = pairwise_features(evidence, snapshot, vectors, first)
    matrix = np.concatenate([evidence.matrix, related], axis=1)
    scores, confidences = ranker.judge(matrix)
    order = np.argsort(-scores, kind="stable")
    hop = find_second_hop(evidence, snapshot, vectors, order, confidences)
    if hop is not None:
        best, second = order[0], int(np.searchsorted(evidence.rows, hop.second))
        confidences[second] = max(confidences[second], HELD * confidences[best])
        order = np.concatenate([[second], order[order != second]])
    falling = np.sort(scores)[::-1]
    between_0_and_1 = 1 / (1 + np.exp(-falling.astype(np.float64)))
    return Ordered(order, between_0_and_1.astype(np.float32), confidences, hop)
