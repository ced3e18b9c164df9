"""Editing the graph by hand, and what assistants write into it."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clew.engine.state import Resources
from clew.types import NewRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.indexing.agent_extraction import AgentExtraction
    from clew.indexing.import_memory import MemoryImportReport
    from clew.indexing.manual_graph import ManualGraphWriter
    from clew.types import (
        Entity,
        Metadata,
        Relation,
    )


class Editing(Resources):
    """Writing the graph."""

    @cached_property
    def memory(self) -> ManualGraphWriter:
        """Entities, observations and relations written by hand."""
        from clew.indexing.manual_graph import ManualGraphWriter

        return ManualGraphWriter(self.store, self._claimed_ingest, self._writing)

    def import_memory(self, path: str | Path) -> MemoryImportReport:
        """Take over another memory: the reference memory server's file, or a SQLite file.

        Raises `UnreadableError` for a file that cannot be read, `InputError` for a database of
        another kind.
        """
        from clew.indexing.import_memory import import_memory_records
        from clew.indexing.reading.formats.memory import read_memory

        return import_memory_records(self.memory, read_memory(Path(path).expanduser()))

    @cached_property
    def agent_extractions(self) -> AgentExtraction:
        """Entities and relations that an assistant finds by reading passages."""
        from clew.indexing.agent_extraction import AgentExtraction

        return AgentExtraction(self.store, self._claimed_ingest, self._writing)

    def add_relation(
        self,
        source_id: int,
        target_id: int,
        relation_type: str,
        *,
        weight: float = 1.0,
        is_causal: bool = False,
        context: Metadata | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
    ) -> Relation:
        """Write a relation between two entities by hand; the same one again is brought up to date.

        `relation_type` is a snake_case name, `weight` 0 to 1. Raises `InputError` for values that
        cannot be, `NotFoundError` for an unknown entity.
        """
        relation = NewRelation(
            source_id=source_id,
            target_id=target_id,
            relation_type=relation_type,
            weight=weight,
            is_causal=is_causal,
            context=context,
            valid_from=valid_from,
            valid_until=valid_until,
        )
        return self.memory.add_relations([relation])[0][0]

    def retract(self, relation_ids: Sequence[int]) -> int:
        """Say that relations were wrong from now on; how many were not retracted before.

        What they had ended holds on again. Indexing a document again remembers it, as long as the
        document states them. Unknown ids are left out.
        """
        with self._writing:
            return self.store.retract(relation_ids)

    def merge(self, source: str, target: str) -> None:
        """Take the first entity for the second from now on; `split` undoes it."""
        with self._writing:
            self.store.merge(self._entity(source).id, self._entity(target).id, "merged by hand")

    def split(self, name: str, alias_names: Sequence[str]) -> Entity:
        """Take names out of an entity, into one of their own."""
        from clew.text import entity_key

        for alias in alias_names:
            self._check_length("name", alias)
        with self._writing:
            made = self.store.split(self._entity(name).id, [entity_key(a) for a in alias_names])
        return self.entity_ranks.applied(self.store.entities([made]))[0]

    def rename(self, name: str, new_name: str) -> None:
        """Show an entity under another name; the old one still finds it."""
        self._check_length("name", new_name)
        with self._writing:
            self.store.rename(self._entity(name).id, new_name)
