"""Personalised PageRank on the part of the graph around a question.

It starts from the question's seeds, its bridges and what resembles it.

The walk alternates between passages and entities. It is confined to the passages given, which
bounds its cost whatever the size of the store; what leaves them through an entity is lost, so
that an entity with many passages elsewhere (a hub) passes little on.

Most entities have one passage here: a walk that goes there comes back to where it was. Those are
folded into one loop a passage, and each iteration goes by way of the others alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import distinct, find_sorted, numbered
from clew.text import question_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.channels import RowValues
    from clew.search.question import Analysis

    Masses = NDArray[np.float64]
    Masks = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Edges:
    """Weighted edges in order of the side that they lead to, so that arrivals are sums of runs."""

    origin: Ints
    """(edges,)"""
    weight: Masses
    """(edges,) share of the origin's mass that takes the edge."""
    targets: Ints
    """(runs,) the targets that any edge leads to."""
    starts: Ints
    """(runs,) where each target's run begins."""
    size: int
    """Number of targets, those without edges among them."""

    @classmethod
    def towards(cls, target: Ints, origin: Ints, weight: Masses, size: int) -> Edges:
        """Edges given in order of their targets."""
        starts = np.flatnonzero(np.diff(target, prepend=-1))
        return cls(origin, weight, target[starts], starts, size)

    def carry(self, masses: Masses) -> Masses:
        """(k, size) what arrives of the origins' masses (k, origins)."""
        arrived = np.zeros((len(masses), self.size))
        if len(self.starts):
            flow = masses.take(self.origin, axis=1)
            flow *= self.weight
            arrived[:, self.targets] = np.add.reduceat(flow, self.starts, axis=1)
        return arrived


@dataclass(frozen=True, slots=True)
class LocalGraph:
    """The edges between some passages and all entities that they mention."""

    passages: Ints
    """(P,) rows of the snapshot, sorted."""
    entities: Ints
    """(E,) rows of the snapshot, sorted."""
    from_entities: Edges
    """To passages, from all entities."""
    loops: Masses
    """(P,) share of a passage's mass that comes back through an entity of this passage alone."""
    onward: Edges
    """From passages, to the entities that several of them share."""
    back: Edges
    """To passages, from these entities."""


def local_graph(snapshot: Snapshot, passages: Ints) -> LocalGraph:
    """The graph around passages (rows, sorted and distinct)."""
    entries, passage = snapshot.passage_entities.entries(passages)
    entities, entity = numbered(snapshot.passage_entities.items[entries], len(snapshot.entity_ids))
    weight = snapshot.weights(entries)
    size, members = len(passages), len(entities)
    out_of_passage = weight / np.bincount(passage, weights=weight, minlength=size)[passage]
    out_of_entity = weight / snapshot.entity_totals(entities)[entity]
    is_shared = np.bincount(entity, minlength=members) > 1
    shared = is_shared[entity]
    alone = ~shared
    hub, of_hub = (np.cumsum(is_shared) - 1)[entity[shared]], passage[shared]
    by_hub = np.argsort(hub * size + of_hub)
    out_to_hub = out_of_passage[shared][by_hub]
    returning = out_of_passage[alone] * out_of_entity[alone]
    return LocalGraph(
        passages=passages,
        entities=entities,
        from_entities=Edges.towards(passage, entity, out_of_entity, size),
        loops=np.bincount(passage[alone], weights=returning, minlength=size).astype(np.float64),
        onward=Edges.towards(hub[by_hub], of_hub[by_hub], out_to_hub, int(is_shared.sum())),
        back=Edges.towards(of_hub, hub, out_of_entity[shared], size),
    )


def walk(
    graph: LocalGraph,
    restart_passages: Masses,
    restart_entities: Masses,
    damping: NDArray[np.float64],
    rounds: int = 8,
) -> Masses:
    """(P, k) share of time that each of k walks spends at each passage.

    `restart_passages` (P, k) and `restart_entities` (E, k) are scaled to sum to 1 together;
    `damping` (k,) is the chance to go on, 0 to 1. Power iteration (Page et al. 1999), a round from
    passages to entities and back; what is missing after the last is below damping^(2 · rounds).
    """
    total = restart_passages.sum(axis=0) + restart_entities.sum(axis=0)
    scale = (1 - damping) / np.where(total > 0, total, 1)
    entered = graph.from_entities.carry(restart_entities.T).T
    # A row a walk: what is summed lies side by side.
    home = np.ascontiguousarray((scale * (restart_passages + damping * entered)).T)
    at, onward = home, (damping**2)[:, None]
    for _ in range(rounds):
        at = home + onward * (graph.loops * at + graph.back.carry(graph.onward.carry(at)))
    return at.T


