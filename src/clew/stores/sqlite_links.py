"""From the names in a document to aliases: known, ruled by hand, linked by evidence, or new.

Mentions and relations point at aliases, and an alias at its entity, so that a link made later
moves one row and undoing it moves it back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clew.stores.sqlite_documents import id_list
from clew.text import entity_key
from clew.types import AliasEvidence, AliasMethod

_UNKNOWN_TYPE = "name"
_KNOWN = """
SELECT a.key, a.id, a.entity_id, a.method, e.entity_type
FROM aliases a JOIN entities e ON e.id = a.entity_id
WHERE a.key IN (SELECT value FROM json_each(?))
"""
# A group of names ruled by hand is the key that its rules point at, and may outlive its entity.
_GROUP_MEMBER = """
SELECT entity_id FROM aliases
WHERE key = ?1 OR key IN (SELECT key FROM link_rules WHERE target = ?1) ORDER BY id LIMIT 1
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """A name as a document gives it."""

    name: str
    entity_type: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedNames:
    """What names became."""

    alias_ids: Mapping[str, int]
    """By key."""
    entity_ids: Mapping[str, int]
    """By key."""
    moved: frozenset[int]
    """Entities that lost or won an alias by a late link."""


def next_ids(connection: sqlite3.Connection) -> dict[str, int]:
    """First free id by table; ids are never used again."""
    rows = connection.execute("SELECT name, seq + 1 FROM sqlite_sequence")
    tables = ("sections", "chunks", "entities", "aliases", "relations")
    return {**dict.fromkeys(tables, 1), **dict(rows)}


def resolve_names(
    connection: sqlite3.Connection,
    names: Mapping[str, Named],
    links: Sequence[AliasEvidence],
    free: Mapping[str, int],
) -> ResolvedNames:
    """Give every key an alias, making entities and aliases as needed; call when writing."""
    resolver = _Resolver(connection, names, links, free)
    for key in names:
        resolver.place(key)
    resolver.write()
    return ResolvedNames(
        alias_ids=resolver.alias_ids,
        entity_ids=resolver.entity_ids,
        moved=frozenset(resolver.moved),
    )


