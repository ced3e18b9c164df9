"""Mending entities by hand in Neo4j: merging, splitting and renaming, which rules remember."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from clew.stores.entity_merge import HeldAlias, HeldEntity, joined_rules, part_names, parted_rules
from clew.stores.errors import (
    merged_with_itself,
    name_of_another,
    unknown_entities,
    unusable_name,
)
from clew.stores.neo4j.batches import send_rows
from clew.stores.neo4j.entities import resolve_keys
from clew.stores.neo4j.links import move_aliases
from clew.stores.neo4j.numbers import Numbers, count_change, read_numbers
from clew.stores.neo4j.rows import insert_rows
from clew.stores.neo4j.sweep import show_living_names
from clew.stores.neo4j.validity import heads_around, settle
from clew.text import entity_key

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

_HELD = """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
MATCH (a:ClewAlias)-[:NAMES {namespace: $namespace}]->(e)
WITH e, a ORDER BY a.id
RETURN e.id, e.key, e.entity_type, e.tier, collect([a.id, a.key, a.name,
    EXISTS { ()-[m:MENTIONS {namespace: $namespace}]->(e) WHERE m.alias_id = a.id }
    OR EXISTS { (e)-[r:RELATES {namespace: $namespace}]->() WHERE r.from_alias_id = a.id }
    OR EXISTS { (e)<-[r:RELATES {namespace: $namespace}]-() WHERE r.to_alias_id = a.id }])
"""
_RULES = """
UNWIND $keys AS key
CALL (key) {
    MATCH (r:ClewRule {namespace: $namespace, key: key}) RETURN r
    UNION
    MATCH (r:ClewRule {namespace: $namespace, target: key}) RETURN r
}
RETURN DISTINCT r.key, r.target
"""
_RULE = """
UNWIND $rows AS row
MERGE (r:ClewRule {namespace: $namespace, key: row[0]}) ON CREATE SET r.name = ''
SET r.target = row[1]
"""
_BY_HAND = """
UNWIND $alias_ids AS id
MATCH (a:ClewAlias {namespace: $namespace, id: id})
SET a.method = 'manual', a.score = 1.0, a.evidence = $evidence
"""
_TAKE_OVER = """
MATCH (source:ClewEntity {namespace: $namespace, id: $source})
MATCH (target:ClewEntity {namespace: $namespace, id: $target})
SET target.tier = CASE WHEN source.tier = 'manual' THEN source.tier ELSE target.tier END,
    target.content = CASE WHEN target.content = '' THEN source.content ELSE target.content END
WITH source
CALL (source) {
    MATCH (l:ClewReading {namespace: $namespace, entity_id: source.id})
    DELETE l
}
DETACH DELETE source
"""
_SHOW_AS = """
MATCH (e:ClewEntity {namespace: $namespace, id: $id}) SET e.name = $name, e.key = $key
WITH e
MATCH (r:ClewRule {namespace: $namespace, key: $key}) SET r.name = $name
"""


def merge_entities(database: Neo4jDatabase, source_id: int, target_id: int, evidence: str) -> None:
    """Make every alias of the source an alias of the target, and remember it."""
    if source_id == target_id:
        raise merged_with_itself(source_id)
    source, target = read_held(database, [source_id, target_id])
    functional = read_numbers(database).functional
    _give(database, source.aliases, target.id, evidence)
    database.rows(_TAKE_OVER, source=source.id, target=target.id)
    rules = _read_rules(database, [*source.keys, target.key])
    _write_rules(database, joined_rules(rules, source.keys, rules.get(target.key, target.key)))
    settle(database, heads_around(database, [target.id], functional), functional)
    count_change(database, entities_moved=True)


def split_entity(database: Neo4jDatabase, entity_id: int, keys: Sequence[str]) -> int:
    """Take aliases out into an entity of their own, and remember it; its id."""
    (held,) = read_held(database, [entity_id])
    new_id = part(database, held, *part_names(held, keys), read_numbers(database))
    count_change(database, entities_moved=True)
    return new_id


def part(
    database: Neo4jDatabase,
    held: HeldEntity,
    parted: Sequence[HeldAlias],
    left: Sequence[HeldAlias],
    numbers: Numbers,
) -> int:
    """Give what `part_names` parted to an entity of its own, of the same type; its id."""
    row = {
        "id": numbers.entity,
        "name": parted[0].name,
        "key": parted[0].key,
        "entity_type": held.entity_type,
        "tier": held.tier,
    }
    insert_rows(database, {"entities": [row]})
    _give(database, parted, numbers.entity, "split by hand")
    show_living_names(database, [held.id])
    rules = _read_rules(database, held.keys)
    keys_parted, keys_left = [a.key for a in parted], [a.key for a in left]
    _write_rules(database, parted_rules(rules, keys_parted, keys_left))
    heads = heads_around(database, [held.id, numbers.entity], numbers.functional)
    settle(database, heads, numbers.functional)
    return numbers.entity


def rename_entity(database: Neo4jDatabase, entity_id: int, name: str) -> None:
    """Show an entity under another name, which becomes one of its aliases, and remember it."""
    (held,), key = read_held(database, [entity_id]), entity_key(name)
    if not key:
        raise unusable_name(name)
    other = resolve_keys(database, [key]).get(key, held.id)
    if other != held.id:
        raise name_of_another(name, other)
    if key not in held.keys:
        row = {
            "id": read_numbers(database).alias,
            "key": key,
            "name": name,
            "entity_id": held.id,
            "method": "manual",
            "score": 1.0,
            "evidence": "renamed by hand",
        }
        insert_rows(database, {"aliases": [row]})
    rules = _read_rules(database, held.keys)
    _write_rules(database, joined_rules(rules, held.keys, key))
    database.rows(_SHOW_AS, id=held.id, name=name, key=key)
    count_change(database, entities_moved=True)


def read_held(database: Neo4jDatabase, entity_ids: Collection[int]) -> list[HeldEntity]:
    """Entities with their names, in the order of the ids.

    Raises `NotFoundError` where one is unknown.
    """
    found = {
        id_: HeldEntity(id_, key, entity_type, tier, [HeldAlias(*alias) for alias in aliases])
        for id_, key, entity_type, tier, aliases in database.rows(
            _HELD, ids=[int(i) for i in entity_ids]
        )
    }
    if missing := [i for i in entity_ids if i not in found]:
        raise unknown_entities(missing)
    return [found[i] for i in entity_ids]


def _give(
    database: Neo4jDatabase, aliases: Sequence[HeldAlias], entity_id: int, evidence: str
) -> None:
    """Make aliases another entity's, by hand."""
    ids = [alias.id for alias in aliases]
    move_aliases(database, ids, entity_id)
    database.rows(_BY_HAND, alias_ids=ids, evidence=evidence)


def _read_rules(database: Neo4jDatabase, keys: Sequence[str]) -> dict[str, str]:
    """Targets by key, of the rules that lead from or to some keys."""
    return {row[0]: row[1] for row in database.rows(_RULES, keys=list(keys))}


def _write_rules(database: Neo4jDatabase, rules: Mapping[str, str]) -> None:
    send_rows(database, _RULE, list(rules.items()))