ENTITY_PASSAGES = 100
"""Passages of one seed or bridge that the walk may visit; the best by themselves."""
BRIDGE_SHARE, PRIOR_SHARE = 3.0, 0.6
"""Weight of bridges and of the prior in the restart, beside seeds at 1."""
DAMPING, FAR_DAMPING = 0.5, 0.75
"""Chance to go on."""


@dataclass(frozen=True, slots=True)
class PageRankScores:
    """Where each walk spends its time: passages (P,), sorted rows, and a value a passage."""

    passages: Ints
    everything: Floats
    """From seeds, bridges and prior."""
    seeds: Floats
    bridges: Floats
    asked: Floats
    """From seeds and prior."""
    far: Floats
    """From seeds and bridges, with longer ways."""


def personalized_pagerank(
    analysis: Analysis,
    bridges: Bridges,
    snapshot: Snapshot,
    prior: RowValues,
    allowed: NDArray[np.bool_] | None,
) -> PageRankScores:
    """Personalised PageRank among the passages of seeds and bridges and the best by themselves."""
    seeds = np.array([seed.row for seed in analysis.seeds], dtype=np.int64)
    # Rows (sorted) of passages with a prior, and of those that hold the entities.
    near = [prior.rows[prior.values > 0]]
    best = prior.best(len(prior.rows)).rows
    entries, owner = snapshot.entity_passages.entries(np.concatenate([seeds, bridges.entities]))
    there = snapshot.entity_passages.items[entries]
    if allowed is not None:
        there, owner = there[allowed[there]], owner[allowed[there]]
    many = np.bincount(owner) > ENTITY_PASSAGES
    near.append(there[~many[owner]])
    for entity in np.flatnonzero(many):  # of each the best, then the first
        held = there[owner == entity]
        leading = best[find_sorted(held, best)[1]][:ENTITY_PASSAGES]
        first = held[:ENTITY_PASSAGES]
        others = first[~np.isin(first, leading)]
        near.append(np.concatenate([leading, others])[:ENTITY_PASSAGES])
    passages = distinct(np.concatenate(near))
    graph = local_graph(snapshot, passages)
    # Both on one scale: 1 for a trusted seed, or a perfect bridge, of one passage.
    by_weight = np.array([seed.weight for seed in analysis.seeds], np.float32)
    by_score = snapshot.entity_rarity[bridges.entities] * bridges.scores
    from_seeds = _restart(graph.entities, seeds, by_weight / np.log1p(max(snapshot.store_size, 1)))
    from_bridges = _restart(graph.entities, bridges.entities, by_score)
    from_prior = prior[passages].astype(np.float64)
    nowhere_p, nowhere_e = np.zeros(len(passages)), np.zeros(len(graph.entities))
    linked = from_seeds + BRIDGE_SHARE * from_bridges
    visits = walk(
        graph,
        np.stack([nowhere_p, nowhere_p, from_prior, nowhere_p], axis=1),
        np.stack([from_seeds, from_bridges, nowhere_e, linked], axis=1),
        np.array([DAMPING, DAMPING, DAMPING, FAR_DAMPING]),
    )
    # A walk is linear in its restart: those from several sources are sums of those from one.
    amounts = np.array([from_seeds.sum(), from_bridges.sum(), from_prior.sum()])
    by_seeds, by_bridges, by_prior = (visits[:, :3] * amounts).T
    asked = by_seeds + PRIOR_SHARE * by_prior
    values = (asked + BRIDGE_SHARE * by_bridges, by_seeds, by_bridges, asked, visits[:, 3])
    relative = ((value / (value.max(initial=0.0) or 1.0)).astype(np.float32) for value in values)
    return PageRankScores(passages, *relative)


def _restart(local: Ints, entities: Ints, weights: Floats) -> NDArray[np.float64]:
    restart = np.zeros(len(local))
    places, known = find_sorted(local, entities)
    restart[places[known]] = weights[known]
    return restart


# From the question's entities to the next ones, through the sentences that tie them together.


READ_PASSAGES = 30
"""Best passages whose sentences are read for bridges."""
MAX_SEED_SENTENCES = 300
"""A seed in more sentences than these says too little to be followed."""
KEPT = 20
"""Bridges kept."""


@dataclass(frozen=True, slots=True)
class Bridges:
    """Entities that sentences tie to the question, best first."""

    entities: Ints
    """(b,) rows of the snapshot."""
    scores: Floats
    """(b,) 0 to 1: how well the best sentence covers the question."""
    sentences: Ints
    """(b,) that sentence, as a row of the snapshot's sentences."""


