"""Entities and their names, as they are stored and shown; none stays without a source."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log1p
from typing import Any, NamedTuple

import numpy as np

from clew.errors import InputError, NotFoundError, StoreCorruptError
from clew.stores.backend import Backend, distinct, limited, pairs, read_described, writing
from clew.stores.relations import derive_again, heads_around
from clew.stores.state import (
    COUNT_CHANGE,
    NEXT_IDS,
    STATE,
    NextIds,
    State,
    StoreState,
    chunks_naming,
    count_move,
    count_moved_aliases,
    remember,
)
from clew.stores.statements import names as statements
from clew.text import entity_key, key_words, lookup_keys
from clew.types import Alias, Entity, Ids, KnownName, LinkCandidates

_SHOWN = (
    *("id", "name", "key", "entity_type", "content", "tier", "mentions", "documents"),
    "description",
)


class Entities(StoreState):
    """Entities and their names."""

    _most_mentioned = (-1, 0)
    """Generation, and the mentions that its most mentioned entity has."""

    def entities(self, entity_ids: Sequence[int]) -> list[Entity]:
        """Entities in the order of the ids given; unknown ids are left out."""
        ids = distinct(entity_ids)
        with self.backend.consistent():
            rows = self.backend.rows(statements.ENTITIES, ids=ids)
            values = [dict(zip(_SHOWN, row[1:], strict=True)) for row in rows]
            # Counting all mentions takes long; entities that no text names do not need it.
            known = self._most_mentioned
            if any(of["mentions"] for of in values) and known[0] != rows[0][0]:
                ((most,),) = self.backend.rows(statements.MOST_MENTIONED)
                known = self._most_mentioned = rows[0][0], int(most)
        highest, found = log1p(known[1]), dict[int, Entity]()
        for of in values:
            salience = log1p(of["mentions"]) / highest if of["mentions"] else 0.0
            _, said = read_described(of["description"])
            found[of["id"]] = Entity(**of | {"description": said}, salience_score=salience)
        return [found[i] for i in map(int, entity_ids) if i in found]

    def entity_names(self, entity_ids: Sequence[int]) -> dict[int, str]:
        """Name by id, without what `entities` counts; unknown ids are left out."""
        return pairs(self.backend.rows(statements.ENTITY_NAMES, entities=distinct(entity_ids)))

    def find_entities(self, name: str, limit: int = 10) -> list[Entity]:
        """Exact key or alias first, then keys that begin with it, then keys that hold it.

        No name, no entities.

        All keys are looked through only where too few begin with the name.
        """
        key, most = entity_key(name), limited(limit)
        if not key:
            return []
        with self.backend.consistent():
            found = self.backend.rows(statements.NAMES_BEGINNING, key=key, limit=most)
            if len(found) < most:
                found = self.backend.rows(statements.NAMES_HOLDING, key=key, limit=most)
            return self.entities([row[0] for row in found])

    def resolve(self, keys: Sequence[str]) -> Mapping[str, int]:
        """Entity id by key (`clew.text.entity_key`), for those keys that are an alias."""
        rows = self.backend.rows(statements.KEYS, keys=list(keys))
        return {key: entity_id for key, _, entity_id in rows}

    def named(self, names: Sequence[str]) -> Mapping[str, int]:
        """Entity id by name, for those that an entity has written in this very way.

        A name that is only guessed to be an entity's (`fuzzy`, `acronym`) is not among them.
        """
        with self.backend.consistent():
            known = self.resolve([entity_key(name) for name in names])
            written = set(self.entity_names(list(known.values())).items())
            written.update(
                (alias.entity_id, alias.name)
                for entity_id in set(known.values())
                for alias in self.aliases(entity_id=entity_id)
                if alias.method in ("exact", "manual")
            )
        found = ((name, known.get(entity_key(name), 0)) for name in names)
        return {name: entity_id for name, entity_id in found if (entity_id, name) in written}

    def aliases(self, *, entity_id: int | None = None, after: int = 0) -> list[Alias]:
        """Aliases of one entity, or all with an id above `after`; ordered by id."""
        statement = statements.ALIASES if entity_id is None else statements.ALIASES_OF
        rows = self.backend.rows(statement, after=after, id=int(entity_id or 0))
        return [
            Alias(id=i, key=k, name=name, entity_id=e, method=method, score=score, evidence=why)
            for i, k, name, e, method, score, why in rows
        ]

    def known_names(self, *, after: int = 0) -> list[KnownName]:
        """The names of all aliases with an id above `after`, ordered by id."""
        return [KnownName(*row) for row in self.backend.rows(statements.KNOWN_NAMES, after=after)]

    def known_terms(self, terms: Sequence[str]) -> list[KnownName]:
        """The names with one of these terms (`clew.text.lookup_keys`), ordered by alias id."""
        found = self.backend.rows(statements.KNOWN_TERMS, terms=list(terms)) if terms else []
        return [KnownName(*row) for row in found]

    def link_candidates(self, keys: Sequence[str], blocks: Sequence[str]) -> LinkCandidates:
        """Which of the keys are known or ruled by hand, and the names of the blocks."""
        known, near, rules = self.backend.gather(
            statements.KEYS,
            statements.NAMES_OF_BLOCKS,
            statements.RULES_AROUND,
            keys=list(keys),
            blocks=list(blocks),
        )
        names: dict[str, list[tuple[str, str]]] = {}
        for block, key, name in near:
            names.setdefault(block, []).append((key, name))
        ruled = {key for rule in rules for key in rule}
        return LinkCandidates(known={row[0] for row in known}, ruled=ruled, names=names)

    def names_by_key(self, keys: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Return name and id of the entities that have a name with one of the keys, by key."""
        rows = self.backend.rows(statements.KNOWN_ALIASES, keys=list(keys)) if keys else []
        return {key: (name, id_) for key, _, _, id_, _, _, name, *_ in rows}

    def persons_like(self, forms: Sequence[tuple[str, ...]]) -> list[tuple[str, int]]:
        """Return names of persons with their entities, by how the key of a name begins and ends.

        It has several words; a third part of a form is what it holds in between.
        """
        asked = [[*form, " "][:3] for form in forms]
        rows = self.backend.rows(statements.PERSONS_LIKE, forms=asked)
        return [(name, id_) for name, id_ in rows]

    def stands_with(self, entity_id: int, keys: Sequence[str], folder: str) -> bool:
        """Return whether a passage of an entity has a name with one of the keys.

        Or lies in the folder, a source's beginning.
        """
        asked = {"id": entity_id, "keys": list(keys), "folder": folder}
        return bool(self.backend.rows(statements.STANDS_WITH, **asked))

    def count_under(self, beginning: str, most: int) -> int:
        """Return how many documents have a source that begins so, counted up to `most`."""
        (count,) = self.backend.rows(statements.COUNT_UNDER, beginning=beginning, most=most)[0]
        return int(count)

    def entity_chunks(self, entity_id: int) -> Ids:
        """Ids (sorted) of the chunks that mention the entity or are about it."""
        found = self.backend.columns(statements.ENTITY_CHUNKS, ("i8",), id=int(entity_id))
        return np.sort(found[0])

    def link_rules(self) -> dict[str, str]:
        """Target key by key, for what was merged, split or renamed by hand."""
        return {key: target for key, target, _ in self.backend.rows(statements.LINK_RULES)}

    def given_names(self) -> dict[str, str]:
        """Names that entities were given by hand, by the target of their rules."""
        return {key: name for key, _, name in self.backend.rows(statements.LINK_RULES) if name}


