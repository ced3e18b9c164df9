"""The mix of a cross-encoder and the first stage, against plain Python, and what may fail."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import MissingExtraError, ModelError
from clew.search.ranking.rerank import rerank
from clew.search.ranking.word_features import min_max, standard_units
from clew.search.retrieval.channels import Ranking

if TYPE_CHECKING:
    from clew.ports import Reranker
    from clew.types import Scores


class ScriptedReranker:
    """Gives the score that a text itself names; remembers what it read."""

    name = "scripted"

    def __init__(self) -> None:
        self.read: list[str] = []

    def score(self, question: str, texts: Sequence[str]) -> Scores:
        self.read += texts
        return np.array([float(text) for text in texts], np.float32)


class BrokenReranker:
    """Raises, or answers with what is no score for each text."""

    name = "broken"

    def __init__(self, failure: Exception | list[float]) -> None:
        self._failure = failure

    def score(self, question: str, texts: Sequence[str]) -> Scores:
        if isinstance(self._failure, Exception):
            raise self._failure
        return np.array(self._failure, np.float32)


def ranked(*scores: float) -> Ranking:
    """Chunks 1, 2, … with these scores."""
    return Ranking(np.arange(1, len(scores) + 1), np.array(scores, np.float32))


def texts_of(*scores: float) -> dict[int, str]:
    """Texts of chunks 1, 2, … that the scripted reranker gives these scores."""
    return {place: str(score) for place, score in enumerate(scores, start=1)}


first_stage = st.lists(st.floats(0.015625, 64, width=32), min_size=1, max_size=12, unique=True).map(
    lambda scores: ranked(*sorted(scores, reverse=True))
)
probabilities = st.lists(st.floats(0.0009765625, 0.9990234375, width=32), min_size=12, max_size=12)


@given(first_stage, probabilities, st.floats(0, 1))
def test_scores_agree_with_the_formula(
    ranking: Ranking, scores: list[float], weight: float
) -> None:
    found, notes = rerank(
        ScriptedReranker(), "q", ranking, texts_of(*scores), depth=12, weight=weight
    )

    count = len(ranking.ids)
    odds = [math.log(p / (1 - p)) for p in scores[:count]]
    mixed = [
        weight * a + (1 - weight) * b
        for a, b in zip(in_units(odds), in_units(ranking.scores.tolist()), strict=True)
    ]
    expected = {i + 1: 1 / (1 + math.exp(-mix)) for i, mix in enumerate(mixed)}
    assert notes == ()
    assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(
        expected, abs=1e-4
    )
    assert (np.diff(found.scores) <= 0).all()


def in_units(values: list[float]) -> list[float]:
    deviation = statistics.pstdev(values)
    if max(values) == min(values):
        return [0.0] * len(values)
    return [(value - statistics.fmean(values)) / deviation for value in values]


def test_the_whole_weight_is_the_cross_encoder_alone() -> None:
    found, _ = rerank(
        ScriptedReranker(), "q", ranked(9, 3, 2, 1), texts_of(0.1, 0.9, 0.5, 0.7), weight=1
    )
    assert found.ids.tolist() == [2, 4, 3, 1]


def test_no_weight_is_the_first_stage_alone() -> None:
    found, _ = rerank(ScriptedReranker(), "q", ranked(3, 2, 1), texts_of(0.1, 0.5, 0.9), weight=0)
    assert found.ids.tolist() == [1, 2, 3]


def test_a_second_hop_that_resembles_nothing_keeps_its_place_among_the_best() -> None:
    """The first stage alone knows of chunk 2; the cross-encoder would put it last."""
    ranking = ranked(0.9, 0.85, 0.3, 0.28, 0.26, 0.24)
    texts = texts_of(0.99, 0.01, 0.4, 0.2, 0.1, 0.02)

    mixed, _ = rerank(ScriptedReranker(), "q", ranking, texts)
    alone, _ = rerank(ScriptedReranker(), "q", ranking, texts, weight=1)

    assert alone.ids.tolist()[-1] == 2
    assert 2 in mixed.ids.tolist()[:3]


@given(first_stage, probabilities, st.integers(1, 15), st.sets(st.integers(1, 12)))
def test_what_is_not_read_follows_as_it_was(
    ranking: Ranking, scores: list[float], depth: int, deleted: set[int]
) -> None:
    texts = {i: text for i, text in texts_of(*scores).items() if i not in deleted}
    reranker = ScriptedReranker()

    found, _ = rerank(reranker, "q", ranking, texts, depth=depth)

    read = [i for i in ranking.ids.tolist()[:depth] if i in texts]
    rest = [i for i in ranking.ids.tolist() if i not in read]
    assert reranker.read == [texts[i] for i in read]
    assert sorted(found.ids.tolist()[: len(read)]) == read
    assert found.ids.tolist()[len(read) :] == rest
    assert (np.diff(found.scores) <= 0).all()


def test_equal_mixes_keep_their_order() -> None:
    found, _ = rerank(ScriptedReranker(), "q", ranked(1, 1, 1), texts_of(0.5, 0.5, 0.5))
    assert found.ids.tolist() == [1, 2, 3]
    assert found.scores.tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_a_certain_score_is_finite(certain: float) -> None:
    found, _ = rerank(ScriptedReranker(), "q", ranked(2, 1), texts_of(certain, 0.5))
    assert np.isfinite(found.scores).all()


def test_an_empty_ranking_is_not_read() -> None:
    reranker = ScriptedReranker()
    found, notes = rerank(reranker, "q", ranked(), {})
    assert (len(found.ids), notes, reranker.read) == (0, (), [])


@pytest.mark.parametrize(
    ("reranker", "note"),
    [
        (None, "no model is configured (setting rerank.model)"),
        (BrokenReranker(ModelError("no such file")), "not reranked: no such file"),
        (BrokenReranker(MissingExtraError("it", "more")), "pip install 'clew[more]'"),
        (BrokenReranker([0.5, math.nan]), "'broken' gave scores of shape (2,), 1 of them finite"),
        (BrokenReranker([0.5]), "shape (1,), 1 of them finite; expected 2 finite numbers"),
    ],
)
def test_without_a_model_the_order_stays_and_a_note_says_why(
    reranker: Reranker | None, note: str
) -> None:
    ranking = ranked(2, 1)

    found, notes = rerank(reranker, "q", ranking, texts_of(0.1, 0.9))

    assert found is ranking
    assert len(notes) == 1
    assert note in notes[0]


# --- scales ------------------------------------------------------------------------------------

values = st.lists(st.floats(-1e6, 1e6, width=32), max_size=20).map(
    lambda given: np.array(given, np.float32)
)


@given(values)
def test_scales_keep_the_order(scores: Scores) -> None:
    order = np.argsort(scores, kind="stable")
    for scaled in (min_max(scores), standard_units(scores)):
        assert scaled.shape == scores.shape
        assert (np.diff(scaled[order]) >= 0).all()


@given(values)
def test_min_max_reaches_from_0_to_1(scores: Scores) -> None:
    scaled = min_max(scores)
    if len(scores):
        assert scaled.max() == 1
        assert scaled.min() == (0 if np.ptp(scores) > 0 else 1)


@given(values)
def test_standard_units_have_mean_0_and_deviation_1(scores: Scores) -> None:
    scaled = standard_units(scores)
    if len(scores):
        assert scaled.mean() == pytest.approx(0, abs=1e-3)
        assert scaled.std() == pytest.approx(1 if np.ptp(scores) > 0 else 0, abs=1e-3)
