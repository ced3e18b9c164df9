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

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple, TypeAlias

from clew.stores.backend import Backend
from clew.stores.relations.relation_plans import ASSISTANT
from clew.stores.relations.relations import TEXT_WEIGHT, RelationRow
from clew.stores.statements.evidence import EVIDENCE, RELATIONS_AROUND

CONTRADICTED = 0.5
"""The part that is left of the weight of a statement that a later fact ends."""

FactKey: TypeAlias = tuple[int, str, int]
"""(id of the head, relation type, id of the tail)"""


class Evidence(NamedTuple):
    """One statement of a fact by a text, not retracted."""

    id: int
    head: int
    relation_type: str
    tail: int
    document_id: str
    confidence: float
    extractor: str
    weight: float
    """What the store shows."""
    is_contradicted: bool

    @property
    def fact(self) -> FactKey:
        """What it states."""
        return self.head, self.relation_type, self.tail

    @property
    def belief(self) -> float:
        """How much it counts by itself, 0 to 1."""
        if self.extractor == ASSISTANT:
            return self.confidence
        return min(self.confidence, TEXT_WEIGHT)


def belief_in(evidence: Iterable[Evidence]) -> float:
    """How much all statements of a fact let it be believed, 0 to 1."""
    surest: dict[str, float] = {}
    for one in evidence:
        surest[one.document_id] = max(one.belief, surest.get(one.document_id, 0.0))
    doubt = 1.0
    for belief in surest.values():
        doubt *= 1.0 - belief
    return round(1.0 - doubt, 6)


def changed_weights(evidence: Iterable[Evidence]) -> Iterator[tuple[int, float]]:
    """(id, weight) of the statements of which the store shows another weight."""
    for _, of_fact in groupby(sorted(evidence, key=_by_fact), key=_by_fact):
        statements = list(of_fact)
        whole = belief_in(statements)
        for one in statements:
            weight = whole * CONTRADICTED if one.is_contradicted else whole
            if abs(weight - one.weight) > 1e-6:
                yield one.id, weight


def _by_fact(evidence: Evidence) -> FactKey:
    return evidence.fact


def recompute_weights(backend: Backend, facts: Collection[FactKey]) -> None:
    """Derive the weights of all statements of some facts; call inside `write`."""
    if facts:
        rows = backend.rows(EVIDENCE, facts=[list(fact) for fact in sorted(set(facts))])
        changed = changed_weights(Evidence(*row) for row in rows)
        if updates := [{"id": id_, "weight": weight} for id_, weight in changed]:
            backend.update("relations", updates)


def recompute_weights_around(backend: Backend, entity_ids: Collection[int]) -> None:
    """The same for all facts of some entities, whose names moved."""
    if entity_ids:
        rows = backend.rows(RELATIONS_AROUND, ids=list(entity_ids))
        recompute_weights(backend, {(head, kind, tail) for head, kind, tail in rows})


def facts_of(rows: Iterable[RelationRow]) -> set[FactKey]:
    """What relations state."""
    return {(row.from_entity_id, row.relation_type, row.to_entity_id) for row in rows}