def delete_orphans(backend: Backend, entity_ids: Collection[int]) -> None:
    """Delete names without a source, then entities without a name, among the entities given.

    The others show a name that they have.
    """
    if entity_ids:
        backend.execute(
            statements.DELETE_ORPHAN_ALIASES,
            statements.SHOW_LIVING_NAMES,
            statements.DELETE_NAMELESS_ENTITIES,
            ids=list(entity_ids),
        )


def unknown_entities(entity_ids: Iterable[int]) -> NotFoundError:
    """The error for entities that there are not."""
    shown = ", ".join(str(i) for i in dict.fromkeys(entity_ids))
    return NotFoundError(
        f"no entity with the id {shown}; look its id up by its name (`clew entity show NAME`"
        " or graph_enhanced_search)"
    )


# Entities that were pruned: their names are remembered, so that no text brings them back.


AT_A_TIME = 1000
"""Passages that are looked through together."""


class PrunedNames(StoreState):
    """Pruning entities, and restoring their names."""

    def pruned_names(self) -> dict[str, str]:
        """The names that were pruned, by key.

        Raises `StoreCorruptError` where they cannot be read.
        """
        text = self.backend.rows(statements.PRUNED)[0][0]
        try:
            return dict(json.loads(text or "{}"))
        except (TypeError, ValueError) as error:
            raise StoreCorruptError(
                f"the store is damaged: its pruned names are {str(text)[:80]!r}, which cannot be"
                " read; restore it from a backup, or delete it and index again"
            ) from error

    @writing
    def prune_entities(self, entity_ids: Sequence[int]) -> int:
        """Take entities out, with what texts say of them; how many there were.

        Their names are remembered: no text makes them entities again before `restore_names`.
        """
        ids = distinct(entity_ids)
        names = self.backend.rows(statements.NAMES_OF_ENTITIES, ids=ids)
        if not names:
            return 0
        relations = self.backend.rows(statements.RELATIONS_OF_ENTITIES, ids=ids)
        functional = self.state().functional
        heads = heads_around(self.backend, ids, functional) | {row[1] for row in relations}
        self.backend.delete("relations", [row[0] for row in relations])
        chunks = chunks_naming(self.backend, entities=ids)
        self.backend.execute(statements.FORGET_MENTIONS, ids=ids)
        delete_orphans(self.backend, ids)
        derive_again(self.backend, functional, heads=heads - set(ids))
        self._remember_pruned({**self.pruned_names(), **{key: name for key, name, _ in names}})
        count_move(self.backend, chunks)
        return len({row[2] for row in names})

    @writing
    def restore_names(self, keys: Collection[str]) -> int:
        """Forget that names were pruned; how many were. Texts indexed from then on have them.

        Documents that may have them are due to be indexed again.
        """
        pruned = self.pruned_names()
        kept = {key: name for key, name in pruned.items() if key not in keys}
        if len(kept) < len(pruned):
            self._remember_pruned(kept)
            ids = self._documents_with(pruned.keys() - kept.keys())
            self.backend.execute(statements.FORGET_RECIPES, ids=sorted(ids))
        return len(pruned) - len(kept)

    def _documents_with(self, keys: Collection[str]) -> set[str]:
        """Ids of the documents that may have a name; their mentions of it are gone."""
        found, after = set[str](), 0
        while rows := self.backend.rows(statements.TEXTS_AFTER, after=after, limit=AT_A_TIME):
            for after, document_id, title, metadata, *texts in rows:  # noqa: B007 - used above
                if document_id not in found:
                    said = key_words(" ".join((title, str(json.loads(metadata)), *texts)))
                    if any(key in said for key in keys):
                        found.add(document_id)
        return found

    def _remember_pruned(self, names: dict[str, Any]) -> None:
        value = json.dumps(names, ensure_ascii=False, sort_keys=True)
        remember(self.backend, pruned=value)


