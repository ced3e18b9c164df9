"""Stores on a real Neo4j server for tests, on namespaces that nobody else uses."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from clew.plugins.neo4j.connection import Neo4jDatabase, entity_index, keyword_index, vector_index
from clew.plugins.neo4j.store import Neo4jStore, open_backend
from clew.settings import Neo4jSettings
from clew.stores.store import StoreCopy
from clew.testing.conformance import EMBEDDER, FUNCTIONAL

_EMPTY = "MATCH (n) WHERE n.namespace = $namespace DETACH DELETE n"


@dataclass(frozen=True, slots=True)
class Place:
    """A server, how to log in, and a namespace."""

    address: str
    settings: Neo4jSettings
    namespace: str

    @contextmanager
    def database(self) -> Iterator[Neo4jDatabase]:
        """A connection, of which nothing is made."""
        database = Neo4jDatabase(self.address, self.settings, self.namespace)
        try:
            yield database
        finally:
            database.close()

    @contextmanager
    def store(self, folder: Path) -> Iterator[Neo4jStore]:
        """The namespace's store, opened as the suites want it."""
        store = Neo4jStore(
            self.address,
            self.settings,
            self.namespace,
            folder,
            embedder=EMBEDDER,
            functional=FUNCTIONAL,
        )
        try:
            yield store
        finally:
            store.close()

    @contextmanager
    def copy(self, folder: Path, *, make: bool = True) -> Iterator[StoreCopy]:
        """The namespace as rows, to copy to and from; `folder` is for what is derived."""
        place = (self.address, self.settings, self.namespace, folder)
        with closing(StoreCopy(open_backend(*place, make=make))) as rows:
            yield rows

    def empty(self) -> None:
        """Delete all that the namespace holds, but for its indexes."""
        with self.database() as database:
            database.write(lambda: database.rows(_EMPTY))

    def forget(self) -> None:
        """Delete the namespace with its indexes."""
        with self.database() as database:
            for name in (vector_index, keyword_index, entity_index):
                database.define(f"DROP INDEX `{name(self.namespace)}` IF EXISTS")
        self.empty()


@contextmanager
def new_place(address: str, settings: Neo4jSettings) -> Iterator[Place]:
    """A namespace of its own, of which nothing is left afterwards."""
    place = Place(address, settings, f"test-{secrets.token_hex(8)}")
    try:
        yield place
    finally:
        place.forget()


class OnNeo4j:
    """What a conformance suite runs on: `class TestGraph(OnNeo4j, GraphStoreSuite)`.

    All tests of a class use one namespace, emptied after each: indexes are dear to make, and every
    one made or dropped has the server plan all its queries anew.
    """

    @pytest.fixture(scope="class")
    @classmethod
    def neo4j_place(cls, neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Place]:
        with new_place(neo4j_address, neo4j_settings) as place:
            yield place

    @pytest.fixture
    def neo4j_store(self, neo4j_place: Place, tmp_path: Path) -> Iterator[Neo4jStore]:
        try:
            with neo4j_place.store(tmp_path) as store:
                yield store
        finally:
            neo4j_place.empty()

    @pytest.fixture
    def store(self, neo4j_store: Neo4jStore) -> Iterator[Neo4jStore]:
        yield neo4j_store
        # Whatever a test did, it must have left a sound store.
        assert neo4j_store.check().problems == ()
