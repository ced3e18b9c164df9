"""The part of the graph that a picture shows: chosen and filtered. Never all of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import InputError
from clew.graph.export import SHARED
from clew.graph.snapshot import find_sorted
from clew.graph.subgraph import edges_among, subgraph_around
from clew.search.strategies.entity_graph import entity_rows
from clew.types import current_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from clew.engine import Engine
    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Ints

MOST, SHOWN = 5000, 500
"""Entities of a picture: at most, and where nothing is said."""
RELATIONS = 50_000
"""Relations that are read for a picture, at most; the heaviest."""
AROUND_QUESTION = 40
"""Entities of a question's picture."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What a picture begins from, and what of it is left out."""

    question: str = ""
    entities: tuple[int, ...] = ()
    """Ids that are shown with their neighbours."""
    community: int | None = None
    """Id of the community whose entities are shown."""
    alone: tuple[int, ...] = ()
    """Ids that are shown without their neighbours: those of a thread."""
    hops: int = 1
    limit: int = SHOWN
    types: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    communities: tuple[int, ...] = ()
    """Ids of communities of the coarsest level, to keep."""
    min_confidence: float = 0.0
    as_of: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """An entity of a picture."""

    id: int
    name: str
    type: str
    importance: float
    community: int | None
    seed: bool
    """Whether the picture began from it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tie:
    """An edge of a picture: a relation, or sentences that two entities share."""

    id: int | None
    source: int
    target: int
    relation: str
    weight: float
    confidence: float
    valid_from: datetime | None = None
    valid_until: datetime | None = None

    def to_dict(self) -> dict[str, Any]:
        """The tie as JSON."""
        times = {"valid_from": self.valid_from, "valid_until": self.valid_until}
        return {**asdict(self), **{name: at and at.isoformat() for name, at in times.items()}}


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """The nodes and ties of a picture."""

    nodes: list[Node]
    """The most important first."""
    ties: list[Tie]
    total: int
    """Nodes before the limit and the filters."""
    types: list[str] = field(default_factory=list)
    """Those that there are before the filters."""
    relations: list[str] = field(default_factory=list)
    communities: list[int] = field(default_factory=list)
    """Those with the most of these entities first."""
    years: tuple[int, int] | None = None
    """The first and last year in which a relation began or ended."""
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The picture as JSON."""
        nodes, edges = map(asdict, self.nodes), (tie.to_dict() for tie in self.ties)
        told = {"total": self.total, "notes": self.notes}
        return {"nodes": list(nodes), "edges": list(edges), **told}


def view(engine: Engine, wanted: Wanted) -> View:
    """The part of the graph that is wanted; raises `InputError` where that names nothing.

    Kept for a while: a page asks for its tables, then for its picture, then perhaps for a file.
    """
    state = engine.state
    key = wanted, state.store.generation(), state.kept_communities.generation()
    found: View = state.views.get_or_make(key, lambda: _read(engine, wanted))
    return found


def _read(engine: Engine, wanted: Wanted) -> View:
    graph = engine.state.entity_graph
    rows, seeds, notes = _rows(engine, graph, wanted)
    entities = engine.state.entity_ranks.applied(
        engine.store.entities(graph.entity_ids[rows].tolist())
    )
    total = len(entities)
    entities.sort(key=lambda e: (e.id not in seeds, -e.salience_score, e.id))
    if total > wanted.limit:
        notes.append(f"the {wanted.limit} most important of {total} entities are shown")
        entities = entities[: wanted.limit]
    ties = _ties(engine, graph, {e.id for e in entities}, wanted.as_of)
    community = _communities(engine, [entity.id for entity in entities])
    nodes = [
        Node(
            id=entity.id,
            name=entity.name,
            type=entity.entity_type,
            importance=round(entity.salience_score, 4),
            community=community.get(entity.id),
            seed=entity.id in seeds,
        )
        for entity in entities
    ]
    years = [m.year for tie in ties for m in (tie.valid_from, tie.valid_until) if m is not None]
    held = Counter(node.community for node in nodes if node.community is not None)
    everything = View(
        nodes=nodes,
        ties=ties,
        total=total,
        types=sorted({e.entity_type for e in entities}),
        relations=sorted({tie.relation for tie in ties}),
        communities=[community for community, _ in held.most_common()],
        years=(min(years), max(years)) if years else None,
        notes=notes,
    )
    return _filtered(everything, wanted)


