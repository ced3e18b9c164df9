"""From the names in a document to aliases: known, ruled by hand, linked by evidence, or new.

Mentions and relations say by which alias a text names an entity, and an alias belongs to its
entity, so that a link made later moves one alias and undoing it moves that back.

A back end reads what it knows of the names (`KnownNames`), `plan_names` decides, and the back end
writes the plan, all in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.stores.backend import Backend, Found, Row, Rows, Statement, pairs, values_of
from clew.stores.state import COUNT_CHANGE, NEXT_IDS, REMEMBER, STATE, NextIds, State, StoreState
from clew.stores.statements import AMONG
from clew.stores.statements.names import KNOWN_ALIASES, MOVE_ALIASES, RULED_GROUPS, RULES_AROUND
from clew.text import entity_key, lookup_keys, terms, written_otherwise
from clew.types import Alias, AliasEvidence, AliasMethod

if TYPE_CHECKING:
    from clew.types import Ids


AMBIGUOUS = 0.0
"""Score of an acronym that texts introduce for several things: outside of them it is none."""


def plan_names(
    names: Mapping[str, Named],
    links: Sequence[AliasEvidence],
    known: KnownNames,
    *,
    next_entity: int,
    next_alias: int,
) -> NamePlan:
    """Give every key an alias and an entity; new ones take the ids from those given on."""
    planner = _Planner(names, links, known, next_entity, next_alias)
    for key in names:
        planner.place(key)
    return planner.plan()


def _several(link: AliasEvidence) -> str:
    return f"stands for several things, {link.name} among them"


def _ambiguous(links: Sequence[AliasEvidence]) -> set[str]:
    """Keys of the acronyms that the links introduce for several things."""
    said: dict[str, set[tuple[str, ...]]] = {}
    for link in links:
        if link.method == "acronym":
            said.setdefault(entity_key(link.alias), set()).add(tuple(terms(link.name)))
    return {key for key, meanings in said.items() if len(meanings) > 1}


class _Planner:
    """The working memory of one `plan_names`."""

    def __init__(
        self,
        names: Mapping[str, Named],
        links: Sequence[AliasEvidence],
        known: KnownNames,
        next_entity: int,
        next_alias: int,
    ) -> None:
        self._names = names
        self._links = {entity_key(link.alias): link for link in reversed(links)}
        self._ambiguous = _ambiguous(links)
        self._known = known
        self._targets = set(known.rules.values())
        self._groups = dict(known.groups)
        self._types = {a.entity_id: a.entity_type for a in known.aliases.values()}
        self._counts = {a.entity_id: a.aliases for a in known.aliases.values()}
        self._next_entity, self._next_alias = next_entity, next_alias
        self._entities: dict[int, tuple[str, str]] = {}  # new: id -> (name, key)
        self._aliases: list[Alias] = []
        self._moves: list[AliasMove] = []
        self._under_way: set[str] = set()
        self._alias_ids: dict[str, int] = {}
        self._entity_ids: dict[str, int] = {}
        self._moved: set[int] = set()

    def plan(self) -> NamePlan:
        """What was decided."""
        stored = {a.entity_id: a.entity_type for a in self._known.aliases.values()}
        return NamePlan(
            resolved=ResolvedNames(
                alias_ids=self._alias_ids,
                entity_ids=self._entity_ids,
                moved=frozenset(self._moved),
                moved_aliases=tuple(move.id for move in self._moves),
            ),
            entities=[
                NewName(id=i, name=name, key=key, entity_type=self._types[i])
                for i, (name, key) in self._entities.items()
            ],
            aliases=self._aliases,
            moves=self._moves,
            types={i: self._types[i] for i, before in stored.items() if self._types[i] != before},
        )

    def place(self, key: str) -> int:
        """The entity of a key, which has an alias afterwards."""
        if key in self._entity_ids:
            return self._entity_ids[key]
        self._under_way.add(key)
        known = key in self._known.aliases
        entity_id = self._place_known(key) if known else self._place_new(key)
        self._under_way.discard(key)
        self._entity_ids[key] = entity_id
        self._learn_type(entity_id, key)
        return entity_id

    def _place_known(self, key: str) -> int:
        alias = self._known.aliases[key]
        self._alias_ids[key] = alias.id
        link = self._links.get(key)
        if self._is_ruled(key):
            return alias.entity_id
        if alias.method == "acronym" and written_otherwise(self._names[key].name, alias.name):
            apart = self._add_entity(self._names[key].name, key)
            return self._move(alias, apart, "exact", 1.0, "")
        if alias.score == AMBIGUOUS:
            return alias.entity_id
        if link and link.method == "acronym" and self._is_another(alias, link):
            return self._set_apart(alias, key, link)
        if link is None or alias.method != "exact":
            return alias.entity_id
        if link.method == "acronym" and written_otherwise(alias.name, link.alias):
            return alias.entity_id
        target = self._linked_entity(link)
        # Of an entity with several names, one alone would be torn from the others.
        if target in (None, alias.entity_id) or self._counts[alias.entity_id] > 1:
            return alias.entity_id
        assert target is not None
        return self._move(alias, target, link.method, link.score, link.evidence)

    def _is_another(self, alias: KnownAlias, link: AliasEvidence) -> bool:
        """Whether the acronym stands for something else here than what the store knows it for."""
        if entity_key(link.alias) in self._ambiguous:
            return alias.method == "acronym" or self._counts[alias.entity_id] == 1
        if alias.method != "acronym" or terms(alias.entity_name) == terms(link.name):
            return False
        return self._linked_entity(link) != alias.entity_id

    def _set_apart(self, alias: KnownAlias, key: str, link: AliasEvidence) -> int:
        """Make an acronym of several things stand for itself."""
        own = alias.entity_id
        if alias.method == "acronym":
            own = self._add_entity(alias.name, key)
        return self._move(alias, own, "exact", AMBIGUOUS, _several(link))

    def _move(
        self, alias: KnownAlias, target: int, method: AliasMethod, score: float, evidence: str
    ) -> int:
        self._count(alias.entity_id, -1)
        self._count(target, 1)
        self._moves.append(AliasMove(alias.id, target, method, score, evidence))
        self._moved |= {alias.entity_id, target}
        return target

    def _is_ruled(self, key: str) -> bool:
        return key in self._known.rules or key in self._targets

    def _place_new(self, key: str) -> int:
        if self._is_ruled(key):
            return self._place_ruled(key)
        name, link = self._names[key].name, self._links.get(key)
        if link and key in self._ambiguous:
            entity_id = self._add_entity(name, key)
            self._add_alias(key, name, entity_id, "exact", AMBIGUOUS, _several(link))
            return entity_id
        target = self._linked_entity(link) if link else None
        if link is None or target is None:
            entity_id = self._add_entity(name, key)
            self._add_alias(key, name, entity_id, "exact")
            return entity_id
        self._add_alias(key, name, target, link.method, link.score, link.evidence)
        return target

    def _linked_entity(self, link: AliasEvidence) -> int | None:
        """The entity of the name that a link points at, where that name is known or named here."""
        target = entity_key(link.name)
        if target in self._under_way:
            return None  # two links that point at each other: the first name is the entity
        if target in self._names:
            return self.place(target)
        known = self._known.aliases.get(target)
        return known.entity_id if known else None

    def _place_ruled(self, key: str) -> int:
        group, name = self._known.rules.get(key, key), self._names[key].name
        if group not in self._groups:
            self._groups[group] = self._add_group(group, key)
        entity_id = self._groups[group]
        made_for = self._entities.get(entity_id, ("", ""))[1]
        if made_for == key:
            self._add_alias(key, name, entity_id, "exact")
        else:
            self._add_alias(key, name, entity_id, "manual", evidence="linked by hand")
        return entity_id

    def _add_group(self, group: str, key: str) -> int:
        """An entity that was renamed by hand comes back under the name it was given."""
        given = self._known.given.get(group)
        if given is None:
            return self._add_entity(self._names[key].name, key)
        entity_id = self._add_entity(given, group)
        if group not in self._names:
            self._add_alias(group, given, entity_id, "manual", evidence="renamed by hand")
        return entity_id

    def _add_entity(self, name: str, key: str) -> int:
        entity_id = self._next_entity
        self._next_entity += 1
        self._entities[entity_id] = (name, key)
        self._types[entity_id] = UNKNOWN_TYPE
        return entity_id

    def _add_alias(
        self,
        key: str,
        name: str,
        entity_id: int,
        method: AliasMethod,
        score: float = 1.0,
        evidence: str = "",
    ) -> None:
        alias = Alias(
            id=self._next_alias,
            key=key,
            name=name,
            entity_id=entity_id,
            method=method,
            score=score,
            evidence=evidence,
        )
        self._alias_ids[key] = alias.id
        self._aliases.append(alias)
        self._count(entity_id, 1)
        self._next_alias += 1

    def _count(self, entity_id: int, added: int) -> None:
        self._counts[entity_id] = self._counts.get(entity_id, 0) + added

    def _learn_type(self, entity_id: int, key: str) -> None:
        """The first type that says something stays."""
        if self._types.get(entity_id) == UNKNOWN_TYPE:
            self._types[entity_id] = self._names[key].entity_type


# What is known of names before their aliases are planned, and what the plan is.


UNKNOWN_TYPE = "name"


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
    moved_aliases: tuple[int, ...] = ()
    """The ids of these aliases."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownAlias:
    """An alias that the store holds, with what is asked of its entity."""

    id: int
    name: str
    entity_id: int
    method: AliasMethod
    score: float
    entity_name: str
    entity_type: str
    aliases: int
    """How many its entity has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownNames:
    """What a store knows of the keys of names and of what links say of them."""

    aliases: Mapping[str, KnownAlias]
    """By key."""
    rules: Mapping[str, str] = field(default_factory=dict)
    """Targets by key, of the rules that lead from or to one of the keys."""
    groups: Mapping[str, int] = field(default_factory=dict)
    """Entities by the target of these rules, where one of their names is known."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Names given by hand, by the target of these rules."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewName:
    """An entity to be made."""

    id: int
    name: str
    key: str
    entity_type: str


