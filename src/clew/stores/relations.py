"""Relations as rows, whatever the back end: made of what is stated, with their ends and weights."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nsmallest
from itertools import groupby, islice
from math import prod
from operator import attrgetter, itemgetter
from typing import NamedTuple, TypeAlias

from clew.languages import read_word_lists
from clew.ports import FoundRelation
from clew.stores.aliases import End
from clew.stores.backend import (
    NO_LIMIT,
    Backend,
    Row,
    Statement,
    distinct,
    limited,
    to_text,
    to_time,
)
from clew.stores.dates import known_until, moment_of
from clew.stores.state import STATE, State, StoreState
from clew.stores.statements import relations as statements
from clew.stores.statements.documents import FIRST_RECORDED
from clew.text import entity_key
from clew.types import IndexedDocument, Relation

# Relation types that mean the same, as `relation_types.toml` declares them.
#
# What is stated keeps the type that it was stated with; types of one meaning supersede each other.


_DECLARED = read_word_lists("clew.stores", "relation_types.toml")
_SAME = {name: meant for meant, said in _DECLARED.items() for name in said["same"].split()}


def _words(meant: str, name: str) -> str:
    return str(_DECLARED[meant][name]).replace("\n", "")


_A_NAME = r"(?: [a-zäöüß]+){0,3} (?=[^\W\d_a-zäöü])"
_IS = r"(?:^|[.;,] |\b(?i:is|am|was|been|got|became|now|ist|wurde|est) )"
_NAMED = {one: re.compile(rf"\b(?i:{_words(one, 'named')}){_A_NAME}") for one in _DECLARED}
_WITHOUT = {one: re.compile(rf"{_IS}(?i:{_words(one, 'without')})\b") for one in _DECLARED}


def meaning_of(relation_type: str) -> str:
    """The type that stands for all of its meaning; the type itself where none is declared."""
    return _SAME.get(relation_type, relation_type)


def with_synonyms(relation_types: Iterable[str]) -> set[str]:
    """The types and all others that mean the same as one of them."""
    meant = {meaning_of(one) for one in relation_types}
    return meant | {name for name, of in _SAME.items() if of in meant}


def named_in(text: str) -> set[str]:
    """The declared meanings that a text speaks of with a name."""
    return {meant for meant, words in _NAMED.items() if words.search(text)}


def without_any(text: str) -> set[str]:
    """The declared meanings of which a text says that there is none."""
    return {meant for meant, words in _WITHOUT.items() if words.search(text)}


_SAID = (
    "id weight is_causal confidence context valid_from valid_until stated_until sentence extractor"
).split()
TEXT_WEIGHT = 0.5
"""Weight of a relation that patterns found in a text."""
NO_CONTEXT = "{}"
ASSISTANT = "assistant"
"""Extractor of the relations that an assistant found in a passage."""
MODEL = "model"
"""Extractor of the relations that a language model found in a passage."""
MANUAL = "manual"
"""Extractor of the relations that are written by hand."""

FactKey: TypeAlias = tuple[int, str, int]
"""(id of the head, relation type, id of the tail)"""
Stated: TypeAlias = tuple[str, str, str]
"""(key of the head, relation type, key of the tail)"""
History: TypeAlias = Mapping[Stated, tuple[str, str | None]]
"""(recorded_at, retracted_at) of what a document stated before."""


class RelationRow(NamedTuple):
    """A relation as it is stored; times are text that compares as such."""

    id: int
    from_entity_id: int
    to_entity_id: int
    from_alias_id: int
    to_alias_id: int
    relation_type: str
    weight: float
    is_causal: bool
    confidence: float
    context: str
    """JSON"""
    valid_from: str | None
    valid_until: str | None
    """The end that is shown."""
    stated_until: str | None
    """The end that the text states."""
    recorded_at: str
    retracted_at: str | None
    chunk_id: int | None
    sentence: int | None
    extractor: str
    # Where they are asked for; no columns of its table:
    document_id: str | None = None
    """That states it; None where it was stated by hand."""
    said: int | None = None
    """The second in which its passage was said."""

    @property
    def fact(self) -> FactKey:
        """What it states."""
        return self.from_entity_id, self.relation_type, self.to_entity_id

    @property
    def said_at(self) -> str | None:
        """When its passage was said."""
        return None if self.said is None else to_text(moment_of(self.said))

    @property
    def start(self) -> str:
        """Since when it holds, as far as is known: else when it was said, else recorded."""
        return self.valid_from or self.said_at or self.recorded_at

    @property
    def known_since(self) -> tuple[str, str]:
        """When it was told, or else was over; at once where a passage has no time."""
        told = self.said_at or (self.recorded_at if self.chunk_id is None else "")
        return min(told, self.stated_until or FOREVER), self.recorded_at if told else ""

    def taken_over(self, newer: RelationRow) -> RelationRow:
        """The row with what is said of it now; times that are not said now stay."""
        until = newer.stated_until or self.stated_until
        return self._replace(
            weight=newer.weight,
            is_causal=newer.is_causal,
            confidence=newer.confidence,
            valid_from=newer.valid_from or self.valid_from,
            valid_until=until,
            stated_until=until,
            sentence=newer.sentence,
            extractor=newer.extractor,
        )


# --- from texts --------------------------------------------------------------------------


def text_row(
    found: FoundRelation,
    ends: Mapping[str, End],
    *,
    relation_id: int,
    recorded: tuple[str, str | None],
    extractor: str,
    weight: float = TEXT_WEIGHT,
) -> RelationRow:
    """The row of a relation that a chunk states.

    `ends` are what its names became, by key; `recorded` is (recorded_at, retracted_at).
    """
    chunk_id, relation = found
    head, tail = ends[entity_key(relation.head)], ends[entity_key(relation.tail)]
    until = to_text(relation.valid_until)
    return RelationRow(
        id=relation_id,
        from_entity_id=head.entity_id,
        to_entity_id=tail.entity_id,
        from_alias_id=head.alias_id,
        to_alias_id=tail.alias_id,
        relation_type=relation.relation_type,
        weight=float(weight),
        is_causal=relation.is_causal,
        confidence=float(relation.confidence),
        context=NO_CONTEXT,
        valid_from=to_text(relation.valid_from),
        valid_until=until,
        stated_until=until,
        recorded_at=recorded[0],
        retracted_at=recorded[1],
        chunk_id=chunk_id,
        sentence=relation.sentence,
        extractor=extractor,
    )


def document_rows(
    entry: IndexedDocument,
    chunk_ids: Sequence[int],
    ends: Mapping[str, End],
    *,
    first_id: int,
    history: History,
    moment: str,
    extractor: str,
) -> list[RelationRow]:
    """What a document states; what it stated before was known since then.

    What joins two names of one entity says nothing.
    """
    rows: list[RelationRow] = []
    for chunk_id, chunk in zip(chunk_ids, entry.extraction.chunks, strict=False):
        for relation in chunk.relations:
            stated = entity_key(relation.head), relation.relation_type, entity_key(relation.tail)
            head, _, tail = stated
            if head and tail and (head == tail or ends[head].entity_id != ends[tail].entity_id):
                rows.append(
                    text_row(
                        (chunk_id, relation),
                        ends,
                        relation_id=first_id + len(rows),
                        recorded=history.get(stated, (moment, None)),
                        extractor=extractor,
                    )
                )
    return rows


def keys_stated(entry: IndexedDocument) -> list[Stated]:
    """What a document states, each once."""
    found = (relation for chunk in entry.extraction.chunks for relation in chunk.relations)
    stated = ((entity_key(r.head), r.relation_type, entity_key(r.tail)) for r in found)
    return list(dict.fromkeys(fact for fact in stated if fact[0] and fact[2]))


def count_by_entity(rows: Iterable[RelationRow]) -> Counter[int]:
    """The number of relations that start or end at each entity."""
    return Counter(end for row in rows for end in {row.from_entity_id, row.to_entity_id})


def facts_of(rows: Iterable[RelationRow]) -> set[FactKey]:
    """What relations state."""
    return {row.fact for row in rows}


# --- shown -------------------------------------------------------------------------------


def to_relation(row: RelationRow) -> Relation:
    """A row as the store shows it."""
    return Relation(
        id=row.id,
        from_entity_id=row.from_entity_id,
        to_entity_id=row.to_entity_id,
        relation_type=row.relation_type,
        weight=row.weight,
        is_causal=bool(row.is_causal),
        confidence=row.confidence,
        context={} if row.context == NO_CONTEXT else json.loads(row.context),
        valid_from=to_time(row.valid_from),
        valid_until=to_time(row.valid_until),
        recorded_at=datetime.fromisoformat(row.recorded_at),
        retracted_at=to_time(row.retracted_at),
        chunk_id=row.chunk_id,
        sentence=row.sentence,
        extractor=row.extractor,
        stated_until=to_time(row.stated_until),
    )


# --- read --------------------------------------------------------------------------------


class Relations(StoreState):
    """Relations as they are shown."""

    def relations(
        self,
        entity_ids: Sequence[int],
        limit: int = 1000,
        *,
        as_of: datetime | None = None,
        among: bool = False,
    ) -> list[Relation]:
        """Relations that start or end at one of the entities; heaviest first, then by id.

        With `among`, those alone that start at one of them and end at one of them. Without `as_of`,
        all that are not retracted, those that hold no more among them. With it, those that held at
        that moment and that the store knew at that moment; of a store that is younger than that,
        those that held.

        `valid_until` is the end that the store knew at `as_of`.
        """
        statement = statements.RELATIONS_AMONG if among else statements.RELATIONS
        return self._read(statement, entity_ids, limit, as_of)

    def chunk_relations(
        self, chunk_ids: Sequence[int], *, as_of: datetime | None = None
    ) -> list[Relation]:
        """Relations that the chunks state, in the order of the ids given, then by id.

        `as_of` as in `relations`.

        `valid_until` is the end that the store knew at `as_of`.
        """
        return self._read(statements.CHUNK_RELATIONS, chunk_ids, -1, as_of)

    def relations_by_id(self, relation_ids: Sequence[int]) -> list[Relation]:
        """Relations in the order of the ids given; unknown and retracted ones are left out."""
        return self._read(statements.RELATIONS_BY_ID, relation_ids, -1, None)

    def unstated_relations(self, entity_ids: Sequence[int]) -> list[Relation]:
        """Relations of the entities that no text states and that are not retracted; by id."""
        rows = self.backend.rows(statements.UNSTATED_RELATIONS, ids=distinct(entity_ids))
        return [to_relation(RelationRow(*row)) for row in rows]

    def relation_counts(self) -> list[tuple[str, int, int]]:
        """(type, distinct facts, causal ones among them) of what is not retracted; most first."""
        rows = self.backend.rows(statements.RELATION_COUNTS)
        return [(kind, count, causal) for kind, count, causal in rows]

    def _read(
        self, statement: Statement, ids: Sequence[int], limit: int, as_of: datetime | None
    ) -> list[Relation]:
        asked, most = [int(i) for i in ids], limited(limit)
        if not asked:
            return []
        if as_of is None:
            rows = self.backend.rows(statement, ids=asked, held=None, known=FOREVER, limit=most)
            return [to_relation(RelationRow(*row)) for row in rows]
        with self.backend.consistent():
            found = self._read_as_of(statement, asked, as_of)
            return [to_relation(row) for row in islice(found, most)]

    def _read_as_of(
        self, statement: Statement, ids: Sequence[int], moment: datetime
    ) -> Iterator[RelationRow]:
        """Those that held at a moment; what functional ones end was told only later, perhaps."""
        first, state = self.backend.gather(FIRST_RECORDED, STATE)
        known = known_until(first, moment) or FOREVER
        held = to_text(moment) or FOREVER
        rows = self.backend.rows(statement, ids=ids, held=held, known=known, limit=NO_LIMIT)
        found = [RelationRow(*row) for row in rows]
        heads = {row.from_entity_id for row in found}
        derived = derived_ends(read_facts(self.backend, State(state).functional, heads, known))
        for row in found:
            until = derived.get(row.id, row.stated_until)
            if until is None or until > held:
                yield row._replace(valid_until=until)


def update_relations(backend: Backend, rows: Iterable[RelationRow]) -> None:
    """Write what is said of relations now, inside `write`; their ends and types stay."""
    changed = [{name: getattr(row, name) for name in _SAID} for row in rows]
    if changed:
        backend.update("relations", changed)


# Functional relations: of those from one entity, a later one ends an earlier one.
#
# A person lives in one place at a time: where two facts of a type that is declared functional, or
# of one meaning with it (`works_at` and `works_for`), lead from one entity to different ones, the
# earlier holds until the later begins. A fact begins with its `valid_from`. When one without was
# said, nobody knew since when it held: it stands behind the beginnings that had been told by then,
# and behind those that anybody states of it, and what is told later with a date after these ends
# it on that date. Where it ends an earlier one, it begins when it was said. One without either time
# is older than those that have one, and begins with its `recorded_at`. `valid_until` is derived
# from `stated_until` (what the text says) and from the other facts, is kept right whenever they
# change, and nothing is ever deleted by a contradiction.


FOREVER = "9999-12-31T23:59:59.999999+00:00"
"""A time after all others, as they are stored."""

_Place: TypeAlias = tuple[bool, str, str]
"""(whether it has a time; its beginning, or without the last one before it; when it was said)"""


def _group(fact: RelationRow) -> tuple[int, str]:
    return fact.from_entity_id, meaning_of(fact.relation_type)


def _in_order(facts: Collection[RelationRow]) -> list[tuple[_Place, RelationRow]]:
    """Facts of one entity and meaning with their places, the latest first."""
    # Since when each beginning is known; of several that state it, the first is kept.
    dated = (fact for fact in facts if fact.valid_from)
    known = {
        (fact.start, fact.to_entity_id): fact.known_since
        for fact in sorted(dated, key=attrgetter("known_since"), reverse=True)
    }

    def place(fact: RelationRow) -> _Place:
        said = fact.said_at
        if fact.valid_from or said is None:
            return fact.valid_from is not None, fact.start, ""
        begun = [
            start
            for (start, tail), since in known.items()
            if start < said and (since <= (said, fact.recorded_at) or tail == fact.to_entity_id)
        ]
        return True, max(begun, default=""), said

    return sorted(((place(fact), fact) for fact in facts), key=itemgetter(0), reverse=True)


def ends(facts: Collection[RelationRow]) -> Iterator[tuple[RelationRow, str | None]]:
    """Each fact of one entity and meaning with its end: the earliest start of a later, other fact.

    The end that the text states goes before where it is earlier; None where there is neither.
    Facts that begin at once do not end each other.
    """
    starts: dict[int, str] = {}  # earliest start of a later fact, of two tails at most
    for _, together in groupby(_in_order(facts), key=itemgetter(0)):
        level = [fact for _, fact in together]
        for fact in level:
            found = [start for tail, start in starts.items() if tail != fact.to_entity_id]
            yield fact, min(filter(None, [*found, fact.stated_until]), default=None)
        starts |= {
            tail: min(level[0].start, starts.get(tail, FOREVER))
            for tail in {fact.to_entity_id for fact in level}
        }
        starts = dict(nsmallest(2, starts.items(), key=itemgetter(1)))


def derived_ends(facts: Iterable[RelationRow]) -> dict[int, str | None]:
    """The end of each fact of any entities and meanings, by its id."""
    groups = groupby(sorted(facts, key=_group), key=_group)
    return {fact.id: until for _, of_group in groups for fact, until in ends([*of_group])}


# --- in a store --------------------------------------------------------------------------


def recompute_valid_until(
    backend: Backend, heads: Collection[int], functional: Sequence[str]
) -> set[FactKey]:
    """Derive the ends of the functional relations from the entities given; call inside `write`.

    Returns (head, type, tail) of those of which the end changed.
    """
    return _write_ends(backend, read_facts(backend, functional, heads))


def derive_again(
    backend: Backend,
    functional: Sequence[str],
    *,
    heads: Collection[int] = (),
    facts: Collection[FactKey] = (),
    moved: Collection[int] = (),
) -> None:
    """Derive what follows from a change, inside `write`.

    The ends of functional relations from `heads`; the weights of these and of `facts`; and all of
    entities of which names have `moved`.
    """
    every = {*heads, *heads_around(backend, moved, functional)}
    recompute_weights(backend, {*recompute_valid_until(backend, every, functional), *facts})
    if moved:
        around = backend.rows(statements.RELATIONS_AROUND, ids=list(moved))
        recompute_weights(backend, {(head, kind, tail) for head, kind, tail in around})


def recompute_all(backend: Backend, functional: Sequence[str]) -> None:
    """Derive every relation's end; call inside `write`."""
    backend.execute(statements.FORGET_ENDS)
    _write_ends(backend, read_facts(backend, functional))


