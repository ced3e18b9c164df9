"""Coverage against plain sets, and bridges over sentences whose best is known by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.snapshot import Snapshot
from clew.graph.snapshot_files import build
from clew.search.analysis.analyse import Analysis, analyse
from clew.search.retrieval.channels import RowValues
from clew.search.retrieval.walk import (
    KEPT,
    MAX_SEED_SENTENCES,
    Coverage,
    find_bridges,
    find_onward,
)
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry
from clew.text import terms

SearchResources = tuple[SqliteStore, Snapshot]
VECTOR = np.zeros(8, np.float32)
NAMES = ("Skerrow Clock", "Ada Morn", "Piet Oss", "Port Anselm", "Dunmere")
TEXTS = (
    ("Skerrow Clock", "It was built by Ada Morn. Piet Oss has a photograph of it."),
    ("Ada Morn", "She comes from Port Anselm. Her clock strikes at noon."),
    ("Dunmere", "Nobody from Dunmere built a thing."),
)
QUESTION = "Where was the woman born who built the Skerrow Clock?"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchResources]:
    store = SqliteStore(tmp_path_factory.mktemp("bridge"), embedder=EMBEDDER)
    for title, text in TEXTS:
        store.save(make_entry(title, text, title=title, names=NAMES, about=[(title, "name")]))
    yield store, build(store)
    store.close()


def _ask(library: SearchResources, question: str) -> tuple[Analysis, Coverage]:
    store, snapshot = library
    analysis = analyse(question, VECTOR, snapshot, store)
    return analysis, Coverage(analysis, snapshot)


def _named(library: SearchResources, rows: Sequence[int]) -> list[str]:
    store, snapshot = library
    return [entity.name for entity in store.entities(snapshot.entity_ids[list(rows)].tolist())]


def _prior(*values: float) -> RowValues:
    return RowValues(np.arange(len(values)), np.array(values, np.float32))


def _bridge_names(library: SearchResources, question: str, prior: Sequence[float]) -> list[str]:
    analysis, coverage = _ask(library, question)
    bridges = find_bridges(analysis, library[1], coverage, _prior(*prior))
    return _named(library, bridges.entities.tolist())


# --- coverage ----------------------------------------------------------------------------

questions = st.lists(
    st.sampled_from(["clock", "Skerrow", "built", "Port", "noon", "zeppelin", "the"]), max_size=7
).map(" ".join)


@given(questions)
def test_coverage_is_the_share_of_idf(library: SearchResources, question: str) -> None:
    analysis, coverage = _ask(library, question)
    idf = dict(zip(analysis.term_rows.tolist(), analysis.term_idf.tolist(), strict=True))
    total = sum(idf.values()) or 1.0

    def share(*texts: str) -> float:
        held = {int(row) for row in library[1].term_rows(terms(" ".join(texts)))}
        return float(sum(value for row, value in idf.items() if row in held) / total)

    rows = np.arange(3)
    assert coverage.share(coverage.passages(rows)) == pytest.approx([share(*t) for t in TEXTS])
    first = library[1].sentence_starts[0] + 1
    assert coverage.share(coverage.sentences(np.array([first]))) == pytest.approx(
        [share("It was built by Ada Morn.")]
    )
    assert coverage.share(coverage.with_context(np.array([first]))) == pytest.approx(
        [share("It was built by Ada Morn.", "Skerrow Clock")]
    )


def test_words_of_a_seeds_name_are_left_out_of_the_unnamed_share(library: SearchResources) -> None:
    analysis, coverage = _ask(library, "Who built the Skerrow Clock at noon?")
    built, noon = (
        float(library[1].term_idf[library[1].term_rows(terms(word))[0]])
        for word in ("built", "noon")
    )
    named = 1 - (built + noon) / float(analysis.term_idf.sum())
    assert coverage.named_share == pytest.approx(named)
    shares = coverage.unnamed_share(coverage.passages(np.arange(3)))
    assert shares == pytest.approx(
        [built / (built + noon), noon / (built + noon), built / (built + noon)]
    )


def test_a_question_of_names_alone_leaves_nothing_unnamed(library: SearchResources) -> None:
    _, coverage = _ask(library, "Skerrow Clock")
    assert coverage.named_share == pytest.approx(1)
    assert coverage.unnamed_share(coverage.passages(np.arange(3))).tolist() == [0, 0, 0]


def test_a_question_without_terms_is_covered_by_nothing(library: SearchResources) -> None:
    _, coverage = _ask(library, "who is it?")
    assert coverage.share(coverage.passages(np.arange(3))).tolist() == [0, 0, 0]
    assert coverage.passages(np.zeros(0, np.int64)).tolist() == []


# --- bridges -----------------------------------------------------------------------------


def test_the_sentence_that_covers_the_question_best_names_the_bridge(
    library: SearchResources,
) -> None:
    names = _bridge_names(library, QUESTION, [0, 0, 0])
    assert names == ["Ada Morn", "Piet Oss"], "neither the seed nor what it is not tied to"


def test_passages_with_a_prior_are_read_without_a_seed(library: SearchResources) -> None:
    assert _bridge_names(library, "Who comes at noon?", [0, 0, 0]) == []
    assert _bridge_names(library, "Who comes at noon?", [0, 1, 0]) == ["Port Anselm"]


def test_a_bridge_knows_its_sentence_and_how_well_it_covers(library: SearchResources) -> None:
    snapshot = library[1]
    analysis, coverage = _ask(library, QUESTION)
    bridges = find_bridges(analysis, snapshot, coverage, _prior(0, 0, 0))
    best = int(bridges.sentences[0])
    assert best == snapshot.sentence_starts[0] + 1
    covered = coverage.share(coverage.with_context(np.array([best])))[0]
    # A sentence on the strongest seed, in a passage without a prior, weighs a half.
    assert bridges.scores[0] == pytest.approx(0.5 * covered)
    assert (np.diff(bridges.scores) <= 0).all()


def test_filters_keep_sentences_from_being_read(library: SearchResources) -> None:
    analysis, coverage = _ask(library, QUESTION)
    prior = _prior(1, 1, 1)
    allowed = np.array([False, True, True])
    bridges = find_bridges(analysis, library[1], coverage, prior, allowed)
    assert set(library[1].sentence_chunk[bridges.sentences].tolist()) <= {1, 2}
    assert "Piet Oss" not in _named(library, bridges.entities.tolist())


def test_a_seed_of_too_many_sentences_is_not_followed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    many = " ".join(["Ada Morn built it."] * (MAX_SEED_SENTENCES + 1))
    store.save(make_entry("many", many + " Ada Morn met Piet Oss.", names=NAMES))
    snapshot = build(store)
    assert _bridge_names((store, snapshot), "Whom did Ada Morn meet?", [0]) == []
    store.close()


def test_no_more_bridges_are_kept_than_can_be_followed(tmp_path: Path) -> None:
    names = [f"Name{chr(97 + i)}" for i in range(KEPT + 5)]
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    store.save(
        make_entry("all", f"Ada Morn met {' and '.join(names)}.", names=["Ada Morn", *names])
    )
    snapshot = build(store)
    assert len(_bridge_names((store, snapshot), "Whom did Ada Morn meet?", [0])) == KEPT
    store.close()


# --- further on --------------------------------------------------------------------------


def test_onward_leads_through_sentences_that_share_no_word_with_the_question(
    library: SearchResources,
) -> None:
    analysis, coverage = _ask(library, QUESTION)
    onward = find_onward(
        analysis, library[1], coverage, np.array([1, 2]), np.array([1, 0.2], np.float32)
    )
    scores = dict(
        zip(_named(library, onward.entities.tolist()), onward.scores.tolist(), strict=True)
    )
    assert scores["Port Anselm"] == pytest.approx(0.5)
    assert scores["Dunmere"] < scores["Port Anselm"]


@pytest.mark.parametrize("find", ["bridges", "onward"])
def test_an_empty_store_has_no_bridges(tmp_path: Path, find: str) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    snapshot = build(store)
    analysis, coverage = _ask((store, snapshot), QUESTION)
    nothing = np.zeros(0, np.float32)
    searches: dict[str, Callable[[], object]] = {
        "bridges": lambda: find_bridges(analysis, snapshot, coverage, _prior()).entities.tolist(),
        "onward": lambda: find_onward(
            analysis, snapshot, coverage, np.zeros(0, np.int64), nothing
        ).entities.tolist(),
    }
    assert searches[find]() == []
    store.close()
