"""`graph` over what a question reads of the store, next to `graph` over a snapshot of all of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import clew
from clew.derived_files import derived_files
from clew.graph.snapshot import Neighbourhood, Snapshot
from clew.ports import NearbyQuery
from clew.search import session as views
from clew.settings import Settings, load_settings
from clew.stores import snapshot as neighbourhood
from clew.testing.fakes import HashEmbedder

NAMES = [f"{one} {other}" for one in ("Ada", "Piet", "Jon") for other in ("Morn", "Oss", "Vell")]
PLACES = ["Harrow Ford", "Lisse", "Old Wick", "Marrow Bay", "Tern"]
WORDS = ["mill", "clock", "bridge", "archive", "bell", "quarry", "ferry"]
QUESTIONS = [
    "Where does Ada Morn keep the clock of Lisse?",
    "Which bridge was built by Piet Oss near Old Wick?",
    "Who owns the ferry of Marrow Bay, and where was she born?",
    "quarry",
    "",
]


def place_notes(engine: clew.Clew, number: int) -> None:
    """Notes of three passages each, whose names and words come again and again."""
    chance = random.Random(5)
    for i in range(number):
        text = "\n\n".join(
            " ".join(
                f"{chance.choice(NAMES)} of {chance.choice(PLACES)} built a {chance.choice(WORDS)}"
                f" for {chance.choice(NAMES)} in 18{chance.randrange(10, 99)}."
                for _ in range(12)
            )
            for _ in range(3)
        )
        engine.add(text, source=f"note {i}", title=f"{chance.choice(PLACES)} {i}")


def settings_for(snapshot: str) -> Settings:
    return load_settings(search={"snapshot": snapshot, "cache": 0})


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[clew.Clew, clew.Clew]]:
    """One store, asked over a snapshot and over what each question reads."""
    place, embedder = tmp_path / "store", HashEmbedder()
    with (
        clew.open(place, settings=settings_for("always"), embedder=embedder) as whole,
        clew.open(place, settings=settings_for("never"), embedder=embedder) as near,
    ):
        yield whole, near


def read_all(engine: clew.Clew, snapshot: Snapshot, near: Neighbourhood) -> Snapshot:
    """A neighbourhood of some passages with every figure of the store that they need."""
    some = snapshot.chunk_ids[3:40:4].tolist()
    terms = ["clock", "bell", "mill", "built"]
    first = near.read(NearbyQuery(chunk_ids=some, most=0, terms=terms))
    return near.read(NearbyQuery(counted=first.entity_ids.tolist(), most=0))


def test_where_all_is_near_the_hits_and_their_scores_are_the_same(
    two: tuple[clew.Clew, clew.Clew],
) -> None:
    whole, near = two
    place_notes(whole, 8)
    for question in QUESTIONS:
        for strategy in ("graph", "temporal", "weighted", "auto"):
            expected = whole.search(question, strategy=strategy, limit=20)
            found = near.search(question, strategy=strategy, limit=20)
            assert [hit.chunk.id for hit in found.hits] == [hit.chunk.id for hit in expected.hits]
            assert [hit.score for hit in found.hits] == pytest.approx(
                [hit.score for hit in expected.hits], abs=1e-5
            )
            assert [(hit.entities, hit.path) for hit in found.hits] == [
                (hit.entities, hit.path) for hit in expected.hits
            ]


def test_the_figures_of_a_part_are_those_of_the_whole(two: tuple[clew.Clew, clew.Clew]) -> None:
    whole, near = two
    place_notes(whole, 30)
    snapshot = whole.state.snapshot.whole
    part = read_all(near, snapshot, Neighbourhood(near.state.store))
    assert 10 < part.size < snapshot.size
    chunks, entities = (
        snapshot.rows(part.chunk_ids),
        np.searchsorted(snapshot.entity_ids, part.entity_ids),
    )
    for name, rows in (
        *(("entity_frequency", entities), ("entity_idf", entities), ("entity_strengths", entities)),
        *(("entity_rarity", entities), ("chunk_terms", chunks)),
    ):
        assert getattr(part, name) == pytest.approx(getattr(snapshot, name)[rows]), name
    for term in ("clock", "bell", "mill", "built"):
        (here,), (there,) = part.term_rows([term]), snapshot.term_rows([term])
        assert part.term_idf[here] == pytest.approx(snapshot.term_idf[there])
    for row, chunk in enumerate(chunks):
        mentioned = part.entity_ids[part.passage_entities.row(row)]
        expected = snapshot.entity_ids[snapshot.passage_entities.row(int(chunk))]
        assert mentioned.tolist() == expected.tolist()


def test_only_chunks_that_follow_each_other_are_neighbours(
    two: tuple[clew.Clew, clew.Clew],
) -> None:
    whole, near = two
    text = "\n\n".join(f"Ada Morn built the mill {i} of Lisse. " * 20 for i in range(9))
    whole.add(text, source="long")
    ids = whole.state.snapshot.chunk_ids
    first, last = int(ids[1]), int(ids[-2])
    part = Neighbourhood(near.state.store).read(NearbyQuery(chunk_ids=[first, last], most=0))
    rows = np.arange(part.size)
    assert part.chunk_ids.tolist() == [first - 1, first, first + 1, last - 1, last, last + 1]
    assert part.neighbours(rows, 1).tolist() == [1, 2, 2, 4, 5, 5]
    assert part.neighbours(rows, -1).tolist() == [0, 0, 1, 3, 3, 4]


def test_a_question_reads_the_store_three_times_and_makes_no_snapshot(
    two: tuple[clew.Clew, clew.Clew],
) -> None:
    _, near = two
    for number in (3, 30):
        place_notes(near, number)
        store = near.state.store
        with patch.object(store, "nearby", wraps=store.nearby) as nearby:
            assert near.search(QUESTIONS[0], strategy="graph").hits
        assert nearby.call_count == 3
    near.state.persist()
    assert not derived_files(near.state.store.folder, "snapshot")
    assert not derived_files(near.state.store.folder, "words")


def test_a_large_store_has_no_snapshot_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for("auto")
    with clew.open(tmp_path / "store", settings=settings, embedder=HashEmbedder()) as engine:
        place_notes(engine, 4)
        assert "neighbourhood" not in engine.search(QUESTIONS[0], strategy="graph").timings_ms
        monkeypatch.setattr(views, "IN_MEMORY", 3)
        assert "neighbourhood" in engine.search(QUESTIONS[0], strategy="graph").timings_ms


def test_what_is_remembered_of_common_names_is_counted_again_after_changes(
    two: tuple[clew.Clew, clew.Clew], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbourhood, "COMMON", 1)
    whole, near = two
    for count in (2, 12):
        place_notes(whole, count)
        snapshot = whole.state.snapshot.whole
        ids = snapshot.entity_ids.tolist()
        for _ in range(2):  # the second time, from what is remembered
            query = NearbyQuery(counted=ids, terms=["clock", "nothing"], most=0)
            found = near.state.store.nearby(query)
            assert found.chunks == snapshot.size
            counts = found.entity_counts[np.argsort(found.entity_counts[:, 0])]
            assert counts[:, 0].tolist() == ids
            assert counts[:, 1].tolist() == snapshot.entity_frequency.tolist()
            (clock,) = snapshot.term_rows(["clock"])
            assert found.term_counts == {"clock": snapshot.term_frequency[clock]}


def test_filters_hold_for_what_is_read(two: tuple[clew.Clew, clew.Clew]) -> None:
    whole, near = two
    place_notes(whole, 20)
    whole.add("Ada Morn keeps the clock of Lisse.", source="the one", metadata={"kind": "gold"})
    found = near.search(QUESTIONS[0], strategy="graph", where=["kind=gold"])
    assert [hit.chunk.source for hit in found.hits] == ["the one"]
