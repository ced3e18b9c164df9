"""Small stores for the tests of what is made of communities."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clew.graph.communities import Changed, refresh_communities
from clew.graph.entity_graph import EntityGraph, build_entity_graph
from clew.graph.snapshot import Snapshot
from clew.graph.snapshot_files import build
from clew.stores.communities import Communities
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import EMBEDDER, make_entry


@dataclass(frozen=True, slots=True)
class Library:
    """A store with what is derived from it."""

    store: SqliteStore
    communities: Communities
    vectors: VectorMatrix

    @classmethod
    def open(cls, folder: Path) -> Library:
        store = SqliteStore(folder, embedder=EMBEDDER)
        return cls(store, Communities(store.backend), VectorMatrix(store, folder))

    def snapshot(self) -> Snapshot:
        return build(self.store)

    def graph(self) -> EntityGraph:
        return build_entity_graph(self.snapshot(), self.store.relation_rows())

    def update(self) -> Changed:
        return refresh_communities(
            self.store, self.communities, self.snapshot(), self.graph(), self.vectors
        )


def band(number: int, *more: str, members: int = 5) -> list[str]:
    """Sentences that tie the members of one band to each other, each pair once."""
    names = players(number, members)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    return [*(f"{a} plays with {b}." for a, b in pairs), *more]


def players(number: int, members: int = 5) -> list[str]:
    """Names that no other band has, none of which begins another."""
    return [
        f"{chr(65 + i)}na{chr(97 + number // 26)}{chr(97 + number % 26)}" for i in range(members)
    ]


def save_band(library: Library, number: int, *more: str, title: str = "") -> None:
    """A document of one passage a sentence about one band."""
    texts = band(number, *more)
    relations = [(a, "plays_with", b) for a in players(number) for b in players(number)]
    library.store.save(
        make_entry(
            f"band {number}", *texts, title=title, names=players(number), relations=relations[1:2]
        )
    )
