"""A namespace of a real Neo4j server, to copy to and from."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from clew.settings import Neo4jSettings
from clew.stores.neo4j import Neo4jStore
from clew.stores.neo4j_connection import Neo4jDatabase
from clew.stores.neo4j_copy import Neo4jCopy
from clew.stores.neo4j_copy_rows import delete_rows
from clew.stores.neo4j_schema import keyword_index, vector_index
from clew.testing.entries import EMBEDDER, FUNCTIONAL

_EMPTY = "MATCH (s:ClewStore {namespace: $namespace}) DELETE s"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a namespace is, and how to log in."""

    address: str
    settings: Neo4jSettings
    namespace: str

    @contextmanager
    def copy(self, folder: Path, *, make: bool = True) -> Iterator[Neo4jCopy]:
        """The namespace as rows; `folder` is for what is derived."""
        here = Neo4jCopy(self.address, self.settings, self.namespace, folder, make=make)
        with closing(here):
            yield here

    @contextmanager
    def store(self, folder: Path) -> Iterator[Neo4jStore]:
        """The namespace as a store."""
        store = Neo4jStore(
            self.address,
            self.settings,
            self.namespace,
            folder,
            embedder=EMBEDDER,
            functional=FUNCTIONAL,
        )
        with closing(store):
            yield store

    def empty(self) -> None:
        """Delete all that it holds, but for its indexes."""
        with closing(Neo4jDatabase(self.address, self.settings, self.namespace)) as database:
            delete_rows(database)
            database.write(lambda: database.rows(_EMPTY))

    def forget(self) -> None:
        """Delete it with its indexes."""
        with closing(Neo4jDatabase(self.address, self.settings, self.namespace)) as database:
            for index in (vector_index(self.namespace), keyword_index(self.namespace)):
                database.define(f"DROP INDEX `{index}` IF EXISTS")
        self.empty()


@contextmanager
def new_place(address: str, settings: Neo4jSettings) -> Iterator[Place]:
    """A namespace of its own, of which nothing is left afterwards."""
    place = Place(address, settings, f"test-{secrets.token_hex(8)}")
    try:
        yield place
    finally:
        place.forget()
