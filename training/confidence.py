"""How the confidence in a passage is learned, and calibrated on questions not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lightgbm as lgb
import numpy as np

from training.forest import to_forest
from training.groups import FOLDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.graph.snapshot import Floats, Ints
    from clew.search.ranker import Forest
    from training.groups import Group

JUDGED = 10
"""Best candidates of a question that are learned from."""
ROUNDS = 120
STEPS = 60
"""Steps of the calibration, at most."""
PARAMETERS: Mapping[str, object] = {
    "objective": "binary",
    "num_leaves": 7,
    "learning_rate": 0.07,
    "min_data_in_leaf": 80,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 10.0,
    "max_bin": 127,
    "use_missing": False,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "seed": 0,
    "verbose": -1,
}


def learn_confidence(
    groups: Sequence[Group], matrices: Sequence[Floats], weights: Floats
) -> tuple[Forest, Floats]:
    """A forest that tells whether a candidate answers, and its calibration.

    `matrices` have the columns `JUDGED_FEATURES`, by a ranking that had not seen the question. The
    calibration is learned from what forests of the other folds say of each fold.
    """
    folds = np.array([group.fold for group in groups])
    tops = [top(matrix) for matrix in matrices]
    rows = [matrix[kept] for matrix, kept in zip(matrices, tops, strict=True)]
    labels = [
        (group.grades[kept] > 0).astype(np.float32)
        for group, kept in zip(groups, tops, strict=True)
    ]
    scores: list[Floats] = [np.zeros(0, np.float32)] * len(groups)
    for fold in range(FOLDS):
        others = np.flatnonzero(folds != fold).tolist()
        forest = _boost([rows[i] for i in others], [labels[i] for i in others], weights[others])
        for place in np.flatnonzero(folds == fold).tolist():
            scores[place] = forest.scores(rows[place])
    each = np.repeat(weights, [len(found) for found in scores])
    calibration = calibrate(np.concatenate(scores), np.concatenate(labels), each)
    return _boost(rows, labels, weights), calibration


def top(matrix: Floats) -> Ints:
    """Places of the best candidates: the last column of `JUDGED_FEATURES` is the rank."""
    return np.flatnonzero(matrix[:, -1] < JUDGED)


def _boost(rows: Sequence[Floats], labels: Sequence[Floats], weights: Floats) -> Forest:
    data = lgb.Dataset(
        np.concatenate(rows),
        label=np.concatenate(labels),
        weight=np.repeat(weights, [len(one) for one in rows]),
        params=dict(PARAMETERS),
    )
    return to_forest([lgb.train(dict(PARAMETERS), data, ROUNDS)])


def calibrate(scores: Floats, answers: Floats, weights: Floats) -> Floats:
    """(2, k) scores, rising, and the share that answers at each: isotonic regression.

    Pool adjacent violators (Ayer et al. 1955) over some thousand bins of equal weight.
    """
    order = np.argsort(scores, kind="stable")
    blocks: list[tuple[float, float, float]] = []
    for at in np.array_split(order, min(len(order), 2000)):
        weight = float(weights[at].sum())
        mean = float((weights[at] * answers[at]).sum()) / weight
        middle = float((weights[at] * scores[at]).sum()) / weight
        blocks.append((mean, weight, middle))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (mean, weight, middle), (before, earlier, where) = blocks.pop(), blocks.pop()
            both = weight + earlier
            blocks.append(
                (
                    (mean * weight + before * earlier) / both,
                    both,
                    (middle * weight + where * earlier) / both,
                )
            )
    kept = np.unique(np.linspace(0, len(blocks) - 1, min(STEPS, len(blocks))).round().astype(int))
    chosen = [blocks[i] for i in kept]
    points = np.array([[block[2] for block in chosen], [block[0] for block in chosen]])
    return points.astype(np.float32)
