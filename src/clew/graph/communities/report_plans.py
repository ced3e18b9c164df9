"""Plans of community reports, made without reading a text: the entities and sentences to name.

An entity is as central as its edges within the community are strong: there a random walk inside
it spends its time. A sentence is worth the centrality of the entities that it names, over
the square root of its length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.communities.leiden import sums
from clew.graph.snapshot_columns import Adjacency, distinct, find_sorted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.ports import Partition
    from clew.types import Ids

    Values = NDArray[np.float64]

CENTRAL = 24
"""Entities that a report names, at most."""
RELATIONS = 8
"""Relations of a report, at most."""
_CANDIDATES = 20
"""Sentences that a report is chosen from."""
_SHORT = 8
"""Terms below which a sentence says little."""
_LONG = 80
"""Terms above which a sentence is a table or a list."""
_LEAST = np.finfo(np.float64).tiny


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """What is known of a level's communities without reading a text; places are theirs."""

    ids: Ids
    community: Ints
    """(E,) place of the community of each row of the entity graph; -1 for none."""
    centrality: Values
    """(E,) share of the strength within the community, 0 to 1."""
    entities: Adjacency
    """By community: its most central entities, rows of the entity graph."""
    sentences: Adjacency
    """By community: rows of sentences worth most."""
    relations: Adjacency
    """By community: ids of the strongest relations."""
    title_chunks: Ints
    """(communities,) id of a chunk of the document that most of it is about; 0 for none."""


def length_norm(counts: Ints) -> Values:
    """0 to 0.36 by a sentence's number of terms: n^-½, and less the fewer there are below 8."""
    return np.minimum(counts, _SHORT) / _SHORT / np.sqrt(np.maximum(counts, _SHORT))


def outline(snapshot: Snapshot, graph: EntityGraph, partition: Partition, ids: Ids) -> ReportPlan:
    """What reports of some communities of one level (ids, sorted) should speak of."""
    community = _places(graph, partition, ids)
    heads = np.repeat(np.arange(len(graph.entity_ids)), np.diff(graph.starts))
    inside = np.flatnonzero(
        (community[heads] == community[graph.neighbours]) & (community[heads] >= 0)
    )
    member = np.flatnonzero(community >= 0)
    centrality = _centrality(graph, heads, inside, community, len(ids))
    best = best_of_groups(community[member], centrality[member], len(ids), CENTRAL)
    mentions = _mentions(snapshot, graph, community)
    return ReportPlan(
        ids=ids,
        community=community,
        centrality=centrality,
        entities=Adjacency(best.starts, member[best.items]),
        sentences=_best_sentences(snapshot, mentions, community, centrality, len(ids)),
        relations=_best_relations(graph, heads, inside, community, len(ids)),
        title_chunks=_title_chunks(snapshot, mentions, community, len(ids)),
    )


def _places(graph: EntityGraph, partition: Partition, ids: Ids) -> Ints:
    place, hit = find_sorted(ids, partition.members[:, 0])
    community = np.full(len(graph.entity_ids), -1, dtype=np.int64)
    rows, known = find_sorted(graph.entity_ids, partition.members[hit, 1])
    community[rows[known]] = place[hit][known]
    return community


def _mentions(snapshot: Snapshot, graph: EntityGraph, community: Ints) -> tuple[Ints, Ints]:
    """Rows of sentences and, of the entity graph, what each names; contexts left out."""
    spoken = np.repeat(np.arange(snapshot.sentences), np.diff(snapshot.sentence_entities.starts))
    rows, known = find_sorted(graph.entity_ids, snapshot.entity_ids)
    entity = rows[snapshot.sentence_entities.items]
    context = snapshot.sentence_starts[snapshot.sentence_chunk[spoken]] == spoken
    kept = known[snapshot.sentence_entities.items] & ~context
    return spoken[kept], entity[kept]


def _best_sentences(
    snapshot: Snapshot,
    mentions: tuple[Ints, Ints],
    community: Ints,
    centrality: Values,
    size: int,
) -> Adjacency:
    sentence, entity = mentions
    counts = snapshot.columns.term_counts
    kept = (community[entity] >= 0) & (counts[sentence] <= _LONG)
    codes = community[entity[kept]] * snapshot.sentences + sentence[kept]
    pairs = distinct(codes)
    worth = sums(np.searchsorted(pairs, codes), centrality[entity[kept]], len(pairs))
    of, row = np.divmod(pairs, max(snapshot.sentences, 1))
    worth = worth * length_norm(counts[row])
    best = best_of_groups(of, worth, size, _CANDIDATES)
    return Adjacency(best.starts, row[best.items])


def _centrality(
    graph: EntityGraph, heads: Ints, inside: Ints, community: Ints, size: int
) -> Values:
    strength = sums(
        heads[inside], graph.strengths[graph.edges[inside]].astype(np.float64), len(community)
    )
    member = np.flatnonzero(community >= 0)
    totals = sums(community[member], strength[member], size)
    shares = np.zeros(len(community))
    shares[member] = strength[member] / np.maximum(totals[community[member]], _LEAST)
    return shares


def _best_relations(
    graph: EntityGraph, heads: Ints, inside: Ints, community: Ints, size: int
) -> Adjacency:
    once = inside[heads[inside] < graph.neighbours[inside]]
    stated = once[graph.relations[graph.edges[once]] > 0]
    edges = graph.edges[stated]
    best = best_of_groups(community[heads[stated]], graph.strengths[edges], size, RELATIONS)
    return Adjacency(best.starts, graph.relations[edges[best.items]])


def _title_chunks(
    snapshot: Snapshot, mentions: tuple[Ints, Ints], community: Ints, size: int
) -> Ints:
    """A chunk of the document that has most of a community's mentions, and most of whose it has."""
    sentence, entity = mentions
    _, first, document = np.unique(
        snapshot.columns.documents, return_index=True, return_inverse=True
    )
    of = document[snapshot.sentence_chunk[sentence]]
    place = community[entity]
    in_document = np.bincount(of, minlength=len(first))
    inside = place >= 0
    in_community = np.bincount(place[inside], minlength=size)
    pairs, counts = np.unique(place[inside] * max(len(first), 1) + of[inside], return_counts=True)
    which, where = np.divmod(pairs, max(len(first), 1))
    most = (2 * counts > in_community[which]) & (2 * counts > in_document[where])
    found = np.zeros(size, dtype=np.int64)
    found[which[most]] = snapshot.chunk_ids[first[where[most]]]
    return found


def best_of_groups(groups: Ints, values: Values | Floats, size: int, limit: int) -> Adjacency:
    """By group: the places of its highest values, highest first; equal ones in order of place."""
    order = np.lexsort((-values, groups))
    starts = np.searchsorted(groups[order], np.arange(size + 1))
    rank = np.arange(len(order)) - starts[groups[order]]
    kept = order[rank < limit]
    return Adjacency.from_pairs(groups[kept], kept, size)
