"""Importing another memory: its records become manual entries; a second import adds nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from clew.errors import InputError
from clew.indexing.manual_graph import written_relation
from clew.text import entity_key
from clew.types import NewEntity, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.indexing.manual_graph import ManualGraphWriter
    from clew.indexing.reading.formats.memory import (
        MemoryEntity,
        MemoryRecords,
        MemoryRelation,
    )
    from clew.types import NewRelation

_Item = TypeVar("_Item")

_BATCH = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryImportReport:
    """How many records were new."""

    entities: int
    observations: int
    relations: int
    skipped: tuple[Skipped, ...]
    """Lines and rows that were not imported, and why."""


def import_memory_records(memory: ManualGraphWriter, found: MemoryRecords) -> MemoryImportReport:
    """Write the records of a file; invalid ones are reported and skipped."""
    skipped = list(found.skipped)
    entities = [one for one in found.entities if _is_nameable(one, skipped)]
    made = sum(_add_entities(memory, batch) for batch in _batches(entities))
    told = [(one.name, _visible(one, skipped)) for one in entities]
    observations = sum(
        len(new)
        for batch in _batches(told)
        for new in memory.add_observations(batch, dated=False)  # the file has no dates
    )
    relations = sum(
        sum(is_new for _, is_new in memory.add_relations(_resolved(memory, batch, skipped)))
        for batch in _batches(found.relations)
    )
    return MemoryImportReport(
        entities=made, observations=observations, relations=relations, skipped=tuple(skipped)
    )


def _is_nameable(entity: MemoryEntity, skipped: list[Skipped]) -> bool:
    if entity_key(entity.name):
        return True
    skipped.append(
        Skipped(source=entity.place, reason=f"a name without letters or digits: {entity.name!r}")
    )
    return False


def _add_entities(memory: ManualGraphWriter, entities: Sequence[MemoryEntity]) -> int:
    added = memory.add_entities(
        [
            NewEntity(
                name=one.name,
                entity_type=one.entity_type or "name",
                content=one.content,
                metadata=one.metadata,
            )
            for one in entities
        ]
    )
    return sum(is_new for _, is_new in added)


def _visible(entity: MemoryEntity, skipped: list[Skipped]) -> list[str]:
    texts = [text for text in entity.observations if text.strip()]
    if len(texts) < len(entity.observations):
        skipped.append(Skipped(source=entity.place, reason="a blank observation"))
    return texts


def _resolved(
    memory: ManualGraphWriter, relations: Sequence[MemoryRelation], skipped: list[Skipped]
) -> list[NewRelation]:
    ids = memory.find([name for one in relations for name in (one.head, one.tail)])
    resolved = []
    for one in relations:
        missing = [name for name in (one.head, one.tail) if name not in ids]
        if missing:
            reason = f"names {missing[0]!r}, which is no entity"
            skipped.append(Skipped(source=one.place, reason=reason))
            continue
        try:
            new = written_relation(
                ids[one.head], ids[one.tail], one.relation_type, weight=one.weight
            )
            context = {**one.context, **(new.context or {})} or None
            resolved.append(replace(new, is_causal=new.is_causal or one.is_causal, context=context))
        except InputError as error:
            skipped.append(Skipped(source=one.place, reason=str(error)))
    return resolved


def _batches(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