# Merging, splitting and renaming entities by hand, and the rules that remember it.
#
# A rule says that a key belongs to the group named by its target key. Targets are always their own
# target, so that rules never chain.


class HeldAlias(NamedTuple):
    """A name of an entity."""

    id: int
    key: str
    name: str
    is_used: bool
    """Whether a text or a relation names the entity so."""


class HeldEntity(NamedTuple):
    """An entity to be mended, with its names, oldest first."""

    id: int
    key: str
    entity_type: str
    tier: str
    aliases: Sequence[HeldAlias]

    @property
    def keys(self) -> list[str]:
        """The keys of its names."""
        return [alias.key for alias in self.aliases]

    def without(self, gone: Sequence[HeldAlias]) -> HeldEntity:
        """The entity once these names are another's."""
        return self._replace(aliases=[alias for alias in self.aliases if alias not in gone])


def part_names(held: HeldEntity, keys: Sequence[str]) -> tuple[list[HeldAlias], list[HeldAlias]]:
    """The names of those keys, in their order, and the others.

    Raises `NotFoundError` where the entity has no such name, and `InputError` where a half would
    be an entity without a source: no text names it, and no person made it.
    """
    by_key = {alias.key: alias for alias in held.aliases}
    wanted = list(dict.fromkeys(keys))
    missing = [key for key in wanted if key not in by_key]
    if missing or not wanted:
        raise NotFoundError(
            f"entity {held.id!r} has no alias of the keys {missing!r}; expected some of"
            f" {held.keys!r}"
        )
    halves = [by_key[key] for key in wanted], [a for a in held.aliases if a.key not in wanted]
    for half in halves:
        if not any(alias.is_used or held.tier == "manual" for alias in half):
            raise InputError(
                f"cannot split the names {held.keys!r}: no text names the half"
                f" {[alias.key for alias in half]!r}; each half needs a name that some document"
                " holds"
            )
    return halves


