"""How the two rankings are learned from groups; the one place that knows LightGBM's parameters."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import lightgbm as lgb
import numpy as np

from clew.search.ranker import Ranker, judged, temper
from training.confidence import learn_confidence
from training.forest import to_forest
from training.groups import FOLDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.graph.snapshot import Floats
    from clew.search.ranker import Forest
    from training.groups import Group, Kind

COPY_WEIGHT: Mapping[Kind, float] = {
    "plain": 1.0,
    "merged": 0.5,
    "nameless": 0.5,
    "foreign": 1.0,
}
"""What a group counts, next to the others of its family."""
SEVERAL_HOPS = frozenset({"hotpotqa", "hotpotqa2", "2wikimultihopqa", "musique", "multihop2"})
SEVERAL_HOPS_WEIGHT = np.float32(2)
"""What a family whose questions need several passages counts: most others need words alone."""
UNANSWERED = 0.33
"""What all questions without an answer weigh, next to all with one, for the confidence."""
ROUNDS = 200
SEEDS = 1
PARAMETERS: Mapping[str, object] = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 12,
    "num_leaves": 10,
    "learning_rate": 0.07,
    "min_data_in_leaf": 40,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "max_bin": 127,
    "use_missing": False,
    # same data, same trees
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "verbose": -1,
}


def fit(groups: Sequence[Group], trained_on: frozenset[str] = frozenset()) -> Ranker:
    """Learn both rankings and the confidence; `trained_on` goes into the ranker as it is.

    The second ranking sees what the first says of questions that it was not trained on: in
    training, too, where each fold is judged by a first ranking of the other folds. So does the
    confidence, of both. From questions that their store does not answer it alone learns.
    """
    answered = [group for group in groups if group.gold]
    weights = weigh(answered)
    firsts = [group.evidence.matrix for group in answered]
    seconds = second_matrices(groups)
    known = [matrix for group, matrix in zip(groups, seconds, strict=True) if group.gold]
    confidence, calibration = learn_confidence(
        groups, judged_out_of_fold(groups, seconds), weigh_judged(groups)
    )
    return Ranker(
        first=_boost(answered, firsts, weights),
        second=_boost(answered, known, weights),
        confidence=confidence,
        calibration=calibration,
        trained_on=trained_on,
    )


def second_matrices(groups: Sequence[Group]) -> list[Floats]:
    """(n, len(ALL_FEATURES)) a group, after a first ranking learned from the other folds."""
    scores = first_out_of_fold(groups)
    return [group.second(first) for group, first in zip(groups, scores, strict=True)]


def first_out_of_fold(groups: Sequence[Group]) -> list[Floats]:
    """(n,) a group: the first ranking's scores, learned from the other folds."""
    matrices = [group.evidence.matrix for group in groups]
    scores = _out_of_fold(groups, matrices)
    return [temper(raw, matrix) for raw, matrix in zip(scores, matrices, strict=True)]


def judged_out_of_fold(groups: Sequence[Group], seconds: Sequence[Floats]) -> list[Floats]:
    """(n, len(JUDGED_FEATURES)) a group, by a second ranking learned from the other folds."""
    scores = _out_of_fold(groups, seconds)
    return [judged(matrix, raw) for matrix, raw in zip(seconds, scores, strict=True)]


def _out_of_fold(groups: Sequence[Group], matrices: Sequence[Floats]) -> list[Floats]:
    """(n,) a group: scores of trees that learned from the answered questions of other folds."""
    folds = np.array([group.fold for group in groups])
    has_gold = np.array([bool(group.gold) for group in groups])

    def of_others(fold: int) -> Forest:
        others = np.flatnonzero((folds != fold) & has_gold).tolist()
        learned = [groups[i] for i in others]
        return _boost(learned, [matrices[i] for i in others], weigh(learned))

    # One thread a forest, several forests at a time: LightGBM holds no lock while it works.
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        forests = list(pool.map(of_others, range(FOLDS)))
    return [forests[fold].scores(matrix) for fold, matrix in zip(folds, matrices, strict=True)]


def _boost(groups: Sequence[Group], matrices: Sequence[Floats], weights: Floats) -> Forest:
    """Trees that rank each group's candidates by their grades."""
    sizes = [len(matrix) for matrix in matrices]
    data = lgb.Dataset(
        np.concatenate(matrices),
        label=np.concatenate([group.grades for group in groups]),
        group=sizes,
        weight=np.repeat(weights, sizes),
        params=dict(PARAMETERS),
    )
    boosters = [lgb.train({**PARAMETERS, "seed": seed}, data, ROUNDS) for seed in range(SEEDS)]
    return to_forest(boosters)


def weigh(groups: Sequence[Group]) -> Floats:
    """(groups,) so that every family counts its share, and copies half of what originals do."""
    raw = np.array([COPY_WEIGHT[group.kind] for group in groups])
    families = [group.family for group in groups]
    share = {
        family: float(raw[[one == family for one in families]].sum()) for family in set(families)
    }
    weights = np.array([w / share[f] for w, f in zip(raw, families, strict=True)], np.float32)
    weights *= np.float32(len(groups) / len(share))
    weights *= np.where([family in SEVERAL_HOPS for family in families], SEVERAL_HOPS_WEIGHT, 1)
    return (weights / weights.mean()).astype(np.float32)


def weigh_judged(groups: Sequence[Group]) -> Floats:
    """(groups,) so that questions without an answer weigh a third of what the others do."""
    weights = np.zeros(len(groups), np.float32)
    for has_gold, share in ((True, 1.0), (False, UNANSWERED)):
        places = [i for i, group in enumerate(groups) if bool(group.gold) is has_gold]
        if places:
            own = weigh([groups[i] for i in places])
            weights[places] = own / own.sum() * share * len(groups)
    return weights
