"""Features of pairs: a candidate next to the best candidates of the first ranking.

The first ranking compares every passage with the question alone. The second hop of a chain shows
only beside the first: it shares an entity that the first passage mentions where that covers the
question, and it answers what the first passage leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import numbered
from clew.search.ranking.features import Incidence
from clew.search.ranking.first_stage_features import cosines, unit
from clew.search.retrieval.term_matches import sentences_by_owner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.ranking.features import Evidence
    from clew.search.retrieval.bridge import Masks
    from clew.types import Vectors

    Columns = dict[str, Floats]

PARTNERS = 20
"""Best passages that a candidate may be paired with."""
LINKED = 3
"""Best passages that links lead from; each of these is linked to the others."""

SECOND_FEATURES = (
    *("first", "first_rank", "first_gap"),
    # entities that tie the candidate to one of the best passages
    *("link_about", "link_cover", "link_place", "link_shared"),
    # the best linked partner for a pair that answers together
    *("pair_cover", "pair_gain", "pair_vector", "pair_first", "pair_about", "pair_back"),
    # what the best passage, and the best two, leave open
    *("residual_1", "open_1", "like_1", "residual_2", "open_2", "like_2"),
    "support",
)
"""Names of the columns that `pairwise_features` adds."""


def pairwise_features(
    evidence: Evidence, snapshot: Snapshot, vectors: Vectors, first_scores: Floats
) -> Floats:
    """(n, len(SECOND_FEATURES)) float32, in the order of `evidence.rows`.

    Args:
        evidence: The candidates.
        snapshot: The graph that they were gathered from.
        vectors: (n, dim) their embeddings.
        first_scores: (n,) of the first ranking; higher is better, any scale.
    """
    if not len(evidence.rows):
        return np.zeros((0, len(SECOND_FEATURES)), np.float32)
    order = np.argsort(-first_scores, kind="stable")
    masks = evidence.coverage.passages(evidence.rows)
    remainders = _by_remainders(evidence, vectors, masks, order)
    ties = _tie(evidence, snapshot, order[:PARTNERS])
    likeness = cosines(vectors, vectors[order[:PARTNERS]])
    columns = (
        _by_first(first_scores, order)
        | remainders
        | _by_links(ties, remainders["residual_1"] + remainders["open_1"])
        | _by_pairs(evidence, vectors, masks, ties, likeness, first_scores)
        | {"support": _support(likeness[:, :5], ties.other[:, :5])}
    )
    return np.stack([columns[name] for name in SECOND_FEATURES], axis=1).astype(np.float32)


def _by_first(scores: Floats, order: Ints) -> Columns:
    rank = np.empty(len(order), np.float32)
    rank[order] = np.arange(len(order))
    return {"first": scores, "first_rank": rank, "first_gap": scores[order[0]] - scores}


@dataclass(frozen=True, slots=True)
class _Ties:
    """What candidates and the best passages (the partners) have in common, seeds aside."""

    partners: Ints
    """(p,) candidates, best first."""
    other: NDArray[np.bool_]
    """(n, p) whether partner and candidate are two."""
    incidence: Incidence
    rare: Floats
    """(entries,) idf of the entity, 0 to 1; 0 for seeds."""
    held: Floats
    """(entries, p) whether the partner mentions the entity."""
    covered: Floats
    """(entries, p) how much of the question the partner's best sentence with the entity covers."""
    own: Floats
    """(entries, p) whether the partner is about the entity."""

    def highest(self, values: Floats) -> Floats:
        """(n, k) highest of the entries' values (entries, k) for the first k partners, at least 0.

        0 for a passage with itself.
        """
        return np.maximum(self._by_candidate(np.maximum, values), 0)

    def total(self, values: Floats) -> Floats:
        """(n, k) their sum; 0 for a passage with itself."""
        return self._by_candidate(np.add, values)

    def _by_candidate(self, operation: np.ufunc, values: Floats) -> Floats:
        owner = self.incidence.owner
        reduced = np.zeros((self.incidence.size, values.shape[1]), np.float32)
        if len(owner):
            starts = np.flatnonzero(np.diff(owner, prepend=-1))
            reduced[owner[starts]] = operation.reduceat(values, starts, axis=0)
        return reduced * self.other[:, : values.shape[1]]


