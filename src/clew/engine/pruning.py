"""Taking back what too little speaks for: relations and entities; one relation by hand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError, NotFoundError
from clew.graph.entity_confidence import EntityEvidence, stated_entities
from clew.search.answer.explain import read_relations
from clew.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.engine.state import EngineState
    from clew.types import Relation, RelationEvidence

AT_A_TIME = 500
"""Relations or entities that are read or taken back in one go."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrunedRelation:
    """A fact that too little speaks for."""

    relation: RelationEvidence
    weight: float
    """0 to 1; see `stores.weights`."""
    ids: tuple[int, ...]
    """Of all statements of it."""
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PrunedEntity:
    """An entity that too little speaks for."""

    id: int
    name: str
    entity_type: str
    confidence: float
    """0 to 1; see `graph.entity_confidence`."""
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PruneReport:
    """What `prune` would take back, or did."""

    below: float
    applied: bool
    """False for a dry run: nothing is changed."""
    relations: tuple[PrunedRelation, ...]
    """The weakest first."""
    entities: tuple[PrunedEntity, ...] = ()
    """The least sure first; none unless they were asked for."""


def delete_relation(state: EngineState, relation_id: int) -> int:
    """See `Graph.delete_relation`."""
    with state.writing:
        deleted = state.store.delete_fact(relation_id)
    if not deleted:
        raise NotFoundError(
            f"no relation with the id {relation_id}, or it was deleted before; look ids up with"
            " `clew export` or build_local_graph"
        )
    return deleted


def prune(state: EngineState, below: float, dry_run: bool, entities: bool) -> PruneReport:
    """See `Graph.prune`."""
    if not 0 < below <= 1:
        raise InputError(f"below is {below!r}; expected a weight above 0 and up to 1, such as 0.4")
    rows = state.store.relation_rows()
    # What no text states was stated by hand.
    weak = rows.ids[(rows.chunks > 0) & (rows.weights < below - 1e-6)]
    found = sorted(_read(state, weak), key=lambda one: (one.weight, one.ids))
    unsure = _unsure_entities(state, below) if entities else []
    if not dry_run:
        # Each batch lasts by itself: where a run is killed, another one goes on behind it.
        with state.writing:
            for ids in _batches(np.array([i for one in found for i in one.ids], dtype=np.int64)):
                state.store.retract(ids, by_hand=False)
            for ids in _batches(np.array([one.id for one in unsure], dtype=np.int64)):
                state.store.prune_entities(ids)
    return PruneReport(
        below=below, applied=not dry_run, relations=tuple(found), entities=tuple(unsure)
    )


def restore(state: EngineState, names: Sequence[str]) -> int:
    """See `Graph.restore_names`."""
    pruned = {name.casefold(): key for key, name in state.store.pruned_names().items()}
    for name in names:
        if name.casefold() not in pruned:
            raise NotFoundError(
                f"{name!r} was not pruned; the names that were are in `clew entity pruned`"
            )
    with state.writing:
        return state.store.restore_names({pruned[name.casefold()] for name in names})


def _unsure_entities(state: EngineState, below: float) -> list[PrunedEntity]:
    store = state.store
    with store.reading():
        aliases, relations, mentions = store.aliases(), store.relation_rows(), store.mention_rows()
        stated = stated_entities(aliases, relations, mentions, store.link_rules())
        evidence = EntityEvidence(aliases, relations)
        found = []
        for ids in _batches(np.unique(mentions[:, 2])):
            for entity in store.entities([i for i in ids if i not in stated]):
                told = evidence.of(entity)
                if entity.tier != "manual" and told.confidence < below - 1e-6:
                    found.append((entity, told))
    return [
        PrunedEntity(
            id=entity.id,
            name=entity.name,
            entity_type=entity.entity_type,
            confidence=told.confidence,
            reason=told.reason,
        )
        for entity, told in sorted(found, key=lambda one: (one[1].confidence, one[0].name))
    ]


def _batches(ids: np.ndarray) -> Iterator[list[int]]:
    for first in range(0, len(ids), AT_A_TIME):
        yield ids[first : first + AT_A_TIME].tolist()


def _read(state: EngineState, ids: np.ndarray) -> Iterator[PrunedRelation]:
    found: list[tuple[Relation, RelationEvidence]] = []
    # A few reads for all, rather than one for each fact.
    for batch in _batches(ids):
        relations = state.store.relations_by_id(batch)
        found += zip(relations, read_relations(state.store, relations), strict=True)
    for _, statements in groupby(sorted(found, key=_fact), key=_fact):
        same, shown = zip(*statements, strict=True)
        documents = {one.provenance.document for one in shown if one.provenance}
        yield PrunedRelation(
            relation=shown[0],
            weight=same[0].weight,
            ids=tuple(relation.id for relation in same),
            reason=_reason(same, len(documents)),
        )


def _fact(found: tuple[Relation, RelationEvidence]) -> tuple[int, str, int]:
    relation, _ = found
    return relation.from_entity_id, relation.relation_type, relation.to_entity_id


def _reason(statements: Sequence[Relation], documents: int) -> str:
    surest = max(relation.confidence for relation in statements)
    ended = " and a later fact ended it" if any(r.valid_until for r in statements) else ""
    weight = max(relation.weight for relation in statements)
    count = counted(documents, "document")
    return f"weight {weight:.2f}: {count}, at best {surest:.2f} sure, states it{ended}"