def _write_ends(backend: Backend, facts: Sequence[RelationRow]) -> set[FactKey]:
    derived = derived_ends(facts)
    changed = [fact for fact in facts if fact.valid_until != derived[fact.id]]
    if changed:
        backend.update(
            "relations", [{"id": fact.id, "valid_until": derived[fact.id]} for fact in changed]
        )
    return facts_of(changed)


def read_facts(
    backend: Backend,
    functional: Sequence[str],
    heads: Collection[int] | None = None,
    known: str = FOREVER,
) -> list[RelationRow]:
    """The functional facts of some entities or of all, as they were known at a moment."""
    if not functional or (heads is not None and not heads):
        return []
    statement = statements.ALL_FACTS if heads is None else statements.FACTS_FROM
    rows = backend.rows(statement, types=functional, known=known, ids=list(heads or ()))
    return [RelationRow(*row) for row in rows]


def heads_around(
    backend: Backend, entity_ids: Collection[int], functional: Sequence[str]
) -> set[int]:
    """The entities, and those from which functional relations lead to them."""
    if not functional or not entity_ids:
        return set(entity_ids)
    rows = backend.rows(statements.HEADS_OF_TAILS, ids=list(entity_ids), types=functional)
    return {*entity_ids, *(row[0] for row in rows)}