def joined_rules(rules: Mapping[str, str], keys: Sequence[str], target: str) -> dict[str, str]:
    """Targets by key: the keys, and all that was ruled to belong to them, belong to the target."""
    followers = {key: target for key, group in rules.items() if group in keys}
    return {**followers, **dict.fromkeys([*keys, target], target)}


def parted_rules(
    rules: Mapping[str, str], parted: Sequence[str], left: Sequence[str]
) -> dict[str, str]:
    """Targets by key: two halves are apart; names ruled into the whole stay with what is left."""
    group = rules.get(left[0], left[0])
    target = left[0] if group in parted else group
    whole = joined_rules(rules, [*parted, left[0]], target)
    return {**whole, **dict.fromkeys(parted, parted[0])}


# --- in a store --------------------------------------------------------------------------


class EntityMerging(Entities):
    """Mending by hand what was found in texts; remembered when these are indexed again."""

    @writing
    def merge(self, source_id: int, target_id: int, evidence: str) -> None:
        """Make every alias of the source an alias of the target; remembered when indexing again.

        Raises `NotFoundError` for an unknown entity.
        """
        if source_id == target_id:
            raise InputError(f"cannot merge entity {source_id!r} with itself; give two entities")
        held = read_held(self.backend, [source_id, target_id])
        source, target = held[int(source_id)], held[int(target_id)]
        _move(self.backend, source.aliases, target.id, evidence)
        self.backend.execute(statements.TAKE_OVER, source=source.id, target=target.id)
        self.backend.delete("entities", [source.id])
        write_rules(self.backend, self._merged_rules(source.keys, target.key))
        _recompute_around(self.backend, [target.id])
        count_moved_aliases(self.backend, [alias.id for alias in source.aliases])

    def _merged_rules(self, keys: Sequence[str], target_key: str) -> dict[str, str]:
        rules = _read_rules(self.backend, [*keys, target_key])
        return joined_rules(rules, keys, rules.get(target_key, target_key))

    def before_merge(self, source_id: int, target_id: int) -> dict[str, Any]:
        """What takes a merge back, as JSON: to be asked before it."""
        with self.backend.consistent():
            entities = self.entities([source_id, target_id])
            if len(entities) < 2:
                raise unknown_entities({source_id, target_id} - {one.id for one in entities})
            aliases = self.aliases(entity_id=source_id)
            rules = self._merged_rules([alias.key for alias in aliases], entities[1].key)
            before = _read_rules(self.backend, list(rules))
        columns = ("id", "name", "key", "entity_type", "content", "tier")
        how = ("id", "method", "score", "evidence")
        return {
            "entities": [{name: getattr(one, name) for name in columns} for one in entities],
            "aliases": [{name: getattr(one, name) for name in how} for one in aliases],
            "rules": rules,
            "rules_before": {key: before[key] for key in rules if key in before},
        }

    @writing
    def unmerge(self, known: Mapping[str, Any]) -> None:
        """Take a merge back by what `before_merge` told: all is as it was, ids among it.

        What was changed since stays. Raises `InputError` where the names of one are gone.
        """
        source, target = known["entities"]
        held = read_held(self.backend, [target["id"]])[target["id"]]
        there = {alias.id for alias in held.aliases}
        moved = [alias for alias in known["aliases"] if alias["id"] in there]
        if not moved or len(moved) == len(there):
            raise InputError(
                f"cannot take {source['name']!r} out of {target['name']!r}: since they were merged,"
                " the names of one of them are gone; expected some of each"
            )
        self.backend.execute(statements.RESTORE_ENTITY, **source)
        back = [{**alias, "entity_id": source["id"]} for alias in moved]
        self.backend.execute_many(statements.MOVE_ALIASES, back)
        both = [source["id"], target["id"]]
        (_, merged) = self.entities(both)
        # What the target took over, unless it was changed since.
        same = [n for n in ("content", "entity_type") if getattr(merged, n) == source[n]]
        self.backend.update("entities", [{"id": target["id"]} | {n: target[n] for n in same}])
        self.backend.execute(statements.SHOW_LIVING_NAMES, ids=both)
        self._take_back_rules(known["rules"], known["rules_before"])
        _recompute_around(self.backend, both)
        count_moved_aliases(self.backend, [alias["id"] for alias in moved])

    def _take_back_rules(self, made: Mapping[str, str], before: Mapping[str, str]) -> None:
        """Rules as they were, but for what was ruled otherwise since, or leads there since."""
        now = _read_rules(self.backend, list(made))
        same = [key for key in made if now.get(key) == made[key]]
        write_rules(self.backend, {key: before[key] for key in same if key in before})
        left = {target for key, target in now.items() if key not in same}
        gone = [key for key in same if key not in before and key not in left]
        self.backend.delete("rules", gone)

    @writing
    def split(self, entity_id: int, keys: Sequence[str]) -> int:
        """Take the aliases of those keys out into an entity of their own; its id. Remembered.

        Raises `NotFoundError` for an unknown entity or key.
        """
        held = read_held(self.backend, [entity_id])[int(entity_id)]
        parted, left = part_names(held, keys)
        new_id = split_off(self.backend, held, parted, left)
        count_moved_aliases(self.backend, [alias.id for alias in parted])
        return new_id

    @writing
    def keep_apart(self, entity_id: int, other_id: int) -> list[str]:
        """Say that two entities are not one; no text links their names by itself. Remembered.

        The keys of names of which nothing was said before: `forget_rules` takes it back.

        Raises `NotFoundError` for an unknown entity.
        """
        if entity_id == other_id:
            raise InputError(f"entity {entity_id!r} is one with itself; give two entities")
        both = read_held(self.backend, [entity_id, other_id]).values()
        rules = _read_rules(self.backend, [key for held in both for key in held.keys])
        for held in both:
            group = rules.get(held.key, held.key)
            write_rules(self.backend, joined_rules(rules, held.keys, group))
        self.backend.execute(COUNT_CHANGE, changes=1, moves=0)
        return sorted(key for held in both for key in held.keys if key not in rules)

    @writing
    def forget_rules(self, keys: Sequence[str]) -> None:
        """Let texts link the names of those keys again."""
        self.backend.delete("rules", list(keys))
        self.backend.execute(COUNT_CHANGE, changes=1, moves=0)

    @writing
    def add_link_rules(self, rules: Mapping[str, str], names: Mapping[str, str]) -> None:
        """Write rules of keys that no entity has yet, and the names given to their targets.

        Names that are stored from then on follow them.
        """
        write_rules(self.backend, rules)
        self.backend.update("rules", [{"key": key, "name": name} for key, name in names.items()])
        self.backend.execute(COUNT_CHANGE, changes=1, moves=0)

    @writing
    def rename(self, entity_id: int, name: str) -> None:
        """Show the entity under another name; the old one stays an alias. Remembered.

        Raises `InputError` for a name that another entity has.
        """
        held, key = read_held(self.backend, [entity_id])[int(entity_id)], entity_key(name)
        if not key:
            raise InputError(f"cannot rename an entity to {name!r}: expected letters or digits")
        other = self.resolve([key]).get(key, held.id)
        if other != held.id:
            raise InputError(
                f"{name!r} is a name of another entity ({other}); merge the two with"
                " `clew entity merge` instead"
            )
        if key not in held.keys:
            alias = {
                "id": NextIds(*self.backend.rows(NEXT_IDS)[0]).aliases,
                "key": key,
                "name": name,
                "entity_id": held.id,
                "method": "manual",
                "score": 1.0,
                "evidence": "renamed by hand",
                **lookup_keys(name),
            }
            self.backend.insert({"aliases": [alias]})
        rules = _read_rules(self.backend, held.keys)
        write_rules(self.backend, joined_rules(rules, held.keys, key))
        self.backend.update("entities", [{"id": held.id, "name": name, "key": key}])
        self.backend.update("rules", [{"key": key, "name": name}])
        self.backend.execute(COUNT_CHANGE, changes=1, moves=0)


