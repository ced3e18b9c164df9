"""What is to be written of relations found or told later, by what a store holds already."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from typing import NamedTuple, TypeAlias

from clew.ports import Fact, FoundRelation
from clew.stores.backend import Backend, Row, to_text
from clew.stores.relations import NO_CONTEXT, TEXT_WEIGHT, End, RelationRow, text_row
from clew.stores.relations import Fact as FunctionalFact
from clew.stores.statements.relations import EVIDENCE, RELATIONS_AROUND
from clew.text import entity_key
from clew.types import NewRelation
from clew.types.relation_types import meaning_of

ASSISTANT = "assistant"
"""Extractor of the relations that an assistant found in a passage."""
MODEL = "model"
"""Extractor of the relations that a language model found in a passage."""
MANUAL = "manual"
"""Extractor of the relations that are written by hand."""


class Plan(NamedTuple):
    """Rows to be written."""

    new: list[RelationRow]
    changed: list[RelationRow]
    """As they are to be."""


# --- found by reading passages once more -------------------------------------------------


def plan_found(
    found: Sequence[FoundRelation],
    among: Set[int],
    *,
    names: Mapping[str, End],
    living: Collection[int],
    stated: Iterable[tuple[int, int, str, int]],
    first_id: int,
    moment: str,
    extractor: str,
) -> tuple[set[Fact], list[RelationRow]]:
    """Facts of which one end is among some entities, and rows of those not stated yet.

    Args:
        found: What passages state.
        among: Ids of entities.
        names: What the store knows, by key; facts of other names are left out.
        living: Ids of the chunks that there are; facts of others are left out.
        stated: (chunk, head, type, tail) of what the store holds, be it retracted: reading again
            is no reason to believe it.
        first_id: The next relation's id.
        moment: This moment, as it is stored.
        extractor: What found them.
    """
    facts: set[Fact] = set()
    known, rows = set(stated), list[RelationRow]()
    for chunk_id, relation in found:
        head, tail = (names.get(entity_key(name)) for name in (relation.head, relation.tail))
        if chunk_id not in living or not head or not tail or head.entity_id == tail.entity_id:
            continue
        if among.isdisjoint((head.entity_id, tail.entity_id)):
            continue
        fact = (head.entity_id, relation.relation_type, tail.entity_id)
        facts.add(fact)
        if (chunk_id, *fact) not in known:
            known.add((chunk_id, *fact))
            row = text_row(
                (chunk_id, relation),
                head,
                tail,
                relation_id=first_id + len(rows),
                recorded=(moment, None),
                extractor=extractor,
            )
            rows.append(row)
    return facts, rows


# --- found by a reader ---------------------------------------------------------------


def plan_readings(
    found: Iterable[FoundRelation],
    names: Mapping[str, End],
    held: Iterable[RelationRow],
    first_id: int,
    moment: str,
    extractor: str,
) -> Plan:
    """Relations that a reader found; `held` is what the chunks state, be it retracted.

    A passage states a relation once, whoever found it. One that was retracted stays so. Of one that
    a model agrees with, both speak for it; an assistant's word goes before what was found.
    """
    before = {row.id: row for row in held}
    rows = dict(before)
    by_fact: dict[tuple[int | None, int, str, int], int] = {}
    for row in sorted(before.values(), key=lambda row: (row.retracted_at is not None, row.id)):
        by_fact.setdefault(_fact_of(row), row.id)
    for chunk_id, relation in found:
        row = text_row(
            (chunk_id, relation),
            names[entity_key(relation.head)],
            names[entity_key(relation.tail)],
            relation_id=first_id + len(rows) - len(before),
            recorded=(moment, None),
            extractor=extractor,
            weight=relation.confidence,
        )
        same = rows.get(by_fact.setdefault(_fact_of(row), row.id), row)
        if same.retracted_at is None:
            rows[same.id] = _taken_over(same, _agreed(same, row))
    return _plan(before, rows)


def _agreed(held: RelationRow, found: RelationRow) -> RelationRow:
    """What a reader found, as sure as it is together with what was held (noisy-or)."""
    if found.extractor != MODEL or held.extractor == MODEL:
        return found
    doubt = (1.0 - belief(held.extractor, held.confidence)) * (1.0 - found.confidence)
    return found._replace(confidence=round(1.0 - doubt, 6))


def belief(extractor: str, confidence: float) -> float:
    """How much a statement counts by itself, 0 to 1."""
    if extractor in (ASSISTANT, MODEL):
        return confidence
    return min(confidence, TEXT_WEIGHT)


def _fact_of(row: RelationRow) -> tuple[int | None, int, str, int]:
    return row.chunk_id, row.from_entity_id, row.relation_type, row.to_entity_id


# --- written by hand ---------------------------------------------------------------------


def plan_written(
    relations: Iterable[NewRelation],
    aliases: Mapping[int, int],
    held: Iterable[RelationRow],
    first_id: int,
    moment: str,
    functional: Sequence[FunctionalFact] = (),
) -> tuple[Plan, list[tuple[int, bool]]]:
    """Relations written by hand; (id, whether it is new) of each, in order.

    A row is one period of a fact: what ended and is stated again begins another. A statement
    without a beginning begins now where it is news: where the fact had ended before, or where it
    ends another one. Else nobody said since when it holds.

    Args:
        relations: What is stated.
        aliases: Those that entities are shown under, by entity id.
        held: What was written of these entities before and not retracted.
        first_id: The next relation's id.
        moment: This moment, as it is stored.
        functional: The functional facts of the heads, whoever states them.
    """
    before = {row.id: row for row in held}
    rows, written = dict(before), list[tuple[int, bool]]()
    by_fact: dict[tuple[int | None, int, str, int], list[int]] = {}
    for row in before.values():
        by_fact.setdefault(_fact_of(row), []).append(row.id)
    for relation in relations:
        next_id = first_id + len(rows) - len(before)
        row = _written_row(relation, aliases, next_id, moment)
        ids = by_fact.setdefault(_fact_of(row), [])
        same = _same_period((rows[i] for i in ids), row)
        if same is not None:
            context = same.context if relation.context is None else row.context
            weight = same.weight if relation.weight is None else row.weight
            row = _taken_over(same, row)._replace(context=context, weight=weight)
        else:
            if row.recorded_at == moment and _is_news(row, bool(ids), functional):
                row = row._replace(valid_from=moment)
            ids.append(row.id)
        rows[row.id] = row
        written.append((row.id, same is None))
    return _plan(before, rows), written


def _same_period(rows: Iterable[RelationRow], new: RelationRow) -> RelationRow | None:
    """The row of the same fact whose period a statement speaks of, which it brings up to date.

    With a beginning, the one that begins then, or one of which nobody said since when it holds and
    that had not ended by then. Without, the one that holds when it is told; or that held until the
    end that is told, where this is past.
    """
    start, until = new.valid_from, new.stated_until
    at = until if until is not None and until < new.recorded_at else new.recorded_at
    met = [
        row
        for row in rows
        if row.valid_from == start is not None
        or (
            (start is None or row.valid_from is None)
            and (row.valid_from or "") <= (start or at)
            and _ends_after(row, start or at, until)
        )
    ]
    return max(met, key=lambda row: (row.valid_from == start, row.id), default=None)


def _ends_after(row: RelationRow, moment: str, until: str | None) -> bool:
    """Whether a row holds on at a moment; one that ends as the statement says is the same."""
    return row.valid_until is None or row.valid_until > moment or row.valid_until == until


def _is_news(row: RelationRow, is_known: bool, functional: Iterable[FunctionalFact]) -> bool:
    """Whether a statement without a beginning, of no period that holds, begins as it is told."""
    now = row.recorded_at
    if row.valid_from is not None or (row.stated_until is not None and row.stated_until <= now):
        return False
    return is_known or any(
        (one.head, meaning_of(one.relation_type))
        == (row.from_entity_id, meaning_of(row.relation_type))
        and one.tail != row.to_entity_id
        and one.start <= now
        and (one.valid_until is None or one.valid_until > now)
        for one in functional
    )


def _written_row(
    relation: NewRelation, aliases: Mapping[int, int], relation_id: int, moment: str
) -> RelationRow:
    until = to_text(relation.valid_until)
    source, target = int(relation.source_id), int(relation.target_id)
    return RelationRow(
        id=relation_id,
        from_entity_id=source,
        to_entity_id=target,
        from_alias_id=aliases[source],
        to_alias_id=aliases[target],
        relation_type=relation.relation_type,
        weight=1.0 if relation.weight is None else float(relation.weight),
        is_causal=relation.is_causal,
        confidence=1.0,
        context=NO_CONTEXT if relation.context is None else json.dumps(dict(relation.context)),
        valid_from=to_text(relation.valid_from),
        valid_until=until,
        stated_until=until,
        recorded_at=to_text(relation.recorded_at) or moment,
        retracted_at=None,
        chunk_id=None,
        sentence=None,
        extractor=MANUAL,
    )


# --- what they share ---------------------------------------------------------------------


def _taken_over(row: RelationRow, newer: RelationRow) -> RelationRow:
    """A row with what is said of it now; times that are not said now stay."""
    until = newer.stated_until or row.stated_until
    return row._replace(
        weight=newer.weight,
        is_causal=newer.is_causal,
        confidence=newer.confidence,
        valid_from=newer.valid_from or row.valid_from,
        valid_until=until,
        stated_until=until,
        sentence=newer.sentence,
        extractor=newer.extractor,
    )


def _plan(before: Mapping[int, RelationRow], after: Mapping[int, RelationRow]) -> Plan:
    return Plan(
        new=[row for row in after.values() if row.id not in before],
        changed=[row for row in after.values() if row != before.get(row.id, row)],
    )


# The weight of relations that texts state, from all their evidence.
#
# A fact is (head, relation type, tail). Each document that states it is one piece of evidence,
# however often it does so, and counts for its surest statement: that statement's confidence, but
# at
# most `TEXT_WEIGHT` where patterns found it and nobody read it. Documents are taken for
# independent,
# so that the fact holds unless all of them err (noisy-or; Pearl, 1988, §4.3.2; used so for facts
# from
# many pages by Dong et al., "Knowledge Vault", 2014):
#
#     weight = 1 - product over documents of (1 - b)
#
# One document gives 0.5, two give 0.75, three 0.875. A statement that a later fact of a
# functional
# type contradicts counts `CONTRADICTED` as much from then on, which is also how age tells:
# nothing
# else about a fact grows old. What is stated by hand keeps the weight that it was given.
#
# Weights are derived where evidence comes or goes, at the cost of the statements of the facts
# concerned.


CONTRADICTED = 0.5
"""The part that is left of the weight of a statement that a later fact ends."""

FactKey: TypeAlias = tuple[int, str, int]
"""(id of the head, relation type, id of the tail)"""


class Evidence(NamedTuple):
    """One statement of a fact."""

    id: int
    head: int
    relation_type: str
    tail: int
    document_id: str | None
    """None where it was stated by hand."""
    confidence: float
    extractor: str
    weight: float
    """What the store shows."""
    is_contradicted: bool
    retracted_at: str | None = None

    @property
    def fact(self) -> FactKey:
        """What it states."""
        return self.head, self.relation_type, self.tail

    @property
    def counts(self) -> bool:
        """Whether the weight is derived from it: a text states it, and it is not retracted."""
        return self.document_id is not None and self.retracted_at is None

    @property
    def belief(self) -> float:
        """How much it counts by itself, 0 to 1."""
        return belief(self.extractor, self.confidence)


def belief_in(evidence: Iterable[Evidence]) -> float:
    """How much all statements of a fact let it be believed, 0 to 1."""
    surest: dict[str | None, float] = {}
    for one in evidence:
        surest[one.document_id] = max(one.belief, surest.get(one.document_id, 0.0))
    doubt = 1.0
    for one_document in surest.values():
        doubt *= 1.0 - one_document
    return round(1.0 - doubt, 6)


def changed_weights(evidence: Iterable[Evidence]) -> Iterator[tuple[int, float]]:
    """(id, weight) of the statements of which the store shows another weight."""
    counted = (one for one in evidence if one.counts)
    for _, of_fact in groupby(sorted(counted, key=_by_fact), key=_by_fact):
        statements = list(of_fact)
        whole = belief_in(statements)
        for one in statements:
            weight = whole * CONTRADICTED if one.is_contradicted else whole
            if weight != one.weight:
                yield one.id, weight


def _by_fact(evidence: Evidence) -> FactKey:
    return evidence.fact


def recompute_weights(backend: Backend, facts: Collection[FactKey]) -> None:
    """Derive the weights of all statements of some facts; call inside `write`."""
    changed = changed_weights(read_evidence(backend, facts))
    if updates := [{"id": id_, "weight": weight} for id_, weight in changed]:
        backend.update("relations", updates)


def read_evidence(backend: Backend, facts: Collection[FactKey]) -> list[Evidence]:
    """All statements of some facts."""
    if not facts:
        return []
    rows = backend.rows(EVIDENCE, facts=[list(fact) for fact in sorted(set(facts))])
    return [Evidence(*row) for row in rows]


def recompute_weights_around(backend: Backend, entity_ids: Collection[int]) -> None:
    """The same for all facts of some entities, whose names moved."""
    if entity_ids:
        rows = backend.rows(RELATIONS_AROUND, ids=list(entity_ids))
        recompute_weights(backend, {(head, kind, tail) for head, kind, tail in rows})


def facts_of(rows: Iterable[RelationRow]) -> set[FactKey]:
    """What relations state."""
    return {_fact(row) for row in rows}


def _fact(row: RelationRow) -> FactKey:
    return row.from_entity_id, row.relation_type, row.to_entity_id


# --- of a document that is being saved ---------------------------------------------------


def weigh(
    rows: Sequence[RelationRow], document_id: str, others: Sequence[Evidence]
) -> tuple[list[RelationRow], list[Row]]:
    """A document's relations with their weights, and id and weight of others that change.

    `others` are all other statements of the same facts. Where every one of these is retracted, so
    is the document's: that is remembered.
    """
    until = _retracted(others)
    rows = [row._replace(retracted_at=row.retracted_at or until.get(_fact(row))) for row in rows]
    own = [_evidence(row, document_id) for row in rows]
    weights = dict(changed_weights([*others, *own]))
    changed: list[Row] = [
        {"id": one.id, "weight": weights[one.id]} for one in others if one.id in weights
    ]
    return [row._replace(weight=weights.get(row.id, row.weight)) for row in rows], changed


def _retracted(evidence: Iterable[Evidence]) -> dict[FactKey, str | None]:
    """When the last statement of a fact was retracted; None where one is not."""
    until: dict[FactKey, str | None] = {}
    for one in evidence:
        before = until.get(one.fact, "")
        known = before is not None and one.retracted_at is not None
        until[one.fact] = max(before or "", one.retracted_at or "") if known else None
    return until


def _evidence(row: RelationRow, document_id: str) -> Evidence:
    return Evidence(
        id=row.id,
        head=row.from_entity_id,
        relation_type=row.relation_type,
        tail=row.to_entity_id,
        document_id=document_id,
        confidence=row.confidence,
        extractor=row.extractor,
        weight=row.weight,
        is_contradicted=False,
        retracted_at=row.retracted_at,
    )
