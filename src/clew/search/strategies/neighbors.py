"""Neighbours of an entity: by relations, and by names in the same sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from clew.graph.paths import neighbourhood
from clew.search.strategies.entity_paths import TOGETHER, entity_rows
from clew.types import current_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
    from datetime import datetime

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.paths import Neighbourhood
    from clew.ports import GraphStore
    from clew.types import Relation, Standing

    Direction = Literal["outbound", "inbound", "both"]

RELATIONS = 10_000
"""Relations looked at a step, heaviest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Related:
    """An entity that a relation leads to."""

    entity_id: int
    relation: Relation
    outbound: bool
    """Whether the relation leads there; else it comes from there."""
    depth: int
    """Relations from where the search began, from 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CoOccurrence:
    """Two entities that a sentence names together."""

    entity_id: int
    other_id: int
    weight: float
    """0 to 1: s / (1 + s), s the strength of the edge (rare names in short sentences tie more)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Near:
    """An entity that is tied to another."""

    entity_id: int
    name: str
    relation: str
    """The heaviest relation that ties it, one that holds if there is any, or `co_occurs_with`."""
    weight: float
    """0 to 1: the relation's; of what is named together s / (1 + s), s the strength of the tie."""
    depth: int
    """Ties from the other, from 1."""
    standing: Standing | None
    """Of the relation."""

    @property
    def holds(self) -> bool:
        """Whether the relation holds, or there is none that would have to."""
        return self.standing is None or self.standing.state == "current"


def related(
    store: GraphStore,
    entity_id: int,
    *,
    direction: Direction = "both",
    relation_type: str | None = None,
    depth: int = 1,
    min_weight: float = 0.0,
    limit: int = 50,
    each_type: bool = True,
    moment: datetime,
) -> tuple[list[Related], tuple[str, ...]]:
    """Where relations lead from an entity, and notes.

    The nearest first, then those that hold at the moment, then the heaviest. Each neighbour comes
    by the first relation in this order that says so: once a relation type and direction, or once
    where not `each_type`. Only relations that are asked for are followed further.
    """
    seen, frontier = {entity_id}, [entity_id]
    found: list[Related] = []
    notes: tuple[str, ...] = ()
    for step in range(1, depth + 1):
        relations = current_first(store.relations(frontier, RELATIONS), moment)
        if len(relations) == RELATIONS:
            notes = (f"only the {RELATIONS} heaviest relations a step were looked at",)
        wanted = (
            relation
            for relation in relations
            if relation.weight >= min_weight and relation_type in (None, relation.relation_type)
        )
        ends = _ends(wanted, frozenset(frontier), seen, direction, step)
        reached = list(_once(ends, each_type=each_type))
        found.extend(reached)
        frontier = list(dict.fromkeys(one.entity_id for one in reached))
        seen.update(frontier)
        if len(found) >= limit or not frontier:
            break
    return found[:limit], notes


def _ends(
    relations: Iterable[Relation],
    frontier: Set[int],
    seen: Set[int],
    direction: Direction,
    depth: int,
) -> Iterable[Related]:
    """The ends of relations that were not seen before, as they lie from the edge."""
    for relation in relations:
        head, tail = relation.from_entity_id, relation.to_entity_id
        if direction != "inbound" and head in frontier and tail not in seen:
            yield Related(entity_id=tail, relation=relation, outbound=True, depth=depth)
        if direction != "outbound" and tail in frontier and head not in seen:
            yield Related(entity_id=head, relation=relation, outbound=False, depth=depth)


def _once(found: Iterable[Related], *, each_type: bool) -> Iterable[Related]:
    seen: set[tuple[int, str, bool]] = set()
    for one in found:
        said = (one.relation.relation_type, one.outbound) if each_type else ("", True)
        key = (one.entity_id, *said)
        if key not in seen:
            seen.add(key)
            yield one


def co_occurring(
    graph: EntityGraph, entity_ids: Sequence[int], *, min_weight: float = 0.0
) -> Iterator[CoOccurrence]:
    """Entities named in one sentence with some entities, where no relation ties the two.

    For each entity the strongest first.
    """
    for row in entity_rows(graph, list(entity_ids)):
        others, edges = graph.row(row)
        strengths = graph.strengths[edges]
        found = [
            CoOccurrence(
                entity_id=int(graph.entity_ids[row]),
                other_id=int(graph.entity_ids[others[at]]),
                weight=float(strengths[at] / (1 + strengths[at])),
            )
            for at in np.argsort(-strengths, kind="stable").tolist()
            if graph.relations[edges[at]] == 0
        ]
        yield from (one for one in found if one.weight >= min_weight)


def near(
    store: GraphStore,
    graph: EntityGraph,
    entity_id: int,
    *,
    depth: int,
    limit: int,
    moment: datetime,
) -> tuple[list[Near], bool]:
    """Entities that ties lead to, the nearest first, then the strongest; whether there are more.

    Of those as near, what is tied by a relation that does not hold at the moment comes last.
    """
    rows = entity_rows(graph, [entity_id])
    if not rows:
        return [], False
    found = neighbourhood(graph, rows, depth, limit)
    return _named(store, graph, found, moment), bool(found.limits_hit)


def _named(
    store: GraphStore, graph: EntityGraph, found: Neighbourhood, moment: datetime
) -> list[Near]:
    ids: list[int] = graph.entity_ids[list(found.entities)].tolist()
    before: list[int] = graph.entity_ids[list(found.parents)].tolist()
    names = store.entity_names(ids)
    stated = _between(store, {*ids, *before}, moment)
    near = []
    for id_, parent, hops, edge in zip(ids, before, found.hops, found.edges, strict=True):
        relation = stated.get(frozenset((id_, parent))) if graph.relations[edge] else None
        strength = float(graph.strengths[edge])
        near.append(
            Near(
                entity_id=id_,
                name=names.get(id_, "?"),
                relation=relation.relation_type if relation else TOGETHER,
                weight=relation.weight if relation else strength / (1 + strength),
                depth=hops,
                standing=relation.standing(moment) if relation else None,
            )
        )
    return sorted(near, key=lambda one: (one.depth, not one.holds))


def _between(
    store: GraphStore, ids: Set[int], moment: datetime
) -> Mapping[frozenset[int], Relation]:
    """The relation that ties each pair of these: one that holds, if there is any, the heaviest."""
    found: dict[frozenset[int], Relation] = {}
    for one in current_first(store.relations(sorted(ids), RELATIONS, among=True), moment):
        found.setdefault(frozenset((one.from_entity_id, one.to_entity_id)), one)
    return found
