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

from contextlib import suppress
from dataclasses import dataclass, fields, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from clew.derived_files import derived_path, read_arrays, write_arrays
from clew.graph.snapshot import Adjacency, distinct, find_sorted
from clew.graph.snapshot_files import current_snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.ports import RelationRows
    from clew.stores.store import Store
    from clew.types import Entity, Ids

    Values = NDArray[np.float64]

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


EDGE_PARTS = np.dtype(
    [
        *(("heads", np.int64), ("tails", np.int64)),
        *(("amounts", np.float32), ("relations", np.int64)),
        *(("chunks", np.int64), ("sentences", np.int64)),
    ]
)
"""What an edge is made of: rows of the entities at its ends; what is added to its strength; the
relation (0: a sentence); the chunk and the ordinal of the sentence (0 and -1: no text does)."""


def edge_parts(
    heads: Ints,
    tails: Ints,
    amounts: NDArray[np.floating],
    relations: Ids,
    chunks: Ids,
    sentences: Ints,
) -> NDArray[np.void]:
    """Parts of edges, in any order."""
    parts = np.empty(len(heads), dtype=EDGE_PARTS)
    columns = heads, tails, amounts, relations, chunks, sentences
    for name, column in zip(EDGE_PARTS.fields or (), columns, strict=True):
        parts[name] = column
    return parts


def build_entity_graph(
    snapshot: Snapshot, rows: RelationRows, left_out: Ids | None = None
) -> EntityGraph:
    """The graph of entities of one state of a store; ids in `left_out` get no edges.

    Dates are such: two things of the same year have nothing to do with each other.
    """
    mentioned = snapshot.entity_ids
    named = distinct(np.concatenate([mentioned, rows.heads, rows.tails]))
    entity_ids = named if left_out is None else named[~np.isin(named, left_out)]
    # By row of sentences: the entities mentioned, as rows of `entity_ids`; none of a crowd.
    mentions = snapshot.sentence_entities
    sentence = np.repeat(np.arange(snapshot.sentences), np.diff(mentions.starts))
    entity, there = find_sorted(entity_ids, snapshot.entity_ids[mentions.items])
    counts = np.bincount(sentence[there], minlength=snapshot.sentences)
    kept = there & (counts <= CROWD)[sentence]
    sentences = Adjacency.from_pairs(sentence[kept], entity[kept], snapshot.sentences)
    rarity = np.zeros(len(entity_ids), dtype=np.float32)
    places, known = find_sorted(mentioned, entity_ids)
    rarity[known] = snapshot.entity_rarity[places[known]]
    parts = (
        _of_relations(rows, entity_ids),
        _of_sentences(snapshot, sentences, rarity),
        _of_subjects(snapshot, sentences, rarity),
    )
    return merge_parts(entity_ids, np.concatenate(parts), generation=snapshot.generation)


def merge_parts(entity_ids: Ids, parts: NDArray[np.void], *, generation: int) -> EntityGraph:
    """The graph of some entities (ids, sorted) and what connects them.

    An edge shows its heaviest relation, and the sentence of the heaviest that stands in a text;
    else the sentence that adds the most. Loops and parts of no strength are left out.
    """
    size = max(len(entity_ids), 1)
    parts = parts[(parts["heads"] != parts["tails"]) & (parts["amounts"] > 0)]
    ends = parts["heads"], parts["tails"]
    pairs, of_pair = np.unique(np.minimum(*ends) * size + np.maximum(*ends), return_inverse=True)
    amounts, ids, chunks = parts["amounts"], parts["relations"], parts["chunks"]
    # Of all that is written to one place the last stays: so the heaviest, the oldest of equals.
    order = np.lexsort((ids, -amounts))[::-1]
    stated = order[ids[order] > 0]
    relations = np.zeros(len(pairs), dtype=np.int64)
    relations[of_pair[stated]] = ids[stated]
    # Last of all the relations that stand in a text, before them sentences, then what has no text.
    rank = np.where(chunks > 0, np.where(ids > 0, 2, 1), 0)
    order = order[np.argsort(rank[order], kind="stable")]
    best = np.empty(len(pairs), dtype=np.int64)
    best[of_pair[order]] = order
    # Each edge stands in the rows of both its ends.
    low, high = np.divmod(pairs, size)
    owners, others = np.concatenate([low, high]), np.concatenate([high, low])
    both = np.lexsort((others, owners))
    rows = Adjacency.from_pairs(owners[both], others[both], len(entity_ids))
    return EntityGraph(
        generation=generation,
        entity_ids=entity_ids,
        starts=rows.starts,
        neighbours=rows.items,
        edges=both % max(len(pairs), 1),
        strengths=np.bincount(of_pair, amounts, len(pairs)).astype(np.float32),
        relations=relations,
        chunks=chunks[best],
        sentences=parts["sentences"][best],
    )