# The weight of relations that texts state, from all their evidence.
#
# A fact is (head, relation type, tail). Each document that states it is one piece of evidence,
# however often it does so, and counts for its surest statement: that statement's confidence, but at
# most `TEXT_WEIGHT` where patterns found it and nobody read it. Documents are taken for
# independent, so that the fact holds unless all of them err (noisy-or; Pearl, 1988, §4.3.2; used so
# for facts from many pages by Dong et al., "Knowledge Vault", 2014):
#
#     weight = 1 - product over documents of (1 - b)
#
# One document gives 0.5, two give 0.75, three 0.875. A statement that a later fact of a functional
# type contradicts counts `CONTRADICTED` as much from then on, which is also how age tells: nothing
# else about a fact grows old. What is stated by hand keeps the weight that it was given.
# Weights are derived where evidence comes or goes, at the cost of the statements of the facts
# concerned.


CONTRADICTED = 0.5
"""The part that is left of the weight of a statement that a later fact ends."""


def belief(extractor: str, confidence: float) -> float:
    """How much a statement counts by itself, 0 to 1."""
    return confidence if extractor in (ASSISTANT, MODEL) else min(confidence, TEXT_WEIGHT)


def belief_in(evidence: Iterable[RelationRow]) -> float:
    """How much all statements of a fact let it be believed, 0 to 1."""
    surest: dict[str | None, float] = {}
    for one in evidence:
        own = belief(one.extractor, one.confidence)
        surest[one.document_id] = max(own, surest.get(one.document_id, 0.0))
    return round(1.0 - prod(1.0 - own for own in surest.values()), 6)


