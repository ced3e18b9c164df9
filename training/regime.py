"""How the two rankings are learned from groups; the one place that knows LightGBM's parameters."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import lightgbm as lgb
import numpy as np

from clew.search.ranking.ranker import Ranker, temper
from training.forest import to_forest
from training.groups import FOLDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.graph.snapshot import Floats
    from clew.search.ranking.ranker import Forest
    from training.groups import Group, Kind

COPY_WEIGHT: Mapping[Kind, float] = {"plain": 1.0, "merged": 0.5, "nameless": 0.5}
"""What a group counts, next to the others of its family."""
ROUNDS = 150
SEEDS = 1
PARAMETERS: Mapping[str, object] = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 12,
    "num_leaves": 7,
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
    """Learn both rankings; `trained_on` goes into the ranker as it is.

    The second one sees what the first says of questions that it was not trained on: in training,
    too, where each fold is judged by a first ranking of the other folds.
    """
    weights = weigh(groups)
    matrices = [group.evidence.matrix for group in groups]
    first_scores = first_out_of_fold(groups)
    seconds = [group.second(scores) for group, scores in zip(groups, first_scores, strict=True)]
    return Ranker(
        first=_boost(groups, matrices, weights),
        second=_boost(groups, seconds, weights),
        trained_on=trained_on,
    )


def first_out_of_fold(groups: Sequence[Group]) -> list[Floats]:
    """(n,) a group: the first ranking's scores, learned from the other folds."""
    weights = weigh(groups)
    matrices = [group.evidence.matrix for group in groups]
    folds = np.array([group.fold for group in groups])

    def of_others(fold: int) -> Forest:
        others = np.flatnonzero(folds != fold).tolist()
        return _boost(*_pick(others, groups, matrices, weights))

    # One thread a forest, several forests at a time: LightGBM holds no lock while it works.
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        forests = list(pool.map(of_others, range(FOLDS)))
    return [
        temper(forests[fold].scores(matrix), matrix)
        for fold, matrix in zip(folds, matrices, strict=True)
    ]


def _pick(
    places: Sequence[int], groups: Sequence[Group], matrices: Sequence[Floats], weights: Floats
) -> tuple[list[Group], list[Floats], Floats]:
    return [groups[i] for i in places], [matrices[i] for i in places], weights[places]


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
    """(groups,) so that every family counts the same, and copies half of what originals do."""
    raw = np.array([COPY_WEIGHT[group.kind] for group in groups])
    families = [group.family for group in groups]
    share = {
        family: float(raw[[one == family for one in families]].sum()) for family in set(families)
    }
    weights = [weight / share[family] for weight, family in zip(raw, families, strict=True)]
    return np.array(weights, np.float32) * np.float32(len(groups) / len(share))