def _of_relations(rows: RelationRows, entity_ids: Ids) -> NDArray[np.void]:
    """Every relation between the entities; those of what texts say of a crowd share its weight."""
    heads, head_known = find_sorted(entity_ids, rows.heads)
    tails, tail_known = find_sorted(entity_ids, rows.tails)
    _, which, counts = np.unique(rows.tails, return_inverse=True, return_counts=True)
    shares = np.where(rows.chunks > 0, np.minimum(1, CROWD / np.maximum(counts, 1))[which], 1)
    parts = edge_parts(heads, tails, rows.weights * shares, rows.ids, rows.chunks, rows.sentences)
    return parts[head_known & tail_known]


def _of_sentences(snapshot: Snapshot, sentences: Adjacency, rarity: Floats) -> NDArray[np.void]:
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


def _of_subjects(snapshot: Snapshot, sentences: Adjacency, rarity: Floats) -> NDArray[np.void]:
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
) -> NDArray[np.void]:
    """Pairs of entities that share a row of sentences."""
    chunk = snapshot.sentence_chunk[row]
    return edge_parts(
        heads,
        tails,
        share * np.sqrt(rarity[heads] * rarity[tails]),
        np.zeros(len(row), dtype=np.int64),
        snapshot.chunk_ids[chunk],
        row - snapshot.sentence_starts[chunk] - 1,
    )


def _counting(counts: Ints) -> Ints:
    """0, 1, … for each count, one after the other."""
    first = np.cumsum(counts) - counts
    return np.arange(counts.sum()) - np.repeat(first, counts)


# --- how much entities matter ------------------------------------------------------------


Tier = Literal["core", "notable", "minor"]
TIERS: tuple[Tier, ...] = ("core", "notable", "minor")
"""The first 1 % of entities by PageRank (rounded up), the first 10 %, all others."""
_SHARES = (0.01, 0.10)

DAMPING = 0.85
TOLERANCE = 1e-9
"""PageRank is done when a round moves less than this much of the mass."""


@dataclass(frozen=True, slots=True)
class EntityRanks:
    """How much each entity matters."""

    generation: int
    entity_ids: Ids
    """(E,) sorted"""
    pagerank: Values
    """(E,) above 0, summing to 1"""
    salience: Floats
    """(E,) see `salience`"""
    tiers: NDArray[np.int8]
    """(E,) positions in `TIERS`"""

    def of(self, entity_ids: Sequence[int]) -> Mapping[int, tuple[float, Tier]]:
        """(salience, tier) by id; ids that are not in the graph are left out."""
        ids = np.array(entity_ids, dtype=np.int64)
        rows, known = find_sorted(self.entity_ids, ids)
        return {
            int(id_): (float(self.salience[row]), TIERS[self.tiers[row]])
            for id_, row in zip(ids[known], rows[known], strict=True)
        }

    def applied(self, entities: Sequence[Entity]) -> list[Entity]:
        """The entities with their salience and tier; those not in the graph matter least."""
        found = self.of([entity.id for entity in entities])
        least: tuple[float, Tier] = (0.0, TIERS[-1])
        return [
            replace(entity, salience_score=score, tier=tier)
            for entity in entities
            for score, tier in [found.get(entity.id, least)]
        ]


def entity_ranks(graph: EntityGraph) -> EntityRanks:
    """PageRank and what follows from it."""
    ranks = pagerank(graph)
    return EntityRanks(
        generation=graph.generation,
        entity_ids=graph.entity_ids,
        pagerank=ranks,
        salience=salience(graph, ranks),
        tiers=tiers(ranks),
    )


