"""What only a namespace of Neo4j can break: its relationships, its counters and its indexes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from clew.stores.backend import Backend
from clew.stores.check.check import StoreCheck
from clew.stores.check.invariants import Invariant
from clew.stores.neo4j.backend import Neo4jBackend
from clew.stores.neo4j.connection import Neo4jDatabase
from clew.stores.neo4j.invariants import RULES
from clew.stores.neo4j.migrations import MIGRATIONS
from clew.stores.neo4j.schema import (
    SHARED_INDEXES,
    define_keywords,
    define_vectors,
    keyword_index,
    vector_index,
)
from clew.stores.state import StoreState
from clew.types import Problem

_INDEXES = "SHOW INDEXES YIELD name, state WHERE name IN $names RETURN name, state"


class Neo4jCheck(StoreCheck[Neo4jBackend]):
    """`StoreCheck` of a namespace; writers wait meanwhile."""

    derived = frozenset({"references", "ids", "indexes"})

    def own(self) -> Mapping[str, Invariant]:
        """See `StoreCheck`."""
        return {name: partial(self._broken, name) for name in ("references", "ids")}

    def _broken(self, invariant: str, _: Backend) -> Iterator[str]:
        for rule in RULES:
            if rule.invariant == invariant:
                for (detail,) in self.backend.database.rows(rule.broken):
                    yield detail

    def checked(self) -> tuple[str, ...]:
        """See `StoreCheck`."""
        return (*super().checked(), "indexes")

    def find(self) -> list[Problem]:
        """See `StoreCheck`."""
        found = super().find()
        indexes = self.problem("indexes", self._broken_indexes())
        return [*found, indexes] if indexes else found

    def _broken_indexes(self) -> Iterator[str]:
        database = self.backend.database
        names = [*SHARED_INDEXES, keyword_index(database.namespace)]
        if StoreState(self.backend).state().dimension:
            names.append(vector_index(database.namespace))
        states = dict(database.rows(_INDEXES, names=names))
        for name in names:
            if states.get(name) in (None, "FAILED"):
                yield f"the index {name!r} {'failed' if name in states else 'is missing'}"

    def mend(self) -> None:
        """See `StoreCheck`; indexes cannot be defined inside `write`."""
        _mend_indexes(self.backend.database, StoreState(self.backend).state().dimension)
        super().mend()

    def mend_references(self) -> None:
        """Tie again what is known, delete the rest."""
        for rule in RULES:
            self.backend.database.rows(rule.mend)


def _mend_indexes(database: Neo4jDatabase, dimension: int) -> None:
    """Make what is missing; of what failed, the namespace's own, which nothing depends on."""
    own = [keyword_index(database.namespace), vector_index(database.namespace)]
    for name, state in database.rows(_INDEXES, names=own):
        if state == "FAILED":
            database.define(f"DROP INDEX `{name}` IF EXISTS")
    for migration in MIGRATIONS:
        migration(database)
    define_keywords(database)
    if dimension:
        define_vectors(database, dimension)
