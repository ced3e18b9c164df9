"""The part of the store that knows entities and relations."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from clew.ports import Fact, FoundRelation
from clew.stores.sqlite import found_relations as sqlite_found_relations
from clew.stores.sqlite import graph as sqlite_graph
from clew.stores.sqlite import relations as sqlite_relations
from clew.stores.sqlite import save as sqlite_save
from clew.stores.sqlite import snapshot as sqlite_snapshot
from clew.stores.sqlite import statistics as sqlite_statistics
from clew.stores.sqlite.connection import Database
from clew.stores.values import now
from clew.types import Alias, Entity, Relation

if TYPE_CHECKING:
    from clew.types import Ids


class SqliteGraphStore:
    """`ports.GraphStore` on a database."""

    _database: Database
    _most_mentioned = (-1, 0)
    """Generation, and the mentions that its most mentioned entity has."""

    def entities(self, entity_ids: Sequence[int]) -> list[Entity]:
        """See `ports.GraphStore`."""
        with self._database.read() as connection:
            return self._entities(connection, entity_ids)

    def entity_names(self, entity_ids: Sequence[int]) -> dict[int, str]:
        """See `ports.GraphStore`."""
        with self._database.read() as connection:
            return sqlite_graph.read_entity_names(connection, entity_ids)

    def find_entities(self, name: str, limit: int = 10) -> list[Entity]:
        """See `ports.GraphStore`; no name, no entities."""
        with self._database.read() as connection:
            found = sqlite_graph.find_entity_ids(connection, name, limit)
            return self._entities(connection, found)

    def _entities(self, connection: sqlite3.Connection, entity_ids: Sequence[int]) -> list[Entity]:
        generation = sqlite_snapshot.read_number(connection, "generation")
        known, most = self._most_mentioned
        if known != generation:
            most = sqlite_graph.read_most_mentioned(connection)
            self._most_mentioned = generation, most
        return sqlite_graph.read_entities(connection, entity_ids, most)

    def resolve(self, keys: Sequence[str]) -> Mapping[str, int]:
        """See `ports.GraphStore`."""
        with self._database.read() as connection:
            return sqlite_graph.resolve_keys(connection, keys)

    def aliases(self, *, entity_id: int | None = None, after: int = 0) -> list[Alias]:
        """See `ports.GraphStore`."""
        with self._database.read() as connection:
            return sqlite_graph.read_aliases(connection, entity_id, after)

    def entity_chunks(self, entity_id: int) -> Ids:
        """See `ports.GraphStore`."""
        with self._database.read() as connection:
            found = sqlite_graph.read_entity_chunks(connection, entity_id)
        return np.array(found, dtype=np.int64)

    def relations(
        self, entity_ids: Sequence[int], limit: int = 1000, *, as_of: datetime | None = None
    ) -> list[Relation]:
        """See `ports.GraphStore`; `valid_until` is the end that the store knew at `as_of`."""
        with self._database.read() as connection:
            return sqlite_relations.read_relations(connection, entity_ids, limit, as_of)

    def chunk_relations(
        self, chunk_ids: Sequence[int], *, as_of: datetime | None = None
    ) -> list[Relation]:
        """See `ports.GraphStore`; `valid_until` is the end that the store knew at `as_of`."""
        with self._database.read() as connection:
            return sqlite_relations.read_chunk_relations(connection, chunk_ids, as_of)

    def relations_by_id(self, relation_ids: Sequence[int]) -> list[Relation]:
        """See `ports.GraphStore`."""
        with self._database.read() as connection:
            return sqlite_relations.read_relations_by_id(connection, relation_ids)

    def relation_counts(self) -> list[tuple[str, int, int]]:
        """(type, relations, causal ones among them) of what is not retracted; most first."""
        with self._database.read() as connection:
            return sqlite_statistics.read_relation_counts(connection)

    def add_found_relations(
        self, found: Sequence[FoundRelation], among: Set[int], extractor: str
    ) -> tuple[set[Fact], int]:
        """Add what passages state of some entities and what the store does not hold yet.

        The facts found of them as (head, type, tail), and the number of relations added.
        """
        with self._database.write() as connection:
            facts, added = sqlite_found_relations.add_found_relations(
                connection, found, among, extractor
            )
            if added:
                sqlite_save.count_change(connection)
            return facts, added

    def log_reading(self, found: Mapping[int, int]) -> None:
        """Remember how many relations the passages of entities held when they were read."""
        with self._database.write() as connection:
            sqlite_relations.log_reading(connection, found, now())

    def unread_entities(self, limit: int | None = None) -> list[int]:
        """Ids of entities whose passages were never read for relations and had none, by id."""
        with self._database.read() as connection:
            return sqlite_found_relations.read_unread_entities(connection, limit)

    def entity_documents(self, entity_ids: Sequence[int]) -> dict[str, list[int]]:
        """Entities by the id of a document that mentions them, both in order."""
        with self._database.read() as connection:
            return sqlite_found_relations.read_entity_documents(connection, entity_ids)

    def retract(self, relation_ids: Sequence[int]) -> int:
        """See `ports.GraphStore`; remembered as long as the document goes on to state them."""
        with self._database.write() as connection:
            count = sqlite_relations.retract_relations(connection, relation_ids)
            if count:
                sqlite_save.count_change(connection)
            return count

    def link_rules(self) -> dict[str, str]:
        """Target key by key, for what was merged, split or renamed by hand."""
        with self._database.read() as connection:
            return sqlite_graph.read_link_rules(connection)

    def merge(self, source_id: int, target_id: int, evidence: str) -> None:
        """See `ports.GraphStore`. Raises `NotFoundError` for an unknown entity."""
        with self._mending() as connection:
            sqlite_graph.merge_entities(connection, source_id, target_id, evidence)

    def split(self, entity_id: int, keys: Sequence[str]) -> int:
        """See `ports.GraphStore`. Raises `NotFoundError` for an unknown entity or key."""
        with self._mending() as connection:
            return sqlite_graph.split_entity(connection, entity_id, keys)

    def rename(self, entity_id: int, name: str) -> None:
        """See `ports.GraphStore`. Raises `InputError` for a name that another entity has."""
        with self._mending() as connection:
            sqlite_graph.rename_entity(connection, entity_id, name)

    @contextmanager
    def _mending(self) -> Iterator[sqlite3.Connection]:
        with self._database.write() as connection:
            yield connection
            sqlite_save.count_change(connection, entities_moved=True)
