"""What people and assistants write by hand: entities, relations, and observations about entities.

An observation is indexed as a document of its own that is titled by its entity, so that writers in
several processes never have to agree on one text. What an entity is (name, type, description) is
another, its card: so every strategy finds it on every back end, though no text names it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from clew.errors import InputError, NotFoundError, check_several
from clew.indexing.reading.common import clean_text
from clew.request_end import has_ended
from clew.text import entity_key, text_digest
from clew.types import (
    CARD,
    OBSERVATION,
    Document,
    Entity,
    Metadata,
    NewEntity,
    NewRelation,
    Relation,
    Skipped,
    Vectors,
    document_id,
)

if TYPE_CHECKING:
    from clew.indexing.pipeline import IndexingPipeline
    from clew.indexing.processes import Prepared
    from clew.indexing.reading.memory import MemoryEntity, MemoryRecords
    from clew.stores.store import Store

    Ready = tuple[Prepared, Vectors]
    """A document that only needs to be saved."""


WORDING = "wording"
"""Where a relation's context keeps its type as it was written, if that is no snake_case."""
CAUSAL = "causes"
"""The type that says by itself that one thing causes the other."""
LONGEST_NAME = 200
"""Characters of an entity's name that an assistant found, at most."""
LONGEST_TYPE = 60
"""Characters of a relation's type, at most."""
GROUP = 16
"""Texts that are indexed between two looks at whether anybody waits."""
_SNAKE_CASE = re.compile(r"[^\W\d_][^\W_]*(?:_[^\W_]+)*")
_CAMEL_STEP = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")
_BETWEEN_WORDS = re.compile(r"[\W_]+")


