"""From chunk ids to hits: texts, parents, entities, relations and the thread to each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from clew.query.explain import Step, find_threads
from clew.query.stated import stating_sentences
from clew.types import Hit, PathStep, RelationEvidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.graph.snapshot import Ints
    from clew.query.asking import Asking
    from clew.query.retrieve import Ranking
    from clew.types import StoredChunk

SHOWN_ENTITIES = 8
"""Entities shown with a hit; the rarest."""
SHOWN_RELATIONS = 8
"""Relations shown with a hit."""
EXPLAINED = 20
"""Hits, from the best, whose thread is looked for."""


def expand(asking: Asking, ranking: Ranking) -> tuple[Hit, ...]:
    """The hits of a ranking, in its order; chunks deleted meanwhile are left out."""
    chunks = asking.library.store.chunks(ranking.ids.tolist())
    scores = dict(zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True))
    channels = _channel_scores(asking)
    views = _GraphViews(asking, chunks)
    return tuple(
        Hit(
            chunk=chunk,
            score=scores[chunk.id],
            scores={name: found[chunk.id] for name, found in channels.items() if chunk.id in found},
            source=_source([name for name, found in channels.items() if chunk.id in found]),
            entities=views.entities.get(chunk.id, ()),
            relations=views.relations.get(chunk.id, ()),
            path=views.paths.get(chunk.id, ()),
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


def _source(channels: Sequence[str]) -> Literal["vector", "keyword", "graph", "hybrid"]:
    for name in ("vector", "keyword", "graph"):
        if channels == [name]:
            return name
    return "hybrid"


class _GraphViews:
    """What the graph has to say of the chunks found, by chunk id; empty for other strategies."""

    def __init__(self, asking: Asking, chunks: Sequence[StoredChunk]) -> None:
        self.entities: dict[int, tuple[str, ...]] = {}
        self.relations: dict[int, tuple[RelationEvidence, ...]] = {}
        self.paths: dict[int, tuple[PathStep, ...]] = {}
        if asking.evidence is None or not chunks:
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
        store = self._asking.library.store
        found = store.chunk_relations(chunk_ids)
        ids = {id_ for r in found for id_ in (r.from_entity_id, r.to_entity_id)}
        names = store.entity_names(sorted(ids))
        sentences = stating_sentences(store, found)
        for relation in found:
            assert relation.chunk_id is not None
            shown = self.relations.get(relation.chunk_id, ())
            if len(shown) < SHOWN_RELATIONS:
                evidence = RelationEvidence(
                    head=names.get(relation.from_entity_id, "?"),
                    relation=relation.relation_type,
                    tail=names.get(relation.to_entity_id, "?"),
                    evidence=sentences[relation.id],
                )
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
