"""What a model found in passages is added beside the rest, and can be taken back whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.errors import NotFoundError
from clew.stores.extractions import Enrichments
from clew.stores.sqlite.store import SqliteStore
from clew.stores.store import Store
from clew.testing.conformance.base import chunk_ids_of
from clew.testing.entries import EMBEDDER, make_entry
from clew.types import ChunkExtraction, ExtractedRelation, Mention, NewEntity


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path, embedder=EMBEDDER)
    fill(made)
    yield made
    made.close()


def fill(store: Store) -> None:
    stated = [("Anna", "met", "smith")]
    store.save(make_entry("a", "Anna met the smith.", names=["Anna"], relations=stated))
    store.save(make_entry("b", "Anna met the smith again.", names=["Anna"], relations=stated))


def reading(*facts: tuple[str, str, str]) -> ChunkExtraction:
    return ChunkExtraction(
        mentions=(Mention(name="the smith", entity_type="person", sentence=0, start=9, end=18),),
        relations=tuple(
            ExtractedRelation(head=h, relation_type=t, tail=o, sentence=0, confidence=0.7)
            for h, t, o in facts
        ),
    )


def content(store: Store) -> list[object]:
    """All that the store says of names and relations."""
    rows = [store.relations_by_id([int(i)])[0] for i in store.relation_rows().ids]
    return [store.mention_rows().tolist(), store.aliases(), rows]


def test_a_fact_that_both_state_is_as_sure_as_both_together(store: SqliteStore) -> None:
    (chunk,) = chunk_ids_of(store, "a")

    new = Enrichments(store.backend).record_extraction({chunk: reading(("Anna", "met", "smith"))})

    (relation,) = store.chunk_relations([chunk])
    assert new == 0
    assert (relation.extractor, relation.confidence) == ("model", 1 - 0.5 * 0.3)
    # and the other passage states it, too
    assert relation.weight == pytest.approx(1 - 0.5 * 0.3 * 0.5)
    assert store.check().problems == ()


def test_what_a_model_found_is_taken_back_whole(store: SqliteStore) -> None:
    (chunk,) = chunk_ids_of(store, "a")
    before, log = content(store), Enrichments(store.backend)
    found = reading(("Anna", "met", "smith"), ("the smith", "greeted", "Anna"))
    smith = NewEntity(name="the smith", entity_type="person")

    assert log.record_extraction({chunk: found}, [smith]) == 1
    assert log.record_extraction({chunk: found}, [smith]) == 0
    assert content(store) != before
    assert log.done("extract") == {chunk: ""}
    log.undo_extraction([chunk])

    assert content(store) == before
    assert log.done("extract") == {}
    assert store.check().problems == ()


def test_what_an_assistant_said_since_stays(store: SqliteStore) -> None:
    (chunk,) = chunk_ids_of(store, "a")
    log, fact = Enrichments(store.backend), reading(("Anna", "met", "smith"))
    log.record_extraction({chunk: fact})
    store.record_readings({chunk: fact})

    log.undo_extraction([chunk])

    (relation,) = store.chunk_relations([chunk])
    assert (relation.extractor, relation.confidence) == ("assistant", 0.7)


def test_failures_are_remembered_with_their_passages(store: SqliteStore) -> None:
    (first,), (second,) = chunk_ids_of(store, "a"), chunk_ids_of(store, "b")
    log = Enrichments(store.backend)

    log.fail("extract", {first: "malformed", second: "refused"})
    log.record_extraction({second: reading()})

    assert log.done("extract") == {first: "malformed", second: ""}
    store.delete([document.id for document in store.documents() if document.source == "a"])
    assert log.done("extract") == {second: ""}


def test_a_passage_that_is_gone_is_refused(store: SqliteStore) -> None:
    before = content(store)

    with pytest.raises(NotFoundError):
        Enrichments(store.backend).record_extraction({999: reading()})

    assert content(store) == before
