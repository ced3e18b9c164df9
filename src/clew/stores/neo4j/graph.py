"""The part of the store on Neo4j that knows entities and relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from clew.ports import Fact, FoundRelation
from clew.stores.entities import to_entity
from clew.stores.neo4j import entities as neo4j_entities
from clew.stores.neo4j import found_relations as neo4j_found_relations
from clew.stores.neo4j import mending as neo4j_mending
from clew.stores.neo4j import relations as neo4j_relations
from clew.stores.neo4j.connection import Neo4jDatabase
from clew.types import Alias, Entity, Relation

if TYPE_CHECKING:
    from clew.types import Ids


class Neo4jGraph:
    """`ports.GraphStore`, `ports.GraphMender` and `ports.RelationLog` on a namespace."""

    _database: Neo4jDatabase
    _most_mentioned = (-1, 0)
    """Generation, and the mentions that its most mentioned entity has."""

    # --- reading

    def entities(self, entity_ids: Sequence[int]) -> list[Entity]:
        """See `ports.GraphStore`."""
        generation, rows = neo4j_entities.read_entities(self._database, entity_ids)
        # Counting all mentions is dear; of entities that no text names nobody needs it.
        most = self._most(generation) if any(row.mentions for row in rows) else 0
        return [to_entity(row, most) for row in rows]

    def _most(self, generation: int) -> int:
        known, most = self._most_mentioned
        if known != generation:
            most = neo4j_entities.read_most_mentioned(self._database)
            self._most_mentioned = generation, most
        return most

    def entity_names(self, entity_ids: Sequence[int]) -> dict[int, str]:
        """See `ports.GraphStore`."""
        return neo4j_entities.read_entity_names(self._database, entity_ids)

    def find_entities(self, name: str, limit: int = 10) -> list[Entity]:
        """See `ports.GraphStore`; no name, no entities."""
        return self.entities(neo4j_entities.find_entity_ids(self._database, name, limit))

    def resolve(self, keys: Sequence[str]) -> Mapping[str, int]:
        """See `ports.GraphStore`."""
        return neo4j_entities.resolve_keys(self._database, keys)

    def aliases(self, *, entity_id: int | None = None, after: int = 0) -> list[Alias]:
        """See `ports.GraphStore`."""
        return neo4j_entities.read_aliases(self._database, entity_id, after)

    def entity_chunks(self, entity_id: int) -> Ids:
        """See `ports.GraphStore`."""
        found = neo4j_entities.read_entity_chunks(self._database, entity_id)
        return np.array(found, dtype=np.int64)

    def relations(
        self, entity_ids: Sequence[int], limit: int = 1000, *, as_of: datetime | None = None
    ) -> list[Relation]:
        """See `ports.GraphStore`; `valid_until` is the end that the store knew at `as_of`."""
        return neo4j_relations.read_relations(self._database, entity_ids, limit, as_of)

    def chunk_relations(
        self, chunk_ids: Sequence[int], *, as_of: datetime | None = None
    ) -> list[Relation]:
        """See `ports.GraphStore`; `valid_until` is the end that the store knew at `as_of`."""
        return neo4j_relations.read_chunk_relations(self._database, chunk_ids, as_of)

    def relations_by_id(self, relation_ids: Sequence[int]) -> list[Relation]:
        """See `ports.GraphStore`."""
        return neo4j_relations.read_relations_by_id(self._database, relation_ids)

    def relation_counts(self) -> list[tuple[str, int, int]]:
        """See `ports.GraphStore`."""
        return neo4j_relations.read_relation_counts(self._database)

    # --- reading passages once more

    def unread_entities(self, limit: int | None = None) -> list[int]:
        """See `ports.RelationLog`."""
        return neo4j_found_relations.read_unread_entities(self._database, limit)

    def entity_documents(self, entity_ids: Sequence[int]) -> dict[str, list[int]]:
        """See `ports.RelationLog`."""
        return neo4j_found_relations.read_entity_documents(self._database, entity_ids)

    def add_found_relations(
        self, found: Sequence[FoundRelation], among: Set[int], extractor: str
    ) -> tuple[set[Fact], int]:
        """See `ports.RelationLog`."""
        database = self._database
        return database.write(
            lambda: neo4j_found_relations.add_found_relations(database, found, among, extractor)
        )

    def log_reading(self, found: Mapping[int, int]) -> None:
        """See `ports.RelationLog`."""
        database = self._database
        database.write(lambda: neo4j_found_relations.log_reading(database, found))

    # --- mending

    def retract(self, relation_ids: Sequence[int]) -> int:
        """See `ports.GraphMender`; remembered as long as the document goes on to state them."""
        database = self._database
        return database.write(lambda: neo4j_relations.retract_relations(database, relation_ids))

    def merge(self, source_id: int, target_id: int, evidence: str) -> None:
        """See `ports.GraphMender`. Raises `NotFoundError` for an unknown entity."""
        database = self._database
        database.write(
            lambda: neo4j_mending.merge_entities(database, source_id, target_id, evidence)
        )

    def split(self, entity_id: int, keys: Sequence[str]) -> int:
        """See `ports.GraphMender`. Raises `NotFoundError` for an unknown entity or key."""
        database = self._database
        return database.write(lambda: neo4j_mending.split_entity(database, entity_id, keys))

    def rename(self, entity_id: int, name: str) -> None:
        """See `ports.GraphMender`. Raises `InputError` for a name that another entity has."""
        database = self._database
        database.write(lambda: neo4j_mending.rename_entity(database, entity_id, name))

    def link_rules(self) -> dict[str, str]:
        """See `ports.GraphMender`."""
        return neo4j_entities.read_link_rules(self._database)