def changed_weights(evidence: Iterable[RelationRow]) -> Iterator[tuple[int, float]]:
    """(id, weight) of the statements of which the store shows another weight."""
    by_fact = attrgetter("fact")
    # What a text states and nobody retracted counts.
    counted = [e for e in evidence if e.document_id is not None and e.retracted_at is None]
    for _, of_fact in groupby(sorted(counted, key=by_fact), key=by_fact):
        statements = list(of_fact)
        whole = belief_in(statements)
        for one in statements:
            weight = whole * CONTRADICTED if one.valid_until != one.stated_until else whole
            if weight != one.weight:
                yield one.id, weight


def recompute_weights(backend: Backend, facts: Collection[FactKey]) -> None:
    """Derive the weights of all statements of some facts; call inside `write`."""
    changed = changed_weights(read_evidence(backend, facts))
    if updates := [{"id": id_, "weight": weight} for id_, weight in changed]:
        backend.update("relations", updates)


def read_evidence(backend: Backend, facts: Collection[FactKey]) -> list[RelationRow]:
    """All statements of some facts."""
    if not facts:
        return []
    rows = backend.rows(statements.EVIDENCE, facts=[list(fact) for fact in sorted(set(facts))])
    return [RelationRow(*row) for row in rows]


# --- of a document that is being saved ---------------------------------------------------


def weigh(
    rows: Sequence[RelationRow], document_id: str, others: Sequence[RelationRow]
) -> tuple[list[RelationRow], list[Row]]:
    """A document's relations with their weights, and id and weight of others that change.

    `others` are all other statements of the same facts. Where every one of these is retracted, so
    is the document's: that is remembered.
    """
    until: dict[FactKey, str | None] = {}  # when the last was retracted; None where one is not
    for one in others:
        before = until.get(one.fact, "")
        known = before is not None and one.retracted_at is not None
        until[one.fact] = max(before or "", one.retracted_at or "") if known else None
    rows = [row._replace(retracted_at=row.retracted_at or until.get(row.fact)) for row in rows]
    own = [row._replace(document_id=document_id) for row in rows]
    weights = dict(changed_weights([*others, *own]))
    changed: list[Row] = [
        {"id": one.id, "weight": weights[one.id]} for one in others if one.id in weights
    ]
    return [row._replace(weight=weights.get(row.id, row.weight)) for row in rows], changed
