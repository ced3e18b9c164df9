from __future__ import annotations

from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest

from clew.errors import ModelError
from clew.search import ranker
from clew.search.features import FEATURES
from clew.search.ranker import (
    ALL_FEATURES,
    ASKED,
    JUDGED_FEATURES,
    NAMED_ENOUGH,
    TEXT,
    Ranker,
    judged,
    load_ranker,
    shipped,
    temper,
)
from training.forest import save_ranker, to_forest

WIDTH = 12


def random_matrix(rows: int, width: int = WIDTH) -> np.ndarray:
    """Few distinct values, so that many lie exactly where trees split."""
    return np.random.default_rng(rows).integers(-3, 4, (rows, width)).astype(np.float32) / 3


def predict(booster: lgb.Booster, matrix: np.ndarray) -> np.ndarray:
    return np.asarray(booster.predict(matrix), np.float64)


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found.astype(np.float64), expected, atol=1e-5)


def trained(leaves: int, seed: int = 0, rounds: int = 20) -> lgb.Booster:
    matrix = random_matrix(800)
    noise = np.random.default_rng(seed).normal(size=len(matrix)) / 4
    labels = matrix[:, 0] * matrix[:, 1] + np.abs(matrix[:, 2]) + noise
    parameters = {
        **{"num_leaves": leaves, "min_data_in_leaf": 2, "seed": seed},
        **{"verbose": -1, "num_threads": 1},
    }
    return lgb.train(parameters, lgb.Dataset(matrix, labels), rounds)


@pytest.mark.parametrize("leaves", [2, 7, 8, 9, 31, 64])
def test_scores_are_those_of_lightgbm(leaves: int) -> None:
    booster = trained(leaves)
    matrix = random_matrix(300)

    assert_close(to_forest([booster]).scores(matrix), predict(booster, matrix))


def test_trees_with_too_many_leaves_are_refused() -> None:
    with pytest.raises(ValueError, match="leaves; expected at most 64"):
        to_forest([trained(100)])


# --- the file


def some_ranker() -> Ranker:
    forest = to_forest([trained(7)])
    return Ranker(
        first=forest,
        second=to_forest([trained(12)]),
        confidence=to_forest([trained(5)]),
        calibration=np.array([[-1, 0, 1], [0, 0.5, 0.9]], np.float32),
        trained_on=frozenset({"ab", "cd"}),
    )


def test_a_ranker_comes_back_from_its_file(tmp_path: Path) -> None:
    saved = some_ranker()

    save_ranker(saved, tmp_path / "ranker.npz")
    loaded = load_ranker(tmp_path / "ranker.npz")

    matrix = random_matrix(30)
    for name in ("first", "second", "confidence"):
        found, expected = (getattr(one, name).scores(matrix) for one in (loaded, saved))
        assert found.tolist() == expected.tolist()
    assert loaded.calibration.tolist() == saved.calibration.tolist()
    assert loaded.trained_on == saved.trained_on


@pytest.mark.parametrize("cut", [None, 0, 10, 2000])
def test_a_missing_or_damaged_file_is_an_error_that_says_what_to_do(
    tmp_path: Path, cut: int | None
) -> None:
    file = tmp_path / "ranker.npz"
    if cut is not None:
        save_ranker(some_ranker(), file)
        file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(ModelError, match=r"cannot read the ranker .*npz.* install clew again"):
        load_ranker(file)


@pytest.mark.parametrize(
    ("features", "complaint"),
    [
        ((*FEATURES, "charm"), r"only the code has \['charm'\]"),
        (FEATURES[1:], rf"only the ranker has \['{FEATURES[0]}'\]"),
        (FEATURES[::-1], r"reordered.*training\.train"),
    ],
)
def test_other_features_are_an_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    features: tuple[str, ...],
    complaint: str,
) -> None:
    save_ranker(some_ranker(), tmp_path / "ranker.npz")
    monkeypatch.setattr(ranker, "FEATURES", features)

    with pytest.raises(ModelError, match=complaint):
        load_ranker(tmp_path / "ranker.npz")


# --- questions without names


def evidence_matrix(named: float) -> np.ndarray:
    matrix = random_matrix(40, len(ALL_FEATURES))
    matrix[:, ALL_FEATURES.index("question_named")] = named
    return matrix


@pytest.mark.parametrize("columns", [len(FEATURES), len(ALL_FEATURES)])
def test_names_leave_the_order_to_the_trees(columns: int) -> None:
    scores = np.random.default_rng(1).normal(size=40).astype(np.float32)

    tempered = temper(scores, evidence_matrix(NAMED_ENOUGH)[:, :columns])

    assert np.argsort(tempered).tolist() == np.argsort(scores).tolist()


def test_text_has_its_say_where_there_are_no_names() -> None:
    matrix = evidence_matrix(0.0)
    for name in TEXT:
        matrix[:, ALL_FEATURES.index(name)] = np.arange(40)

    tempered = temper(np.zeros(40, np.float32), matrix)

    assert np.argsort(tempered).tolist() == list(range(40))


# --- confidence


def test_confidence_lies_on_the_calibration() -> None:
    matrix = random_matrix(30, len(ALL_FEATURES))
    judge = some_ranker()

    found = judge.judge(matrix)[1]

    raw = judge.confidence.scores(judged(matrix, judge.second.scores(matrix)))
    np.testing.assert_allclose(found, np.interp(raw, [-1, 0, 1], [0, 0.5, 0.9]), atol=1e-6)
    assert judge.judge(matrix[:0])[1].shape == (0,)


def test_what_is_judged_is_the_evidence_the_score_the_lead_and_the_place() -> None:
    matrix = evidence_matrix(NAMED_ENOUGH)
    matrix[:, ALL_FEATURES.index("question_asked")] = 0.25
    scores = np.arange(40, dtype=np.float32)

    columns = judged(matrix, scores)

    assert columns.shape == (40, len(JUDGED_FEATURES))
    assert np.array_equal(columns[:, : len(ALL_FEATURES)], matrix)
    *asked, score, ahead, rank = columns[:, len(ALL_FEATURES) :].T
    for name, column in zip(ASKED, asked, strict=True):
        assert np.allclose(column, 0.25 * matrix[:, ALL_FEATURES.index(name)])
    assert np.array_equal(score, scores)
    assert rank.tolist() == list(range(39, -1, -1))
    assert ahead[39] == pytest.approx(-ahead[38])
    assert (ahead[:38] < ahead[38]).all()


# --- the one that ships


def test_the_shipped_ranker_fits_the_features() -> None:
    assert shipped().rank_first(random_matrix(30, len(FEATURES))).shape == (30,)
    matrix = random_matrix(30, len(ALL_FEATURES))
    scores, found = shipped().judge(matrix)
    assert scores.tolist() == shipped().rank_second(matrix).tolist()
    assert ((found >= 0) & (found <= 1)).all()