_FIELDS = {"entity_type": "the type", "content": "the description"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Created:
    """What became of an entity that was to be made."""

    entity_id: int
    is_new: bool
    """False: it was made by hand before."""
    name: str
    """That it is shown under."""
    joined: str
    """The name of the entity that the given name was one of before; empty where it is the same."""
    added: tuple[str, ...]
    """Observations."""
    known: tuple[str, ...]
    """Observations that were there."""
    refused: tuple[str, ...] = ()
    """What was not taken, and why: a sentence each."""


@dataclass(frozen=True, slots=True)
class ManualGraphWriter:
    """Writes entities, observations and relations by hand; each call writes all or nothing."""

    store: Store
    pipeline: Callable[[], IndexingPipeline]
    """Makes the steps of indexing; called only where there is a text to index."""
    writing: AbstractContextManager[object]
    """Held while something is saved."""

    def find(self, names: Sequence[str]) -> dict[str, int]:
        """Ids of entities made by hand, by name; names of others are left out.

        So are names that texts tied to one of them only because they are spelled alike.
        """
        check_several(names=names)
        known = self.store.resolve([entity_key(name) for name in names])
        made = self.store.made_by_hand(ids=list(known.values()))
        own = {id_: entity_key(name) for id_, name in self.store.entity_names(made).items()}
        others = {
            known[key] for key in map(entity_key, names) if own.get(known.get(key, 0), key) != key
        }
        guessed = {
            alias.key
            for entity_id in others
            for alias in self.store.aliases(entity_id=entity_id)
            if alias.method == "fuzzy"
        }
        found = {name: known.get(entity_key(name), 0) for name in names}
        return {
            name: entity_id
            for name, entity_id in found.items()
            if entity_id in own and entity_key(name) not in guessed
        }

    def named(self, names: Sequence[str]) -> dict[str, int]:
        """The same, of names written as the entities' own are: what deletes asks here."""
        check_several(names=names)
        known = self.store.named(names)
        made = set(self.store.made_by_hand(ids=list(known.values())))
        return {name: entity_id for name, entity_id in known.items() if entity_id in made}

    def add_entities(
        self, entities: Sequence[NewEntity], observations: Sequence[Sequence[str]] = ()
    ) -> list[tuple[int, bool]]:
        """The same as `create`; (id, whether it is new) of each, in order."""
        return [(one.entity_id, one.is_new) for one in self.create(entities, observations)]

    def create(
        self, entities: Sequence[NewEntity], observations: Sequence[Sequence[str]] = ()
    ) -> list[Created]:
        """Make entities with their observations; what became of each, in order.

        One that exists gets the observations that it lacks, and a type and a description where it
        has none. Raises `InputError` for a name without letters or digits and for a blank
        observation.
        """
        texts = [cleaned(of_one) for of_one in observations] or [[] for _ in entities]
        keys, moment = [entity_key(entity.name) for entity in entities], datetime.now(UTC)
        known = self.find([entity.name for entity in entities])
        tied = self.store.resolve(keys)
        names = self.store.entity_names(list(tied.values()))
        documents = [
            self._lacked(known[entity.name], texts[i], moment)
            if entity.name in known
            else new_documents(entity, texts[i], moment)
            if keys[i]
            else []
            for i, entity in enumerate(entities)
        ]
        ready = self._ready(documents)
        made: list[Created] = []
        with self.writing, self.store.batch():
            added = self.store.add_entities(entities)
            shown = self.store.entity_names([entity_id for entity_id, _ in added])
            for i, (entity_id, is_new) in enumerate(added):
                if is_new and entities[i].name in known:  # another process deleted it meanwhile
                    ready[i] = self._ready([new_documents(entities[i], texts[i], moment)])[0]
                told = ready[i] if is_new else [one for one in ready[i] if one[0].document.origin]
                new = self._save(told if is_new else self._unknown(entity_id, told))
                was = names.get(tied.get(keys[i], 0), "") if is_new else shown[entity_id]
                is_one = entity_id == tied.get(keys[i]) or not is_new
                created = Created(
                    entity_id=entity_id,
                    is_new=is_new,
                    name=shown[entity_id],
                    joined=was if is_one and was != entities[i].name else "",
                    added=tuple(text for text in texts[i] if text in new),
                    known=tuple(text for text in texts[i] if text not in new),
                )
                made.append(created)
        return [
            one if one.is_new else replace(one, refused=self._complete(one, entity))
            for one, entity in zip(made, entities, strict=True)
        ]

    def _lacked(
        self, entity_id: int, texts: Sequence[str], moment: datetime | None
    ) -> list[Document]:
        """Observations of those texts that an entity made by hand does not have."""
        (entity,) = self.store.entities([entity_id])
        stored = self._stored(entity_id, texts)
        return [observation(entity.key, entity.name, t, moment) for t in texts if not stored[t]]

    def _complete(self, created: Created, given: NewEntity) -> tuple[str, ...]:
        """Give an entity that exists a type and a description if it has none; what is refused."""
        (entity,) = self.store.entities([created.entity_id])
        cards = self.store.documents(ids=self._cards([created.entity_id]))
        kept = cards[0].metadata if cards else {}
        said: dict[str, Any] = {"entity_type": given.entity_type, "content": given.content}
        held = {"entity_type": entity.entity_type, "content": entity.content}
        unsaid = ("", "name")
        new = {k: v for k, v in said.items() if v not in unsaid and held[k] in unsaid}
        if new:
            self.update_entity(given.name, **new)
        refused: list[tuple[str, object, object]] = [
            (_FIELDS[k], v, held[k])
            for k, v in said.items()
            if v not in unsaid and v not in (held[k], new.get(k))
        ]
        refused += [(k, v, kept.get(k)) for k, v in given.metadata.items() if kept.get(k) != v]
        return tuple(f"{k} {v!r}: {entity.name!r} keeps {held!r}" for k, v, held in refused)

    def add_observations(
        self,
        told: Sequence[tuple[str, Sequence[str]]],
        *,
        dated: bool = True,
        at: Mapping[tuple[str, str], datetime] | None = None,
    ) -> list[list[str]]:
        """Add observations by (name of an entity made by hand, texts); the new texts of each.

        They are dated as `at` says by (name, text), else now if `dated`. Raises `NotFoundError`
        where an entity was not made by hand, `InputError` for a blank text.
        """
        ids = self._ids([name for name, _ in told])
        moment = datetime.now(UTC) if dated else None
        documents: list[list[Document]] = []
        seen: set[tuple[int, str]] = set()
        for entity_id, (name, texts) in zip(ids, told, strict=True):
            lacked = [
                replace(one, created_at=(at or {}).get((name, one.text), moment))
                for one in self._lacked(entity_id, cleaned(texts), moment)
            ]
            documents.append([one for one in lacked if (entity_id, one.text) not in seen])
            seen.update((entity_id, one.text) for one in lacked)
        ready = self._ready(documents)
        with self.writing, self.store.batch():
            # Another process may have deleted an entity or added the same text meanwhile.
            ids = self._ids([name for name, _ in told])
            return [
                self._save(self._unknown(entity_id, of_one))
                for entity_id, of_one in zip(ids, ready, strict=True)
            ]

    def delete_observations(self, told: Sequence[tuple[str, Sequence[str]]]) -> list[int]:
        """Delete observations by (name of an entity made by hand, texts); how many of each.

        Raises `NotFoundError` where an entity was not made by hand.
        """
        with self.writing, self.store.batch():
            ids = self._ids([name for name, _ in told], self.named)
            return [
                self.store.delete(self._documents(entity_id, texts))
                for entity_id, (_, texts) in zip(ids, told, strict=True)
            ]

    def update_entity(
        self,
        name: str,
        *,
        entity_type: str | None = None,
        content: str | None = None,
        metadata: Metadata | None = None,
        vector: tuple[float, ...] | None = None,
    ) -> None:
        """Change what is said of an entity made by hand; what is not given stays.

        `vector`, of length 1, is that of its card; without one the embedder makes it.
        """
        (entity,) = self.store.entities(self._ids([name]))
        changed = replace(
            entity,
            entity_type=entity.entity_type if entity_type is None else entity_type,
            content=entity.content if content is None else content,
        )
        known = self.store.documents(ids=self._cards([entity.id]))
        if metadata is None:
            metadata = known[0].metadata if known else {}
        ready = self._ready([[replace(card(entity.key, changed, metadata), vector=vector)]])
        with self.writing, self.store.batch():
            (entity_id,) = self._ids([name])
            self.store.update_entity(entity_id, entity_type=entity_type, content=content)
            self.store.delete(self._cards([entity_id]))
            self._save(ready[0])

    def delete_entities(self, names: Sequence[str]) -> list[str]:
        """Delete entities made by hand with their observations and relations; the names found."""
        with self.writing, self.store.batch():
            found = self.named(names)
            self.store.delete(self._cards(list(found.values())))
            self.store.delete_entities(list(found.values()))
        return list(found)

    def add_relations(self, relations: Sequence[NewRelation]) -> list[tuple[Relation, bool]]:
        """Write relations between any entities; each as stored, and whether it is new.

        Raises `InputError` for values that cannot be, `NotFoundError` for an unknown entity.
        """
        for relation in relations:
            check_relation(relation)
        with self.writing:
            return self.store.add_relations(relations)

    def delete_relations(self, relation_ids: Sequence[int]) -> int:
        """Delete relations written by hand; how many."""
        check_several(relation_ids=relation_ids)
        with self.writing:
            return self.store.delete_relations(relation_ids)

    def _ids(
        self,
        names: Sequence[str],
        find: Callable[[Sequence[str]], Mapping[str, int]] | None = None,
    ) -> list[int]:
        found = (find or self.find)(names)
        missing = [name for name in dict.fromkeys(names) if name not in found]
        if missing:
            shown = ", ".join(repr(name) for name in missing[:5])
            raise NotFoundError(
                f"no entity made by hand is named {shown}; make it first (create_entities)"
            )
        return [found[name] for name in names]

    def _cards(self, entity_ids: Sequence[int]) -> list[str]:
        """Ids of the cards that entities may have, one for each name that they had."""
        aliases = chain.from_iterable(self.store.aliases(entity_id=id_) for id_ in entity_ids)
        return [document_id(card_source(alias.key)) for alias in aliases]

    def _documents(self, entity_id: int, texts: Sequence[str]) -> list[str]:
        check_several(observations=texts)
        stored = self._stored(entity_id, [clean_text(text) for text in texts])
        return list(chain.from_iterable(stored.values()))

    def _stored(self, entity_id: int, texts: Sequence[str]) -> dict[str, list[str]]:
        """Ids of the documents that hold each text, under any name that the entity has."""
        origins = [origin_of(alias.key) for alias in self.store.aliases(entity_id=entity_id)]
        ids = {text: [document_id(source_of(o, text)) for o in origins] for text in texts}
        wanted = [one for of_text in ids.values() for one in of_text]
        there = {document.id for document in self.store.documents(ids=wanted)}
        return {text: [i for i in of_text if i in there] for text, of_text in ids.items()}

    def _unknown(self, entity_id: int, documents: Sequence[Ready]) -> list[Ready]:
        stored = self._stored(entity_id, [item.document.text for item, _ in documents])
        return [ready for ready in documents if not stored[ready[0].document.text]]

    def _ready(self, documents: Iterable[Sequence[Document]]) -> list[list[Ready]]:
        """The documents of several entities, each ready to be saved."""
        given = [list(of_one) for of_one in documents]
        flat, ready = list(chain.from_iterable(given)), []
        for start in range(0, len(flat), GROUP):
            if has_ended():
                raise InputError("nobody waits any more; nothing was written. Give less at a time")
            ready += self.pipeline().complete(flat[start : start + GROUP])
        rest = iter(ready)
        return [list(islice(rest, len(of_one))) for of_one in given]

    def _save(self, documents: Sequence[Ready]) -> list[str]:
        for item, vectors in documents:
            self.pipeline().save(item, vectors)
        return [item.document.text for item, _ in documents]


# --- relations ---------------------------------------------------------------------------


def snake_case(text: str) -> str:
    """The words of a relation's type in lower case, joined by underscores; empty without any."""
    return _BETWEEN_WORDS.sub("_", _CAMEL_STEP.sub("_", text).lower()).strip("_")


def written_relation(
    source_id: int, target_id: int, wording: str, *, weight: float | None = 1.0
) -> NewRelation:
    """A relation whose type is written in any way: in snake_case, its wording kept beside it.

    Raises `InputError` where no type can be made of it.
    """
    relation_type = snake_case(wording)
    check_type(relation_type or wording)
    return NewRelation(
        source_id=source_id,
        target_id=target_id,
        relation_type=relation_type,
        weight=weight,
        is_causal=relation_type == CAUSAL,
        context={WORDING: wording} if wording != relation_type else None,
    )


def check_relation(relation: NewRelation) -> None:
    """Raise `InputError` where a value of the relation cannot be."""
    check_type(relation.relation_type)
    if relation.weight is not None:
        check_share("weight", relation.weight)
    if relation.context is not None:
        try:
            json.dumps(dict(relation.context), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"context {relation.context!r} is no JSON ({error}); expected strings, finite"
                " numbers, true, false, null, lists and objects of these"
            ) from error
    start, end = relation.valid_from, relation.valid_until
    if start is not None and end is not None and end <= start:
        raise InputError(
            f"valid_until {end.isoformat()} is not after valid_from {start.isoformat()}; give a"
            " later one, or leave it out"
        )


def check_type(relation_type: str) -> None:
    """Raise `InputError` where a type is no snake_case name of at most 60 characters."""
    is_name = _SNAKE_CASE.fullmatch(relation_type) and relation_type == relation_type.lower()
    if not is_name or len(relation_type) > LONGEST_TYPE:
        likely = snake_case(relation_type)[:LONGEST_TYPE].strip("_") or "relates_to"
        raise InputError(
            f"relation_type {relation_type!r} cannot be; expected a snake_case name of at most"
            f" {LONGEST_TYPE} characters, such as {likely!r}"
        )


def check_share(name: str, value: float) -> None:
    """Raise `InputError` where a number does not lie between 0 and 1."""
    if not (math.isfinite(value) and 0 <= value <= 1):
        raise InputError(f"{name} {value!r} cannot be; expected a number from 0 to 1")


# What is written about entities by hand, as documents: what each is, and observations.


def origin_of(key: str) -> str:
    """The origin of the observations of the entity with this key."""
    return f"{OBSERVATION}{key}"


def source_of(origin: str, text: str) -> str:
    """The source of an observation: the same text of the same entity is the same document."""
    return f"{origin}#{text_digest(text)[:16]}"


def card_source(key: str) -> str:
    """The source of the card of the entity with this key: what it is, as a text."""
    return f"{CARD}{key}"


def card(key: str, entity: NewEntity | Entity, metadata: Metadata) -> Document:
    """Name, type and description of an entity made by hand, as a text."""
    kind = "" if entity.entity_type == "name" else f" ({entity.entity_type})"
    about = f": {entity.content}" if entity.content else ""
    text = clean_text(f"{entity.name}{kind}{about}")
    return Document(
        source=card_source(key),
        text=text,
        title=entity.name,
        metadata=metadata,
        sha256=text_digest(text),
    )


def new_documents(entity: NewEntity, texts: Sequence[str], moment: datetime) -> list[Document]:
    """The card of a new entity, and its observations."""
    key, name = entity_key(entity.name), entity.name
    return [
        card(key, entity, entity.metadata),
        *(observation(key, name, text, moment) for text in texts),
    ]


def observation(key: str, name: str, text: str, moment: datetime | None) -> Document:
    """What was told of an entity; `moment` is when, if that is known."""
    origin = origin_of(key)
    return Document(
        source=source_of(origin, text),
        origin=origin,
        text=text,
        title=name,
        sha256=text_digest(text),
        created_at=moment,
    )


def cleaned(texts: Sequence[str]) -> list[str]:
    """Observations as they are stored, each once; raises `InputError` for a blank one."""
    check_several(observations=texts)
    found = list(dict.fromkeys(map(clean_text, texts)))
    for text in found:
        if not text.strip():
            raise InputError(
                f"an observation cannot be {text!r}; expected a text with a visible character"
            )
    return found


# Importing another memory: its records become manual entries; a second import adds nothing.


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
    _take_rules(memory.store, found)
    ends = memory.store.named([one.name for one in found.entities if one.is_end])
    entities: list[MemoryEntity] = []
    told: list[tuple[str, list[str]]] = []
    for entity in found.entities:
        texts = [text for text in entity.observations if text.strip()]
        if not entity_key(entity.name):
            found.skip(entity.place, f"a name without letters or digits: {entity.name!r}")
        elif entity.name not in ends:
            entities.append(entity)
            told.append((entity.name, texts))
            if len(texts) < len(entity.observations):
                found.skip(entity.place, "a blank observation")
    new = [
        NewEntity(
            name=one.name,
            entity_type=one.entity_type or "name",
            content=one.content,
            metadata=one.metadata,
        )
        for one in entities
    ]
    made = [one for batch in _batches(new) for one in memory.create(batch)]
    for given, created in zip(entities, made, strict=True):
        for reason in created.refused:
            found.skip(given.place, reason)
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
    told_at = {(one.name, text): at for one in entities for text, at in one.told_at.items()}
    observations = sum(
        len(added)
        for batch in _batches(told)
        # Most files have no dates.
        for added in memory.add_observations(batch, dated=False, at=told_at)
    )
    # All at once: a file says of one moment what it says, and no line ends another.
    relations = memory.add_relations(_resolved(memory, found))
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
        skipped=tuple(found.skipped),
        documents=found.documents,
    )


