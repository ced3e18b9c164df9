"""The part of the store on Neo4j that is written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.stores.neo4j import memory as neo4j_memory
from clew.stores.neo4j import readings as neo4j_readings
from clew.stores.neo4j import relations as neo4j_relations
from clew.stores.neo4j import written as neo4j_written
from clew.stores.neo4j.connection import Neo4jDatabase
from clew.stores.relations import to_relation
from clew.types import (
    AliasEvidence,
    ChunkExtraction,
    NewEntity,
    NewRelation,
    Observation,
    Relation,
)


class Neo4jWriter:
    """`ports.GraphWriter` and `ports.ReadingLog` on a namespace."""

    _database: Neo4jDatabase

    # --- entities

    def add_entities(self, entities: Sequence[NewEntity]) -> list[tuple[int, bool]]:
        """See `ports.GraphWriter`. Raises `InputError` for a name without letters or digits."""
        database = self._database
        return database.write(lambda: neo4j_memory.add_entities(database, entities))

    def update_entity(
        self, entity_id: int, *, entity_type: str | None = None, content: str | None = None
    ) -> None:
        """See `ports.GraphWriter`. Raises `NotFoundError` for an unknown entity."""
        database = self._database
        database.write(
            lambda: neo4j_memory.update_entity(database, entity_id, entity_type, content)
        )

    def delete_entities(self, entity_ids: Sequence[int]) -> int:
        """See `ports.GraphWriter`."""
        database = self._database
        return database.write(lambda: neo4j_memory.delete_entities(database, entity_ids))

    def made_by_hand(
        self, *, ids: Sequence[int] | None = None, after: int = 0, limit: int = -1
    ) -> list[int]:
        """See `ports.GraphWriter`."""
        return neo4j_memory.read_manual(self._database, ids=ids, after=after, limit=limit)

    def observations(self, entity_ids: Sequence[int]) -> dict[int, list[Observation]]:
        """See `ports.GraphWriter`."""
        return neo4j_memory.read_observations(self._database, entity_ids)

    # --- relations

    def add_relations(self, relations: Sequence[NewRelation]) -> list[tuple[Relation, bool]]:
        """See `ports.GraphWriter`. Raises `NotFoundError` for an unknown entity."""
        database = self._database
        return database.write(lambda: neo4j_written.add_relations(database, relations))

    def delete_relations(self, relation_ids: Sequence[int]) -> int:
        """See `ports.GraphWriter`."""
        database = self._database
        return database.write(lambda: neo4j_written.delete_relations(database, relation_ids))

    def unstated_relations(self, entity_ids: Sequence[int]) -> list[Relation]:
        """See `ports.GraphWriter`."""
        rows = neo4j_relations.read_unstated_rows(self._database, entity_ids)
        return [to_relation(row) for row in rows]

    # --- readings

    def unread(self, after: int, limit: int) -> list[int]:
        """See `ports.ReadingLog`."""
        return neo4j_readings.read_unread(self._database, after, limit)

    def count_unread(self) -> int:
        """See `ports.ReadingLog`."""
        return neo4j_readings.count_unread(self._database)

    def record_readings(
        self,
        readings: Mapping[int, ChunkExtraction],
        described: Sequence[NewEntity] = (),
        links: Sequence[AliasEvidence] = (),
    ) -> int:
        """See `ports.ReadingLog`. Raises `NotFoundError` for a chunk that is gone."""
        database = self._database
        return database.write(
            lambda: neo4j_readings.record_readings(database, readings, described, links)
        )