def _rows(engine: Engine, graph: EntityGraph, wanted: Wanted) -> tuple[Ints, set[int], list[str]]:
    """Rows of the graph, ids of where it began, and notes."""
    seeds = [*wanted.entities, *wanted.alone]
    notes: list[str] = []
    rows: list[int] = entity_rows(graph, list(wanted.alone))
    if wanted.question:
        found = engine.graph.subgraph(wanted.question, limit=AROUND_QUESTION)
        notes += found.notes
        ids = [node.id for node in found.graph.nodes]
        seeds += ids[:3]
        rows += entity_rows(graph, ids)
    if wanted.entities:
        starts = entity_rows(graph, list(wanted.entities))
        if starts:
            near = subgraph_around(graph, starts, wanted.hops, wanted.limit)
            rows += near.entities
            notes += near.notes
    if wanted.community is not None:
        members = engine.state.kept_communities.members()
        rows += entity_rows(graph, members[members[:, 2] == wanted.community, 0].tolist())
    if not (seeds or wanted.question or wanted.community is not None):
        raise InputError("a picture begins from a question, an entity or a community; give one")
    return np.array(sorted(set(rows)), dtype=np.int64), set(seeds), notes


def _communities(engine: Engine, ids: Sequence[int]) -> Mapping[int, int]:
    """The coarsest community of each entity that has one.

    As they were found last: a picture does not wait until they are found again.
    """
    members = engine.state.kept_communities.members()
    coarsest = members[members[:, 1] == 0]
    wanted = np.array(sorted(ids), dtype=np.int64)
    at, known = find_sorted(coarsest[:, 0], wanted)
    return dict(zip(wanted[known].tolist(), coarsest[at[known], 2].tolist(), strict=True))


_OF_RELATIONS = ("id", "weight", "confidence", "valid_from", "valid_until")
"""Fields that a tie has of its relation."""


def _ties(engine: Engine, graph: EntityGraph, ids: set[int], as_of: datetime | None) -> list[Tie]:
    """What ties these entities: relations that are stated, else the sentences that they share."""
    found = engine.store.relations(sorted(ids), RELATIONS, as_of=as_of, among=True)
    facts: dict[tuple[int, str, int], Tie] = {}
    for one in current_first(found, as_of or engine.state.now()):
        fact = one.fact
        told = {name: getattr(one, name) for name in _OF_RELATIONS}
        tie = Tie(source=fact[0], relation=fact[1], target=fact[2], **told)
        facts.setdefault(fact, tie)
    stated = {(end, other) for one, _, two in facts for end, other in ((one, two), (two, one))}
    rows = np.array(sorted(entity_rows(graph, sorted(ids))), dtype=np.int64)
    edges, heads, tails = edges_among(graph, rows)
    shared = [
        Tie(id=None, source=one, target=other, relation=SHARED, weight=weight, confidence=weight)
        for one, other, strength, relation in zip(
            graph.entity_ids[rows[heads]].tolist(),
            graph.entity_ids[rows[tails]].tolist(),
            graph.strengths[edges].tolist(),
            graph.relations[edges].tolist(),
            strict=True,
        )
        if not relation and (one, other) not in stated
        for weight in [round(strength / (1 + strength), 4)]
    ]
    return [*facts.values(), *shared]


def _filtered(seen: View, wanted: Wanted) -> View:
    """Without what the filters leave out; what the picture began from stays."""
    nodes = [
        n
        for n in seen.nodes
        if n.seed
        or (
            (not wanted.types or n.type in wanted.types)
            and (not wanted.communities or n.community in wanted.communities)
        )
    ]
    ids = {node.id for node in nodes}
    ties = [
        tie
        for tie in seen.ties
        if tie.source in ids
        and tie.target in ids
        and tie.confidence >= wanted.min_confidence
        and (not wanted.relations or tie.relation in wanted.relations)
    ]
    return replace(seen, nodes=nodes, ties=ties)
