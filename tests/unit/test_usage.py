"""Usage in the order: the formula, and what must never happen."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from clew.search.ranking.rerank import apply_usage
from clew.search.retrieval.channels import Ranking
from clew.settings import UsageSettings

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
Uses = dict[int, tuple[int, datetime]]

rankings = st.lists(st.floats(0.015625, 64, width=32), min_size=1, max_size=10, unique=True).map(
    lambda scores: Ranking(
        np.arange(1, len(scores) + 1), np.array(sorted(scores, reverse=True), np.float32)
    )
)
uses = st.tuples(
    st.integers(1, 1000), st.integers(-30, 4000).map(lambda days: NOW - timedelta(days=days))
)
usages = st.dictionaries(st.integers(1, 12), uses, max_size=10)
weights = st.floats(0, 1)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def place_of(chunk_id: int, ranking: Ranking) -> int:
    place: int = ranking.ids.tolist().index(chunk_id)
    return place


@given(rankings, usages, weights, st.floats(0.5, 365))
def test_scores_agree_with_the_formula(
    ranking: Ranking, usage: Uses, weight: float, half_life: float
) -> None:
    found = apply_usage(ranking, usage, NOW, UsageSettings(weight=weight, half_life_days=half_life))

    known = [i for i in ranking.ids.tolist() if i in usage]
    assume(weight > 0 and known)
    most = max(usage[i][0] for i in known)
    low, high = float(ranking.scores.min()), float(ranking.scores.max())
    expected = {}
    for chunk_id, score in zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True):
        useful = 0.0
        if chunk_id in usage:
            count, last = usage[chunk_id]
            age = max((NOW - last) / timedelta(days=1), 0)
            useful = (0.5 ** (age / half_life) + math.log1p(count) / math.log1p(most)) / 2
        share = (score - low) / (high - low) if high > low else 1.0
        expected[chunk_id] = (1 - weight) * share + weight * useful
    assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(
        expected, abs=1e-5
    )
    assert (np.diff(found.scores) <= 0).all()


@given(rankings, usages)
def test_without_weight_nothing_changes(ranking: Ranking, usage: Uses) -> None:
    assert apply_usage(ranking, usage, NOW, UsageSettings()) is ranking


@given(rankings)
def test_without_usage_nothing_changes(ranking: Ranking) -> None:
    assert apply_usage(ranking, {99: (5, NOW)}, NOW, UsageSettings(weight=0.5)) is ranking


@given(rankings, usages, weights, st.data())
def test_a_further_or_later_use_never_lowers(
    ranking: Ranking, usage: Uses, weight: float, data: st.DataObject
) -> None:
    chunk_id = data.draw(st.sampled_from(ranking.ids.tolist()))
    count, last = usage.get(chunk_id, (0, ago(9999)))
    more = count + data.draw(st.integers(1, 50))
    later = last + timedelta(days=data.draw(st.integers(0, 50)))
    settings = UsageSettings(weight=weight)

    before = apply_usage(ranking, usage, NOW, settings)
    after = apply_usage(ranking, usage | {chunk_id: (more, later)}, NOW, settings)

    assert place_of(chunk_id, after) <= place_of(chunk_id, before)


def test_the_whole_weight_is_usage_alone_and_the_rest_keeps_its_order() -> None:
    ranking = Ranking(np.array([7, 8, 9, 10]), np.array([4, 3, 2, 1], np.float32))
    found = apply_usage(ranking, {10: (1, ago(90))}, NOW, UsageSettings(weight=1))
    assert found.ids.tolist() == [10, 7, 8, 9]


def test_half_the_recency_is_left_after_a_half_life() -> None:
    ranking = Ranking(np.array([1, 2]), np.array([1, 1], np.float32))
    usage = {1: (3, ago(10)), 2: (3, ago(0))}
    found = apply_usage(ranking, usage, NOW, UsageSettings(weight=1, half_life_days=10))
    assert found.ids.tolist() == [2, 1]
    assert found.scores.tolist() == pytest.approx([1.0, 0.75])


@pytest.mark.parametrize(
    "wrong", [{"weight": 1.5}, {"weight": -0.1}, {"half_life_days": 0}, {"half_life": 30}]
)
def test_settings_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        UsageSettings.model_validate(wrong)
