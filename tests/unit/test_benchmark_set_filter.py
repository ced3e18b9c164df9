"""The oracles of the filter's curve, and what they make of a ranking."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.set_filter import Asked, by_candidate, by_reply, learn_weight, mean_recall, recall

GOLD = np.arange(30) % 10 == 7


def asked(gold: int) -> Asked:
    """Thirty passages, of which one at that place is sought."""
    passages = [("set", str(place)) for place in range(30)]
    scores = np.linspace(0.9, 0.1, 30).astype(np.float32)
    return Asked("set", passages, scores, frozenset({passages[gold]}))


@pytest.mark.parametrize("share", [0.5, 0.8, 1.0])
def test_an_oracle_is_right_as_often_as_it_is_said(share: float) -> None:
    chance = np.random.default_rng(1)
    right = np.mean([by_candidate(GOLD, share, chance) == GOLD for _ in range(400)])
    whole = np.mean([(by_reply(GOLD, share, chance) == GOLD).all() for _ in range(400)])

    assert right == pytest.approx(share, abs=0.02)
    assert whole == pytest.approx(share, abs=0.08)


def test_a_right_choice_is_found_and_a_wrong_one_may_lose() -> None:
    question, chosen = asked(20), np.arange(30) == 20

    assert recall(question, 0.0, chosen) == 0
    assert recall(question, 1.0, chosen) == 1
    others = np.isin(np.arange(30), [10, 11, 12, 13, 14])
    assert recall(asked(2), 1.0, others) == 0


def test_the_weight_follows_what_the_ranking_knows() -> None:
    first, late = [asked(0)] * 5, [asked(25)] * 5

    assert learn_weight(first) < learn_weight(late)
    assert mean_recall(first, 0.0, 0.5, by_candidate) == 100
