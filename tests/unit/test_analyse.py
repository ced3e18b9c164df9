"""What a question asks for: its terms, and the entities that it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.snapshot import Snapshot
from clew.graph.snapshot_files import build
from clew.search.analysis.analyse import MAX_TERMS, analyse, find_seeds
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry
from clew.text import question_terms, terms

VECTOR = np.zeros(8, np.float32)
NAMES = ("Ada Morn", "Skerrow Clock", "Skerrow", "Body", "Titan", "Адам Морн", "時計台")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    folder: Path = tmp_path_factory.mktemp("analyse")
    store = SqliteStore(folder, embedder=EMBEDDER)
    store.save(make_entry("a", "Ada Morn built the Skerrow Clock at Skerrow.", names=NAMES))
    store.save(make_entry("b", "A Titan rose.", "The Titan fell.", names=NAMES))
    store.save(make_entry("c", "Body was a band.", names=NAMES))
    for number in range(9):
        store.save(make_entry(f"d{number}", f"The body of water number {number}."))
    store.save(make_entry("e", "Адам Морн построил часы.", "時計台は古い。", names=NAMES))
    yield store
    store.close()


@pytest.fixture(scope="module")
def snapshot(store: SqliteStore) -> Snapshot:
    return build(store)


def _keys(question: str, snapshot: Snapshot, store: SqliteStore) -> list[str]:
    return [seed.key for seed in find_seeds(question, snapshot, store)]


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("Who built the Skerrow Clock?", ["skerrow clock"]),
        ("Is Skerrow's bell older than Ada Morn’s?", ["skerrow", "ada morn"]),
        ("ADA MORN", ["ada morn"]),
        ("who mends skerrow clocks", ["skerrow clock"]),
        ("Что построил Адам Морн?", ["адам морн"]),
        ("時計台は古いですか", ["時計台"]),
        ("Who is it?", []),
        ("", []),
    ],
)
def test_the_longest_names_are_the_seeds(
    question: str, keys: list[str], snapshot: Snapshot, store: SqliteStore
) -> None:
    assert sorted(_keys(question, snapshot, store)) == sorted(keys)


def test_a_word_of_a_longer_name_is_no_seed_of_its_own(
    snapshot: Snapshot, store: SqliteStore
) -> None:
    assert "skerrow" not in _keys("the Skerrow Clock", snapshot, store)
    assert set(_keys("Skerrow and the Skerrow Clock", snapshot, store)) == {
        *("skerrow", "skerrow clock")
    }


def test_a_seed_weighs_no_more_than_its_words(snapshot: Snapshot, store: SqliteStore) -> None:
    [seed] = find_seeds("Who played in Body?", snapshot, store)
    [row] = snapshot.term_rows(terms("body"))
    assert seed.weight == seed.idf == pytest.approx(snapshot.term_idf[row])
    assert seed.idf < snapshot.entity_idf[seed.row]


def test_small_letters_are_trusted_as_far_as_the_store_means_the_name_by_them(
    snapshot: Snapshot, store: SqliteStore
) -> None:
    # "body" stands in ten chunks, one of which names the band; "titan" always names the Titan.
    [body] = find_seeds("which body of water is meant", snapshot, store)
    assert body.weight == pytest.approx(body.idf / 10)
    [titan] = find_seeds("who saw the titan", snapshot, store)
    assert titan.weight == titan.idf


def test_terms_come_once_and_those_unknown_to_the_store_weigh_nothing(
    snapshot: Snapshot, store: SqliteStore
) -> None:
    analysis = analyse("Clock, clock, zeppelin of Skerrow?", VECTOR, snapshot, store)
    assert analysis.terms == tuple(dict.fromkeys(terms("clock zeppelin skerrow")))
    assert len(analysis.term_rows) == 2
    assert (analysis.term_idf > 0).all()


def test_the_rarest_terms_of_a_long_question_count(store: SqliteStore, snapshot: Snapshot) -> None:
    assert len(snapshot.vocabulary) < MAX_TERMS
    analysis = analyse("body clock " * 5000, VECTOR, snapshot, store)
    assert len(analysis.term_rows) == 2


def test_of_more_terms_than_bits_the_rarest_count(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(MAX_TERMS + 6)]
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    store.save(make_entry("all", " ".join(words)))
    store.save(make_entry("some", " ".join(words[:6])))
    snapshot = build(store)
    analysis = analyse(" ".join(words), VECTOR, snapshot, store)
    assert set(analysis.term_rows.tolist()) == set(snapshot.term_rows(words[6:]).tolist())
    store.close()


@given(st.text(max_size=60))
def test_any_text_is_a_question(snapshot: Snapshot, store: SqliteStore, text: str) -> None:
    analysis = analyse(text, VECTOR, snapshot, store)
    assert list(analysis.terms) == question_terms(text)
    assert set(terms(text)) <= set(analysis.terms)
    assert all(0 < seed.weight <= seed.idf for seed in analysis.seeds)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Is there anything about capsicum?", ["capsicum"]),
        ("Anyone who met Ada?", ["met", "ada"]),
        ("Did somebody mend the crane", ["mend", "crane"]),
        ("Who sang Someone Like You?", ["sang", "someon", "like"]),
    ],
)
def test_nobody_asks_for_the_word_anything(question: str, asked: list[str]) -> None:
    assert question_terms(question) == asked
    assert question_terms("anything") == ["anyth"], "what is all that is asked is asked"
