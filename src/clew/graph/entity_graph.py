"""The graph of entities alone, whose edges are stated relations and shared sentences.

Undirected: a relation connects its two ends both ways, and each edge stands in the rows of both.
Derived like the snapshot, and of its generation.

The strength of an edge is a sum:

- of the weights of the relations between the two; of what more than `CROWD` relations of texts
  lead to ("function", say, which is what hundreds of names are) as much as `CROWD` of them weigh;
- for each sentence that names k entities, both of them among these, 1/(k - 1) times the geometric
  mean of their rarities (`Snapshot.entity_rarity`): an entity shares itself out among those that it
  is named with, and what is named everywhere adds little;
- for each sentence that names one, in a chunk that is *about* the other without naming it there,
  half of what the sentence would add if it did: passages seldom repeat their subject.

Sentences of more than `CROWD` entities are lists, and add nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot_columns import Adjacency, distinct, find_sorted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.ports import RelationRows
    from clew.types import Ids

CROWD = 20
"""Entities of a sentence that adds to edges, at most; relations of texts to one entity in full."""
ABOUT_SHARE = 0.5
"""How much of a mention it is to be what the chunk is about."""


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """Entities are rows here, in order of id; edges are numbered, a row of `edges` each."""

    generation: int
    entity_ids: Ids
    """(E,) sorted; all entities that a text mentions or a relation names."""
    starts: Ints
    """(E + 1,) where the entries of each entity begin."""
    neighbours: Ints
    """(2T,) the entities at the other end, sorted within each row."""
    edges: Ints
    """(2T,) the number of the edge."""
    strengths: Floats
    """(T,) above 0; the sum of what the sentences and relations of an edge add."""
    relations: Ids
    """(T,) id of the heaviest relation that states the edge; 0 where they only share sentences."""
    chunks: Ids
    """(T,) id of the chunk of the sentence that adds most; 0 where no text does."""
    sentences: Ints
    """(T,) ordinal of that sentence in its chunk; -1 where no text does."""

    def row(self, entity: int) -> tuple[Ints, Ints]:
        """(n,) neighbours of an entity and the edges that lead to them."""
        entries = slice(int(self.starts[entity]), int(self.starts[entity + 1]))
        return self.neighbours[entries], self.edges[entries]

    def only(self, kept: NDArray[np.bool_]) -> EntityGraph:
        """The graph with only those entries of `neighbours` that are marked, (2T,)."""
        before = np.concatenate([[0], np.cumsum(kept)])
        return replace(
            self,
            starts=before[self.starts],
            neighbours=self.neighbours[kept],
            edges=self.edges[kept],
        )


@dataclass(frozen=True, slots=True)
class EdgeParts:
    """What an edge is made of, in any order."""

    heads: Ints
    """(n,) rows of entities."""
    tails: Ints
    """(n,) rows of entities."""
    amounts: Floats
    """(n,) what is added to the strength."""
    relations: Ids
    """(n,) 0 where it is a sentence."""
    chunks: Ids
    """(n,) 0 where no text does."""
    sentences: Ints
    """(n,) ordinals; -1 where no text does."""

    def only(self, marked: NDArray[np.bool_]) -> EdgeParts:
        """Those that are marked."""
        return EdgeParts(*(getattr(self, f.name)[marked] for f in fields(EdgeParts)))


def concatenated(several: Sequence[EdgeParts]) -> EdgeParts:
    """The parts of several, one after the other."""
    return EdgeParts(
        *(np.concatenate([getattr(p, f.name) for p in several]) for f in fields(EdgeParts))
    )


def build_entity_graph(
    snapshot: Snapshot, rows: RelationRows, left_out: Ids | None = None
) -> EntityGraph:
    """The graph of entities of one state of a store; ids in `left_out` get no edges.

    Dates are such: two things of the same year have nothing to do with each other.
    """
    mentioned = snapshot.entity_ids
    named = distinct(np.concatenate([mentioned, rows.heads, rows.tails]))
    entity_ids = named if left_out is None else named[~np.isin(named, left_out)]
    sentences = _rows_of_sentences(snapshot, entity_ids)
    rarity = np.zeros(len(entity_ids), dtype=np.float32)
    places, known = find_sorted(mentioned, entity_ids)
    rarity[known] = snapshot.entity_rarity[places[known]]
    parts = (
        _of_relations(rows, entity_ids),
        _of_sentences(snapshot, sentences, rarity),
        _of_subjects(snapshot, sentences, rarity),
    )
    return merge_parts(entity_ids, concatenated(parts), generation=snapshot.generation)


def merge_parts(entity_ids: Ids, parts: EdgeParts, *, generation: int) -> EntityGraph:
    """The graph of some entities (ids, sorted) and what connects them.

    An edge shows its heaviest relation, and the sentence of the heaviest that stands in a text;
    else the sentence that adds the most. Loops and parts of no strength are left out.
    """
    size = max(len(entity_ids), 1)
    low, high = np.minimum(parts.heads, parts.tails), np.maximum(parts.heads, parts.tails)
    valid = (low != high) & (parts.amounts > 0)
    parts = parts.only(valid)
    pair = (low * size + high)[valid]
    pairs, of_pair = np.unique(pair, return_inverse=True)
    # Of all that is written to one place the last stays: so the heaviest, the oldest of equals.
    order = np.lexsort((parts.relations, -parts.amounts))[::-1]
    stated = order[parts.relations[order] > 0]
    relations = np.zeros(len(pairs), dtype=np.int64)
    relations[of_pair[stated]] = parts.relations[stated]
    # Last of all the relations that stand in a text, before them sentences, then what has no text.
    rank = np.where(parts.chunks > 0, np.where(parts.relations > 0, 2, 1), 0)
    order = order[np.argsort(rank[order], kind="stable")]
    best = np.empty(len(pairs), dtype=np.int64)
    best[of_pair[order]] = order
    strengths = np.bincount(of_pair, weights=parts.amounts, minlength=len(pairs))
    starts, neighbours, numbers = _both_ways(*np.divmod(pairs, size), len(entity_ids))
    return EntityGraph(
        generation=generation,
        entity_ids=entity_ids,
        starts=starts,
        neighbours=neighbours,
        edges=numbers,
        strengths=strengths.astype(np.float32),
        relations=relations,
        chunks=parts.chunks[best],
        sentences=parts.sentences[best],
    )


def _both_ways(low: Ints, high: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Starts, neighbours and numbers of edges, each edge in the rows of both its ends."""
    ends, others = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort((others, ends))
    rows = Adjacency.from_pairs(ends[order], others[order], size)
    return rows.starts, rows.items, order % max(len(low), 1)


