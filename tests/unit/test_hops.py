from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.search.strategies.periods import rank_weighted
from clew.testing.fakes import HashEmbedder
from tests.unit.asked import add, new_session, titles

CHAIN = {
    "one": "Marta Quill taught at Larkmoor.",
    "two": "Larkmoor was paid for by Sefton Hale.",
    "three": "Sefton Hale owned Verity.",
    "four": "Verity was led by Osric Dane.",
    "apart": "Nobody knows where eels go in winter.",
}
DATES = {"one": "2024-05-01", "two": "2023-05-02", "four": "2020-05-01"}
QUESTION = "What of Marta Quill and the eels?"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        add(engine, CHAIN, DATES)
        yield engine


def inverse_hops(engine: clew.Clew, max_hops: int) -> dict[str, float]:
    asked = new_session(engine, QUESTION, max_hops=max_hops, weights=(0, 1, 0))
    found = rank_weighted(asked)
    values = found.scores["hops"]
    np.testing.assert_allclose(
        found.ranking.scores, [values[id_] for id_ in found.ranking.ids.tolist()]
    )
    return {title: values[id_] for title, id_ in _by_title(engine).items()}


def _by_title(engine: clew.Clew) -> dict[str, int]:
    return {title: engine.documents.chunks(title)[0].id for title in CHAIN}


@pytest.mark.parametrize("max_hops", [1, 2, 3, 4])
def test_a_passage_counts_one_over_the_hops_to_it(engine: clew.Clew, max_hops: int) -> None:
    chain = dict(zip(("one", "two", "three", "four"), (1, 1 / 2, 1 / 3, 1 / 4), strict=True))
    expected = {title: value if value >= 1 / max_hops else 0 for title, value in chain.items()}
    assert inverse_hops(engine, max_hops) == pytest.approx({**expected, "apart": 0})


@given(weights=st.tuples(*[st.floats(0, 1)] * 3))
def test_the_score_is_the_weighted_sum_of_meaning_hops_and_time(
    engine: clew.Clew, weights: tuple[float, float, float]
) -> None:
    asked = new_session(engine, QUESTION, max_hops=3, weights=weights)
    found = rank_weighted(asked)
    ids = found.ranking.ids.tolist()
    assert sorted(ids) == sorted(_by_title(engine).values())
    cosines = np.clip(engine.state.vectors.vectors(ids) @ asked.vector, 0, 1)
    parts = [cosines, *([found.scores[n][id_] for id_ in ids] for n in ("hops", "temporal"))]
    expected = sum(weight * np.array(part) for weight, part in zip(weights, parts, strict=True))
    np.testing.assert_allclose(found.ranking.scores, expected, atol=1e-6)
    assert (np.diff(found.ranking.scores) <= 0).all()


def test_each_weight_alone_gives_its_own_order(engine: clew.Clew) -> None:
    def first(*weights: float) -> list[str]:
        asked = new_session(engine, QUESTION, max_hops=4, weights=weights)
        return titles(asked, rank_weighted(asked).ranking)

    assert set(first(1, 0, 0)[:2]) == {"one", "apart"}
    assert first(0, 1, 0)[:4] == ["one", "two", "three", "four"]
    assert first(0, 0, 1)[:3] == ["one", "two", "four"]


def test_hops_stop_where_they_lead_everywhere(
    engine: clew.Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.search.strategies.periods.MAX_FRONTIER", 0)
    asked = new_session(engine, QUESTION, max_hops=4, weights=(0, 1, 0))
    assert set(rank_weighted(asked).scores["hops"].values()) == {0.0, 1.0}
    assert asked.notes == ["hops stopped after 1: 1 passages were reached"]


def test_a_question_that_names_nothing_is_weighed_by_the_rest(engine: clew.Clew) -> None:
    asked = new_session(engine, "where do eels go?", weights=(0.6, 0.3, 0.1))
    found = rank_weighted(asked)
    assert titles(asked, found.ranking)[0] == "apart"
    assert set(found.scores["hops"].values()) == {0.0}
