"""From the names in a document to aliases: known, ruled by hand, linked by evidence, or new.

Mentions and relations say by which alias a text names an entity, and an alias belongs to its
entity, so that a link made later moves one alias and undoing it moves that back.

A back end reads what it knows of the names (`KnownNames`), `plan_names` decides, and the back end
writes the plan, all in one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.stores.names.alias_plans import (
    UNKNOWN_TYPE,
    AliasMove,
    KnownAlias,
    KnownNames,
    Named,
    NamePlan,
    NewName,
    ResolvedNames,
)
from clew.text import entity_key, terms, written_otherwise
from clew.types import Alias, AliasEvidence, AliasMethod

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
