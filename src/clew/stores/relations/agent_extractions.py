"""What an assistant found in passages, as names and rows, whatever the back end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from clew.ports import FoundRelation
from clew.stores.names.alias_planner import Named, ResolvedNames, names_by_key
from clew.stores.relations.relations import End
from clew.text import entity_key
from clew.types import ChunkExtraction, NewEntity

MentionRow: TypeAlias = dict[str, int]
"""chunk_id, sentence, alias_id, entity_id, start, end and count"""


def names_found(
    readings: Mapping[int, ChunkExtraction], described: Sequence[NewEntity]
) -> dict[str, Named]:
    """Every name that is needed, by key, with its first telling type."""
    given = [(entity.name, entity.entity_type) for entity in described]
    for reading in readings.values():
        given += [(m.name, m.entity_type) for m in reading.mentions]
        given += [(name, "name") for r in reading.relations for name in (r.head, r.tail)]
    return names_by_key(given)


def mentions_found(
    readings: Mapping[int, ChunkExtraction], resolved: ResolvedNames
) -> list[MentionRow]:
    """Mentions, one of a name in a sentence: the first range, the highest count."""
    found: dict[tuple[int, int, int], MentionRow] = {}
    for chunk_id, reading in readings.items():
        for m in reading.mentions:
            key = entity_key(m.name)
            alias_id = resolved.alias_ids[key]
            row = {
                "chunk_id": chunk_id,
                "sentence": m.sentence,
                "alias_id": alias_id,
                "entity_id": resolved.entity_ids[key],
                "start": m.start,
                "end": m.end,
                "count": m.count,
            }
            first = found.setdefault((chunk_id, m.sentence, alias_id), row)
            first["count"] = max(first["count"], m.count)
    return list(found.values())


def relations_found(readings: Mapping[int, ChunkExtraction]) -> Iterator[FoundRelation]:
    """Relations with the chunks that state them."""
    for chunk_id, reading in readings.items():
        for relation in reading.relations:
            yield chunk_id, relation


def ends_found(resolved: ResolvedNames) -> dict[str, End]:
    """What names became, by key."""
    return {key: End(resolved.alias_ids[key], i) for key, i in resolved.entity_ids.items()}


def descriptions_found(
    described: Sequence[NewEntity], resolved: ResolvedNames
) -> list[tuple[int, str]]:
    """(entity id, description), for entities that have none."""
    return [(resolved.entity_ids[entity_key(e.name)], e.content) for e in described if e.content]
