"""Functional relations: of those from one entity, a later one ends an earlier one.

A person lives in one place at a time: where two facts of a type that is declared functional lead
from one entity to different ones, the earlier holds until the later begins. A fact begins with
its `valid_from`; one without is older than those that have one, and begins with its `recorded_at`.
`valid_until` is derived from `stated_until` (what the text says) and from the other facts, is kept
right whenever they change, and nothing is ever deleted by a contradiction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

from clew.stores.sqlite_documents import id_list

FOREVER = "9999-12-31T23:59:59.999999+00:00"
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


class Fact(NamedTuple):
    """A functional relation, with times as they are stored: they compare as text."""

    id: int
    head: int
    relation_type: str
    tail: int
    is_dated: bool
    start: str
    stated_until: str | None
    valid_until: str | None
    """What the store shows."""


_group = attrgetter("head", "relation_type")
_place = attrgetter("is_dated", "start")


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


def ends(facts: Iterable[Fact]) -> Iterator[tuple[Fact, str | None]]:
    """Each fact of one entity and type with its end: the earliest start of a later, other fact.

    The end that the text states goes before where it is earlier; None where there is neither.
    Facts that begin at once do not end each other.
    """
    starts: dict[int, str] = {}  # earliest start of a later fact, of two tails at most
    latest_first = sorted(facts, key=_place, reverse=True)
    for _, together in groupby(latest_first, key=_place):
        level = list(together)
        for fact in level:
            found = [start for tail, start in starts.items() if tail != fact.tail]
            stated = [fact.stated_until] if fact.stated_until else []
            yield fact, min([*found, *stated], default=None)
        for fact in level:
            starts[fact.tail] = min(fact.start, starts.get(fact.tail, FOREVER))
        starts = dict(nsmallest(2, starts.items(), key=itemgetter(1)))


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
        "UPDATE relations SET valid_until = ? WHERE id = ?",
        [(until, fact.id) for fact, until in _all_ends(facts) if until != fact.valid_until],
    )


def _all_ends(facts: Sequence[Fact]) -> Iterator[tuple[Fact, str | None]]:
    for _, of_group in groupby(sorted(facts, key=_group), key=_group):
        yield from ends(of_group)


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
    return {fact.id: until for fact, until in _all_ends(facts)}


def unsettled(connection: sqlite3.Connection) -> Iterator[int]:
    """Ids of the relations whose shown end is not the one that follows from the others."""
    derived = {
        fact.id: until
        for fact, until in _all_ends(_read_facts(connection, read_functional(connection)))
    }
    rows = connection.execute("SELECT id, stated_until, valid_until FROM relations ORDER BY id")
    for relation_id, stated_until, valid_until in rows:
        if valid_until != derived.get(relation_id, stated_until):
            yield relation_id


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
