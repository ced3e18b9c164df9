"""Judge the training on questions that it has not seen.

    python -m training.cross_validate BENCH_DIR [--report FILE]

Five-fold over questions, then each family of data sets left out in turn. Everything is learned anew
for each: both rankings, and the first scores that the second one learns from.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from clew.evaluation.metrics import mean_scores, score_rankings
from training.groups import FOLDS
from training.prepare import prepare, read_sources
from training.regime import fit

if TYPE_CHECKING:
    from training.groups import Group, Passage

KS = (2, 5, 10)
KEPT = 20
"""Passages of a ranking that are measured."""
MEASURES = ("recall@2", "recall@5", "recall@10", "ndcg@10")

Rankings: TypeAlias = Mapping[int, Sequence["Passage"]]
"""Passages, best first, by the number of the group."""
Figures: TypeAlias = Mapping[str, float]


def five_fold(groups: Sequence[Group]) -> Rankings:
    """Each question ranked by what was learned from the other folds."""
    return _held_out(groups, [lambda group, fold=fold: group.fold == fold for fold in range(FOLDS)])


def left_out(groups: Sequence[Group]) -> Rankings:
    """Each question ranked by what was learned from the other families."""
    families = dict.fromkeys(group.family for group in groups)
    return _held_out(groups, [lambda group, name=name: group.family == name for name in families])


def _held_out(
    groups: Sequence[Group], parts: Sequence[Callable[[Group], bool]]
) -> dict[int, Sequence[Passage]]:
    rankings: dict[int, Sequence[Passage]] = {}
    for is_held_out in parts:
        pair = fit([group for group in groups if not is_held_out(group)])
        for number, group in enumerate(groups):
            if is_held_out(group):
                rankings[number] = group.ranking(pair.scores(group))
    return rankings


def measure(groups: Sequence[Group], rankings: Rankings) -> dict[str, Figures]:
    """Mean of each measure by kind and family; the mean of its data sets where it has several."""
    scores: dict[tuple[str, str], list[Figures]] = {}
    for number, group in enumerate(groups):
        run = {"q": [_name(passage) for passage in rankings[number][:KEPT]]}
        gold = {"q": {_name(passage): grade for passage, grade in group.gold.items()}}
        key = (f"{group.family}, {group.kind}", group.dataset)
        scores.setdefault(key, []).append(score_rankings(run, gold, KS)["q"])
    by_family: dict[str, list[Figures]] = {}
    for (family, _), rows in scores.items():
        by_family.setdefault(family, []).append(mean_scores(rows))
    return {family: mean_scores(rows) for family, rows in by_family.items()}
