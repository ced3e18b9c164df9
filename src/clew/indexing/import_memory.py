"""Importing another memory: its records become manual entries; a second import adds nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from clew.errors import InputError
from clew.indexing.manual_graph import check_relation, written_relation
from clew.text import entity_key
from clew.types import NewEntity, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.indexing.manual_graph import ManualGraphWriter
    from clew.indexing.reading.formats.memory import (
        MemoryEntity,
        MemoryRecords,
        MemoryRelation,
    )
    from clew.ports import Store
    from clew.types import NewRelation

_Item = TypeVar("_Item")

_BATCH = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryImportReport:
    """How many records were new, and what became of the others."""

    entities: int
    observations: int
    relations: int
    known_entities: int
    """Those that were there; so of the others."""
    known_observations: int
    known_relations: int
    joined: tuple[str, ...]
    """Names that an entity of another name had, each with that."""
    skipped: tuple[Skipped, ...]
    """What was not imported, and why: lines, rows, and parts of them."""
    documents: int = 0
    """Documents of a Clew's export that were not stated by hand: indexing brings them back."""


def import_memory_records(memory: ManualGraphWriter, found: MemoryRecords) -> MemoryImportReport:
    """Write the records of a file; invalid ones are reported and skipped."""
    skipped = list(found.skipped)
    _take_rules(memory.store, found, skipped)
    ends = memory.store.named([one.name for one in found.entities if one.is_end])
    entities = [
        one for one in found.entities if one.name not in ends and _is_nameable(one, skipped)
    ]
    made = [one for batch in _batches(entities) for one in memory.create(list(map(_new, batch)))]
    for given, one in zip(entities, made, strict=True):
        skipped += [Skipped(source=given.place, reason=reason) for reason in one.refused]
    # A name that a rule ties to an entity finds it from now on, though no text has it.
    rules = memory.store.link_rules()
    others = [
        NewEntity(name=name)
        for one in entities
        for name in one.aliases
        if rules.get(entity_key(name)) == found.rules[entity_key(name)]
    ]
    for names in _batches(others):
        memory.store.add_entities(names)
    told = [(one.name, _visible(one, skipped)) for one in entities]
    told_at = {(one.name, text): at for one in entities for text, at in one.told_at.items()}
    observations = sum(
        len(new)
        for batch in _batches(told)
        # Most files have no dates.
        for new in memory.add_observations(batch, dated=False, at=told_at)
    )
    # All at once: a file says of one moment what it says, and no line ends another.
    relations = memory.add_relations(_resolved(memory, found.relations, skipped))
    return MemoryImportReport(
        entities=sum(one.is_new for one in made),
        observations=observations,
        relations=sum(is_new for _, is_new in relations),
        known_entities=sum(not one.is_new for one in made),
        known_observations=sum(len(texts) for _, texts in told) - observations,
        known_relations=sum(not is_new for _, is_new in relations),
        joined=tuple(
            f"{given.name!r} is {one.joined!r}"
            for given, one in zip(entities, made, strict=True)
            if one.joined
        ),
        skipped=tuple(skipped),
        documents=found.documents,
    )


def _take_rules(store: Store, found: MemoryRecords, skipped: list[Skipped]) -> None:
    """Write what was merged, split or renamed by hand, group by group, where no name is known."""
    held, known = store.link_rules(), store.resolve(list(found.rules))
    groups: dict[str, list[str]] = {}
    for key, target in found.rules.items():
        groups.setdefault(target, []).append(key)
    new: dict[str, str] = {}
    for target, keys in groups.items():
        names = ", ".join(map(repr, keys))
        if all(held.get(key) == target for key in keys):
            continue
        if target not in keys or not all(key and key == entity_key(key) for key in keys):
            skipped.append(Skipped(source=names, reason="a rule that no store has"))
        elif any(key in known or key in held for key in keys):
            reason = "tied by hand and known here already; import before indexing, or merge, split"
            skipped.append(Skipped(source=names, reason=f"{reason} or rename them by hand"))
        else:
            new |= dict.fromkeys(keys, target)
    if new:
        names_of = {key: name for key, name in found.given_names.items() if key in new}
        store.add_link_rules(new, names_of)


def _is_nameable(entity: MemoryEntity, skipped: list[Skipped]) -> bool:
    if entity_key(entity.name):
        return True
    skipped.append(
        Skipped(source=entity.place, reason=f"a name without letters or digits: {entity.name!r}")
    )
    return False


def _new(entity: MemoryEntity) -> NewEntity:
    return NewEntity(
        name=entity.name,
        entity_type=entity.entity_type or "name",
        content=entity.content,
        metadata=entity.metadata,
    )


def _visible(entity: MemoryEntity, skipped: list[Skipped]) -> list[str]:
    texts = [text for text in entity.observations if text.strip()]
    if len(texts) < len(entity.observations):
        skipped.append(Skipped(source=entity.place, reason="a blank observation"))
    return texts


def _resolved(
    memory: ManualGraphWriter, relations: Sequence[MemoryRelation], skipped: list[Skipped]
) -> list[NewRelation]:
    names = [name for one in relations for name in (one.head, one.tail)]
    ids = {**memory.store.named(names), **memory.find(names)}
    resolved = []
    for one in relations:
        missing = [name for name in (one.head, one.tail) if name not in ids]
        if missing:
            reason = f"names {missing[0]!r}, which is no entity"
            skipped.append(Skipped(source=one.place, reason=reason))
            continue
        try:
            new = written_relation(
                ids[one.head], ids[one.tail], one.relation_type, weight=one.weight
            )
            context = {**one.context, **(new.context or {})} or None
            whole = replace(
                new,
                is_causal=new.is_causal or one.is_causal,
                context=context,
                valid_from=one.valid_from,
                valid_until=one.valid_until,
                recorded_at=one.recorded_at,
            )
            check_relation(whole)
            resolved.append(whole)
        except InputError as error:
            skipped.append(Skipped(source=one.place, reason=str(error)))
    return resolved


def _batches(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