def _take_rules(store: Store, found: MemoryRecords) -> None:
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
            found.skip(names, "a rule that no store has")
        elif any(key in known or key in held for key in keys):
            reason = "tied by hand and known here already; import before indexing, or merge, split"
            found.skip(names, f"{reason} or rename them by hand")
        else:
            new |= dict.fromkeys(keys, target)
    if new:
        names_of = {key: name for key, name in found.given_names.items() if key in new}
        store.add_link_rules(new, names_of)


def _resolved(memory: ManualGraphWriter, found: MemoryRecords) -> list[NewRelation]:
    names = [name for one in found.relations for name in (one.head, one.tail)]
    ids = {**memory.store.named(names), **memory.find(names)}
    resolved = []
    for one in found.relations:
        missing = [name for name in (one.head, one.tail) if name not in ids]
        if missing:
            found.skip(one.place, f"names {missing[0]!r}, which is no entity")
            continue
        try:
            new = written_relation(
                ids[one.head], ids[one.tail], one.relation_type, weight=one.weight
            )
            whole = replace(
                new,
                is_causal=new.is_causal or one.is_causal,
                context={**one.context, **(new.context or {})} or None,
                valid_from=one.valid_from,
                valid_until=one.valid_until,
                recorded_at=one.recorded_at,
            )
            check_relation(whole)
            resolved.append(whole)
        except InputError as error:
            found.skip(one.place, str(error))
    return resolved


def _batches(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
