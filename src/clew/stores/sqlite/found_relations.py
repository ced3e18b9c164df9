"""Relations found by reading stored passages once more: what is new is added, all is logged."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence, Set

from clew.ports import Fact, FoundRelation
from clew.stores.relation_plans import plan_found
from clew.stores.relations import End
from clew.stores.sqlite.documents import id_list
from clew.stores.sqlite.links import next_ids
from clew.stores.sqlite.relations import insert_rows
from clew.stores.sqlite.validity import settle
from clew.stores.values import now
from clew.text import entity_key

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


def add_found_relations(
    connection: sqlite3.Connection,
    found: Sequence[FoundRelation],
    among: Set[int],
    extractor: str,
) -> tuple[set[Fact], int]:
    """Add those of which one end is among some entities and which their passage does not state yet.

    All facts found of these entities, and how many relations were added. Names that the store does
    not know, and passages that are gone, are left out.
    """
    chunks = sorted({chunk_id for chunk_id, _ in found})
    facts, rows = plan_found(
        found,
        among,
        names=_names(connection, found),
        living=_living(connection, chunks),
        stated=connection.execute(_STATED, (id_list(chunks),)),
        first_id=next_ids(connection)["relations"],
        moment=now(),
        extractor=extractor,
    )
    insert_rows(connection, rows)
    settle(connection, {head for head, _, _ in facts} if rows else ())
    return facts, len(rows)


def _names(connection: sqlite3.Connection, found: Iterable[FoundRelation]) -> Mapping[str, End]:
    """The names that the store knows, by key."""
    keys = {entity_key(name) for _, r in found for name in (r.head, r.tail)}
    rows = connection.execute(_NAMES, (json.dumps(sorted(keys)),))
    return {key: End(alias_id, entity_id) for key, alias_id, entity_id in rows}


def _living(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> set[int]:
    sql = "SELECT id FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
    return {row[0] for row in connection.execute(sql, (id_list(chunk_ids),))}


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
