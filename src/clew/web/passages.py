"""Hits and passages as pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.web.marks import Segment, find_names, segments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clew.engine import Engine
    from clew.types import Hit, PathStep, StoredChunk

MOST_ENTITIES = 300
"""Entities of a text that are marked in it."""
FULL_SCALE = frozenset({"vector", "graph", "temporal"})
"""Channels whose scores are 0 to 1; those of others are drawn against the best of the result."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A score by a channel."""

    channel: str
    score: float
    width: int
    """0 to 100."""


@dataclass(frozen=True, slots=True)
class ThreadLink:
    """A step of a thread: an entity, and the sentence that leads on from it."""

    entity: str
    entity_id: int | None
    sentence: str
    document: str
    names_it_alone: bool
    """Whether the sentence is no more than the entity's name, as a title is."""


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit, ready to be shown."""

    number: int
    hit: Hit
    title: str
    segments: list[Segment]
    bars: list[Bar]
    thread: list[ThreadLink]
    entities: list[tuple[str, int | None]]


def shown_hits(engine: Engine, hits: Sequence[Hit]) -> list[ShownHit]:
    """The hits with their sentences marked, their scores as bars, their threads with ids."""
    ids = name_ids(engine, (name for hit in hits for name in _named(hit)))
    best = best_scores(hits)
    return [
        ShownHit(
            number=number,
            hit=hit,
            title=hit.chunk.title or hit.chunk.source,
            segments=answer_segments(hit),
            bars=bars(hit, best),
            thread=[_link(step, ids) for step in hit.path],
            entities=[(name, ids.get(name)) for name in hit.entities],
        )
        for number, hit in enumerate(hits, 1)
    ]


def best_scores(hits: Iterable[Hit]) -> dict[str, float]:
    """The highest score by channel."""
    best: dict[str, float] = {}
    for hit in hits:
        for channel, score in hit.scores.items():
            best[channel] = max(best.get(channel, 0.0), score)
    return best


def bars(hit: Hit, best: Mapping[str, float]) -> list[Bar]:
    """The scores of a hit, against the best of the result where they have no scale of their own."""
    return [
        Bar(channel, score, _width(score, 1.0 if channel in FULL_SCALE else best[channel]))
        for channel, score in hit.scores.items()
    ]


def answer_segments(hit: Hit) -> list[Segment]:
    """A passage with the sentence that answers marked."""
    start, end = hit.answer or (0, 0)
    return segments(hit.chunk.text, answer=(start - hit.chunk.start, end - hit.chunk.start))


def name_ids(engine: Engine, names: Iterable[str]) -> dict[str, int]:
    """Ids of entities by name; names that are of none are left out."""
    from clew.text import entity_key

    keys = {name: entity_key(name) for name in names}
    found = engine.store.resolve(sorted({key for key in keys.values() if key}))
    return {name: found[key] for name, key in keys.items() if key in found}


def named_segments(engine: Engine, chunks: Sequence[StoredChunk]) -> dict[int, list[Segment]]:
    """By id of the chunk: its text with the names marked that the graph knows there."""
    snapshot = engine.state.snapshot
    ids = np.array(sorted(chunk.id for chunk in chunks), dtype=np.int64)
    rows = snapshot.rows(ids[snapshot.known(ids)])
    entities = {
        int(chunk): snapshot.entity_ids[snapshot.passage_entities.row(int(row))].tolist()
        for chunk, row in zip(ids[snapshot.known(ids)], rows, strict=True)
    }
    wanted = list(dict.fromkeys(e for found in entities.values() for e in found))[:MOST_ENTITIES]
    names = {e: [alias.name for alias in engine.store.aliases(entity_id=e)] for e in wanted}
    return {
        chunk.id: segments(
            chunk.text,
            find_names(
                chunk.text,
                {name: e for e in entities.get(chunk.id, ()) for name in names.get(e, ())},
            ),
        )
        for chunk in chunks
    }


def _named(hit: Hit) -> Iterable[str]:
    yield from (step.entity for step in hit.path)
    yield from hit.entities
    for relation in hit.relations:
        yield from (relation.head, relation.tail)


def _link(step: PathStep, ids: Mapping[str, int]) -> ThreadLink:
    alone = step.sentence.strip() == step.entity.strip()
    return ThreadLink(step.entity, ids.get(step.entity), step.sentence, step.document, alone)


def _width(score: float, full: float) -> int:
    return round(100 * min(max(score / full if full > 0 else 0.0, 0.0), 1.0))
