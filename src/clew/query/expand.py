"""From chunk ids to hits: texts, parents, entities, relations and the thread to each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from clew.query.explain import Step, find_threads
from clew.query.stated import read_relations
from clew.types import Hit, PathStep, RelationEvidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.graph.snapshot import Ints
    from clew.query.asking import Asking
    from clew.query.found import Found
    from clew.types import StoredChunk

    Channel = Literal["vector", "keyword", "graph"]

SHOWN_ENTITIES = 8
"""Entities shown with a hit; the rarest."""
SHOWN_RELATIONS = 8
"""Relations shown with a hit."""
_CHANNELS: tuple[Channel, ...] = ("vector", "keyword", "graph")
EXPLAINED = 20
"""Hits, from the best, whose thread is looked for."""


def expand(asking: Asking, found: Found) -> tuple[Hit, ...]:
    """The hits of what was found, in its order; chunks deleted meanwhile are left out."""
    store, ids = asking.library.store, found.ranking.ids.tolist()
    chunks = store.chunks(ids)
    scores = dict(zip(ids, found.ranking.scores.tolist(), strict=True))
    channels = _channel_scores(asking) | dict(found.scores)
    origins, times = store.provenance(ids), store.chunk_times(ids)
    matched = _Matched(asking, found)
    views = _GraphViews(asking, chunks)
    return tuple(
        Hit(
            chunk=chunk,
            score=scores[chunk.id],
            scores={name: found[chunk.id] for name, found in channels.items() if chunk.id in found},
            source=_source([name for name in _CHANNELS if chunk.id in channels.get(name, ())]),
            entities=views.entities.get(chunk.id, ()),
            relations=views.relations.get(chunk.id, ()),
            path=views.paths.get(chunk.id, ()),
            matched=matched.of(chunk.id),
            times=times.get(chunk.id, ()),
            provenance=origins.get(chunk.id),
        )
        for chunk in chunks
    )


def _channel_scores(asking: Asking) -> dict[str, Mapping[int, float]]:
    found: dict[str, Mapping[int, float]] = dict(asking.channels.scores())
    evidence = asking.evidence
    if evidence is not None:
        ids = asking.snapshot.chunk_ids[evidence.rows].tolist()
        walked = zip(ids, evidence.walk.tolist(), strict=True)
        found["graph"] = {chunk_id: value for chunk_id, value in walked if value > 0}
    return found


def _source(channels: Sequence[Channel]) -> Channel | Literal["hybrid"]:
    """A passage that none of the channels found came with its community, parent or neighbour."""
    if not channels:
        return "graph"
    return channels[0] if len(channels) == 1 else "hybrid"


class _Matched:
    """Public ids of the children that matched, by the chunk that stands for their parent."""

    def __init__(self, asking: Asking, found: Found) -> None:
        self._matched = found.matched
        shown = [i for id_ in found.ranking.ids.tolist() for i in found.matched.get(id_, ())]
        self._ids = {c.id: c.public_id for c in asking.library.store.chunks(shown)}

    def of(self, chunk_id: int) -> tuple[str, ...]:
        children = self._matched.get(chunk_id, ())
        return tuple(self._ids[child] for child in children if child in self._ids)


class _GraphViews:
    """What the graph has to say of the chunks found, by chunk id; empty for other strategies."""

    def __init__(self, asking: Asking, chunks: Sequence[StoredChunk]) -> None:
        self.entities: dict[int, tuple[str, ...]] = {}
        self.relations: dict[int, tuple[RelationEvidence, ...]] = {}
        self.paths: dict[int, tuple[PathStep, ...]] = {}
        if asking.evidence is None or not chunks or not asking.options.explain:
            return
        self._asking = asking
        self._snapshot = asking.snapshot
        ids = np.array([chunk.id for chunk in chunks], dtype=np.int64)
        ids = ids[self._snapshot.known(ids)]
        self._read(self._snapshot.rows(ids))

    def _read(self, hits: Ints) -> None:
        snapshot, evidence = self._snapshot, self._asking.evidence
        assert evidence is not None
        mentioned = {int(hit): _rarest(self._asking, int(hit)) for hit in hits}
        explained = hits[:EXPLAINED]
        bridges = snapshot.sentence_chunk[evidence.bridges.sentences]
        seeds = [seed.row for seed in evidence.analysis.seeds]
        threads = find_threads(snapshot, evidence.coverage, seeds, explained, bridges)
        names = self._names([*mentioned.values(), *([s.entity for s in t] for t in threads)])
        for hit, rows in mentioned.items():
            self.entities[int(snapshot.chunk_ids[hit])] = tuple(names[row] for row in rows)
        for hit, path in zip(explained, self._paths(threads, names), strict=True):
            self.paths[int(snapshot.chunk_ids[hit])] = path
        self._read_relations(snapshot.chunk_ids[explained].tolist())

    def _names(self, groups: Sequence[Sequence[int]]) -> dict[int, str]:
        rows = sorted({row for group in groups for row in group})
        ids = self._snapshot.entity_ids[rows].tolist()
        known = self._asking.library.store.entity_names(ids)
        return {row: known.get(id_, "?") for row, id_ in zip(rows, ids, strict=True)}

    def _paths(
        self, threads: Sequence[Sequence[Step]], names: Mapping[int, str]
    ) -> list[tuple[PathStep, ...]]:
        texts = _SentenceTexts(self._asking, [s.sentence for thread in threads for s in thread])
        return [
            tuple(PathStep(entity=names[s.entity], **texts.of(s.sentence)) for s in thread)
            for thread in threads
        ]

    def _read_relations(self, chunk_ids: Sequence[int]) -> None:
        store, as_of = self._asking.library.store, self._asking.options.as_of
        found = store.chunk_relations(chunk_ids, as_of=as_of)
        for relation, evidence in zip(found, read_relations(store, found), strict=True):
            assert relation.chunk_id is not None
            shown = self.relations.get(relation.chunk_id, ())
            if len(shown) < SHOWN_RELATIONS:
                self.relations[relation.chunk_id] = (*shown, evidence)


class _SentenceTexts:
    """Texts of sentences, by row of the snapshot, with the document that each stands in."""

    def __init__(self, asking: Asking, rows: Sequence[int]) -> None:
        self._snapshot = asking.snapshot
        ids = sorted({int(self._snapshot.chunk_ids[self._chunk_of(row)]) for row in rows})
        self._chunks = {chunk.id: chunk for chunk in asking.library.store.chunks(ids)}
        self._sentences = asking.library.store.sentences(ids)

    def of(self, row: int) -> dict[str, str]:
        """`sentence` and `document`; empty where the chunk was deleted meanwhile."""
        place = self._chunk_of(row)
        chunk = self._chunks.get(int(self._snapshot.chunk_ids[place]))
        if chunk is None:
            return {"sentence": "", "document": ""}
        position = row - int(self._snapshot.sentence_starts[place]) - 1
        sentences = self._sentences.get(chunk.id, ())
        text = sentences[position] if 0 <= position < len(sentences) else chunk.context
        return {"sentence": text.lstrip("# "), "document": chunk.title or chunk.source}

    def _chunk_of(self, row: int) -> int:
        return int(self._snapshot.sentence_chunk[row])


def _rarest(asking: Asking, hit: int) -> list[int]:
    """The chunk's entities, the question's first, then the rarest."""
    rows = asking.snapshot.passage_entities.row(hit)
    asked = np.isin(rows, [seed.row for seed in asking.analysis.seeds])
    order = np.lexsort((rows, -asking.snapshot.entity_idf[rows], ~asked))
    shown: list[int] = rows[order][:SHOWN_ENTITIES].tolist()
    return shown
