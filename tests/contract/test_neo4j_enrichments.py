"""What a model found in passages is added and taken back on a server as in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from clew.ports.graph import StoredDescription
from clew.stores.communities import Communities, Descriptions
from clew.stores.extractions import Enrichments
from clew.stores.neo4j.store import Neo4jStore
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance.base import chunk_ids_of
from clew.testing.entries import EMBEDDER, make_entry
from clew.types import NewEntity
from tests.contract.neo4j_stores import OnNeo4j
from tests.contract.suites.communities import make_changes
from tests.unit.test_enrichments_log import content, fill, reading


class TestEnrichments(OnNeo4j):
    def test_both_stores_hold_the_same(self, store: Neo4jStore, tmp_path: Path) -> None:
        here = SqliteStore(tmp_path / "file", embedder=EMBEDDER)
        assert steps(here) == steps(store)
        here.close()


class TestDescriptions(OnNeo4j):
    def test_both_stores_show_the_same(self, store: Neo4jStore, tmp_path: Path) -> None:
        here = SqliteStore(tmp_path / "file", embedder=EMBEDDER)
        assert described(here) == described(store)
        here.close()


def described(store: Neo4jStore | SqliteStore) -> list[object]:
    """What is shown of things that were described, before and after a document is deleted."""
    fill(store)
    communities, log = Communities(store.backend), Descriptions(store.backend)
    assert communities.write(make_changes())
    ids = [document.id for document in store.documents()]
    (entity,) = store.find_entities("Anna", 1)
    topic = communities.topics()[0]
    theme = topic.theme_phrase
    keys = f"document:{ids[0]}", f"entity:{entity.id}", f"topic:{topic.id}", f"theme:{theme}"
    made = [
        StoredDescription(
            key=key,
            name=f"name of {key}",
            title=f"Title {key}",
            text=f"Said of “{key}” [1].",
            sources=(f"{ids[0]}#0",),
            documents=(document,),
            basis="b",
            reason="malformed" if key.startswith("entity") else "",
        )
        for key, document in zip((*keys, "community:3"), (*ids[:1] * 3, *ids[1:2] * 2), strict=True)
    ]
    log.describe(made)
    log.describe(made[:2])

    def shown() -> list[object]:
        kinds = log.descriptions("entity", "topic", "theme", "community", "document", "part")
        return [
            dict(sorted(kinds.items())),
            [document.summary for document in store.documents()],
            [one.description for one in store.find_entities("Anna", 1)],
            communities.topics(),
            communities.communities(),
        ]

    found = shown()
    assert store.check().problems == ()
    store.delete([ids[0]])
    found += shown()
    log.forget(["community:3", "unknown"])
    return found + shown()


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
    return [*seen, log.done("extract"), _shown(after), *_situated(store, log)]


def _situated(store: Neo4jStore | SqliteStore, log: Enrichments) -> list[object]:
    """A passage is given a context and loses it again; its mentions and relations stay with it."""
    (chunk,) = chunk_ids_of(store, "a")
    vector = np.eye(1, EMBEDDER[1], dtype=np.float32)
    log.record_contexts({chunk: "A tale of a smithy.", 999: "gone"}, np.repeat(vector, 2, axis=0))
    (new,) = chunk_ids_of(store, "a")
    ids, _ = store.search_keywords(["smithi"], 10)
    found = [
        store.chunks([new])[0].context,
        ids.tolist() == [new],
        new > chunk,
        log.done("context"),
    ]
    found += [len(store.chunk_relations([new])), len(store.mention_rows())]
    embedded = dict(zip(*(column.tolist() for column in store.embeddings()), strict=True))
    found.append(embedded[new] == vector[0].tolist())
    assert store.check().problems == ()
    log.undo_contexts([new])
    (last,) = chunk_ids_of(store, "a")
    assert store.check().problems == ()
    again = make_entry("c", "Bo came.", names=["Bo"])
    store.save(again)
    assert store.check().problems == ()
    return [*found, store.chunks([last])[0].context, last > new, log.done("context")]


def _shown(found: list[object]) -> list[str]:
    """Without the moments, which differ."""
    return [repr(found[:2])] + [
        f"{r.from_entity_id} {r.relation_type} {r.to_entity_id} {r.weight} {r.extractor}"
        for r in found[2]  # type: ignore[attr-defined]
    ]