def _tie(evidence: Evidence, snapshot: Snapshot, partners: Ints) -> _Ties:
    incidence = Incidence(snapshot, evidence.rows)
    local, entity = numbered(incidence.entity, len(snapshot.entity_ids))
    rare = snapshot.entity_rarity[local]
    rare[np.isin(local, [seed.row for seed in evidence.analysis.seeds])] = 0
    covered = np.zeros((len(local), len(partners)), np.float32)
    coverage, passages = evidence.coverage, evidence.rows[partners]
    sentences, partner = sentences_by_owner(snapshot, passages)
    shares = coverage.share(coverage.with_context(sentences))
    entries, sentence = snapshot.sentence_entities.entries(sentences)
    place = np.searchsorted(local, snapshot.sentence_entities.items[entries])
    np.maximum.at(covered, (place, partner[sentence]), shares[sentence])
    held, own = np.zeros_like(covered), np.zeros_like(covered)
    column = np.full(incidence.size, -1)
    column[partners] = np.arange(len(partners))
    among = column[incidence.owner] >= 0
    held[entity[among], column[incidence.owner[among]]] = 1
    own[entity[among], column[incidence.owner[among]]] = incidence.about[among]
    return _Ties(
        partners=partners,
        other=np.arange(incidence.size)[:, None] != partners,
        incidence=incidence,
        rare=rare[entity],
        held=held[entity],
        covered=covered[entity],
        own=own[entity],
    )


def _by_links(ties: _Ties, open_value: Floats) -> Columns:
    """The strongest tie of each kind to one of the best passages.

    `open_value` (n,) tells which of several passages about one entity is meant: it is the larger,
    the more a candidate says of what the best passage leaves open.
    """
    about = (ties.rare * ties.incidence.about)[:, None]
    place = ties.incidence.place(open_value)[:, None]
    held = ties.held[:, :LINKED]
    kinds = {
        "link_about": ties.highest(about * held),
        "link_cover": ties.highest(about * ties.covered[:, :LINKED]),
        "link_place": ties.highest(about * held * place),
        "link_shared": ties.total(ties.rare[:, None] * held),
    }
    return {name: strengths.max(axis=1) for name, strengths in kinds.items()}


def _by_pairs(
    evidence: Evidence,
    vectors: Vectors,
    masks: Masks,
    ties: _Ties,
    likeness: Floats,
    scores: Floats,
) -> Columns:
    """What a candidate answers together with a linked partner: one is about what the other says."""
    about = ties.incidence.about[:, None]
    onward = ties.total(ties.rare[:, None] * about * ties.held)
    back = ties.total(ties.rare[:, None] * ties.own)
    linked = onward + back > 0
    partners = ties.partners
    alone = evidence.coverage.share(masks)
    joint = evidence.coverage.share(masks[:, None] | masks[partners])
    gain = joint - np.maximum(alone[:, None], alone[partners])
    near = vectors @ evidence.analysis.vector
    # The cosine of the question and the sum of both vectors, |a + b|² = 2 + 2ab.
    together = (near[:, None] + near[partners]) / np.sqrt(np.maximum(2 + 2 * likeness, 1e-6))
    behind = scores[partners] - scores[partners[0]]
    early = 1 / (1 + np.arange(len(partners)))
    return {
        "pair_cover": (joint * linked).max(axis=1),
        "pair_gain": (gain * linked).max(axis=1),
        "pair_vector": np.where(linked, together, 0).max(axis=1),
        "pair_first": np.where(linked, behind, behind.min() - 1).max(axis=1),
        "pair_about": (onward * early).max(axis=1),
        "pair_back": (back * early).max(axis=1),
    }


def _by_remainders(evidence: Evidence, vectors: Vectors, masks: Masks, order: Ints) -> Columns:
    """What the best 1 and 2 passages leave open; these are judged by what the others leave."""
    columns: Columns = {}
    everyone = np.arange(len(order))
    for depth in (1, 2):
        values = remainder(evidence, vectors, masks, order[:depth], everyone)
        for top in order[:depth]:
            others = order[: depth + 1][order[: depth + 1] != top]
            if len(others):
                values[:, [top]] = remainder(evidence, vectors, masks, others, np.array([top]))
        for name, value in zip(("residual", "open", "like"), values, strict=True):
            columns[f"{name}_{depth}"] = value
    return columns


def remainder(
    evidence: Evidence, vectors: Vectors, masks: Masks, used: Ints, judged: Ints
) -> Floats:
    """(3, judged): likeness to the question's rest, share of its words' rest, likeness to the used.

    What the used passages' vectors leave of the question is its part at right angles to them.
    """
    question = evidence.analysis.vector
    basis, _ = np.linalg.qr(vectors[used].T)
    rest = unit((question - basis @ (basis.T @ question)).astype(np.float32))
    held = np.bitwise_or.reduce(masks[used])
    return np.stack(
        [
            vectors[judged] @ rest,
            evidence.coverage.share(masks[judged] & ~held),
            cosines(vectors[judged], vectors[used]).max(axis=1),
        ]
    )


def _support(likeness: Floats, other: NDArray[np.bool_]) -> Floats:
    """(n,) mean likeness to the three of the best five that are most like the candidate."""
    nearest = np.sort(np.where(other, likeness, -1), axis=1)[:, ::-1][:, :3]
    support: Floats = nearest.mean(axis=1).astype(np.float32)
    return support
