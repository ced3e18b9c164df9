from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.search.answer.blocks import RetrievalResult
from clew.search.retrieval.channels import Ranking
from clew.search.session import QuerySession
from clew.search.strategies.hierarchy import rank_parents
from clew.testing.fakes import HashEmbedder
from clew.types import Document, Piece
from tests.unit.asked import new_session

CHILDREN = (3, 1, 4, 2)
"""Children of each of the parents."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuerySession]:
    folder: Path = tmp_path_factory.mktemp("store")
    with clew.open(folder, embedder=HashEmbedder()) as engine:
        for number, children in enumerate(CHILDREN):
            text = "abcdefgh"[: 2 * children]
            pieces = [Piece(start=2 * n, end=2 * n + 2, key=str(n)) for n in range(children)]
            engine.add_documents([Document(source=str(number), text=text, pieces=tuple(pieces))])
        yield new_session(engine, "which?")


def parents(
    asked: QuerySession, scores: dict[tuple[int, int], float]
) -> tuple[RetrievalResult, list[int]]:
    """What is found where (parent, child) have these cosines, and the parents in order."""
    ids = {
        (int(chunk.source), chunk.ordinal): chunk.id
        for number in range(len(CHILDREN))
        for document in asked.resources.store.documents()
        if document.source == str(number)
        for chunk in asked.resources.store.document_chunks(document.id)
    }
    assert len(ids) == sum(CHILDREN)
    best = sorted(scores, key=lambda child: -scores[child])
    found = rank_parents(
        asked,
        Ranking(
            np.array([ids[child] for child in best], np.int64),
            np.array([scores[child] for child in best], np.float32),
        ),
    )
    where = {id_: parent for (parent, _), id_ in ids.items()}
    return found, [where[id_] for id_ in found.ranking.ids.tolist()]


def test_children_that_each_say_a_part_outweigh_one_that_says_a_little_more(
    asked: QuerySession,
) -> None:
    together = {(0, 0): 0.5, (0, 1): 0.5, (0, 2): 0.5}
    found, order = parents(asked, {**together, (1, 0): 0.6, (3, 0): 0.0})
    assert order == [0, 1, 3]
    np.testing.assert_allclose(found.ranking.scores, [0.5 / 0.6 * 1.75, 1, 0], rtol=1e-6)


def test_but_not_one_that_says_much_more(asked: QuerySession) -> None:
    together = {(2, child): 0.35 for child in range(4)}
    assert parents(asked, {**together, (1, 0): 0.8, (3, 0): 0.1})[1] == [1, 2, 3]


def test_what_all_of_them_share_with_the_question_speaks_for_none(asked: QuerySession) -> None:
    near = {(2, 0): 0.72, (2, 1): 0.71, (2, 2): 0.71, (2, 3): 0.7, (1, 0): 0.9}
    assert parents(asked, near)[1] == [1, 2]


def test_one_child_alone_is_its_parent(asked: QuerySession) -> None:
    found, order = parents(asked, {(1, 0): 0.3})
    assert order == [1]
    assert found.matched == {id_: (id_,) for id_ in found.ranking.ids.tolist()}


def test_nothing_found_is_nothing(asked: QuerySession) -> None:
    found = rank_parents(asked, Ranking.empty())
    assert (len(found.ranking.ids), found.matched) == (0, {})


children = [(parent, child) for parent, many in enumerate(CHILDREN) for child in range(many)]


@given(st.dictionaries(st.sampled_from(children), st.floats(-1, 1, width=32), min_size=1))
def test_each_parent_stands_once_at_its_best_child_with_all_that_matched(
    asked: QuerySession, scores: dict[tuple[int, int], float]
) -> None:
    found, order = parents(asked, scores)
    assert sorted(order) == sorted({parent for parent, _ in scores})
    assert (np.diff(found.ranking.scores) <= 0).all()
    assert sum(len(matched) for matched in found.matched.values()) == len(scores)
    for id_, matched in found.matched.items():
        assert matched[0] == id_, "the best child first"
    low, high = min(scores.values()), max(scores.values())
    for parent, score in zip(order, found.ranking.scores.tolist(), strict=True):
        own = sorted((s for (p, _), s in scores.items() if p == parent), reverse=True)
        scaled = [(s - low) / (high - low) if high > low else 1.0 for s in own]
        expected = sum(value * 0.5**place for place, value in enumerate(scaled))
        assert score == pytest.approx(expected, rel=1e-3, abs=1e-6)