@dataclass(frozen=True, slots=True)
class AliasMove:
    """An alias that the store holds, and what its entity is to be and why."""

    id: int
    entity_id: int
    method: AliasMethod
    score: float
    evidence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NamePlan:
    """What is to be written."""

    resolved: ResolvedNames
    entities: Sequence[NewName]
    aliases: Sequence[Alias]
    """New ones."""
    moves: Sequence[AliasMove]
    types: Mapping[int, str]
    """Types learnt, by the id of an entity that the store holds."""


def names_by_key(given: Iterable[tuple[str, str]]) -> dict[str, Named]:
    """Names given as (name, type) by key, in order of appearance, with their first telling type.

    A name without letters or digits has no key and is left out.
    """
    found: dict[str, Named] = {}
    for name, entity_type in given:
        key = entity_key(name)
        if key and (key not in found or found[key].entity_type == UNKNOWN_TYPE):
            first = found[key].name if key in found else name
            found[key] = Named(name=first, entity_type=entity_type)
    return found


# Names that are to be written: what the store knows of them, and writing what was planned.


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


# Which chunks' mentions changed of late: a snapshot takes in these alone, not the whole store.
#
# Names that become another entity's, what readers find in old passages, and pruning change them.
# Each
# such commit is noted with the mentions version that it makes, so that one that nobody noted
# shows as
# a gap. The store keeps the newest notes only; who is further behind reads all mentions.


