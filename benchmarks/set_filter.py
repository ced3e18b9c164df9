"""What a language model's choice among the best candidates would add, by how often it is right.

    python -m benchmarks.set_filter BENCH_DIR [--sets NAMES] [--measured musique]

No model is asked: an oracle judges each of the best candidates, and is right with probability p. At
0.5 it says nothing. Rankings are those of rankers that learned from the other folds. The weight of
the choice is learned from the sets that are not measured, where the oracle's p is not known: drawn
from 0.7 to 1. `reply` is an oracle that is right or wrong in its whole reply: else it draws as many
candidates at random.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clew.plugins.evaluation.run import load_beir
from clew.search.channels import Ranking
from clew.search.ranker import ALL_FEATURES, temper
from clew.search.rerank import WEIGHT, fuse
from training.groups import Group, Passage
from training.prepare import prepare
from training.regime import judged_out_of_fold, second_matrices
from training.sources import Source, cap

DEPTH = 30
"""Candidates that the model sees."""
SHARES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
LEARNED_FROM = (0.7, 0.8, 0.9, 1.0)
DRAWS = 10
"""How often each oracle is drawn."""
FOUND = 5
"""Passages in which the gold is looked for."""

Chosen = NDArray[np.bool_]
Draw = Callable[[NDArray[np.bool_], float, np.random.Generator], Chosen]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's candidates by a ranker that did not see it."""

    dataset: str
    passages: Sequence[Passage]
    """(n,) best first."""
    scores: NDArray[np.float32]
    """(n,) 0 to 1."""
    gold: frozenset[Passage]


def by_candidate(gold: Chosen, share: float, chance: np.random.Generator) -> Chosen:
    """Right of each candidate with that probability."""
    return gold ^ (chance.random(len(gold)) >= share)


def by_reply(gold: Chosen, share: float, chance: np.random.Generator) -> Chosen:
    """Right of all with that probability; else as many at random."""
    return gold if chance.random() < share else chance.permutation(gold)


def recall(asked: Asked, weight: float, chosen: Chosen) -> float:
    """Share of the gold among the first passages once the choice is weighed in."""
    places = Ranking(np.arange(len(asked.scores)), asked.scores)
    head = fuse(places.top(len(chosen)), chosen, weight)
    order = head.then(places).ids.tolist()
    first = list(dict.fromkeys(asked.passages[place] for place in order))[:FOUND]
    return len(asked.gold.intersection(first)) / len(asked.gold)


def mean_recall(questions: Sequence[Asked], weight: float, share: float, draw: Draw) -> float:
    """Over the questions and the draws, in per cent; the same draws for every weight."""
    found = []
    for number, asked in enumerate(questions):
        gold = np.array([passage in asked.gold for passage in asked.passages[:DEPTH]])
        chance = np.random.default_rng((number, round(1000 * share)))
        found += [recall(asked, weight, draw(gold, share, chance)) for _ in range(DRAWS)]
    return 100 * float(np.mean(found))


def learn_weight(questions: Sequence[Asked]) -> float:
    """The weight that finds most by oracles of several shares."""
    means = {
        weight: np.mean([mean_recall(questions, weight, p, by_candidate) for p in LEARNED_FROM])
        for weight in WEIGHTS
    }
    return max(means, key=lambda weight: float(means[weight]))


def rank_unseen(groups: Sequence[Group]) -> Iterator[Asked]:
    """Each question ranked by what was learned from the other folds."""
    matrices = judged_out_of_fold(groups, second_matrices(groups))
    for group, matrix in zip(groups, matrices, strict=True):
        features, raw = matrix[:, : len(ALL_FEATURES)], matrix[:, len(ALL_FEATURES)]
        scores = temper(raw, features)
        order = np.argsort(-scores, kind="stable")
        yield Asked(
            dataset=group.dataset,
            passages=[group.candidates[place] for place in order.tolist()],
            scores=(1 / (1 + np.exp(-scores[order]))).astype(np.float32),
            gold=frozenset(group.gold),
        )


def report(questions: Sequence[Asked], measured: str) -> Iterator[str]:
    """The curve, as Markdown."""
    others = [asked for asked in questions if asked.dataset != measured]
    held = [asked for asked in questions if asked.dataset == measured]
    weight = learn_weight(others)
    reach = 100 * np.mean([_reach(asked) for asked in held])
    yield f"R@{FOUND} of {measured}, {len(held)} questions; {reach:.1f} of the gold is among the"
    yield f"{DEPTH} candidates. Weight learned {weight:g}, shipped {WEIGHT:g}."
    yield ""
    yield "| p | without | candidate by candidate | whole replies |"
    yield "| --- | --- | --- | --- |"
    without = mean_recall(held, 0.0, 0.5, by_candidate)
    for share in SHARES:
        figures = (mean_recall(held, weight, share, draw) for draw in (by_candidate, by_reply))
        yield f"| {share:g} | {without:.1f} | {' | '.join(f'{f:.1f}' for f in figures)} |"


def _reach(asked: Asked) -> float:
    return len(asked.gold.intersection(asked.passages[:DEPTH])) / len(asked.gold)


def main() -> None:
    """Read the command line, rank, and print the curve."""
    parser = argparse.ArgumentParser(description="The filter's curve with a noisy oracle.")
    parser.add_argument("bench", type=Path, help="folder of folders in the BEIR layout")
    parser.add_argument("--sets", default="musique,multihop2,hotpotqa", help="that are ranked")
    parser.add_argument("--measured", default="musique", help="the set whose curve is shown")
    given = parser.parse_args()
    names = given.sets.split(",")
    sources = [Source(name, cap(load_beir(given.bench / name))) for name in names]
    groups = prepare(sources, lambda line: print(line, file=sys.stderr), copied=False)
    for line in report(list(rank_unseen(groups)), given.measured):
        print(line)


if __name__ == "__main__":
    main()