class Coverage:
    """Which of a question's terms each row of sentences holds, as bits."""

    def __init__(self, analysis: Analysis, snapshot: Snapshot) -> None:
        self.idf = analysis.term_idf
        self._snapshot, self._terms = snapshot, analysis.term_rows
        # Asked for again and again; of all rows, since memory is taken where it is written only.
        self._masks: Masks = np.zeros(snapshot.sentences, np.uint64)
        self._is_read = np.zeros(snapshot.sentences, bool)
        keys = (question_terms(seed.key, analysis.languages) for seed in analysis.seeds)
        named = snapshot.term_rows([term for found in keys for term in found])
        bits = np.flatnonzero(np.isin(analysis.term_rows, named)).tolist()
        self.named = np.uint64(sum(1 << bit for bit in bits))
        """The bits of terms that belong to a seed's name."""
        self.named_share = float(self.share(np.array([self.named]))[0])
        """Share of the question's idf that those terms hold, 0 to 1."""

    def sentences(self, sentences: Ints) -> Masks:
        """Terms that each sentence holds."""
        unread = sentences[~self._is_read[sentences]]
        if len(unread):
            self._read(distinct(unread))
        return self._masks[sentences]

    def _read(self, sentences: Ints) -> None:
        self._is_read[sentences] = True
        owner, term = find_terms_in(self._snapshot, self._terms, sentences)
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        if len(starts):
            bits = np.left_shift(np.uint64(1), term.astype(np.uint64))
            self._masks[sentences[owner[starts]]] = np.bitwise_or.reduceat(bits, starts)

    def with_context(self, sentences: Ints) -> Masks:
        """Terms that each sentence or its chunk's context holds."""
        chunks = self._snapshot.sentence_chunk[sentences]
        contexts = self._snapshot.sentence_starts[chunks]
        return self.sentences(sentences) | self.sentences(contexts)

    def passages(self, rows: Ints) -> Masks:
        """Terms that each chunk or its context holds."""
        if not len(rows):
            return np.zeros(0, dtype=np.uint64)
        entries, owner = sentences_by_owner(self._snapshot, rows)
        # Every chunk has a row of sentences at least, its context's.
        starts = np.searchsorted(owner, np.arange(len(rows)))
        return np.bitwise_or.reduceat(self.sentences(entries), starts)

    def share(self, masks: Masks) -> Floats:
        """Share of the question's idf that the masks' terms hold, 0 to 1."""
        return self.weighed(masks, self.idf)

    def weighed(self, masks: Masks, weights: Floats) -> Floats:
        """Share of the weights (a term each) of the masks' terms, 0 to 1; 0 where none has any."""
        octets = np.ascontiguousarray(masks[..., None], "<u8").view(np.uint8)
        held = np.unpackbits(octets, axis=-1, count=len(self.idf), bitorder="little")
        total = float(weights.sum()) or 1.0
        return (held.astype(np.float64) @ weights / total).astype(np.float32)

    def unnamed_share(self, masks: Masks) -> Floats:
        """The same among the terms that belong to no seed's name; 0 where there are none."""
        shares: Floats = self.share(masks & ~self.named) / max(1 - self.named_share, 1e-6)
        return shares

    def sentences_of(self, rows: Ints) -> Ints:
        """Rows of all sentences of the chunks, their contexts left out."""
        entries, _ = sentences_by_owner(self._snapshot, rows)
        starts = self._snapshot.sentence_starts
        said: Ints = entries[starts[self._snapshot.sentence_chunk[entries]] != entries]
        return said


def find_bridges(
    analysis: Analysis,
    snapshot: Snapshot,
    coverage: Coverage,
    prior: RowValues,
    allowed: NDArray[np.bool_] | None = None,
) -> Bridges:
    """The entities of the sentences that cover the question best, at most `KEPT`.

    `prior` is how well each chunk answers by itself, 0 to 1. A sentence counts its prior (or,
    where it mentions a seed, the seed's weight times half of 1 + prior) times its coverage.
    Sentences of passages that are not `allowed` (C,) are not read.
    """
    sentences, weights = _candidates(analysis, snapshot, coverage, prior)
    if allowed is not None:
        open_to_all = allowed[snapshot.sentence_chunk[sentences]]
        sentences, weights = sentences[open_to_all], weights[open_to_all]
    counts = weights * coverage.share(coverage.with_context(sentences))
    return _best_by_entity(analysis, snapshot, sentences, counts, KEPT)


