"""The weight of relations that texts state, from all their evidence.

A fact is (head, relation type, tail). Each document that states it is one piece of evidence,
however often it does so, and counts for its surest statement: that statement's confidence, but at
most `TEXT_WEIGHT` where patterns found it and nobody read it. Documents are taken for independent,
so that the fact holds unless all of them err (noisy-or; Pearl, 1988, §4.3.2; used so for facts from
many pages by Dong et al., "Knowledge Vault", 2014):

    weight = 1 - product over documents of (1 - b)

One document gives 0.5, two give 0.75, three 0.875. A statement that a later fact of a functional
type contradicts counts `CONTRADICTED` as much from then on, which is also how age tells: nothing
else about a fact grows old. What is stated by hand keeps the weight that it was given.

Weights are derived where evidence comes or goes, at the cost of the statements of the facts
concerned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

from clew.stores.backend import Backend, Row
from clew.stores.relations.relation_plans import belief
from clew.stores.relations.relations import RelationRow
from clew.stores.statements.evidence import EVIDENCE, RELATIONS_AROUND

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