MOST = 2000
"""Ids that are kept."""

# One more than are kept tells that there are too many.
_CHUNKS_OF_ALIASES = Statement(
    f"SELECT DISTINCT chunk_id FROM mentions WHERE alias_id {AMONG} LIMIT :most",
    """
UNWIND $ids AS id
MATCH (:ClewAlias {namespace: $namespace, id: id})-[:NAMES {namespace: $namespace}]->(e)
MATCH (e)<-[m:MENTIONS {namespace: $namespace, alias_id: id}]-()
WITH DISTINCT m.chunk_id AS chunk LIMIT $most
RETURN [chunk] AS row
""",
)
_CHUNKS_OF_ENTITIES = Statement(
    f"SELECT DISTINCT chunk_id FROM entity_mentions WHERE entity_id {AMONG} LIMIT :most",
    """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
MATCH (e)<-[m:MENTIONS {namespace: $namespace}]-()
WITH DISTINCT m.chunk_id AS chunk LIMIT $most
RETURN [chunk] AS row
""",
)
# Column: the notes as JSON; no row where nothing was ever noted.
_NOTES = Statement(
    "SELECT value FROM meta WHERE name = 'moved'",
    """
MATCH (s:ClewStore {namespace: $namespace}) WHERE s.moved IS NOT NULL
RETURN [s.moved] AS row
""",
)


