"""Workers that save beside each other on a real server: what they save is what one would save."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clew.graph.snapshot_files import build
from clew.indexing.linking import Linker
from clew.plugins.neo4j import store as workers
from clew.plugins.neo4j.store import Neo4jStore
from clew.settings import LinkSettings, Neo4jSettings
from clew.testing.conformance import make_entry
from clew.types import Condition, IndexedDocument
from tests.contract.neo4j_stores import Place, new_place

PEOPLE = ("Ottokar Brandenburg", "Ottokar Brandenburgh", "Wilhelmina Sternau", "Ulla Tor")
TOWNS = ("Vienna", "Basel", "Ulm")


def lives(number: int, person: str, town: str) -> IndexedDocument:
    """A document of its own date, which says where a person lives from then on."""
    return make_entry(
        f"document {number}",
        f"{person} lives in {town}. That is number {number}, said in Number{number}ville.",
        names={person: "person", town: "place", f"Number{number}ville": "place"},
        relations=[(person, "lives_in", town)],
        valid_from=datetime(2000 + number, 1, 1, tzinfo=UTC),
    )


def documents() -> list[IndexedDocument]:
    return [lives(n, PEOPLE[n % len(PEOPLE)], TOWNS[n // 2 % len(TOWNS)]) for n in range(24)]


@pytest.fixture
def place(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Place]:
    with new_place(neo4j_address, neo4j_settings) as place:
        yield place


@pytest.fixture
def other_place(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Place]:
    with new_place(neo4j_address, neo4j_settings) as place:
        yield place


@pytest.fixture
def stores(place: Place, tmp_path: Path) -> Iterator[list[Neo4jStore]]:
    """The same namespace, opened by four."""
    with ExitStack() as stack:
        yield [stack.enter_context(place.store(tmp_path / str(n))) for n in range(4)]


def linker(store: Neo4jStore) -> Linker:
    return Linker(store, LinkSettings())


def linked(store: Neo4jStore, entry: IndexedDocument) -> IndexedDocument:
    return replace(entry, links=linker(store).links(entry.extraction))


def settle(store: Neo4jStore, worker: int) -> None:
    while unsettled := store.unsettled(worker):
        store.settle(unsettled, tuple(linker(store).late_links(unsettled.names)))


def save_as(store: Neo4jStore, worker: int, entries: Sequence[IndexedDocument]) -> None:
    with store.beside_others(worker):
        for entry in entries:
            store.save(linked(store, entry))
    settle(store, worker)


def content(store: Neo4jStore) -> dict[str, Any]:
    """All that documents brought, without the ids and moments that depend on who came first."""
    assert store.check().problems == ()
    assert store.unsettled(0) is None
    keys = entity_keys(store)
    aliases = {alias.id: sorted(keys[alias.entity_id]) for alias in store.aliases()}
    sources = {d.id: d.source for d in store.documents()}
    chunks = {c.id: sources[c.document_id] for c in store.chunks(store.chunk_ids().tolist())}
    return {
        "entities": sorted(map(sorted, keys.values())),
        "mentions": sorted(
            (chunks[chunk], sentence, sorted(keys[entity]), count)
            for chunk, sentence, entity, count in store.mention_rows().tolist()
        ),
        "relations": sorted(
            (
                chunks[row["chunk_id"]],
                aliases[row["from_alias_id"]],
                aliases[row["to_alias_id"]],
                row["valid_from"],
                row["valid_until"],
                row["weight"],
            )
            for row in relation_rows(store)
        ),
    }


def entity_keys(store: Neo4jStore) -> dict[int, set[str]]:
    keys: dict[int, set[str]] = {}
    for alias in store.aliases():
        keys.setdefault(alias.entity_id, set()).add(alias.key)
    return keys


def relation_rows(store: Neo4jStore) -> list[dict[str, Any]]:
    return [dict(row) for row in store.backend.read_rows("relations", None, 1000)]


def by_one(place: Place, folder: Path, entries: Sequence[IndexedDocument]) -> dict[str, Any]:
    with place.store(folder) as store:
        for entry in entries:
            store.save(linked(store, entry))
        return content(store)


def test_what_two_could_not_see_of_each_other_is_settled(
    stores: list[Neo4jStore], other_place: Place, tmp_path: Path
) -> None:
    first, second, third, _ = stores
    entries = [lives(1, PEOPLE[0], "Basel"), lives(5, PEOPLE[1], "Ulm"), lives(9, PEOPLE[1], "Ulm")]
    blind = [linked(first, entry) for entry in entries]  # before any of them is saved
    with first.beside_others(1), second.beside_others(2):
        first.save(blind[0])
        second.save(blind[1])
        first.save(blind[2])
    alone = entity_keys(first).values()
    assert sum("brandenburg" in key for keys in alone for key in keys) == 2
    assert all(len(keys) == 1 for keys in alone)
    settle(third, 2)
    assert first.unsettled(1) is not None
    assert third.unsettled(2) is None
    settle(third, 0)  # as who finds that the first one was killed
    assert content(first) == by_one(other_place, tmp_path / "one", entries)


def test_one_in_the_middle_of_a_save_keeps_workers_from_nothing_and_others_waiting(
    stores: list[Neo4jStore],
) -> None:
    slow, worker, alone, _ = stores
    inside, go_on = threading.Event(), threading.Event()

    def waits() -> None:
        inside.set()
        assert go_on.wait(60)

    with slow.beside_others(1), worker.beside_others(2), ThreadPoolExecutor(2) as pool:
        try:
            saving = pool.submit(slow.backend.database.write, waits, worker=1)
            assert inside.wait(30)
            worker.save(lives(1, "Ulla Tor", "Basel"))
            assert [d.source for d in alone.documents()] == ["document 1"]
            deleting = pool.submit(alone.delete, [d.id for d in alone.documents()])
            with pytest.raises(TimeoutError):
                deleting.result(timeout=1)
        finally:
            go_on.set()
        saving.result(timeout=30)
        assert deleting.result(timeout=30) == 1


def test_what_takes_more_than_adding_is_done_alone(stores: list[Neo4jStore]) -> None:
    first, second, *_ = stores
    save_as(first, 1, documents()[:6])
    save_as(second, 2, [lives(n, "Ulla Tor", "Ulm") for n in range(6)])
    versions = {d.source: d.version for d in first.documents()}
    assert versions == {f"document {n}": 1 + (n % 4 != 3 or n // 2 % 3 != 2) for n in range(6)}
    assert content(first) == content(second)


def test_a_worker_whose_ids_are_used_up_gets_more(
    stores: list[Neo4jStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "IDS", 2)
    long = make_entry("long", *[f"Person {n} wrote." for n in range(40)], names=["Person 7"])
    save_as(stores[0], 1, [*documents()[:3], long])
    save_as(stores[1], 1, documents()[3:5])  # another process as the same worker
    save_as(stores[0], 1, documents()[5:7])
    assert len(stores[2].documents()) == 8
    assert len(stores[2].chunk_ids()) == 40 + 7
    assert stores[2].check().problems == ()


def test_readers_see_what_came_later_with_lower_ids(stores: list[Neo4jStore]) -> None:
    early, late, reader, _ = stores
    letters = [Condition(name="title", operator="=", value="Letter")]
    letter = make_entry("letter", "Ulla Tor wrote.", title="Letter", names=["Ulla Tor"])
    with early.beside_others(1), late.beside_others(2):
        late.save(lives(1, "Ulla Tor", "Basel"))
        before, generation = build(reader), reader.generation()
        assert reader.documents(where=letters) == []
        early.save(letter)
        assert [one.id for one in reader.documents(where=letters)] == [letter.document.id]
        assert reader.generation() > generation
        after = build(reader, before)
    assert len(before.chunk_ids) == 1
    assert after.chunk_ids.tolist() == reader.chunk_ids().tolist()
    assert after.chunk_ids[0] < before.chunk_ids[0]
    settle(early, 0)
    assert build(reader, after).chunk_ids.tolist() == reader.chunk_ids().tolist()
