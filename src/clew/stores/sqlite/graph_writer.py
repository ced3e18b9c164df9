"""The part of the store that is written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.stores.sqlite import memory as sqlite_memory
from clew.stores.sqlite import readings as sqlite_readings
from clew.stores.sqlite import relations as sqlite_relations
from clew.stores.sqlite import written as sqlite_written
from clew.stores.sqlite.connection import Database
from clew.types import (
    AliasEvidence,
    ChunkExtraction,
    NewEntity,
    NewRelation,
    Observation,
    Relation,
)


class SqliteGraphWriter:
    """`ports.GraphWriter` and `ports.ReadingLog` on a database."""

    _database: Database

    def add_entities(self, entities: Sequence[NewEntity]) -> list[tuple[int, bool]]:
        """See `ports.GraphWriter`. Raises `InputError` for a name without letters or digits."""
        with self._database.write() as connection:
            return sqlite_memory.add_entities(connection, entities)

    def update_entity(
        self, entity_id: int, *, entity_type: str | None = None, content: str | None = None
    ) -> None:
        """See `ports.GraphWriter`. Raises `NotFoundError` for an unknown entity."""
        with self._database.write() as connection:
            sqlite_memory.update_entity(connection, entity_id, entity_type, content)

    def delete_entities(self, entity_ids: Sequence[int]) -> int:
        """See `ports.GraphWriter`."""
        with self._database.write() as connection:
            return sqlite_memory.delete_entities(connection, entity_ids)

    def add_relations(self, relations: Sequence[NewRelation]) -> list[tuple[Relation, bool]]:
        """See `ports.GraphWriter`. Raises `NotFoundError` for an unknown entity."""
        with self._database.write() as connection:
            return sqlite_written.add_relations(connection, relations)

    def delete_relations(self, relation_ids: Sequence[int]) -> int:
        """See `ports.GraphWriter`."""
        with self._database.write() as connection:
            return sqlite_written.delete_relations(connection, relation_ids)

    def made_by_hand(
        self, *, ids: Sequence[int] | None = None, after: int = 0, limit: int = -1
    ) -> list[int]:
        """See `ports.GraphWriter`."""
        with self._database.read() as connection:
            return sqlite_memory.read_manual(connection, ids=ids, after=after, limit=limit)

    def observations(self, entity_ids: Sequence[int]) -> dict[int, list[Observation]]:
        """See `ports.GraphWriter`."""
        with self._database.read() as connection:
            return sqlite_memory.read_observations(connection, entity_ids)

    def unstated_relations(self, entity_ids: Sequence[int]) -> list[Relation]:
        """See `ports.GraphWriter`."""
        with self._database.read() as connection:
            return sqlite_relations.read_unstated_relations(connection, entity_ids)

    def unread(self, after: int, limit: int) -> list[int]:
        """See `ports.ReadingLog`."""
        with self._database.read() as connection:
            return sqlite_readings.read_unread(connection, after, limit)

    def count_unread(self) -> int:
        """See `ports.ReadingLog`."""
        with self._database.read() as connection:
            return sqlite_readings.count_unread(connection)

    def record_readings(
        self,
        readings: Mapping[int, ChunkExtraction],
        described: Sequence[NewEntity] = (),
        links: Sequence[AliasEvidence] = (),
    ) -> int:
        """See `ports.ReadingLog`. Raises `NotFoundError` for a chunk that is gone."""
        with self._database.write() as connection:
            return sqlite_readings.record_readings(connection, readings, described, links)
