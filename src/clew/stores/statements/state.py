"""What a store remembers of itself: what it counts, what its vectors are, ids that come next."""

from __future__ import annotations

import json
from typing import NamedTuple

from clew.stores.backend import Statement


class State(NamedTuple):
    """The row of `STATE`."""

    generation: int
    """Grows with every commit that changes anything."""
    mentions_version: int
    """Grows when mentions of old chunks change hands."""
    embedder: str | None
    dimension: int | None
    functional_json: str | None
    copying: str | None
    """How far a copy into the store has come; None for a store that is whole."""

    @property
    def functional(self) -> list[str]:
        """Relation types of which a later fact ends an earlier one, sorted."""
        return list(json.loads(self.functional_json or "[]"))

    @property
    def vectors(self) -> tuple[str, int] | None:
        """Name and dimension of the embedder, once one is known."""
        if self.embedder is None or self.dimension is None:
            return None
        return str(self.embedder), int(self.dimension)


class NextIds(NamedTuple):
    """The row of `NEXT_IDS`: the first id of each table that was never given."""

    sections: int
    chunks: int
    entities: int
    aliases: int
    relations: int


_META = ("generation", "epoch", "embedder", "dimension", "functional", "copying")

STATE = Statement(
    "SELECT " + ", ".join(f"(SELECT value FROM meta WHERE name = '{name}')" for name in _META),
    f"""
MATCH (s:ClewStore {{namespace: $namespace}})
RETURN [{", ".join(f"s.{name}" for name in _META)}] AS row
""",
)
NEXT_IDS = Statement(
    "SELECT "
    + ", ".join(
        f"1 + coalesce(max(CASE name WHEN '{table}' THEN seq END), 0)" for table in NextIds._fields
    )
    + " FROM sqlite_sequence",
    """
MATCH (s:ClewStore {namespace: $namespace})
RETURN [s.next_section, s.next_chunk, s.next_entity, s.next_alias, s.next_relation] AS row
""",
)
# Rows: name, value.
REMEMBER = Statement(
    "INSERT OR REPLACE INTO meta VALUES (:name, :value)",
    """
UNWIND $rows AS row
MATCH (s:ClewStore {namespace: $namespace}) SET s[row.name] = row.value
""",
)
COUNT_CHANGE = Statement(
    """
UPDATE meta SET value = value + CASE name WHEN 'generation' THEN :changes ELSE :moves END
WHERE name IN ('generation', 'epoch')
""",
    """
MATCH (s:ClewStore {namespace: $namespace})
SET s.generation = s.generation + $changes, s.epoch = s.epoch + $moves
""",
)