def _rows_of_sentences(snapshot: Snapshot, entity_ids: Ids) -> Adjacency:
    """By row of sentences: the entities mentioned, as rows of `entity_ids`; none of a crowd."""
    mentions = snapshot.sentence_entities
    sentence = np.repeat(np.arange(snapshot.sentences), np.diff(mentions.starts))
    entity, known = find_sorted(entity_ids, snapshot.entity_ids[mentions.items])
    counts = np.bincount(sentence[known], minlength=snapshot.sentences)
    kept = known & (counts <= CROWD)[sentence]
    return Adjacency.from_pairs(sentence[kept], entity[kept], snapshot.sentences)


def _of_relations(rows: RelationRows, entity_ids: Ids) -> EdgeParts:
    heads, head_known = find_sorted(entity_ids, rows.heads)
    tails, tail_known = find_sorted(entity_ids, rows.tails)
    parts = EdgeParts(heads, tails, _shared_out(rows), rows.ids, rows.chunks, rows.sentences)
    return parts.only(head_known & tail_known)


def _shared_out(rows: RelationRows) -> Floats:
    """The weights; those of what texts say of a crowd are shared among it."""
    _, which, counts = np.unique(rows.tails, return_inverse=True, return_counts=True)
    shares = np.minimum(1, CROWD / np.maximum(counts, 1))[which]
    return np.where(rows.chunks > 0, rows.weights * shares, rows.weights).astype(np.float32)


def _of_sentences(snapshot: Snapshot, sentences: Adjacency, rarity: Floats) -> EdgeParts:
    """Every pair of the entities of a sentence."""
    counts = np.diff(sentences.starts)
    counts[snapshot.sentence_starts[:-1]] = 0  # what chunks are about
    row = np.repeat(np.arange(snapshot.sentences), counts)
    entry, _ = sentences.entries(np.flatnonzero(counts))
    partners = sentences.starts[row + 1] - 1 - entry
    first = np.repeat(entry, partners)
    second = first + 1 + _counting(partners)
    row = np.repeat(row, partners)
    heads, tails = sentences.items[first], sentences.items[second]
    return _shared(snapshot, row, heads, tails, rarity, 1 / (counts[row] - 1))


def _of_subjects(snapshot: Snapshot, sentences: Adjacency, rarity: Floats) -> EdgeParts:
    """Every entity of a sentence with each that its chunk is about and that it does not name."""
    counts = np.diff(sentences.starts)
    context = snapshot.sentence_starts[snapshot.sentence_chunk]
    said = np.flatnonzero((counts > 0) & (context != np.arange(snapshot.sentences)))
    entry, place = sentences.entries(said)
    row = said[place]
    subjects = counts[context[row]]
    about = np.repeat(sentences.starts[context[row]], subjects) + _counting(subjects)
    row, heads = np.repeat(row, subjects), sentences.items[about]
    tails = np.repeat(sentences.items[entry], subjects)
    size = max(len(rarity), 1)
    named = np.repeat(np.arange(snapshot.sentences), counts) * size + sentences.items
    unnamed = ~find_sorted(named, row * size + heads)[1]
    row, heads, tails = row[unnamed], heads[unnamed], tails[unnamed]
    return _shared(snapshot, row, heads, tails, rarity, ABOUT_SHARE / counts[row])


def _shared(
    snapshot: Snapshot,
    row: Ints,
    heads: Ints,
    tails: Ints,
    rarity: Floats,
    share: NDArray[np.float64],
) -> EdgeParts:
    """Pairs of entities that share a row of sentences."""
    chunk = snapshot.sentence_chunk[row]
    return EdgeParts(
        heads,
        tails,
        (share * np.sqrt(rarity[heads] * rarity[tails])).astype(np.float32),
        np.zeros(len(row), dtype=np.int64),
        snapshot.chunk_ids[chunk],
        row - snapshot.sentence_starts[chunk] - 1,
    )


def _counting(counts: Ints) -> Ints:
    """0, 1, … for each count, one after the other."""
    first = np.cumsum(counts) - counts
    return np.arange(counts.sum()) - np.repeat(first, counts)
