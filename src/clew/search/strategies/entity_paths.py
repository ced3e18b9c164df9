"""The paths between entities, each tie with the sentence that says so."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.paths import all_paths
from clew.graph.snapshot import find_sorted
from clew.search.answer.blocks import Block, Form, cite_chunks, statement
from clew.search.answer.explain import read_relations
from clew.search.retrieval.filters import filtered_graph
from clew.types import RelationEvidence

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.paths import Path
    from clew.ports import SnapshotSource, Store
    from clew.search.session import QuerySession
    from clew.types import Entity, Ids

    RelationPath = tuple[RelationEvidence, ...]
    """A path as its ties, each from one entity to the next."""

PAIRED = 4
"""Entities of the question, from the rarest, between which paths are looked for."""
PATHS = 8
"""Paths shown, the fewest hops first."""
LOOKED_AT = 4 * PATHS
"""Paths between two entities that are looked at."""
TOGETHER = "co_occurs_with"
"""What ties two names of one sentence that states no relation of them."""
VENUE = "venue"
"""The type of journals and conferences."""


def paths_between(session: QuerySession) -> tuple[list[Block], Ids]:
    """The paths between the question's entities, fewest hops first, each tie with its source.

    And the chunks that state the first of them, in its order.
    """
    graph = filtered_graph(session)
    seeds = sorted(session.analysis.seeds, key=lambda seed: -seed.weight)[:PAIRED]
    rows = entity_rows(graph, [seed.entity_id for seed in seeds])
    if len(rows) < 2:
        session.note("the question names fewer than two entities of the graph: no paths")
        return [], np.zeros(0, np.int64)
    found: list[Path] = []
    for one, other in combinations(rows, 2):
        paths = all_paths(graph, one, other, max_hops=session.options.max_hops, limit=LOOKED_AT)
        session.note(*paths.limits_hit)
        found.extend(without_detours(graph, paths.paths))
    found.sort(key=lambda path: len(path.edges))
    if not found:
        session.note(f"no path of at most {session.options.max_hops} hops ties them")
    first = found[0].edges if found else ()
    stating = dict.fromkeys(int(graph.chunks[edge]) for edge in first if graph.chunks[edge])
    return _blocks(session, found[:PATHS]), np.array(list(stating), dtype=np.int64)


def without_detours(graph: EntityGraph, paths: Sequence[Path]) -> Sequence[Path]:
    """The paths that do not pass through a third name of one and the same sentence.

    Such a path says no more than the sentence's own tie of the two ends. Where all do, all stay.
    """
    direct = [
        path
        for path in paths
        if not any(
            graph.chunks[one]
            and graph.chunks[one] == graph.chunks[other]
            and graph.sentences[one] == graph.sentences[other]
            for one, other in pairwise(path.edges)
        )
    ]
    return direct or paths


def without_venues(
    store: SnapshotSource, graph: EntityGraph, ends: Sequence[Entity]
) -> EntityGraph:
    """The graph in which no path leads through a journal or a conference, but may end there.

    Two papers of one journal have as little to do with each other as two things of one year.
    """
    venues = np.setdiff1d(store.entities_of_type(VENUE), [entity.id for entity in ends])
    if not len(venues):
        return graph
    return graph.only(~np.isin(graph.entity_ids, venues)[graph.neighbours])


def entity_rows(graph: EntityGraph, entity_ids: Sequence[int]) -> list[int]:
    """Rows of the graph, in the order of the ids, each once; ids that it lacks are left out."""
    ids = np.array(list(dict.fromkeys(entity_ids)), dtype=np.int64)
    rows, known = find_sorted(graph.entity_ids, ids)
    found: list[int] = rows[known].tolist()
    return found


def read_paths(
    store: Store, graph: EntityGraph, paths: Sequence[Path], as_of: datetime | None = None
) -> list[RelationPath]:
    """Each path as relations, or as sentences that two names share, from its start to its end.

    With `as_of`, as relations that held then and were known.
    """
    rows = sorted({row for path in paths for row in path.entities})
    ids = graph.entity_ids[rows].tolist()
    edges = _Ties(store, graph, sorted({edge for path in paths for edge in path.edges}), ids, as_of)
    known = store.entity_names(ids)
    names = {row: known.get(id_, "?") for row, id_ in zip(rows, ids, strict=True)}
    return [
        tuple(
            edges.read(edge, names[one], names[other])
            for edge, (one, other) in zip(path.edges, pairwise(path.entities), strict=True)
        )
        for path in paths
    ]


class _Ties:
    """What ties entities, by number of the tie: a relation that is stated, or a shared sentence."""

    def __init__(
        self,
        store: Store,
        graph: EntityGraph,
        edges: Sequence[int],
        entity_ids: Sequence[int],
        as_of: datetime | None,
    ) -> None:
        self._chunk = {edge: int(graph.chunks[edge]) for edge in edges}
        self._sentence = {edge: int(graph.sentences[edge]) for edge in edges}
        ids = sorted({id_ for id_ in self._chunk.values() if id_})
        self._texts, self._ranges = store.sentences(ids), store.sentence_ranges(ids)
        self._origins = store.provenance(ids)
        wanted = {int(graph.relations[edge]) for edge in edges}
        relations = store.chunk_relations(ids, as_of=as_of)
        if not all(self._chunk.values()):  # relations that were added by hand
            relations += store.relations(entity_ids, as_of=as_of)
        relations = list({r.id: r for r in relations if r.id in wanted}.values())
        evidence = read_relations(store, relations)
        by_id = {r.id: e for r, e in zip(relations, evidence, strict=True)}
        self._stated = {
            edge: by_id[int(graph.relations[edge])]
            for edge in edges
            if int(graph.relations[edge]) in by_id
        }

    def read(self, edge: int, head: str, tail: str) -> RelationEvidence:
        """The tie as it is stated, in its own direction, or as a sentence with both names."""
        if edge in self._stated:
            return self._stated[edge]
        chunk, at = self._chunk[edge], self._sentence[edge]
        texts, ranges = self._texts.get(chunk, ()), self._ranges.get(chunk, ())
        origin = self._origins.get(chunk)
        if not 0 <= at < len(texts) or origin is None:
            return RelationEvidence(
                head=head, relation=TOGETHER, tail=tail, evidence="", provenance=origin
            )
        start, end = ranges[at]
        return RelationEvidence(
            head=head,
            relation=TOGETHER,
            tail=tail,
            evidence=texts[at],
            provenance=origin.narrowed(start, end),
        )


def _blocks(session: QuerySession, paths: Sequence[Path]) -> list[Block]:
    store, graph = session.resources.store, session.resources.entity_graph
    chunks = {
        chunk.id: chunk
        for chunk in store.chunks(
            sorted({int(graph.chunks[edge]) for path in paths for edge in path.edges})
        )
    }
    blocks = []
    ways = read_paths(store, graph, paths, session.options.as_of)
    for path, way in zip(paths, ways, strict=True):
        stating = [chunks[id_] for id_ in graph.chunks[list(path.edges)].tolist() if id_ in chunks]
        form = Form(
            text="\n".join(statement(t.head, t.relation, t.tail, t.evidence) for t in way),
            citations=cite_chunks(stating),
        )
        hops = f"Path of {len(way)} hop{'s' if len(way) > 1 else ''}"
        blocks.append(Block(kind="path", heading=hops, forms=(form,)))
    return blocks
