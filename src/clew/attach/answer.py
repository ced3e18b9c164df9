"""From the rows of a query to an answer: passages in order, each with its scores and its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.search.retrieval.channels import Ranking, reciprocal_rank_fusion

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Row

MAX_ENTITIES = 10
"""Entities that a hit names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphStep:
    """One step of a path: from an entity over a relationship to the next, or to the passage."""

    entity: str
    type: str
    """Of the relationship."""
    forward: bool
    """Whether the relationship starts at this entity."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphHit:
    """A passage of the graph, and why it was found."""

    id: str
    title: str
    source: str
    text: str
    score: float
    """Higher is better; comparable within one answer only."""
    scores: Mapping[str, float]
    """By channel: `vector` (cosine, -1 to 1; of a Euclidean index 1 / (1 + distance²), 0 to 1),
    `keyword` (of the full-text index, above 0), `graph` (above 0)."""
    entities: tuple[str, ...]
    """Entities that it is tied to; of a walk over the graph those that were reached."""
    path: tuple[GraphStep, ...]
    """From an entity of the question, or of a passage like it, to this passage; may be empty."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphAnswer:
    """The answer to one question."""

    question: str
    strategy: str
    hits: tuple[GraphHit, ...]
    """Best first."""
    seeds: tuple[str, ...]
    """Names of the entities that the walk started from; none for `hybrid`."""
    notes: tuple[str, ...]
    """Whatever was missing."""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A row of a query."""

    key: str
    """The database's element id."""
    id: str | None
    title: str | None
    source: str | None
    text: str | None
    vector: float | None
    """As the index scores: 0 to 1."""
    keyword: float | None
    graph: float
    """0 where no entity led to it."""
    ways: Sequence[Mapping[str, Any]]
    """Its entities, the heaviest first, each with how it is tied and the steps that lead to it."""
    seeds: Sequence[object]


def rank_rows(rows: Sequence[Row]) -> list[tuple[FoundPassage, float]]:
    """Passages and their scores, best first.

    Those that the graph leads to go first, fused by the reciprocal ranks of the three channels;
    then the others, by those of vectors and words.
    """
    found = sorted((FoundPassage(*row) for row in rows), key=lambda passage: passage.key)
    led = [place for place, passage in enumerate(found) if passage.graph > 0]
    others = [place for place, passage in enumerate(found) if passage.graph <= 0]
    ranking = _fused(found, others)
    if led:
        ranking = _fused(found, led).then(ranking)
    places, scores = ranking.ids.tolist(), ranking.scores.tolist()
    return [(found[place], score) for place, score in zip(places, scores, strict=True)]


def _fused(found: Sequence[FoundPassage], places: Sequence[int]) -> Ranking:
    """The passages at those places, by the reciprocal ranks of the channels that found them."""
    return reciprocal_rank_fusion(
        [
            _ranking({place: found[place].vector for place in places}),
            _ranking({place: found[place].keyword for place in places}),
            _ranking({place: found[place].graph or None for place in places}),
        ]
    )


def _ranking(scores: Mapping[int, float | None]) -> Ranking:
    known = [(score, place) for place, score in scores.items() if score is not None]
    best = sorted(known, key=lambda pair: (-pair[0], pair[1]))
    return Ranking(
        np.array([place for _, place in best], dtype=np.int64),
        np.array([score for score, _ in best], dtype=np.float32),
    )


def make_hit(found: FoundPassage, score: float, named: frozenset[str], similarity: str) -> GraphHit:
    """A hit as it is shown; `named`: what the question names, folded.

    A path leads from the heaviest entity, or, where no walk was made, from one that is named.
    """
    vector = found.vector
    if vector is not None and similarity == "cosine":
        vector = 2 * vector - 1
    scores = {"vector": vector, "keyword": found.keyword, "graph": found.graph or None}
    ways = [way for way in found.ways if found.graph > 0 or _folded(way["entity"]) in named]
    entities = dict.fromkeys(str(way["entity"]) for way in found.ways)
    return GraphHit(
        id=found.id or found.key,
        title=found.title or "",
        source=found.source or "",
        text=found.text or "",
        score=score,
        scores={name: value for name, value in scores.items() if value is not None},
        entities=tuple(entities)[:MAX_ENTITIES],
        path=tuple(_steps(ways[0])) if ways else (),
    )


def _folded(name: object) -> str:
    return str(name).lower()


def _steps(way: Mapping[str, Any]) -> Iterator[GraphStep]:
    for step in (*way["steps"], way):
        yield GraphStep(entity=str(step["entity"]), type=step["type"], forward=step["out"])
