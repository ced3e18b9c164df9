"""Names that are to be written: what the store knows of them, and writing what was planned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from clew.spelling import lookup_keys
from clew.stores.backend import Backend, Found, Row, Rows, pairs, values_of
from clew.stores.moved_mentions import count_moved_aliases
from clew.stores.names.alias_planner import plan_names
from clew.stores.names.alias_plans import KnownAlias, KnownNames, Named, NamePlan, ResolvedNames
from clew.stores.state import NEXT_IDS, NextIds
from clew.stores.statements.merge import RULED_GROUPS, RULES_AROUND
from clew.stores.statements.names import KNOWN_ALIASES, MOVE_ALIASES
from clew.text import entity_key
from clew.types import AliasEvidence

KNOWN = (KNOWN_ALIASES, RULES_AROUND)
"""What `known_names` takes, asked with the `keys_asked`."""


class PlannedNames(NamedTuple):
    """What is to be written of names, in two steps."""

    plan: NamePlan
    new: Rows
    """New entities and aliases, for `Backend.insert`; then comes `write_changes`."""


def plan_resolution(
    backend: Backend,
    names: Mapping[str, Named],
    links: Sequence[AliasEvidence],
    found: Sequence[Found],
    next_ids: NextIds,
) -> PlannedNames:
    """Decide on an alias and an entity for each key; `found` is what KNOWN returned."""
    plan = plan_names(
        names,
        links,
        _known_names(backend, names, *found),
        next_entity=next_ids.entities,
        next_alias=next_ids.aliases,
    )
    new: Rows = {
        "entities": [values_of(entity) for entity in plan.entities],
        "aliases": [alias_row(values_of(alias)) for alias in plan.aliases],
    }
    return PlannedNames(plan, new)


def _known_names(
    backend: Backend, names: Mapping[str, Named], known: Found, around: Found
) -> KnownNames:
    rules = pairs(around)
    groups = groups_asked(names, rules)
    found = backend.rows(RULED_GROUPS, keys=groups) if groups else []
    return KnownNames(
        aliases={
            key: KnownAlias(
                id=i,
                name=name,
                entity_id=e,
                method=method,
                score=score,
                entity_name=entity_name,
                entity_type=type_,
                aliases=count,
            )
            for key, name, i, e, method, score, entity_name, type_, count in known
        },
        rules=rules,
        groups={group: entity_id for group, entity_id, _ in found if entity_id is not None},
        given={group: name for group, _, name in found if name},
    )


def write_changes(backend: Backend, plan: NamePlan) -> None:
    """Move aliases that there were, perhaps to new entities, and write the types learnt."""
    if plan.moves:
        backend.execute_many(MOVE_ALIASES, [values_of(move) for move in plan.moves])
    if plan.types:
        types = [{"id": id_, "entity_type": type_} for id_, type_ in plan.types.items()]
        backend.update("entities", types)


def write_and_count(backend: Backend, plan: NamePlan) -> None:
    """`write_changes`; aliases that move are counted, but as no commit of their own."""
    write_changes(backend, plan)
    if plan.moves:
        count_moved_aliases(backend, plan.resolved.moved_aliases, changes=0)


def alias_row(values: Row) -> Row:
    """A new alias with what it is looked up by."""
    return {**values, **lookup_keys(values["name"])}


def resolve_names(
    backend: Backend, names: Mapping[str, Named], links: Sequence[AliasEvidence] = ()
) -> ResolvedNames:
    """Give every key an alias, making entities and aliases as needed; call inside `write`."""
    keys = keys_asked(names, links)
    *found, next_ids = backend.gather(*KNOWN, NEXT_IDS, keys=keys)
    planned = plan_resolution(backend, names, links, found, NextIds(*next_ids[0]))
    backend.insert(planned.new)
    write_changes(backend, planned.plan)
    return planned.plan.resolved


def keys_asked(names: Iterable[str], links: Iterable[AliasEvidence]) -> list[str]:
    """The keys that a `KnownNames` has to tell of."""
    return list(dict.fromkeys([*names, *(entity_key(link.name) for link in links)]))


def groups_asked(names: Iterable[str], rules: Mapping[str, str]) -> list[str]:
    """The targets of rules that names have to do with: a group of names is called by its target."""
    targets = set(rules.values())
    groups = [rules.get(key, key) for key in names if key in rules or key in targets]
    return list(dict.fromkeys(groups))
