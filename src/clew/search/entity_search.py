"""Entities that answer a question: by what their passages say, and by where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.knowledge import is_known
from clew.graph.paths import neighbourhood
from clew.graph.snapshot import distinct, find_sorted
from clew.search.around import entity_rows
from clew.search.question import MAX_TERMS, find_seeds
from clew.text import terms

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.ports import VectorIndex
    from clew.search.session import SearchResources
    from clew.stores.store import Store
    from clew.types import Entity, Ids, Period, Scores, Vector

    Values = NDArray[np.float64]


PASSAGES = 100
"""Passages, the nearest to the question, whose entities are looked at."""
REACH = 1000
"""Passages, the nearest to the question, among which an entity's nearest is looked for first."""
MAX_NEIGHBOURS = 300
"""Entities around those of the question that are looked at, at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityHit:
    """An entity found, and why."""

    entity: Entity
    content: str
    """Its description; where it has none, the sentence that names it in its nearest passage."""
    vector_score: float
    """0 to 1: cosine of the question and the entity's nearest passage; 0 where it is negative."""
    graph_score: float
    """0 to 1: nearness + (1 - nearness) · (2 · prominence + centrality) / 6.

    Nearness is 1 / (1 + hops) to the question's entities, 0 beyond the depth asked for. Prominence
    is the weight of the entity in its nearest passage (`Snapshot.weights`) over the highest
    there: what the passage is about is prominent, what is named everywhere is not. Centrality is
    the entity's salience, which follows from its PageRank in the graph.
    """
    combined_score: float


def search_entities(
    resources: SearchResources,
    question: str,
    vector: Vector | None,
    *,
    depth: int = 2,
    limit: int = 10,
    vector_weight: float = 0.6,
    graph_weight: float = 0.4,
    node_types: Collection[str] = (),
    period: Period | None = None,
) -> list[EntityHit]:
    """The entities of highest `vector_weight` · vector score + `graph_weight` · graph score.

    Looked at are the entities of the nearest passages and those within `depth` ties of what the
    question names. Without a vector, passages are found by words, and no entity has a vector score.
    Dates are no entities here. Equals go by id. With types, entities of others are left out; with a
    period, those without a passage of it, and what they are is said by passages of it alone.
    """
    snapshot, graph = resources.snapshot, resources.entity_graph
    seeds = entity_rows(
        graph, [s.entity_id for s in find_seeds(question, snapshot, resources.store)]
    )
    allowed = None if period is None else resources.store.chunks_within(period)
    # The nearest passages first, and cosines; without a vector, by words, 1, ½, ⅓, … for cosines.
    if vector is not None:
        near = resources.vectors.search_vector(vector, REACH, allowed)
    else:
        words = list(dict.fromkeys(terms(question)))[:MAX_TERMS]
        found, _ = resources.store.search_keywords(words, REACH, allowed)
        near = found, (1 / (1 + np.arange(len(found)))).astype(np.float32)
    ids, nearness = _candidates(snapshot, graph, near[0][:PASSAGES], seeds, depth)
    if node_types:
        known = resources.store.entities(ids.tolist())
        typed = np.isin(ids, [e.id for e in known if e.entity_type in node_types])
        ids, nearness = ids[typed], nearness[typed]
    else:
        listed = is_known(resources.store, ids)
        ids, nearness = ids[listed], nearness[listed]
    passages, closeness = _best_passages(resources.vectors, snapshot, ids, vector, near, allowed)
    if allowed is not None:
        there = passages >= 0
        ids, nearness = ids[there], nearness[there]
        passages, closeness = passages[there], closeness[there]
    cosine = np.clip(closeness, 0, 1) if vector is not None else np.zeros(len(ids))
    known_ranks = resources.entity_ranks.of(ids.tolist())
    central = np.array([known_ranks[id_][0] if id_ in known_ranks else 0.0 for id_ in ids.tolist()])
    prominence = np.zeros(len(ids))
    placed = np.flatnonzero(passages >= 0)
    rows = snapshot.find_entities(ids[placed])[0]
    prominence[placed] = _prominence(snapshot, rows, passages[placed])
    position = nearness + (1 - nearness) * (2 * prominence + central) / 6
    combined = vector_weight * cosine + graph_weight * position
    order = np.lexsort((ids, -combined))[:limit]
    entities = resources.entity_ranks.applied(resources.store.entities(ids[order].tolist()))
    at = {int(ids[place]): int(place) for place in order}
    chosen = [at[entity.id] for entity in entities]
    whole = allowed is None  # what a model says of an entity is of all its passages
    contents = _contents(resources.store, snapshot, entities, passages[chosen], described=whole)
    return [
        EntityHit(
            entity=entity,
            content=content,
            vector_score=float(cosine[place]),
            graph_score=float(position[place]),
            combined_score=float(combined[place]),
        )
        for entity, content, place in zip(entities, contents, chosen, strict=True)
    ]