class _Resolver:
    """The working memory of one `resolve_names`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        names: Mapping[str, Named],
        links: Sequence[AliasEvidence],
        free: Mapping[str, int],
    ) -> None:
        self._connection = connection
        self._names = names
        self._links = {entity_key(link.alias): link for link in reversed(links)}
        self._next_entity = free["entities"]
        self._next_alias = free["aliases"]
        self._entities: dict[int, tuple[str, str]] = {}  # new: id -> (name, key)
        self._aliases: list[tuple[int, str, str, int, AliasMethod, float, str]] = []
        self._under_way: set[str] = set()
        self._group_entities: dict[str, int] = {}
        self.alias_ids: dict[str, int] = {}
        self.entity_ids: dict[str, int] = {}
        self.moved: set[int] = set()
        self._read()

    def _read(self) -> None:
        linked = (entity_key(link.name) for link in self._links.values())
        keys = id_list(dict.fromkeys([*self._names, *linked]))
        rows = self._connection.execute(_KNOWN, (keys,)).fetchall()
        self._known: dict[str, tuple[int, int, str]] = {r[0]: (r[1], r[2], r[3]) for r in rows}
        self._types: dict[int, str] = {row[2]: row[4] for row in rows}
        self._stored_types = dict(self._types)
        self._rules = self._read_rules(keys)
        self._targets = set(self._rules.values())

    def _read_rules(self, keys: str) -> dict[str, str]:
        # Most stores have no rules, and asking for these keys' costs more than asking for any.
        if self._connection.execute("SELECT 1 FROM link_rules LIMIT 1").fetchone() is None:
            return {}
        rows = self._connection.execute(
            "SELECT key, target FROM link_rules"
            " WHERE key IN (SELECT value FROM json_each(?1))"
            " OR target IN (SELECT value FROM json_each(?1))",
            (keys,),
        )
        return dict(rows)

    def place(self, key: str) -> int:
        """The entity of a key, which has an alias afterwards."""
        if key in self.entity_ids:
            return self.entity_ids[key]
        self._under_way.add(key)
        entity_id = self._place_known(key) if key in self._known else self._place_new(key)
        self._under_way.discard(key)
        self.entity_ids[key] = entity_id
        self._learn_type(entity_id, key)
        return entity_id

    def _place_known(self, key: str) -> int:
        alias_id, entity_id, method = self._known[key]
        self.alias_ids[key] = alias_id
        link = self._links.get(key)
        if link is None or method != "exact" or key in self._rules or key in self._targets:
            return entity_id
        target = self._linked_entity(link)
        self._flush()  # the target may be new, and so may be other aliases of this entity
        if target is None or target == entity_id or not self._is_only_alias(entity_id):
            return entity_id
        self._connection.execute(
            "UPDATE aliases SET entity_id = ?, method = ?, score = ?, evidence = ? WHERE id = ?",
            (target, link.method, link.score, link.evidence, alias_id),
        )
        self.moved |= {entity_id, target}
        return target

    def _place_new(self, key: str) -> int:
        method: AliasMethod = "exact"
        score, evidence = 1.0, ""
        if key in self._rules or key in self._targets:
            entity_id = self._ruled_entity(key)
            made_for = self._entities.get(entity_id, ("", ""))[1]
            if made_for != key:
                method, evidence = "manual", "linked by hand"
        else:
            link = self._links.get(key)
            target = self._linked_entity(link) if link else None
            if link is None or target is None:
                entity_id = self._add_entity(self._names[key].name, key)
            else:
                entity_id = target
                method, score, evidence = link.method, link.score, link.evidence
        self._add_alias(key, self._names[key].name, entity_id, method, score, evidence)
        return entity_id

    def _linked_entity(self, link: AliasEvidence) -> int | None:
        """The entity of the name that a link points at, where that name is known or named here."""
        target = entity_key(link.name)
        if target in self._under_way:
            return None  # two links that point at each other: the first name is the entity
        if target in self._names:
            return self.place(target)
        known = self._known.get(target)
        return known[1] if known else None

    def _ruled_entity(self, key: str) -> int:
        group = self._rules.get(key, key)
        if group not in self._group_entities:
            row = self._connection.execute(_GROUP_MEMBER, (group,)).fetchone()
            self._group_entities[group] = row[0] if row else self._add_group(group, key)
        return self._group_entities[group]

    def _add_group(self, group: str, key: str) -> int:
        """An entity that was renamed by hand comes back under the name it was given."""
        row = self._connection.execute(
            "SELECT name FROM link_rules WHERE key = ? AND name <> ''", (group,)
        ).fetchone()
        if row is None:
            return self._add_entity(self._names[key].name, key)
        entity_id = self._add_entity(row[0], group)
        if group not in self._names:
            self._add_alias(group, row[0], entity_id, "manual", 1.0, "renamed by hand")
        return entity_id

    def _is_only_alias(self, entity_id: int) -> bool:
        row = self._connection.execute(
            "SELECT count(*) FROM aliases WHERE entity_id = ?", (entity_id,)
        ).fetchone()
        return bool(row[0] == 1)

    def _add_entity(self, name: str, key: str) -> int:
        entity_id = self._next_entity
        self._next_entity += 1
        self._entities[entity_id] = (name, key)
        self._types[entity_id] = _UNKNOWN_TYPE
        return entity_id

    def _add_alias(
        self,
        key: str,
        name: str,
        entity_id: int,
        method: AliasMethod,
        score: float,
        evidence: str,
    ) -> None:
        self.alias_ids[key] = self._next_alias
        self._aliases.append((self._next_alias, key, name, entity_id, method, score, evidence))
        self._next_alias += 1

    def _learn_type(self, entity_id: int, key: str) -> None:
        """The first type that says something stays."""
        if key in self._names and self._types.get(entity_id) == _UNKNOWN_TYPE:
            self._types[entity_id] = self._names[key].entity_type

    def write(self) -> None:
        """Write what is new."""
        self._flush()
        learnt = [
            (entity_type, entity_id)
            for entity_id, entity_type in self._types.items()
            if self._stored_types.get(entity_id) != entity_type
        ]
        self._connection.executemany("UPDATE entities SET entity_type = ? WHERE id = ?", learnt)

    def _flush(self) -> None:
        self._connection.executemany(
            "INSERT INTO entities (id, name, key, entity_type) VALUES (?, ?, ?, ?)",
            [(i, n, k, self._types[i]) for i, (n, k) in self._entities.items()],
        )
        self._stored_types |= {i: self._types[i] for i in self._entities}
        self._connection.executemany(
            "INSERT INTO aliases VALUES (?, ?, ?, ?, ?, ?, ?)", self._aliases
        )
        self._entities.clear()
        self._aliases.clear()
