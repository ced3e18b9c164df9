"""From the question's entities to the next ones, through the sentences that tie them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import distinct, numbered
from clew.search.retrieval.term_matches import find_terms_in, sentences_by_owner
from clew.text import question_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.analysis.analyse import Analysis
    from clew.search.retrieval.row_values import RowValues

    Masks = NDArray[np.uint64]

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
        self._of_sentences: dict[int, Floats] = {}
        self.named = _named_terms(analysis, snapshot)
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

    def of_sentences(self, passage: int) -> Floats:
        """Share of the question's idf that each sentence of a chunk holds, its context first."""
        if passage not in self._of_sentences:
            starts = self._snapshot.sentence_starts
            rows = np.arange(starts[passage], starts[passage + 1])
            self._of_sentences[passage] = self.share(self.sentences(rows))
        return self._of_sentences[passage]

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


def _named_terms(analysis: Analysis, snapshot: Snapshot) -> np.uint64:
    keys = (question_terms(seed.key, analysis.languages) for seed in analysis.seeds)
    named = snapshot.term_rows([term for found in keys for term in found])
    bits = np.flatnonzero(np.isin(analysis.term_rows, named)).tolist()
    return np.uint64(sum(1 << bit for bit in bits))


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
