from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.search.retrieval.channels import (
    Channels,
    Ranking,
    reciprocal_rank_fusion,
    weighted_fusion,
)
from clew.search.strategies import STRATEGIES, find_strategy

rankings = st.lists(
    st.lists(st.integers(1, 30), unique=True, max_size=12).map(
        lambda ids: Ranking(
            np.array(ids, dtype=np.int64), np.linspace(1, 0, len(ids), dtype=np.float32)
        )
    ),
    min_size=1,
    max_size=4,
)


@given(rankings)
def test_fusion_agrees_with_the_formula(given_rankings: list[Ranking]) -> None:
    expected: dict[int, float] = {}
    for ranking in given_rankings:
        for rank, chunk_id in enumerate(ranking.ids.tolist(), start=1):
            expected[chunk_id] = expected.get(chunk_id, 0.0) + 1 / (60 + rank)
    fused = reciprocal_rank_fusion(given_rankings)
    assert set(fused.ids.tolist()) == set(expected)
    for chunk_id, score in zip(fused.ids.tolist(), fused.scores.tolist(), strict=True):
        assert score == pytest.approx(expected[chunk_id], rel=1e-5)
    assert (np.diff(fused.scores) <= 0).all()


@given(rankings)
def test_fusion_does_not_depend_on_the_order_of_channels(given_rankings: list[Ranking]) -> None:
    orders = {
        tuple(reciprocal_rank_fusion(list(order)).ids.tolist())
        for order in permutations(given_rankings)
    }
    assert len(orders) == 1


scored = st.dictionaries(st.integers(1, 30), st.floats(-1, 50, width=32), max_size=12).map(
    lambda found: Ranking(
        np.array(sorted(found, key=lambda id_: -found[id_]), np.int64),
        np.array(sorted(found.values(), reverse=True), np.float32),
    )
)


@given(scored, scored, st.floats(0, 1))
def test_weighted_fusion_agrees_with_the_formula(
    words: Ranking, meaning: Ranking, alpha: float
) -> None:
    expected: dict[int, float] = {}
    for ranking, share in ((words, alpha), (meaning, 1 - alpha)):
        low = min([0.0, *ranking.scores.tolist()])
        reach = max([0.0, *ranking.scores.tolist()]) - low
        for chunk_id, score in zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True):
            scaled = (score - low) / (reach or 1)
            expected[chunk_id] = expected.get(chunk_id, 0.0) + share * scaled
    fused = weighted_fusion(words, meaning, alpha)
    assert set(fused.ids.tolist()) == set(expected)
    for chunk_id, score in zip(fused.ids.tolist(), fused.scores.tolist(), strict=True):
        assert score == pytest.approx(expected[chunk_id], rel=1e-4, abs=1e-6)
    assert (np.diff(fused.scores) <= 0).all()


def test_the_weight_decides_between_words_and_meaning() -> None:
    words = Ranking(np.array([1, 2]), np.array([9, 1], np.float32))
    meaning = Ranking(np.array([2, 3]), np.array([0.8, 0.7], np.float32))
    assert weighted_fusion(words, meaning, 1.0).ids.tolist() == [1, 2, 3]
    assert weighted_fusion(words, meaning, 0.0).ids.tolist() == [2, 3, 1]
    assert weighted_fusion(words, meaning, 0.4).ids.tolist()[0] == 2


def test_then_goes_on_downwards_with_those_that_are_new() -> None:
    first = Ranking(np.array([5, 2]), np.array([0.5, 0.25], dtype=np.float32))
    second = Ranking(np.array([2, 9, 7]), np.array([3, 2, 1], dtype=np.float32))
    joined = first.then(second)
    assert joined.ids.tolist() == [5, 2, 9, 7]
    assert (np.diff(joined.scores) < 0).all()


@given(rankings, st.lists(st.integers(1, 40), unique=True, max_size=6), st.integers(0, 14))
def test_passages_are_put_behind_the_first_ones(
    given_rankings: list[Ranking], ids: list[int], place: int
) -> None:
    ranking = given_rankings[0]
    found = ranking.with_among(np.array(ids, dtype=np.int64), place)
    head = ranking.ids.tolist()[:place]
    new = [id_ for id_ in ids if id_ not in head]
    rest = [id_ for id_ in ranking.ids.tolist()[place:] if id_ not in new]
    assert found.ids.tolist() == [*head, *new, *rest]
    assert (np.diff(found.scores) <= 0).all()


class _Counting:
    """A vector and keyword index that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def search_vector(
        self, vector: object, limit: int, allowed: object = None
    ) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append("vector")
        return np.array([3, 1]), np.array([0.9, 0.1], dtype=np.float32)

    def vectors(self, chunk_ids: object) -> np.ndarray:
        raise AssertionError("not asked for here")

    def search_keywords(
        self, terms: object, limit: int, allowed: object = None
    ) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append("keyword")
        return np.array([1]), np.array([2.5], dtype=np.float32)


def test_a_channel_searches_once_and_only_when_asked() -> None:
    index = _Counting()
    channels = Channels(lambda: np.ones(2, dtype=np.float32), ["a"], index, index, None)
    assert index.asked == []
    channels.by_vector()
    channels.by_vector()
    assert index.asked == ["vector"]
    assert channels.scores() == {"vector": {3: pytest.approx(0.9), 1: pytest.approx(0.1)}}
    channels.by_keyword()
    assert index.asked == ["vector", "keyword"]


def test_an_unknown_strategy_lists_those_there_are() -> None:
    assert find_strategy("hybrid") is STRATEGIES["hybrid"]
    with pytest.raises(
        InputError, match="unknown strategy 'nope'; expected one of vector, keyword, hybrid, graph"
    ):
        find_strategy("nope")