def _candidates(
    snapshot: Snapshot, graph: EntityGraph, nearest: Ids, seeds: Sequence[int], depth: int
) -> tuple[Ints, Floats]:
    """Ids of entities (n,), sorted, and how near to the question's they are, 0 to 1."""
    passages = snapshot.rows(nearest[snapshot.known(nearest)])
    entries, _ = snapshot.passage_entities.entries(passages)
    mentioned = snapshot.entity_ids[snapshot.passage_entities.items[entries]]
    rows, known = find_sorted(graph.entity_ids, distinct(mentioned))
    neighbours = neighbourhood(graph, seeds, depth, MAX_NEIGHBOURS) if seeds else None
    near = [*seeds, *(neighbours.entities if neighbours else ())]
    hops = [*(0 for _ in seeds), *(neighbours.hops if neighbours else ())]
    looked_at = distinct(np.concatenate([rows[known], np.array(near, dtype=np.int64)]))
    nearness = np.zeros(len(looked_at), dtype=np.float32)
    nearness[np.searchsorted(looked_at, near)] = 1 / (1 + np.array(hops, dtype=np.float32))
    return graph.entity_ids[looked_at], nearness


def _best_passages(
    vectors: VectorIndex,
    snapshot: Snapshot,
    entity_ids: Ints,
    vector: Vector | None,
    near: tuple[Ids, Scores],
    allowed: Ids | None,
) -> tuple[Ints, Values]:
    """The nearest passage of each entity, of those allowed (-1: none), and how near it is, or -1.

    Of equally near ones the first.
    """
    rows, known = snapshot.find_entities(entity_ids)
    members = np.flatnonzero(known)
    entries, owner = snapshot.entity_passages.entries(rows[members])
    if allowed is not None:
        of_these = np.isin(snapshot.chunk_ids[snapshot.entity_passages.items[entries]], allowed)
        entries, owner = entries[of_these], owner[of_these]
    passages = snapshot.entity_passages.items[entries]
    closeness = _closeness(snapshot.chunk_ids[passages], near)
    # Those that have no passage among the near ones are few, and so are their passages.
    reached = np.zeros(len(members), dtype=bool)
    reached[owner[closeness >= -1]] = True
    rest = ~reached[owner]
    if vector is not None and rest.any():
        chunk_ids = snapshot.chunk_ids[distinct(passages[rest])]
        further = vectors.search_vector(vector, len(chunk_ids), chunk_ids)
        closeness[rest] = _closeness(snapshot.chunk_ids[passages[rest]], further)
    nearest, best = np.full(len(entity_ids), -1), np.full(len(entity_ids), -1.0)
    # Of all that is written to one place the last stays: so the nearest passage.
    upwards = np.lexsort((-passages, closeness))
    nearest[members[owner[upwards]]] = passages[upwards]
    best[members[owner[upwards]]] = np.maximum(closeness[upwards], -1)
    return nearest, best


def _closeness(chunk_ids: Ints, near: tuple[Ids, Scores]) -> Values:
    """(n,) the score of each chunk; below -1 where it is not among those that have one."""
    ids, scores = near
    order = np.argsort(ids)
    places, scored = find_sorted(ids[order], chunk_ids)
    found = np.full(len(chunk_ids), -2.0)
    found[scored] = scores[order][places[scored]]
    return found


def _prominence(snapshot: Snapshot, entities: Ints, passages: Ints) -> Values:
    """(n,) weight of each entity in its passage over the highest weight there."""
    entries, owner = snapshot.passage_entities.entries(passages)
    weights = snapshot.weights(entries)
    highest, own = np.zeros(len(passages)), np.zeros(len(passages))
    np.maximum.at(highest, owner, weights)
    mine = snapshot.passage_entities.items[entries] == entities[owner]
    own[owner[mine]] = weights[mine]
    return own / np.maximum(highest, np.finfo(float).tiny)


def _contents(
    store: Store,
    snapshot: Snapshot,
    entities: Sequence[Entity],
    passages: Ints,
    *,
    described: bool,
) -> list[str]:
    """What each entity is: its description, or what its passage says from where it is named on.

    `described`: also by a language model.
    """
    chunks = [int(snapshot.chunk_ids[row]) if row >= 0 else 0 for row in passages.tolist()]
    sentences = store.sentences([chunk for chunk in chunks if chunk])
    rows = snapshot.entity_rows([entity.id for entity in entities])
    found = []
    for entity, chunk, passage in zip(entities, chunks, passages.tolist(), strict=True):
        said = sentences.get(chunk, ())
        if chunk:
            # From the first sentence that names it; from the start where the passage is about it.
            first, last = snapshot.sentence_starts[passage], snapshot.sentence_starts[passage + 1]
            naming = snapshot.entity_sentences.row(rows[entity.id])
            named = naming[(naming > first) & (naming < last)]
            said = said[int(named[0] - first - 1) if len(named) else 0 :]
        written = entity.description.sourced if entity.description and described else ""
        found.append(entity.content or written or _telling(said, entity.name))
    return found


def _telling(sentences: Sequence[str], name: str) -> str:
    """The first that says more than the name: no heading, no line without letters and digits."""
    said = (sentence for sentence in sentences if any(map(str.isalnum, sentence)))
    return next((s for s in said if s.strip("#*=-~^_ \n").casefold() != name.casefold()), "")
