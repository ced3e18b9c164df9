"""The numbers of a namespace: its free ids, and the counts of its commits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

NUMBERS = """
s.next_section, s.next_chunk, s.next_entity, s.next_alias, s.next_relation, s.generation, s.epoch,
s.functional
"""
"""What `to_numbers` takes of a `ClewStore` that a query calls `s`."""
_READ = f"MATCH (s:ClewStore {{namespace: $namespace}}) RETURN {NUMBERS}"
_COUNT = """
MATCH (s:ClewStore {namespace: $namespace})
SET s.generation = s.generation + 1, s.epoch = s.epoch + $moves
"""


class Numbers(NamedTuple):
    """The first free ids, which `insert_rows` counts on, and what is functional."""

    section: int
    chunk: int
    entity: int
    alias: int
    relation: int
    generation: int
    epoch: int
    functional: tuple[str, ...]
    """Relation types of which a later fact ends an earlier one."""

    def after_change(self, *, entities_moved: bool) -> dict[str, int]:
        """What a commit leaves, see `count_change`."""
        return {
            "generation": self.generation + 1,
            "epoch": self.epoch + int(entities_moved),
        }


def to_numbers(values: Sequence[Any]) -> Numbers:
    """What a query returned as `NUMBERS`."""
    section, chunk, entity, alias, relation, generation, epoch, functional = values
    types = tuple(json.loads(functional or "[]"))
    return Numbers(section, chunk, entity, alias, relation, generation, epoch, types)


def read_numbers(database: Neo4jDatabase) -> Numbers:
    """The namespace's numbers; call inside `write`, where nobody else takes ids."""
    return to_numbers(database.rows(_READ)[0])


def count_change(database: Neo4jDatabase, *, entities_moved: bool = False) -> None:
    """Count the commit under way, and the move of entities of old chunks."""
    database.rows(_COUNT, moves=int(entities_moved))