def pagerank(graph: EntityGraph) -> Values:
    """(E,) share of time that a walk spends at each entity; above 0, summing to 1.

    Page et al. (1999): with a chance of `DAMPING` the walk takes an edge, by strength, else it
    restarts anywhere; so it does at an entity without edges. Power iteration to `TOLERANCE`.
    """
    size = len(graph.entity_ids)
    connected = np.flatnonzero(degrees(graph))
    strengths = graph.strengths[graph.edges].astype(np.float64)
    totals = np.zeros(size)
    mass = np.full(size, 1 / max(size, 1))
    if len(connected):
        totals[connected] = np.add.reduceat(strengths, graph.starts[connected])
        strengths /= totals[graph.neighbours]
    change = 1.0
    while change > TOLERANCE and size:
        lost = 1 - DAMPING * mass[connected].sum()
        arrived = np.full(size, lost / size)
        if len(connected):
            flow = mass[graph.neighbours] * strengths
            arrived[connected] += DAMPING * np.add.reduceat(flow, graph.starts[connected])
        change = float(np.abs(arrived - mass).sum())
        mass = arrived
    return mass


def salience(graph: EntityGraph, ranks: Values) -> Floats:
    """(E,) 0 to 1: PageRank on a log scale, from that of an entity without edges to the highest."""
    connected = degrees(graph) > 0
    if not connected.any():
        return np.zeros(len(ranks), dtype=np.float32)
    # What restarts at an entity without edges comes from all others and from its like.
    least = (1 - DAMPING) / (len(ranks) - DAMPING * (~connected).sum())
    scaled = np.log(ranks / least) / np.log(ranks.max() / least)
    return np.where(connected, np.clip(scaled, 0, 1), 0).astype(np.float32)


def tiers(ranks: Values) -> NDArray[np.int8]:
    """(E,) positions in `TIERS`, by rank; of equals the smaller row goes first."""
    found = np.full(len(ranks), len(_SHARES), dtype=np.int8)
    order = np.argsort(-ranks, kind="stable")
    for tier in reversed(range(len(_SHARES))):
        found[order[: ceil(_SHARES[tier] * len(ranks))]] = tier
    return found


def degrees(graph: EntityGraph) -> Ints:
    """(E,) edges of each entity."""
    return np.diff(graph.starts)


# --- on disk -----------------------------------------------------------------------------

# `entities-<generation>.arrays` lies beside the database, like the snapshot, and is made when it
# is first asked for. A graph of another generation is of no use: strengths depend on the whole
# store.


FORMAT = 2
"""Grows whenever what is stored means something else."""
EXCLUDED_TYPE = "date"
"""The type of the entities that get no edges."""

_KIND = "entities"
_Kept = TypeVar("_Kept", EntityGraph, EntityRanks)


def current(
    kind: type[_Kept],
    source: Store,
    snapshot: Snapshot | None,
    folder: Path,
    previous: _Kept | None = None,
) -> _Kept:
    """The graph of entities, or their ranks, at the store's present generation.

    It is built where it is not on disk; `snapshot` is brought up to date for it, where it is needed
    at all. No more is read than that kind.
    """
    generation = source.generation()
    if previous is not None and previous.generation == generation:
        return previous
    return _kept(kind, folder, generation) or _built(source, snapshot, folder)[kind]


def _built(
    source: Store, snapshot: Snapshot | None, folder: Path
) -> dict[type[EntityGraph | EntityRanks], Any]:
    with source.reading():
        snapshot = current_snapshot(source, folder, snapshot)
        excluded = source.entities_of_type(EXCLUDED_TYPE)
        graph = build_entity_graph(snapshot.whole, source.relation_rows(), excluded)
    ranks = entity_ranks(graph)
    stored = {"format": np.array(FORMAT)}
    for kept in (graph, ranks):
        stored |= {name: getattr(kept, name) for name in _arrays(type(kept))}
    with suppress(OSError):  # it costs time, no more
        write_arrays(folder, _KIND, graph.generation, stored)
    return {EntityGraph: graph, EntityRanks: ranks}


def _kept(kind: type[_Kept], folder: Path, generation: int) -> _Kept | None:
    """What the file of the generation holds; None where there is none that can be read."""
    names: list[str] = _arrays(kind)
    arrays = read_arrays(derived_path(folder, _KIND, generation))
    if arrays is None or not {"format", *names}.issubset(arrays) or arrays["format"] != FORMAT:
        return None
    return kind(generation, *(arrays[name] for name in names))


def _arrays(kind: type[EntityGraph | EntityRanks]) -> list[str]:
    return [f.name for f in fields(kind) if f.name != "generation"]
