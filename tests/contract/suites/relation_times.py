"""The definition of when relations hold and what they weigh, word by word, to compare with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from clew.testing.conformance import FUNCTIONAL
from clew.types import Relation

NOW = datetime.max.replace(tzinfo=UTC)


def ended(fact: Relation, others: Iterable[Relation]) -> datetime | None:
    """When a fact ends; its `valid_until` is what the text states."""
    ends = [fact.valid_until] if fact.valid_until else []
    if fact.relation_type in FUNCTIONAL:
        ends += [
            other.valid_from or other.recorded_at
            for other in others
            if (other.from_entity_id, other.relation_type)
            == (fact.from_entity_id, fact.relation_type)
            and other.to_entity_id != fact.to_entity_id
            and _place(other) > _place(fact)
        ]
    return min(ends, default=None)


def _place(fact: Relation) -> tuple[bool, datetime]:
    return fact.valid_from is not None, fact.valid_from or fact.recorded_at


def weight(fact: Relation, others: Iterable[Relation]) -> float:
    """0.5 from each document that states the fact, as noisy-or; half where a later fact ends it.

    `others` are all that is known, the fact among them, each from a document of its own.
    """
    known = list(others)
    documents = sum(_fact(other) == _fact(fact) for other in known)
    part = 1.0 if ended(fact, known) == fact.valid_until else 0.5
    return part * (1 - 0.5**documents)


def _fact(relation: Relation) -> tuple[int, str, int]:
    return relation.from_entity_id, relation.relation_type, relation.to_entity_id


def as_of(facts: Iterable[Relation], held: datetime, known: datetime) -> dict[int, Relation]:
    """Those that held at one moment, by what was known at another."""
    then = [
        fact
        for fact in facts
        if fact.recorded_at <= known and (fact.retracted_at is None or fact.retracted_at > known)
    ]
    with_ends = [replace(fact, valid_until=ended(fact, then)) for fact in then]
    return by_id(
        fact
        for fact in with_ends
        if (fact.valid_from is None or fact.valid_from <= held)
        and (fact.valid_until is None or fact.valid_until > held)
    )


def by_id(relations: Iterable[Relation]) -> dict[int, Relation]:
    """Without the moment of retraction, which the store alone knows, and the weight of today."""
    found = list(relations)
    assert len({r.id for r in found}) == len(found)
    return {r.id: replace(r, retracted_at=None, weight=0.0) for r in found}
