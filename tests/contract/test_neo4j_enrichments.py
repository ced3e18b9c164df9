"""What a model found in passages is added and taken back on a server as in a file."""

from __future__ import annotations

from pathlib import Path

from clew.stores.neo4j.store import Neo4jStore
from clew.stores.relations.enrichments import Enrichments
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance.base import chunk_ids_of
from clew.testing.entries import EMBEDDER
from clew.types import NewEntity
from tests.contract.neo4j_stores import OnNeo4j
from tests.unit.test_enrichments_log import content, fill, reading


class TestEnrichments(OnNeo4j):
    def test_both_stores_hold_the_same(self, store: Neo4jStore, tmp_path: Path) -> None:
        here = SqliteStore(tmp_path / "file", embedder=EMBEDDER)
        assert steps(here) == steps(store)
        here.close()


def steps(store: Neo4jStore | SqliteStore) -> list[object]:
    fill(store)
    (chunk,), (other,) = chunk_ids_of(store, "a"), chunk_ids_of(store, "b")
    log, before = Enrichments(store.backend), content(store)
    found = reading(("Anna", "met", "smith"), ("the smith", "greeted", "Anna"))
    smith = NewEntity(name="the smith", entity_type="person")
    new = log.record_extraction({chunk: found}, [smith])
    log.fail("extract", {other: "malformed"})
    seen = [new, log.done("extract"), _shown(content(store))]
    log.undo_extraction([chunk, other])
    after = content(store)
    assert after == before
    assert store.check().problems == ()
    return [*seen, log.done("extract"), _shown(after)]


def _shown(found: list[object]) -> list[str]:
    """Without the moments, which differ."""
    return [repr(found[:2])] + [
        f"{r.from_entity_id} {r.relation_type} {r.to_entity_id} {r.weight} {r.extractor}"
        for r in found[2]  # type: ignore[attr-defined]
    ]