def find_onward(
    analysis: Analysis, snapshot: Snapshot, coverage: Coverage, passages: Ints, values: Floats
) -> Bridges:
    """All other entities of some passages (rows), by the passages' values and their own sentences.

    A sentence counts its passage's value (0 to 1) times half of 1 + its coverage: the next hop of
    a chain often shares no word with the question.
    """
    entries, owner = sentences_by_owner(snapshot, passages)
    counts = values[owner] * (0.5 + 0.5 * coverage.share(coverage.with_context(entries)))
    return _best_by_entity(analysis, snapshot, entries, counts, len(snapshot.entity_ids))


def _best_by_entity(
    analysis: Analysis, snapshot: Snapshot, sentences: Ints, counts: Floats, limit: int
) -> Bridges:
    """Entities but the seeds, each with its best sentence, where that counts more than nothing."""
    entries, owner = snapshot.sentence_entities.entries(sentences)
    counted = counts[owner] > 0
    owner, entities = owner[counted], snapshot.sentence_entities.items[entries[counted]]
    order = np.lexsort((sentences[owner], -counts[owner], entities))
    best = order[np.diff(entities[order], prepend=-1) > 0]
    best = best[~np.isin(entities[best], [seed.row for seed in analysis.seeds])]
    best = best[np.lexsort((entities[best], -counts[owner[best]]))][:limit]
    chosen = owner[best]
    return Bridges(entities[best], counts[chosen].astype(np.float32), sentences[chosen])


def _candidates(
    analysis: Analysis, snapshot: Snapshot, coverage: Coverage, prior: RowValues
) -> tuple[Ints, Floats]:
    """Sentences to read, each once, with its best weight."""
    read = coverage.sentences_of(prior.best(READ_PASSAGES).rows)
    rows, weights = [read], [prior[snapshot.sentence_chunk[read]]]
    strongest = max((seed.idf for seed in analysis.seeds), default=1.0)
    for seed in analysis.seeds:
        mentioning = _sentences_of_seed(snapshot, coverage, seed.row)
        rows.append(mentioning)
        own = prior[snapshot.sentence_chunk[mentioning]]
        weights.append(seed.weight / strongest * (0.5 + 0.5 * own))
    every, weight = np.concatenate(rows), np.concatenate(weights)
    sentences, inverse = numbered(every, snapshot.sentences)
    top = np.zeros(len(sentences), dtype=np.float32)
    np.maximum.at(top, inverse, weight.astype(np.float32))
    return sentences, top


def _sentences_of_seed(snapshot: Snapshot, coverage: Coverage, entity: int) -> Ints:
    """Sentences that mention an entity, and all sentences of the passages about it.

    A passage about something names it in its title and says "it" from then on.
    """
    mentioning = snapshot.entity_sentences.row(entity)
    if len(mentioning) > MAX_SEED_SENTENCES:
        return mentioning[:0]
    chunks = snapshot.sentence_chunk[mentioning]
    about = chunks[snapshot.sentence_starts[chunks] == mentioning]
    if len(about) > READ_PASSAGES:
        return mentioning
    return distinct(np.concatenate([mentioning, coverage.sentences_of(about)]))


# Where a question's terms stand in sentences, read from the sentences and not from the store.


_LAST_BITS = np.uint64(0xFFF)


def sentences_by_owner(snapshot: Snapshot, rows: Ints) -> tuple[Ints, Ints]:
    """Rows of the chunks' sentences and contexts, and which of the chunks each belongs to."""
    starts = snapshot.sentence_starts[rows]
    counts = snapshot.sentence_starts[rows + 1] - starts
    owner = np.repeat(np.arange(len(rows)), counts)
    first = np.cumsum(counts) - counts
    return np.arange(counts.sum()) - first[owner] + starts[owner], owner


def find_terms_in(snapshot: Snapshot, term_rows: Ints, sentences: Ints) -> tuple[Ints, Ints]:
    """Each place where one of some terms stands in one of some sentences.

    Returns the sentence's and the term's place in what was given, sentence by sentence.
    """
    hashes = snapshot.vocabulary[term_rows]
    order = np.argsort(hashes)
    entries, owner = snapshot.sentence_terms.entries(sentences)
    held, places = find_few(hashes[order], snapshot.sentence_terms.items[entries])
    return owner[held], order[places]


def find_few(wanted: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> tuple[Ints, Ints]:
    """Where a few sorted hashes stand among very many: the places there, and which it is of each.

    Their last bits tell most of the others apart before any is searched for.
    """
    may_be = np.zeros(_LAST_BITS + 1, dtype=bool)
    may_be[wanted & _LAST_BITS] = True
    near = np.flatnonzero(may_be[hashes & _LAST_BITS])
    which, held = find_sorted(wanted, hashes[near])
    return near[held], which[held]
