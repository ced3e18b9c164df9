"""From the names in a document to aliases: known, ruled by hand, linked by evidence, or new.

Mentions and relations say by which alias a text names an entity, and an alias belongs to its
entity, so that a link made later moves one alias and undoing it moves that back.

`NamePlan` reads what the store knows of the names and decides; the caller writes the plan, all in
one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from clew.stores.backend import Backend, Found, Row, Rows, pairs
from clew.stores.state import NEXT_IDS, NextIds, count_moved_aliases
from clew.stores.statements.names import KNOWN_ALIASES, MOVE_ALIASES, RULED_GROUPS, RULES_AROUND
from clew.text import entity_key, lookup_keys, terms, written_otherwise
from clew.types import TERM, UNKNOWN_TYPE, WEAK_TYPES, AliasEvidence, AliasMethod

AMBIGUOUS = 0.0
"""Score of an acronym that texts introduce for several things: outside of them it is none."""
KNOWN = (KNOWN_ALIASES, RULES_AROUND)
"""What `NamePlan` takes, asked with the `keys_asked`."""


class Named(NamedTuple):
    """A name as a document gives it."""

    name: str
    entity_type: str


class End(NamedTuple):
    """What a name became: an entity, and the alias that names it."""

    alias_id: int
    entity_id: int


class KnownAlias(NamedTuple):
    """A row of `KNOWN_ALIASES`, but for its key: an alias, with what is asked of its entity."""

    name: str
    id: int
    entity_id: int
    method: AliasMethod
    score: float
    entity_name: str
    entity_type: str
    aliases: int
    """How many its entity has."""


def names_by_key(given: Iterable[tuple[str, str]]) -> dict[str, Named]:
    """Names given as (name, type) by key, in order of appearance, with their first telling type.

    A name without letters or digits has no key and is left out.
    """
    found: dict[str, Named] = {}
    for name, entity_type in given:
        key = entity_key(name)
        if key:
            held = found.get(key, Named(name, entity_type))
            found[key] = Named(held.name, stronger_type(held.entity_type, entity_type))
    return found


def stronger_type(held: str, told: str) -> str:
    """Return the type that an entity keeps: the first that says something."""
    weak = [one for one in (held, told) if one in WEAK_TYPES]
    return max(weak, key=WEAK_TYPES.index) if len(weak) == 2 else told if held in weak else held


def keys_asked(names: Iterable[str], links: Iterable[AliasEvidence]) -> list[str]:
    """The keys that a `NamePlan` has to know of."""
    linked = (entity_key(name) for link in links for name in (link.name, link.alias))
    return list(dict.fromkeys([*names, *linked]))


class NamePlan:
    """An alias and an entity for each key, and what is to be written for it.

    First come `new` rows, then `write_changes`.
    """

    def __init__(
        self,
        backend: Backend,
        names: Mapping[str, Named],
        links: Sequence[AliasEvidence],
        found: Sequence[Found],
        next_ids: NextIds,
    ) -> None:
        """`found` is what `KNOWN` returned; new rows take the ids that come next."""
        known, around = found
        self.ends: dict[str, End] = {}
        """By key."""
        self.aliases: list[dict[str, Any]] = []
        """Rows of new ones."""
        self.moves: list[dict[str, Any]] = []
        """Aliases that the store holds, and what their entities are to be and why."""
        self.moved: set[int] = set()
        """Entities that lost or won an alias by a late link."""
        self._rules = pairs(around)
        self._targets = set(self._rules.values())
        self._links = {entity_key(link.alias): link for link in reversed(links)}
        # Keys of the acronyms that the links introduce for several things.
        said: dict[str, set[tuple[str, ...]]] = {}
        for link in links:
            if link.method == "acronym":
                said.setdefault(entity_key(link.alias), set()).add(tuple(terms(link.name)))
        self._ambiguous = {key for key, meanings in said.items() if len(meanings) > 1}
        self._known = {row[0]: KnownAlias(*row[1:]) for row in known}
        # A name of the store that the document does not name may be tied to one that it does.
        held = {
            key: Named(link.alias, TERM) for key, link in self._links.items() if key in self._known
        }
        self._names = names = {**held, **names}
        self._stored = {a.entity_id: a.entity_type for a in self._known.values()}
        self._types = dict(self._stored)
        self._counts = {a.entity_id: a.aliases for a in self._known.values()}
        # Entities all of whose names are tied to one other: they move whole.
        tied: dict[int, list[str]] = {}
        for key, held_alias in self._known.items():
            if key in self._links and not self._is_ruled(key):
                to = entity_key(self._links[key].name)
                tied.setdefault(held_alias.entity_id, []).append(to)
        self._whole = {
            id_
            for id_, to in tied.items()
            if len(to) > 1 and len(to) == self._counts[id_] and len({*to}) == 1
        }
        # A group of names is called by the target of their rules.
        ruled = dict.fromkeys(self._rules.get(key, key) for key in names if self._is_ruled(key))
        groups = backend.rows(RULED_GROUPS, keys=list(ruled)) if ruled else []
        self._groups = {group: id_ for group, id_, _ in groups if id_ is not None}
        self._given = {group: name for group, _, name in groups if name}
        self._next_entity, self._next_alias = next_ids.entities, next_ids.aliases
        self._entities: dict[int, tuple[str, str]] = {}  # new: id -> (name, key)
        self._under_way: set[str] = set()
        for key in names:
            self._place(key)

    @property
    def new(self) -> Rows:
        """New entities and aliases, for `Backend.insert`."""
        entities = [
            {"id": id_, "name": name, "key": key, "entity_type": self._types[id_]}
            for id_, (name, key) in self._entities.items()
        ]
        return {"entities": entities, "aliases": self.aliases}

    @property
    def types(self) -> list[Row]:
        """Types learnt of entities that the store holds."""
        return [
            {"id": id_, "entity_type": self._types[id_]}
            for id_, before in self._stored.items()
            if self._types[id_] != before
        ]

    @property
    def moved_aliases(self) -> list[int]:
        """Ids of the aliases that move."""
        return [move["id"] for move in self.moves]

    def write_changes(self, backend: Backend) -> None:
        """Move aliases that there were, perhaps to new entities, and write the types learnt."""
        if self.moves:
            backend.execute_many(MOVE_ALIASES, self.moves)
        if types := self.types:
            backend.update("entities", types)

    def write_and_count(self, backend: Backend) -> None:
        """`write_changes`; aliases that move are counted, but as no commit of their own."""
        self.write_changes(backend)
        if self.moves:
            count_moved_aliases(backend, self.moved_aliases, changes=0)

    # --- deciding

    def _place(self, key: str) -> int:
        """The entity of a key, which has an alias afterwards."""
        if key not in self.ends:
            self._under_way.add(key)
            entity_id = self._place_known(key) if key in self._known else self._place_new(key)
            self._under_way.discard(key)
            held = self._types.get(entity_id, UNKNOWN_TYPE)
            self._types[entity_id] = stronger_type(held, self._names[key].entity_type)
        return self.ends[key].entity_id

    def _place_known(self, key: str) -> int:
        alias, link = self._known[key], self._links.get(key)
        move = self._move_of(key, alias, link)
        entity_id = alias.entity_id
        if move is not None:
            entity_id, method, score, evidence = move
            self._count(alias.entity_id, -1)
            self._count(entity_id, 1)
            row = {"id": alias.id, "entity_id": entity_id, "method": method}
            self.moves.append({**row, "score": score, "evidence": evidence})
            self.moved |= {alias.entity_id, entity_id}
        self.ends[key] = End(alias.id, entity_id)
        return entity_id

    def _move_of(
        self, key: str, alias: KnownAlias, link: AliasEvidence | None
    ) -> tuple[int, AliasMethod, float, str] | None:
        """Entity, method, score and evidence where an alias is to become another's; else None."""
        if self._is_ruled(key):
            return None
        if link and alias.entity_id in self._whole:
            target = self._linked_entity(link)
            if target is None or target == alias.entity_id:
                return None
            return target, link.method, link.score, link.evidence
        if alias.method == "acronym" and written_otherwise(self._names[key].name, alias.name):
            return self._add_entity(self._names[key].name, key), "exact", 1.0, ""
        if alias.score == AMBIGUOUS or link is None:
            return None
        if link.method == "acronym" and self._is_another(alias, link):
            # It stands for several things, and so for itself.
            apart = alias.method == "acronym"
            own = self._add_entity(alias.name, key) if apart else alias.entity_id
            return own, "exact", AMBIGUOUS, _several(link)
        if alias.method != "exact" or (
            link.method == "acronym" and written_otherwise(alias.name, link.alias)
        ):
            return None
        target = self._linked_entity(link)
        # Of an entity with several names, one alone would be torn from the others.
        if target is None or target == alias.entity_id or self._counts[alias.entity_id] > 1:
            return None
        return target, link.method, link.score, link.evidence

    def _is_another(self, alias: KnownAlias, link: AliasEvidence) -> bool:
        """Whether the acronym stands for something else here than what the store knows it for."""
        if entity_key(link.alias) in self._ambiguous:
            return alias.method == "acronym" or self._counts[alias.entity_id] == 1
        if alias.method != "acronym" or terms(alias.entity_name) == terms(link.name):
            return False
        return self._linked_entity(link) != alias.entity_id

    def _is_ruled(self, key: str) -> bool:
        return key in self._rules or key in self._targets

    def _place_new(self, key: str) -> int:
        if self._is_ruled(key):
            return self._place_ruled(key)
        name, link = self._names[key].name, self._links.get(key)
        if link and key in self._ambiguous:
            own = self._add_entity(name, key)
            return self._add_alias(key, name, own, "exact", AMBIGUOUS, _several(link))
        target = self._linked_entity(link) if link else None
        if link is None or target is None:
            return self._add_alias(key, name, self._add_entity(name, key), "exact")
        return self._add_alias(key, name, target, link.method, link.score, link.evidence)

    def _linked_entity(self, link: AliasEvidence) -> int | None:
        """The entity of the name that a link points at, where that name is known or named here."""
        target = entity_key(link.name)
        if target in self._under_way:
            return None  # two links that point at each other: the first name is the entity
        if target in self._names:
            return self._place(target)
        known = self._known.get(target)
        return known.entity_id if known else None

    def _place_ruled(self, key: str) -> int:
        group, name = self._rules.get(key, key), self._names[key].name
        if group not in self._groups:
            self._groups[group] = self._add_group(group, key)
        entity_id = self._groups[group]
        made_for = self._entities.get(entity_id, ("", ""))[1]
        if made_for == key:
            return self._add_alias(key, name, entity_id, "exact")
        return self._add_alias(key, name, entity_id, "manual", evidence="linked by hand")

    def _add_group(self, group: str, key: str) -> int:
        """An entity that was renamed by hand comes back under the name it was given."""
        given = self._given.get(group)
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
        self._types[entity_id] = TERM
        return entity_id

    def _add_alias(
        self,
        key: str,
        name: str,
        entity_id: int,
        method: AliasMethod,
        score: float = 1.0,
        evidence: str = "",
    ) -> int:
        row = {"id": self._next_alias, "key": key, "name": name, "entity_id": entity_id}
        row |= {"method": method, "score": score, "evidence": evidence}
        self.aliases.append({**row, **lookup_keys(name)})
        self.ends[key] = End(self._next_alias, entity_id)
        self._next_alias += 1
        self._count(entity_id, 1)
        return entity_id

    def _count(self, entity_id: int, added: int) -> None:
        self._counts[entity_id] = self._counts.get(entity_id, 0) + added


def _several(link: AliasEvidence) -> str:
    return f"stands for several things, {link.name} among them"


def resolve_names(
    backend: Backend, names: Mapping[str, Named], links: Sequence[AliasEvidence] = ()
) -> NamePlan:
    """Give every key an alias, making entities and aliases as needed; call inside `write`."""
    *found, next_ids = backend.gather(*KNOWN, NEXT_IDS, keys=keys_asked(names, links))
    plan = NamePlan(backend, names, links, found, NextIds(*next_ids[0]))
    backend.insert(plan.new)
    plan.write_changes(backend)
    return plan
