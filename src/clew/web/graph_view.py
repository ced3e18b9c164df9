"""The part of the graph that a picture shows: chosen and filtered. Never all of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clew.errors import InputError
from clew.graph.export import SHARED
from clew.graph.paths import edges_among, subgraph_around
from clew.graph.snapshot import find_sorted
from clew.search.around import entity_rows
from clew.search.options import read_last
from clew.types import TERM, current_first

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


View: TypeAlias = dict[str, Any]
"""A picture as JSON values: `nodes`, the most important first (`id`, `name`, `type`, `importance`,
`community`, `seed`: whether the picture began from it); `edges`, relations or sentences that two
entities share (`id`, `source`, `target`, `relation`, `weight`, `confidence`, `valid_from`,
`valid_until`); `total`, the nodes before the limit and the filters; `notes`; and, before the
filters, `types`, `relations`, `communities`, those with the most of the entities first, and
`years`, the first and the last in which a relation began or ended."""


def picture(engine: Engine, *, question: str | None, as_of: str | None, **given: Any) -> View:  # noqa: ANN401
    """The part of the graph that the parameters of `view_graph` ask for.

    Kept for a while: a page asks for its tables, then for its picture, then perhaps for a file.

    Raises `InputError` for what names no time, and for what a picture cannot begin from.
    """
    state = engine.state
    moment = read_last("as_of", as_of or None, state.now())
    wanted = {**given, "question": (question or "").strip(), "as_of": moment}
    key = repr(wanted), state.store.generation(), state.kept_communities.generation()
    found: View = state.views.get_or_make(key, lambda: _read(engine, wanted))
    return found


def _read(engine: Engine, wanted: Mapping[str, Any]) -> View:
    graph = engine.state.entity_graph
    rows, seeds, notes = _rows(engine, graph, wanted)
    entities = engine.state.entity_ranks.applied(
        engine.store.entities(graph.entity_ids[rows].tolist())
    )
    entities = [one for one in entities if one.entity_type != TERM or one.id in seeds]
    total = len(entities)
    entities.sort(key=lambda e: (e.id not in seeds, -e.salience_score, e.id))
    if total > wanted["limit"]:
        notes.append(f"the {wanted['limit']} most important of {total} entities are shown")
        entities = entities[: wanted["limit"]]
    edges = _ties(engine, graph, {e.id for e in entities}, wanted["as_of"])
    community = _communities(engine, [entity.id for entity in entities])
    nodes = [
        {
            "id": entity.id,
            "name": entity.name,
            "type": entity.entity_type,
            "importance": round(entity.salience_score, 4),
            "community": community.get(entity.id),
            "seed": entity.id in seeds,
        }
        for entity in entities
    ]
    years = [int(at[:4]) for tie in edges for at in (tie["valid_from"], tie["valid_until"]) if at]
    kept = [
        n
        for n in nodes
        if n["seed"]
        or (
            (not wanted["types"] or n["type"] in wanted["types"])
            and (not wanted["communities"] or n["community"] in wanted["communities"])
        )
    ]
    ids = {node["id"] for node in kept}
    return {
        "nodes": kept,
        "edges": [
            tie
            for tie in edges
            if {tie["source"], tie["target"]} <= ids
            and tie["confidence"] >= wanted["min_confidence"]
            and (not wanted["relations"] or tie["relation"] in wanted["relations"])
        ],
        "total": total,
        "notes": notes,
        "types": sorted({e.entity_type for e in entities}),
        "relations": sorted({tie["relation"] for tie in edges}),
        "communities": [one for one, _ in Counter(community.values()).most_common()],
        "years": (min(years), max(years)) if years else None,
    }


def _rows(
    engine: Engine, graph: EntityGraph, wanted: Mapping[str, Any]
) -> tuple[Ints, set[int], list[str]]:
    """Rows of the graph, ids of where it began, and notes."""
    seeds = [*wanted["entities"], *wanted["alone"]]
    notes: list[str] = []
    rows: list[int] = entity_rows(graph, list(wanted["alone"]))
    if wanted["question"]:
        found = engine.graph.subgraph(wanted["question"], limit=AROUND_QUESTION)
        notes += found.notes
        ids = [node.id for node in found.graph.nodes]
        seeds += ids[:3]
        rows += entity_rows(graph, ids)
    if wanted["entities"]:
        starts = entity_rows(graph, list(wanted["entities"]))
        if starts:
            near = subgraph_around(graph, starts, wanted["hops"], wanted["limit"])
            rows += near.entities
            notes += near.notes
    if wanted["community"] is not None:
        members = engine.state.kept_communities.members()
        rows += entity_rows(graph, members[members[:, 2] == wanted["community"], 0].tolist())
    if not (seeds or wanted["question"] or wanted["community"] is not None):
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


def _ties(
    engine: Engine, graph: EntityGraph, ids: set[int], as_of: datetime | None
) -> list[dict[str, Any]]:
    """What ties these entities: relations that are stated, else the sentences that they share."""
    found = engine.store.relations(sorted(ids), RELATIONS, as_of=as_of, among=True)
    facts: dict[tuple[int, str, int], dict[str, Any]] = {}
    for one in current_first(found, as_of or engine.state.now()):
        times = {name: getattr(one, name) for name in ("valid_from", "valid_until")}
        told = {
            **{name: getattr(one, name) for name in ("id", "weight", "confidence")},
            **dict(zip(("source", "relation", "target"), one.fact, strict=True)),
            **{name: at and at.isoformat() for name, at in times.items()},
        }
        facts.setdefault(one.fact, told)
    stated = {(end, other) for one, _, two in facts for end, other in ((one, two), (two, one))}
    rows = np.array(sorted(entity_rows(graph, sorted(ids))), dtype=np.int64)
    edges, heads, tails = edges_among(graph, rows)
    shared = [
        {
            "id": None,
            **{"source": one, "target": other, "relation": SHARED},
            **dict.fromkeys(("weight", "confidence"), round(strength / (1 + strength), 4)),
            **dict.fromkeys(("valid_from", "valid_until")),
        }
        for one, other, strength, relation in zip(
            graph.entity_ids[rows[heads]].tolist(),
            graph.entity_ids[rows[tails]].tolist(),
            graph.strengths[edges].tolist(),
            graph.relations[edges].tolist(),
            strict=True,
        )
        if not relation and (one, other) not in stated
    ]
    return [*facts.values(), *shared]