def read_held(backend: Backend, entity_ids: Sequence[int]) -> dict[int, HeldEntity]:
    """Entities with their names, by id. Raises `NotFoundError` where one is unknown."""
    ids = [int(i) for i in entity_ids]
    found: dict[int, HeldEntity] = {}
    for id_, key, entity_type, tier, *alias in backend.rows(statements.HELD_NAMES, ids=ids):
        held = found.get(id_) or HeldEntity(id_, key, entity_type, tier, ())
        found[id_] = held._replace(aliases=[*held.aliases, HeldAlias(*alias)])
    if missing := [i for i in ids if i not in found]:
        raise unknown_entities(missing)
    return found


def split_off(
    backend: Backend, held: HeldEntity, parted: Sequence[HeldAlias], left: Sequence[HeldAlias]
) -> int:
    """Give what `part_names` parted to an entity of its own, of the same type; its id."""
    new_id = NextIds(*backend.rows(NEXT_IDS)[0]).entities
    entity = {
        "id": new_id,
        "name": parted[0].name,
        "key": parted[0].key,
        "entity_type": held.entity_type,
        "tier": held.tier,
    }
    backend.insert({"entities": [entity]})
    _move(backend, parted, new_id, "split by hand")
    backend.execute(statements.SHOW_LIVING_NAMES, ids=[held.id])
    rules = _read_rules(backend, held.keys)
    write_rules(backend, parted_rules(rules, [a.key for a in parted], [a.key for a in left]))
    _recompute_around(backend, [held.id, new_id])
    return new_id


def _move(backend: Backend, aliases: Sequence[HeldAlias], entity_id: int, evidence: str) -> None:
    """Make aliases another entity's, by hand."""
    by_hand = {"entity_id": entity_id, "method": "manual", "score": 1.0, "evidence": evidence}
    backend.execute_many(
        statements.MOVE_ALIASES, [{"id": alias.id, **by_hand} for alias in aliases]
    )


def _read_rules(backend: Backend, keys: Sequence[str]) -> dict[str, str]:
    """Targets by key, of the rules that lead from or to some keys."""
    return pairs(backend.rows(statements.RULES_AROUND, keys=list(keys)))


def write_rules(backend: Backend, rules: Mapping[str, str]) -> None:
    """Make targets by key rules; what was ruled of other keys stays."""
    rows = [{"key": key, "target": target} for key, target in rules.items()]
    backend.execute_many(statements.WRITE_RULES, rows)


def _recompute_around(backend: Backend, entity_ids: Sequence[int]) -> None:
    derive_again(backend, State(backend.rows(STATE)).functional, moved=entity_ids)
