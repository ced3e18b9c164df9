"""Entities that answer a question: by what their passages say, and by where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from clew.graph.paths import neighbourhood
from clew.graph.snapshot import distinct, find_sorted
from clew.query.analyse import MAX_TERMS, find_seeds
from clew.query.ways import entity_rows
from clew.text import terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.graph.analysis import EntityRanks
    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.ports import Store, VectorIndex
    from clew.types import Entity, Vector

    class Library(Protocol):
        """What entities are looked for in."""

        @property
        def store(self) -> Store:
            """The truth: texts, names, relations."""
            ...

        @property
        def vectors(self) -> VectorIndex:
            """Nearness of meaning."""
            ...

        @property
        def snapshot(self) -> Snapshot:
            """The graph, as it stands."""
            ...

        @property
        def entity_graph(self) -> EntityGraph:
            """The graph of entities alone."""
            ...

        @property
        def entity_ranks(self) -> EntityRanks:
            """How much each entity matters."""
            ...


PASSAGES = 100
"""Passages, the nearest to the question, whose entities are looked at."""
AROUND = 300
"""Entities around those of the question that are looked at, at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityHit:
    """An entity found, and why."""

    entity: Entity
    content: str
    """Its description; where it has none, the sentence that names it in its best passage."""
    vector_score: float
    """0 to 1: cosine of the question and the entity's nearest passage; 0 where it is negative."""
    graph_score: float
    """0 to 1: the mean of salience and nearness to the question's entities, 1 / (1 + hops); where
    the graph knows none of the question, salience alone."""
    combined_score: float


@dataclass(frozen=True, slots=True)
class _Candidates:
    ids: Ints
    """(n,) entity ids, sorted."""
    nearness: Floats
    """(n,) 0 to 1."""


def search_entities(
    library: Library,
    question: str,
    vector: Vector | None,
    *,
    depth: int = 2,
    limit: int = 10,
    vector_weight: float = 0.6,
    graph_weight: float = 0.4,
) -> list[EntityHit]:
    """The entities of highest `vector_weight` · vector score + `graph_weight` · graph score.

    Looked at are the entities of the nearest passages and those within `depth` ties of what the
    question names. Without a vector, passages are found by words, and no entity has a vector score.
    Dates are no entities here. Equals go by id.
    """
    snapshot, graph = library.snapshot, library.entity_graph
    seeds = entity_rows(graph, [s.entity_id for s in find_seeds(question, snapshot, library.store)])
    passages = _nearest_passages(library, snapshot, question, vector)
    found = _candidates(snapshot, graph, passages, seeds, depth)
    cosine, passage = _best_passages(library.vectors, snapshot, found.ids, vector)
    salience = _salience(library.entity_ranks, found.ids)
    position = (found.nearness + salience) / 2 if seeds else salience
    combined = vector_weight * cosine + graph_weight * position
    best = np.lexsort((found.ids, -combined))[:limit]
    entities = library.entity_ranks.applied(library.store.entities(found.ids[best].tolist()))
    at = {int(found.ids[place]): int(place) for place in best}
    chosen = [at[entity.id] for entity in entities]
    contents = _contents(library.store, snapshot, entities, passage[chosen])
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


def _nearest_passages(
    library: Library, snapshot: Snapshot, question: str, vector: Vector | None
) -> Ints:
    """Rows of the passages nearest to the question; without a vector, by its words."""
    if vector is None:
        words = list(dict.fromkeys(terms(question)))[:MAX_TERMS]
        found, _ = library.store.search_keywords(words, PASSAGES)
    else:
        found, _ = library.vectors.search_vector(vector, PASSAGES)
    return snapshot.rows(found[snapshot.known(found)])


def _candidates(
    snapshot: Snapshot, graph: EntityGraph, passages: Ints, seeds: Sequence[int], depth: int
) -> _Candidates:
    entries, _ = snapshot.passage_entities.entries(passages)
    mentioned = snapshot.entity_ids[snapshot.passage_entities.items[entries]]
    rows, known = find_sorted(graph.entity_ids, distinct(mentioned))
    around = neighbourhood(graph, seeds, depth, AROUND) if seeds else None
    near = [*seeds, *(around.entities if around else ())]
    hops = [*(0 for _ in seeds), *(around.hops if around else ())]
    looked_at = distinct(np.concatenate([rows[known], np.array(near, dtype=np.int64)]))
    nearness = np.zeros(len(looked_at), dtype=np.float32)
    nearness[np.searchsorted(looked_at, near)] = 1 / (1 + np.array(hops, dtype=np.float32))
    return _Candidates(graph.entity_ids[looked_at], nearness)


def _best_passages(
    vectors: VectorIndex, snapshot: Snapshot, entity_ids: Ints, vector: Vector | None
) -> tuple[NDArray[np.float64], Ints]:
    """(n,) cosine of each entity's nearest passage, and its row; 0 and -1 where it has none.

    Without a vector, any passage is as near as another.
    """
    rows, known = find_sorted(snapshot.entity_ids, entity_ids)
    members = np.flatnonzero(known)
    entries, owner = snapshot.entity_passages.entries(rows[members])
    passages = snapshot.entity_passages.items[entries]
    cosine = np.full(len(passages), -1.0)
    if vector is not None:
        chunk_ids = snapshot.chunk_ids[distinct(passages)]
        ids, scores = vectors.search_vector(vector, len(chunk_ids), chunk_ids)
        order = np.argsort(ids)
        places, scored = find_sorted(ids[order], snapshot.chunk_ids[passages])
        cosine[scored] = scores[order][places[scored]]
    best, nearest = np.full(len(entity_ids), -1.0), np.full(len(entity_ids), -1)
    # Of all that is written to one place the last stays: so the nearest passage.
    upwards = np.argsort(cosine, kind="stable")
    best[members[owner[upwards]]] = cosine[upwards]
    nearest[members[owner[upwards]]] = passages[upwards]
    return np.clip(best, 0, 1), nearest


def _salience(ranks: EntityRanks, entity_ids: Ints) -> NDArray[np.float64]:
    found = ranks.of(entity_ids.tolist())
    return np.array([found[id_][0] if id_ in found else 0.0 for id_ in entity_ids.tolist()])


def _contents(
    store: Store, snapshot: Snapshot, entities: Sequence[Entity], passages: Ints
) -> list[str]:
    """What each entity is: its description, or the sentence of its passage that names it."""
    chunks = [int(snapshot.chunk_ids[row]) if row >= 0 else 0 for row in passages.tolist()]
    sentences = store.sentences([chunk for chunk in chunks if chunk])
    rows = snapshot.entity_rows([entity.id for entity in entities])
    found = []
    for entity, chunk, passage in zip(entities, chunks, passages.tolist(), strict=True):
        said = sentences.get(chunk, ())
        naming = _naming(snapshot, rows[entity.id], passage) if chunk else 0
        found.append(entity.content or (said[naming] if naming < len(said) else ""))
    return found


def _naming(snapshot: Snapshot, entity: int, passage: int) -> int:
    """The first sentence of a passage that names an entity; 0 where the passage is about it."""
    first, last = snapshot.sentence_starts[passage], snapshot.sentence_starts[passage + 1]
    rows = snapshot.entity_sentences.row(entity)
    ordinals = rows[(rows > first) & (rows < last)] - first - 1
    return int(ordinals[0]) if len(ordinals) else 0
