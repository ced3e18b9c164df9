"""Names in Neo4j: what the store knows of those that are to be written, and writing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from clew.stores.naming import (
    KnownAlias,
    KnownNames,
    Named,
    NamePlan,
    ResolvedNames,
    groups_asked,
    keys_asked,
    plan_names,
)
from clew.stores.neo4j.links import move_aliases
from clew.stores.neo4j.numbers import read_numbers
from clew.stores.neo4j.rows import Row, insert_rows
from clew.types import AliasEvidence

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

# Each part answers with one list, so that another query may hold them.
CALL_KNOWN = """
CALL () {
    UNWIND $keys AS key
    MATCH (a:ClewAlias {namespace: $namespace, key: key})
        -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
    RETURN collect([key, a.id, e.id, a.method, e.entity_type,
        COUNT { (e)<-[:NAMES {namespace: $namespace}]-() }]) AS known
}
CALL () {
    UNWIND $keys AS key
    MATCH (r:ClewRule {namespace: $namespace, key: key})
    RETURN collect([r.key, r.target]) AS rules_from
}
CALL () {
    UNWIND $keys AS key
    MATCH (r:ClewRule {namespace: $namespace, target: key})
    RETURN collect([r.key, r.target]) AS rules_to
}
"""
"""Looks up `$keys`; returns what `known_names` takes as KNOWN."""
KNOWN = "known, rules_from + rules_to"
# A group of names ruled by hand is the key that its rules point at, and may outlive its entity.
_GROUPS = """
UNWIND $groups AS group
OPTIONAL MATCH (own:ClewRule {namespace: $namespace, key: group})
CALL (group) {
    OPTIONAL MATCH (r:ClewRule {namespace: $namespace, target: group})
    WITH group, collect(r.key) AS ruled
    UNWIND ruled + group AS key
    MATCH (a:ClewAlias {namespace: $namespace, key: key})
        -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
    WITH a, e ORDER BY a.id LIMIT 1
    RETURN collect(e.id) AS members
}
RETURN group, head(members), own.name
"""
_EXPLAIN = """
UNWIND $moves AS row
MATCH (a:ClewAlias {namespace: $namespace, id: row.id})
SET a.method = row.method, a.score = row.score, a.evidence = row.evidence
"""


def resolve_names(
    database: Neo4jDatabase, names: Mapping[str, Named], links: Sequence[AliasEvidence]
) -> ResolvedNames:
    """Give every key an alias, making entities and aliases as needed; call inside `write`."""
    query = f"{CALL_KNOWN} RETURN {KNOWN}"
    row = database.rows(query, keys=keys_asked(names, links))[0]
    known, numbers = known_names(database, names, row), read_numbers(database)
    plan = plan_names(names, links, known, next_entity=numbers.entity, next_alias=numbers.alias)
    insert_rows(database, name_rows(plan))
    move_names(database, plan)
    return plan.resolved


def known_names(
    database: Neo4jDatabase, names: Mapping[str, Named], row: Sequence[Any]
) -> KnownNames:
    """What a query returned as KNOWN, and groups of names, which few stores have."""
    known, rules = row[0], dict(row[1])
    groups = groups_asked(names, rules)
    found = database.rows(_GROUPS, groups=groups) if groups else []
    return KnownNames(
        aliases={
            key: KnownAlias(
                id=id_, entity_id=entity, method=method, entity_type=entity_type, aliases=count
            )
            for key, id_, entity, method, entity_type, count in known
        },
        rules=rules,
        groups={group: entity_id for group, entity_id, _ in found if entity_id is not None},
        given={group: name for group, _, name in found if name},
    )


def name_rows(plan: NamePlan) -> dict[str, list[Row]]:
    """The entities and aliases that are new, and types learnt, for `insert_rows`."""
    return {
        "entities": [asdict(entity) for entity in plan.entities],
        "types": [{"id": id_, "entity_type": kind} for id_, kind in plan.types.items()],
        "aliases": [asdict(alias) for alias in plan.aliases],
    }


def move_names(database: Neo4jDatabase, plan: NamePlan) -> None:
    """Move aliases that there were; call after `insert_rows`, since they may move to new ones."""
    for move in plan.moves:
        move_aliases(database, [move.id], move.entity_id)
    if plan.moves:
        database.rows(_EXPLAIN, moves=[asdict(move) for move in plan.moves])
