"""What people said of names and relations in several shards: joined, and said once more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from clew.stores.sqlite.shard import ByHand, HandRelation, RetractedRelation
from clew.types import NewEntity, NewRelation

if TYPE_CHECKING:
    from clew.ports import Store

K = TypeVar("K")
V = TypeVar("V")


def combine(said: Sequence[ByHand], held: Mapping[str, str]) -> tuple[ByHand, list[str]]:
    """What all say together, and a sentence for each thing that they say in several ways.

    `held` are the rules of the store that they are merged into.
    """
    told: list[str] = []
    entities = _join("entity made by hand", (one.entities for one in said), told, _shown)
    pruned = _join("pruned name", (one.pruned for one in said), told)
    for key in sorted(pruned.keys() & entities.keys()):
        told.append(f"{pruned.pop(key)!r} was pruned and made by hand; it stays as made by hand")
    contents = _join("description of", (one.contents for one in said), told)
    told_at: dict[HandRelation, datetime] = {}
    for relation in sorted((r for one in said for r in one.relations), key=_told_at):
        told_at.setdefault(relation._replace(recorded_at=None), _told_at(relation))
    relations = (
        {
            (r.head, r.relation_type, r.tail, r.valid_from): r._replace(recorded_at=None)
            for r in one.relations
        }
        for one in said
    )
    joined = ByHand(
        pruned=pruned,
        rules=_join_rules([one.rules for one in said], held, told),
        names=_join("name by hand of", (one.names for one in said), told),
        entities=entities,
        contents={key: text for key, text in contents.items() if key not in entities},
        relations=[
            r._replace(recorded_at=told_at[r])
            for r in _join("relation by hand", relations, told).values()
        ],
        retracted=sorted({relation for one in said for relation in one.retracted}),
    )
    return joined, told


def _told_at(relation: HandRelation) -> datetime:
    assert relation.recorded_at is not None
    return relation.recorded_at


def _shown(entity: NewEntity) -> str:
    return f"{entity.name!r} ({entity.entity_type})"


def _join(
    kind: str,
    given: Iterable[Mapping[K, V]],
    told: list[str],
    shown: Callable[[V], str] = repr,
) -> dict[K, V]:
    """One value by key: of several that which comes first, whatever the order of the shards."""
    values: dict[K, list[V]] = {}
    for one in given:
        for key, value in one.items():
            if value not in values.setdefault(key, []):
                values[key].append(value)
    joined: dict[K, V] = {}
    for key in sorted(values, key=repr):
        joined[key], *others = sorted(values[key], key=repr)
        taken = shown(joined[key])
        told += [f"{kind} {key!r}: {taken} was taken, not {shown(other)}" for other in others]
    return joined


def _join_rules(
    given: Sequence[Mapping[str, str]], held: Mapping[str, str], told: list[str]
) -> dict[str, str]:
    """Target by key; to be merged goes before to stand alone, and rules never chain."""
    merged = _join(
        "rule of the name",
        ({key: target for key, target in rules.items() if key != target} for rules in given),
        told,
    )
    alone = {key for rules in given for key, target in rules.items() if key == target}
    rules = {**held, **{key: key for key in alone}, **merged}
    groups = {key: _group(key, rules) for key in (*alone, *merged)}
    return {**groups, **{target: target for target in groups.values()}}


def _group(key: str, rules: Mapping[str, str]) -> str:
    """The end of a chain of rules; of a circle its first key."""
    seen = [key]
    while (target := rules.get(seen[-1], seen[-1])) not in seen:
        seen.append(target)
    return min(seen[seen.index(target) :])


# --- said to a store, again and again without a difference


def say_before(store: Store, said: ByHand) -> None:
    """What documents have to follow that are saved afterwards."""
    if said.rules or said.pruned:
        store.take_over(said.rules, said.names, said.pruned)
    if said.entities:
        store.add_entities(list(said.entities.values()))


def say_after(store: Store, said: ByHand) -> list[str]:
    """What needs names that documents have brought; what could not be said of it."""
    for key, target in said.rules.items():
        ids = store.resolve([key, target])
        if len(ids) == 2 and ids[key] != ids[target]:
            store.merge(ids[key], ids[target], "merged by hand")
    if left := set(store.resolve(list(said.pruned)).values()):
        store.prune_entities(sorted(left))
    told = _describe(store, said.contents)
    told += _relate(store, said.relations)
    _retract(store, said.retracted)
    return told


def _describe(store: Store, contents: Mapping[str, str]) -> list[str]:
    told: list[str] = []
    for key, id_ in store.resolve(list(contents)).items():
        (entity,) = store.entities([id_])
        if not entity.content:
            store.update_entity(id_, content=contents[key])
        elif entity.content != contents[key]:
            told.append(f"{entity.name!r} keeps its description, and {contents[key]!r} is left")
    return told


def _relate(store: Store, relations: Sequence[HandRelation]) -> list[str]:
    ids = store.resolve([end for r in relations for end in (r.head, r.tail)])
    known = [r for r in relations if r.head in ids and r.tail in ids]
    if known:
        store.add_relations(
            [
                NewRelation(
                    source_id=ids[r.head],
                    target_id=ids[r.tail],
                    relation_type=r.relation_type,
                    weight=r.weight,
                    is_causal=r.is_causal,
                    context=json.loads(r.context),
                    valid_from=r.valid_from,
                    valid_until=r.valid_until,
                    recorded_at=r.recorded_at,
                )
                for r in known
            ]
        )
    return [
        f"the relation by hand {r.head!r} {r.relation_type} {r.tail!r} is left: no such entity"
        for r in relations
        if r not in known
    ]


def _retract(store: Store, retracted: Sequence[RetractedRelation]) -> None:
    ids = store.resolve([end for r in retracted for end in (r.head, r.tail)])
    found: list[int] = []
    for r in retracted:
        chunks = [c.id for c in store.document_chunks(r.document_id) if c.ordinal == r.ordinal]
        fact = ids.get(r.head), r.relation_type, ids.get(r.tail)
        found += [
            relation.id
            for relation in store.chunk_relations(chunks)
            if (relation.from_entity_id, relation.relation_type, relation.to_entity_id) == fact
        ]
    if found:
        store.retract(found)
