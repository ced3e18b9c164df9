"""Candidates and features over a small store whose second hop shares no word with the question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.snapshot import Snapshot
from clew.graph.snapshot_files import build
from clew.search.analysis.analyse import Analysis, analyse
from clew.search.ranking.features import (
    FEATURES,
    SECOND_FEATURES,
    ChannelScores,
    Evidence,
    Incidence,
    gather,
    pairwise_features,
)
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry
from clew.testing.fakes import HashEmbedder
from clew.text import terms

if TYPE_CHECKING:
    from clew.graph.snapshot import Floats, Ints
    from clew.types import Vectors

NAMES = ("Skerrow Clock", "Ada Morn", "Port Anselm", "Dunmere Clock", "Piet Oss", "River Ister")
TEXTS = (
    ("Skerrow Clock", "It was built by Ada Morn and strikes at noon."),
    ("Ada Morn", "She comes from Port Anselm, and never left."),
    ("Port Anselm", "The River Ister meets the sea here."),
    ("Dunmere Clock", "It was built long ago in the country by nobody."),
    *((f"Country {i}", f"The country where number {i} was built.") for i in range(80)),
)
CLOCK, MORN, ANSELM, DUNMERE = range(4)
QUESTION = "In which country was the Skerrow Clock built?"


@dataclass(frozen=True)
class SearchResources:
    """A store with what questions need of it."""

    store: SqliteStore
    snapshot: Snapshot
    vectors: Vectors
    embedder: HashEmbedder

    def analyse(self, question: str) -> Analysis:
        return analyse(question, self.embedder.embed_query(question), self.snapshot, self.store)

    def channels(self, question: str, allowed: Sequence[int] | None = None) -> ChannelScores:
        mask, ids = None, None
        if allowed is not None:
            mask = np.isin(np.arange(self.snapshot.size), allowed)
            ids = self.snapshot.chunk_ids[mask]
        scores = self.vectors @ self.embedder.embed_query(question)
        order = np.argsort(-scores, kind="stable")
        order = order if mask is None else order[mask[order]]
        found, words = self.store.search_keywords(terms(question), 200, ids)
        rows = self.snapshot.rows(found)
        return ChannelScores(order[:20], scores[order[:20]], rows[:20], words[:20], mask)

    def gather(self, question: str, allowed: Sequence[int] | None = None) -> Evidence:
        channels = self.channels(question, allowed)
        return gather(
            self.analyse(question), self.snapshot, channels, lambda rows: self.vectors[rows]
        )

    def pairwise_features(self, evidence: Evidence, first: Floats) -> Floats:
        return pairwise_features(evidence, self.snapshot, self.vectors[evidence.rows], first)


def _library(folder: Path, texts: Sequence[tuple[str, str]]) -> SearchResources:
    store = SqliteStore(folder, embedder=EMBEDDER)
    with store.batch():
        for number, (title, text) in enumerate(texts):
            about = [(title, "name")] if title else []
            store.save(make_entry(f"{number:03}", text, title=title, names=NAMES, about=about))
    embedder = HashEmbedder()
    vectors = embedder.embed_documents([f"{title}\n{text}" for title, text in texts])
    return SearchResources(store, build(store), vectors, embedder)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchResources]:
    library = _library(tmp_path_factory.mktemp("features"), TEXTS)
    yield library
    library.store.close()


def _column(matrix: Floats, names: Sequence[str], name: str, rows: Ints) -> dict[int, float]:
    values = matrix[:, list(names).index(name)]
    return dict(zip(rows.tolist(), values.tolist(), strict=True))


def _first(evidence: Evidence, name: str) -> dict[int, float]:
    return _column(evidence.matrix, FEATURES, name, evidence.rows)


# --- the first ranking's features --------------------------------------------------------


def test_hops_that_share_no_word_with_the_question_are_candidates(library: SearchResources) -> None:
    found = library.channels(QUESTION)
    retrieved = {*found.vector_rows.tolist(), *found.keyword_rows.tolist()}
    assert not retrieved & {MORN, ANSELM}
    evidence = library.gather(QUESTION)
    assert {CLOCK, MORN, ANSELM} <= set(evidence.rows.tolist())
    assert evidence.rows.tolist() == sorted(set(evidence.rows.tolist()))


def test_features_tell_the_thread_from_the_rest(library: SearchResources) -> None:
    evidence = library.gather(QUESTION)
    assert _first(evidence, "seeds_about_share")[CLOCK] == 1
    assert _first(evidence, "seeds_share")[DUNMERE] == 0
    bridge, onward = _first(evidence, "bridge"), _first(evidence, "onward_about")
    assert max(bridge, key=bridge.__getitem__) == MORN
    assert bridge[CLOCK] == 0, "the passage that says so is not led to by itself"
    assert onward[ANSELM] > 0 == onward[DUNMERE]
    walk = _first(evidence, "walk")
    assert walk[CLOCK] == 1
    assert walk[MORN] > walk[DUNMERE]
    assert evidence.walk.tolist() == list(walk.values())


def test_shares_and_ranks_are_relative(library: SearchResources) -> None:
    evidence = library.gather(QUESTION)
    for name in FEATURES:
        values = list(_first(evidence, name).values())
        if name == "question_terms":
            assert set(values) == {len(evidence.analysis.terms)}
        else:
            # A lead is the difference of two shares.
            least = -2 if name.endswith("_lead") else -1
            assert least <= min(values) <= max(values) <= 1.001, name
    for name in ("vector_rank", "keyword_rank", "walk_rank", "hybrid_rank"):
        assert max(_first(evidence, name).values()) == 0.5, name


def test_filters_keep_passages_and_their_bridges_out(library: SearchResources) -> None:
    allowed = [MORN, ANSELM, DUNMERE, *range(4, 40)]
    evidence = library.gather(QUESTION, allowed)
    assert set(evidence.rows.tolist()) <= set(allowed)
    assert (
        max(_first(evidence, "bridge").values()) < _first(library.gather(QUESTION), "bridge")[MORN]
    )
    assert CLOCK not in library.snapshot.sentence_chunk[evidence.bridges.sentences]


def test_vectors_are_asked_for_twice_at_most_and_never_for_the_whole_store(
    library: SearchResources,
) -> None:
    asked: list[Ints] = []

    def vectors_of(rows: Ints) -> Vectors:
        asked.append(rows)
        return library.vectors[rows]

    channels = library.channels(QUESTION)
    gather(library.analyse(QUESTION), library.snapshot, channels, vectors_of)
    rows = np.concatenate(asked)
    assert len(asked) <= 2
    assert len(rows) == len(set(rows.tolist())) < library.snapshot.size


@pytest.mark.parametrize(
    "question", ["", "the of", "zeppelin", "Skerrow Clock", "Port Anselm? " * 300]
)
def test_odd_questions_have_features(library: SearchResources, question: str) -> None:
    evidence = library.gather(question)
    assert np.isfinite(evidence.matrix).all()
    related = library.pairwise_features(evidence, evidence.walk)
    assert related.shape == (len(evidence.rows), len(SECOND_FEATURES))
    assert np.isfinite(related).all()


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [("", "")],
        [("", "The Skerrow Clock.")],
        [("Skerrow Clock", "It was built by Ada Morn.")] * 3,
    ],
    ids=["empty store", "empty passage", "one passage", "duplicates"],
)
def test_odd_stores_have_features(tmp_path: Path, texts: list[tuple[str, str]]) -> None:
    library = _library(tmp_path, texts)
    for vectors in (library.vectors, np.zeros_like(library.vectors)):
        odd = SearchResources(library.store, library.snapshot, vectors, library.embedder)
        evidence = odd.gather(QUESTION)
        assert evidence.matrix.shape == (len(evidence.rows), len(FEATURES))
        assert evidence.matrix.dtype == np.float32
        related = odd.pairwise_features(evidence, np.zeros(len(evidence.rows), np.float32))
        assert related.shape == (len(evidence.rows), len(SECOND_FEATURES))
        assert np.isfinite(evidence.matrix).all()
        assert np.isfinite(related).all()
    library.store.close()


@given(st.integers(0, 2**32 - 1))
def test_incidence_agrees_with_plain_loops(library: SearchResources, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.unique(rng.integers(0, library.snapshot.size, 12))
    incidence = Incidence(library.snapshot, rows)
    values = rng.integers(0, 5, len(rows)).astype(np.float32)
    by_entry = rng.random(len(incidence.owner)).astype(np.float32)
    entries = list(enumerate(zip(incidence.owner.tolist(), incidence.entity.tolist(), strict=True)))
    places = incidence.place(values)
    for i, (owner, entity) in entries:
        rivals = [values[o] for _, (o, e) in entries if e == entity]
        better = sum(value > values[owner] for value in rivals)
        ties = sum(value == values[owner] for value in rivals)
        assert 1 / (better + ties) <= places[i] * 1.0001 <= 1.001 / (better + 1) * 1.0001
    for place in range(len(rows)):
        own = [by_entry[i] for i, (owner, _) in entries if owner == place]
        assert incidence.total(by_entry)[place] == pytest.approx(sum(own), rel=1e-5)
        assert incidence.highest(by_entry)[place] == max(own, default=0)


# --- the second ranking's features -------------------------------------------------------


def _second(
    library: SearchResources, evidence: Evidence, best: Sequence[int], name: str
) -> dict[int, float]:
    """A column, after a first ranking that puts `best` on top, in that order."""
    first = np.zeros(len(evidence.rows), np.float32)
    for points, row in enumerate(reversed(best)):
        first[evidence.rows == row] = points + 1
    return _column(library.pairwise_features(evidence, first), SECOND_FEATURES, name, evidence.rows)


def test_links_lead_on_from_the_best_passages(library: SearchResources) -> None:
    evidence = library.gather(QUESTION)
    other = int(evidence.rows[-1])
    for name in ("link_about", "link_cover", "link_place", "link_shared"):
        from_clock = _second(library, evidence, [CLOCK, DUNMERE, other], name)
        assert from_clock[MORN] > 0 == from_clock[ANSELM], name
        from_both = _second(library, evidence, [CLOCK, MORN, other], name)
        # Port Anselm's sentence on the second passage shares no word with the question.
        assert (from_both[ANSELM] > 0) == (name != "link_cover"), name
        assert from_both[DUNMERE] == 0, name


def test_pairs_are_linked_by_what_one_of_them_is_about(library: SearchResources) -> None:
    evidence = library.gather(QUESTION)
    cover = _second(library, evidence, [CLOCK, DUNMERE], "pair_cover")
    share = float(evidence.coverage.share(evidence.coverage.passages(np.array([CLOCK])))[0])
    assert cover[MORN] == pytest.approx(share), "Ada Morn adds no word of the question"
    assert cover[DUNMERE] == 0
    onward = _second(library, evidence, [CLOCK], "pair_about")
    back = _second(library, evidence, [CLOCK], "pair_back")
    assert onward[MORN] > 0 == onward[DUNMERE]
    assert back[CLOCK] > 0 == back[DUNMERE], "it mentions what another candidate is about"


def test_what_is_left_open_is_at_right_angles_to_the_best(library: SearchResources) -> None:
    evidence = library.gather(QUESTION)
    residual = _second(library, evidence, [CLOCK, DUNMERE], "residual_2")
    vectors = library.vectors[[CLOCK, DUNMERE]].astype(np.float64)
    question = evidence.analysis.vector.astype(np.float64)
    rest = question - vectors.T @ np.linalg.lstsq(vectors.T, question)[0]
    expected = library.vectors[evidence.rows] @ (rest / np.linalg.norm(rest))
    judged = ~np.isin(evidence.rows, [CLOCK, DUNMERE])
    found = np.array(list(residual.values()))
    np.testing.assert_allclose(found[judged], expected[judged], atol=1e-5)
    opened = _second(library, evidence, [CLOCK], "open_1")
    assert opened[DUNMERE] > 0, "it says where: in the country"
    assert opened[MORN] == 0


def test_the_first_ranking_is_handed_on(library: SearchResources) -> None:
    evidence = library.gather(QUESTION)
    assert _second(library, evidence, [MORN, CLOCK], "first")[MORN] == 2
    assert _second(library, evidence, [MORN, CLOCK], "first_rank")[CLOCK] == 1
    assert _second(library, evidence, [MORN, CLOCK], "first_gap")[CLOCK] == 1
