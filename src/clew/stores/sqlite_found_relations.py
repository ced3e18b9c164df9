"""Relations found by reading stored passages once more: what is new is added, all is logged."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence, Set

from clew.stores.sqlite_documents import id_list, now, to_text
from clew.stores.sqlite_validity import settle
from clew.text import entity_key
from clew.types import ExtractedRelation

FOUND_WEIGHT = 0.5
"""Weight of a relation that patterns found in a text."""
_INSERT = """
INSERT INTO relations (from_alias_id, to_alias_id, relation_type, weight, is_causal, confidence,
    valid_from, valid_until, stated_until, recorded_at, chunk_id, sentence, extractor)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# Retracted ones count, too: reading again is no reason to believe them.
_STATED = """
SELECT chunk_id, from_entity_id, relation_type, to_entity_id FROM entity_relations
WHERE chunk_id IN (SELECT value FROM json_each(?))
"""
_NAMES = """
SELECT key, id, entity_id FROM aliases WHERE key IN (SELECT value FROM json_each(?))
"""
_UNREAD = """
SELECT id FROM entities e WHERE NOT EXISTS (
    SELECT 1 FROM relationship_extraction_log l WHERE l.entity_id = e.id)
ORDER BY id LIMIT ?
"""
_DOCUMENTS = """
SELECT DISTINCT c.document_id, m.entity_id FROM entity_mentions m JOIN chunks c ON c.id = m.chunk_id
WHERE m.entity_id IN (SELECT value FROM json_each(?)) ORDER BY 1, 2
"""
_LOG = """
INSERT INTO relationship_extraction_log SELECT id, ?, ? FROM entities WHERE id = ?
"""


Found = tuple[int, ExtractedRelation]
"""Id of a chunk, and a relation that it states."""
Fact = tuple[int, str, int]
"""(id of the head, relation type, id of the tail)"""


def add_found_relations(
    connection: sqlite3.Connection,
    found: Sequence[Found],
    among: Set[int],
    extractor: str,
) -> tuple[set[Fact], int]:
    """Add those of which one end is among some entities and which their passage does not state yet.

    All facts found of these entities, and how many relations were added. Names that the store does
    not know, and passages that are gone, are left out.
    """
    names = _names(connection, found)
    chunks = sorted({chunk_id for chunk_id, _ in found})
    living = _living(connection, chunks)
    stated = set(connection.execute(_STATED, (id_list(chunks),)))
    moment = now()
    facts: set[Fact] = set()
    new: list[tuple[object, ...]] = []
    for chunk_id, relation in found:
        head, tail = (names.get(entity_key(name)) for name in (relation.head, relation.tail))
        if chunk_id not in living or not head or not tail or head[1] == tail[1]:
            continue
        fact = (head[1], relation.relation_type, tail[1])
        if among.isdisjoint((head[1], tail[1])):
            continue
        facts.add(fact)
        if (chunk_id, *fact) not in stated:
            stated.add((chunk_id, *fact))
            new.append((head[0], tail[0], *_values(relation, moment, chunk_id, extractor)))
    connection.executemany(_INSERT, new)
    settle(connection, {head for head, _, _ in facts} if new else ())
    return facts, len(new)


def _names(connection: sqlite3.Connection, found: Iterable[Found]) -> Mapping[str, tuple[int, int]]:
    """(alias id, entity id) by key, of the names that the store knows."""
    keys = {entity_key(name) for _, r in found for name in (r.head, r.tail)}
    rows = connection.execute(_NAMES, (json.dumps(sorted(keys)),))
    return {key: (alias_id, entity_id) for key, alias_id, entity_id in rows}


def _living(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> set[int]:
    sql = "SELECT id FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
    return {row[0] for row in connection.execute(sql, (id_list(chunk_ids),))}


def _values(
    relation: ExtractedRelation, moment: str, chunk_id: int, extractor: str
) -> tuple[object, ...]:
    until = to_text(relation.valid_until)
    return (
        relation.relation_type,
        FOUND_WEIGHT,
        relation.is_causal,
        relation.confidence,
        to_text(relation.valid_from),
        until,
        until,
        moment,
        chunk_id,
        relation.sentence,
        extractor,
    )


def log_reading(connection: sqlite3.Connection, found: Mapping[int, int]) -> None:
    """Remember that the passages of entities were read for relations, and how many were found."""
    moment = now()
    connection.executemany(_LOG, [(count, moment, id_) for id_, count in found.items()])


def read_unread_entities(connection: sqlite3.Connection, limit: int | None) -> list[int]:
    """Ids of entities whose passages were never read for relations and had none, by id."""
    return [row[0] for row in connection.execute(_UNREAD, (-1 if limit is None else limit,))]


def read_entity_documents(
    connection: sqlite3.Connection, entity_ids: Sequence[int]
) -> dict[str, list[int]]:
    """Entities by the id of a document that mentions them, both in order."""
    found: dict[str, list[int]] = {}
    for document_id, entity_id in connection.execute(_DOCUMENTS, (id_list(entity_ids),)):
        found.setdefault(document_id, []).append(entity_id)
    return found
