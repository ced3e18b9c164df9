"""Passages by themselves: BM25, windows and rankings against plain Python."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.snapshot import Snapshot
from clew.graph.snapshot_files import build
from clew.search.analysis.analyse import Analysis, analyse
from clew.search.ranking import word_features as keyword_scores
from clew.search.ranking.features import (
    ChannelScores,
    FirstStageFeatures,
    VectorReader,
    read_first_stage_features,
    unit,
)
from clew.search.retrieval.channels import PRIOR_DEPTH, Ranked, RowValues, best
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry, make_vector
from clew.text import terms

if TYPE_CHECKING:
    from clew.graph.snapshot import Ints
    from clew.types import Vectors

DOCUMENTS = (
    ("Clock", ("The clock of Skerrow.", "It strikes at noon, the clock.", "Nobody hears it.")),
    ("Bell", ("A bell is no clock.",)),
    ("Noon", ("Noon is when the clock strikes.", "Skerrow sleeps.")),
)
PASSAGES = [
    (number, title, text) for number, (title, texts) in enumerate(DOCUMENTS) for text in texts
]
QUESTION = "When does the clock of Skerrow strike?"
NOTHING = np.zeros(0, np.int64), np.zeros(0, np.float32)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    store = SqliteStore(tmp_path_factory.mktemp("signals"), embedder=EMBEDDER)
    for title, texts in DOCUMENTS:
        store.save(make_entry(title, *texts, title=title))
    yield build(store)
    store.close()


class _NoNames:
    def resolve(self, keys: Sequence[str]) -> dict[str, int]:
        return {}


def _analysis(snapshot: Snapshot, question: str = QUESTION) -> Analysis:
    return analyse(question, make_vector(question), snapshot, _NoNames())


def _vectors() -> Vectors:
    return np.array([make_vector(text) for _, _, text in PASSAGES])


def _read(
    snapshot: Snapshot, channels: ChannelScores, question: str = QUESTION
) -> FirstStageFeatures:
    vectors = _vectors()
    reader = VectorReader(lambda rows: vectors[rows])
    return read_first_stage_features(_analysis(snapshot, question), snapshot, channels, reader)


def _everything(snapshot: Snapshot, allowed: list[bool] | None = None) -> ChannelScores:
    scores = _vectors() @ make_vector(QUESTION)
    order = np.argsort(-scores, kind="stable")
    mask = None if allowed is None else np.array(allowed)
    if mask is not None:
        order = order[mask[order]]
    return ChannelScores(order, scores[order], *NOTHING, mask)


def _bm25(texts: list[list[str]], question: list[str], passages: list[list[str]]) -> list[float]:
    """Straight from the formula; document frequency counts passages."""
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        counts, norm = Counter(text), 1.2 * (0.25 + 0.75 * len(text) / mean)
        scores.append(
            sum(
                math.log1p(len(passages) / sum(term in p for p in passages))
                * counts[term]
                * 2.2
                / (counts[term] + norm)
                for term in question
                if counts[term]
            )
        )
    return scores


def test_keyword_scores_are_bm25_of_passages_and_of_windows(snapshot: Snapshot) -> None:
    passages = [terms(f"{title} {text}") for _, title, text in PASSAGES]
    windows = [
        [
            term
            for other in (i - 1, i, i + 1)
            if 0 <= other < len(PASSAGES) and PASSAGES[other][0] == PASSAGES[i][0]
            for term in passages[other]
        ]
        for i in range(len(PASSAGES))
    ]
    found = _read(snapshot, _everything(snapshot))
    question = list(dict.fromkeys(terms(QUESTION)))
    rows = np.arange(snapshot.size)
    assert found.keyword_scores[rows] == pytest.approx(
        _bm25(passages, question, passages), rel=1e-5
    )
    assert found.window_keyword_scores[rows] == pytest.approx(
        _bm25(windows, question, passages), rel=1e-5
    )


def test_what_common_words_leave_out_is_scored_by_all_words(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _read(snapshot, _everything(snapshot))
    monkeypatch.setattr(keyword_scores, "READ", 2)
    limited = _read(snapshot, _everything(snapshot))
    rows = np.arange(snapshot.size)
    assert limited.keyword_scores[rows] == pytest.approx(whole.keyword_scores[rows])
    assert limited.window_keyword_scores[rows] == pytest.approx(whole.window_keyword_scores[rows])


def test_windows_are_normalised_means_within_the_document(snapshot: Snapshot) -> None:
    vectors = _vectors()
    reader = VectorReader(lambda rows: vectors[rows])
    expected = [vectors[0] + vectors[1], vectors[0] + vectors[1] + vectors[2], vectors[3]]
    np.testing.assert_allclose(
        reader.windows(snapshot, np.array([0, 1, 3])),
        [v / np.linalg.norm(v) for v in expected],
        rtol=1e-5,
    )


def test_the_prior_is_the_mean_of_four_rankings(snapshot: Snapshot) -> None:
    found = _read(snapshot, _everything(snapshot))
    rankings = (found.vector, found.keyword, found.window_vector, found.window_keyword)
    rows = np.arange(snapshot.size)
    assert found.prior[rows] == pytest.approx(sum(r.prior()[rows] for r in rankings) / 4)
    assert 0 <= found.prior.values.min() <= found.prior.values.max() <= 1
    assert found.fused[rows] == pytest.approx(sum(r.fused()[rows] for r in rankings))


def test_filters_hold_in_every_signal(snapshot: Snapshot) -> None:
    allowed = [False, True, True, True, False, True]
    found = _read(snapshot, _everything(snapshot, allowed))
    forbidden = np.flatnonzero(~np.array(allowed))
    for values in (found.prior, found.keyword_scores, found.window_keyword_scores, found.fused):
        assert values[forbidden].tolist() == [0, 0]
    assert not np.isin(found.window_vector.rows, forbidden).any()


@pytest.mark.parametrize("question", ["", "the of", "zeppelin"])
def test_a_question_without_known_terms_has_no_keyword_scores(
    snapshot: Snapshot, question: str
) -> None:
    found = _read(snapshot, ChannelScores(*NOTHING, *NOTHING, None), question)
    assert not found.keyword_scores.values.any()
    assert not found.prior.values.any()
    assert not len(found.window_vector.rows)


# --- rankings ----------------------------------------------------------------------------

scores_lists = st.lists(st.integers(-3, 9).map(float), max_size=30)


@given(scores_lists, st.integers(1, 12))
def test_best_sorts_what_is_above_zero(scores: list[float], limit: int) -> None:
    found = best(np.array(scores, np.float32), limit)
    order = sorted((i for i, s in enumerate(scores) if s > 0), key=lambda i: (-scores[i], i))
    assert found.rows.tolist() == order[:limit]
    assert found.scores.tolist() == [scores[i] for i in order[:limit]]


@given(st.lists(st.integers(-3, 9), max_size=2 * PRIOR_DEPTH).map(lambda s: sorted(s)[::-1]))
def test_spreads_of_a_ranking_keep_its_order(scores: list[int]) -> None:
    ranking = Ranked(np.arange(len(scores)), np.array(scores, np.float32))
    rows = np.arange(len(scores) + 3)
    for spread in (ranking.prior, ranking.fused, ranking.reciprocal):
        values = spread()[rows]
        assert np.isfinite(values).all()
        assert (np.diff(values) <= 0).all()
        assert values[len(scores) :].tolist() == [0, 0, 0]
    if scores:
        assert ranking.prior()[rows][0] == 1
        assert ranking.reciprocal()[rows][0] == 0.5
        assert ranking.fused()[rows][0] == pytest.approx(1 / 61)


row_values = st.dictionaries(st.integers(0, 9), st.integers(0, 5), max_size=6)


@given(st.lists(row_values, min_size=1, max_size=4))
def test_row_values_add_up_as_whole_columns_do(given: list[dict[int, int]]) -> None:
    parts = [
        RowValues(np.array(sorted(one), np.int64), np.array([one[k] for k in sorted(one)], "f4"))
        for one in given
    ]
    expected = [sum(one.get(row, 0) for one in given) for row in range(10)]
    total = RowValues.total(parts)
    assert total[np.arange(10)].tolist() == expected
    assert total.best(3).rows.tolist() == best(np.array(expected, np.float32), 3).rows.tolist()
    rows = np.concatenate([part.rows for part in parts])
    highest = RowValues.highest(rows, np.concatenate([part.values for part in parts]))
    most = [max(one.get(row, 0) for one in given) for row in range(10)]
    assert highest[np.arange(10)].tolist() == most


# --- vectors -----------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=5))
def test_each_vector_is_asked_for_once(requests: list[list[int]]) -> None:
    asked: list[int] = []
    vectors = np.eye(10, dtype=np.float32)

    def vectors_of(rows: Ints) -> Vectors:
        asked.extend(rows.tolist())
        return vectors[rows]

    reader = VectorReader(vectors_of)
    for request in requests:
        rows = np.array(request, dtype=np.int64)
        assert np.array_equal(reader.read(rows), vectors[rows])
    assert sorted(asked) == sorted({row for request in requests for row in request})


def test_zero_vectors_stay_zero() -> None:
    found = unit(np.array([[0, 0], [3, 4]], np.float32))
    assert found.tolist() == pytest.approx(np.array([[0, 0], [0.6, 0.8]]))