def chunks_naming(
    backend: Backend, *, aliases: Iterable[int] = (), entities: Iterable[int] = ()
) -> set[int]:
    """Ids of the chunks that mention some aliases or entities, `MOST` and one more of either."""
    asked = ((_CHUNKS_OF_ALIASES, list(aliases)), (_CHUNKS_OF_ENTITIES, list(entities)))
    return {
        row[0]
        for statement, ids in asked
        if ids
        for row in backend.rows(statement, ids=ids, most=MOST + 1)
    }


def count_move(backend: Backend, chunk_ids: Collection[int], *, changes: int = 1) -> None:
    """Count a change of the mentions of these chunks, and note them; call inside `write`, once."""
    held, state = backend.gather(_NOTES, STATE)
    notes = [*_read(held), [State(state).mentions_version + 1, *sorted(map(int, chunk_ids))]]
    while notes and sum(map(len, notes)) - len(notes) > MOST:
        del notes[0]
    backend.execute_many(REMEMBER, [{"name": "moved", "value": json.dumps(notes)}])
    backend.execute(COUNT_CHANGE, changes=changes, moves=1)


def count_moved_aliases(backend: Backend, aliases: Iterable[int], *, changes: int = 1) -> None:
    """Count a change by which these aliases became another entity's, and note where they stand."""
    count_move(backend, chunks_naming(backend, aliases=aliases), changes=changes)


class MovedMentions(StoreState):
    """`ports.VectorSource.moved_since`."""

    def moved_since(self, mentions_version: int) -> Ids | None:
        """Sorted ids of the chunks whose mentions changed hands since a version, and perhaps more.

        None: not known, since too many did meanwhile, or old chunks came back.
        """
        now = self.mentions_version()
        notes = {version: ids for version, *ids in _read(self.backend.rows(_NOTES))}
        missed = range(mentions_version + 1, now + 1)
        if mentions_version > now or not all(version in notes for version in missed):
            return None
        found = [one for version in missed for one in notes[version]]
        return np.unique(np.array(found, dtype=np.int64))


def _read(held: Found) -> list[list[int]]:
    """A mentions version and ids each; none where what is there cannot be read."""
    try:
        notes = json.loads(held[0][0]) if held else []
        sound = isinstance(notes, list) and all(note and all(map(_is_id, note)) for note in notes)
    except (TypeError, ValueError):
        return []
    return notes if sound else []


def _is_id(value: object) -> bool:
    return type(value) is int
