"""Functional relations (see `validity`): deriving their ends, and whom a change concerns."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence

from clew.stores import invariants
from clew.stores.sqlite.documents import id_list
from clew.stores.validity import FOREVER, Fact, changed_ends, derived_ends

_DECLARED = "functional"

_AMONG_TYPES = "r.relation_type IN (SELECT value FROM json_each(:types))"
_KNOWN = "r.recorded_at <= :known AND coalesce(r.retracted_at, '~') > :known"
_FACTS = f"""
SELECT r.id, r.from_entity_id, r.relation_type, r.to_entity_id, r.valid_from IS NOT NULL,
    coalesce(r.valid_from, r.recorded_at), r.stated_until, r.valid_until
FROM entity_relations r WHERE {_KNOWN} AND {_AMONG_TYPES}
"""
_HEADS_OF_CHUNKS = f"""
SELECT DISTINCT r.from_entity_id FROM entity_relations r
WHERE {_AMONG_TYPES} AND r.chunk_id IN (
    SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(:ids)))
"""
_HEADS_OF_TAILS = f"""
SELECT DISTINCT r.from_entity_id FROM entity_relations r
WHERE {_AMONG_TYPES} AND r.to_entity_id IN (SELECT value FROM json_each(:ids))
"""


# --- what is declared --------------------------------------------------------------------


def read_functional(connection: sqlite3.Connection) -> tuple[str, ...]:
    """The relation types that the store was told are functional, in order."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (_DECLARED,)).fetchone()
    return tuple(json.loads(row[0])) if row else ()


def declare_functional(connection: sqlite3.Connection, types: Collection[str]) -> None:
    """Remember the functional types and derive every end by them."""
    connection.execute(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)", (_DECLARED, json.dumps(sorted(types)))
    )
    settle_all(connection)


# --- deriving ends -----------------------------------------------------------------------


def settle(connection: sqlite3.Connection, heads: Collection[int]) -> None:
    """Derive the ends of the functional relations from the entities given."""
    types = read_functional(connection) if heads else ()
    if types:
        _write_ends(connection, _read_facts(connection, types, heads))


def settle_all(connection: sqlite3.Connection) -> None:
    """Derive every relation's end."""
    connection.execute(
        "UPDATE relations SET valid_until = stated_until WHERE valid_until IS NOT stated_until"
    )
    _write_ends(connection, _read_facts(connection, read_functional(connection)))


def _write_ends(connection: sqlite3.Connection, facts: Sequence[Fact]) -> None:
    connection.executemany(
        "UPDATE relations SET valid_until = ?2 WHERE id = ?1", changed_ends(facts)
    )


def _read_facts(
    connection: sqlite3.Connection,
    types: Collection[str],
    heads: Collection[int] | None = None,
    known: str = FOREVER,
) -> list[Fact]:
    """The functional facts of some entities or of all, as they were known at a moment."""
    among = "AND r.from_entity_id IN (SELECT value FROM json_each(:heads))"
    rows = connection.execute(
        f"{_FACTS} {among if heads is not None else ''}",
        {"known": known, "types": id_list(types), "heads": id_list(heads or ())},
    )
    return [Fact(*row) for row in rows]


def ends_known_at(
    connection: sqlite3.Connection, heads: Collection[int], known: str
) -> dict[int, str | None]:
    """Ends of the functional relations from the entities, by what was known at a moment; by id."""
    types = read_functional(connection)
    facts = _read_facts(connection, types, heads, known) if types else []
    return derived_ends(facts)


def broken_ends(connection: sqlite3.Connection) -> Iterator[str]:
    """See `invariants.broken_ends`."""
    derived = derived_ends(_read_facts(connection, read_functional(connection)))
    rows = connection.execute("SELECT id, stated_until, valid_until FROM relations ORDER BY id")
    return invariants.broken_ends(rows, derived)


# --- whom a change concerns --------------------------------------------------------------


def heads_of_documents(connection: sqlite3.Connection, document_ids: Sequence[str]) -> set[int]:
    """Entities of which the documents state functional relations."""
    return _read_heads(connection, _HEADS_OF_CHUNKS, document_ids)


def heads_around(connection: sqlite3.Connection, entity_ids: Collection[int]) -> set[int]:
    """The entities, and those from which functional relations lead to them."""
    return {*entity_ids, *_read_heads(connection, _HEADS_OF_TAILS, entity_ids)}


def _read_heads(
    connection: sqlite3.Connection, sql: str, ids: Collection[int] | Collection[str]
) -> set[int]:
    types = read_functional(connection) if ids else ()
    if not types:
        return set()
    rows = connection.execute(sql, {"types": id_list(types), "ids": id_list(ids)})
    return {row[0] for row in rows}
