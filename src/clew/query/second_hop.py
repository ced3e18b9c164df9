"""Features of a candidate in view of the best ones: does it go on where they leave off?

The first ranking judges every passage against the question alone. The second hop of a chain is told
by the first: by an entity that the first passage mentions where it covers the question, and by what
the first passage leaves open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.query.features import Incidence
from clew.query.signals import unit

if TYPE_CHECKING:
    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.query.features import Evidence
    from clew.types import Vectors

    Columns = dict[str, Floats]

PARTNERS = 20
"""Best passages that a candidate may be paired with."""
LINKED = 3
"""Best passages that candidates are related to; each of these to the others and the next."""

SECOND_FEATURES = (
    *("first", "first_rank", "first_gap"),
    # entities that tie the candidate to one of the best passages
    *("link_about", "link_cover", "link_unnamed", "link_best", "link_back", "link_shared"),
    "link_same",
    # what the best passage, and the best two, leave open
    *("residual_1", "open_1", "like_1", "joint_1", "residual_2", "open_2", "like_2", "joint_2"),
    "support",
    # the best partner for a pair that answers together
    *("pair_cover", "pair_gain", "pair_vector", "pair_first", "pair_about", "pair_back"),
)
"""Names of the columns that `relate` adds."""


def relate(
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
    columns = (
        _by_first(first_scores, order)
        | _by_links(evidence, snapshot, order)
        | _by_remainders(evidence, vectors, order)
        | {"support": _support(vectors, order)}
        | _by_partners(evidence, snapshot, vectors, first_scores, order)
    )
    return np.stack([columns[name] for name in SECOND_FEATURES], axis=1).astype(np.float32)


def _by_first(scores: Floats, order: Ints) -> Columns:
    rank = np.empty(len(order), np.float32)
    rank[order] = np.arange(len(order))
    return {"first": scores, "first_rank": rank, "first_gap": scores[order[0]] - scores}


def _by_links(evidence: Evidence, snapshot: Snapshot, order: Ints) -> Columns:
    """The strongest tie of each kind to one of the best passages."""
    incidence = Incidence(snapshot, evidence.rows)
    seeds = [seed.row for seed in evidence.analysis.seeds]
    rare = snapshot.entity_idf[incidence.entity] / np.log1p(max(snapshot.size, 1))
    rare = np.where(np.isin(incidence.entity, seeds), 0, rare).astype(np.float32)
    columns = {
        name: np.zeros(incidence.size, np.float32)
        for name in SECOND_FEATURES
        if name.startswith("link_")
    }
    for place, top in enumerate(order[: LINKED + 1]):
        others = np.arange(incidence.size) != top
        if place == LINKED:
            others[order[:LINKED]] = False
        for name, value in _links(evidence, snapshot, incidence, rare, int(top)).items():
            if name != "link_best" or place == 0:
                columns[name] = np.maximum(columns[name], value * others)
    return columns


def _links(
    evidence: Evidence, snapshot: Snapshot, incidence: Incidence, rare: Floats, top: int
) -> Columns:
    """(n,) ties of the candidates to one passage, through entities that are not the question's."""
    cover, unnamed = _covered_entities(evidence, snapshot, int(evidence.rows[top]))
    at_top = incidence.entity[incidence.owner == top]
    its_own = np.isin(incidence.entity, at_top[incidence.about[incidence.owner == top]])
    tied = rare * np.isin(incidence.entity, at_top)
    about = tied * incidence.about
    return {
        "link_about": incidence.highest(about),
        "link_cover": incidence.highest(about * cover[incidence.entity]),
        "link_unnamed": incidence.highest(about * unnamed[incidence.entity]),
        "link_best": incidence.highest(about * cover[incidence.entity]),
        "link_back": incidence.highest(rare * its_own * ~incidence.about),
        "link_same": incidence.highest(rare * its_own * incidence.about),
        "link_shared": incidence.total(tied),
    }


def _covered_entities(
    evidence: Evidence, snapshot: Snapshot, passage: int
) -> tuple[Floats, Floats]:
    """(E,) how much of the question, and of its words beside names, entities' sentences cover."""
    coverage = evidence.coverage
    sentences, _ = coverage.sentences_by_owner(np.array([passage]))
    entries, owner = snapshot.sentence_entities.entries(sentences)
    entities = snapshot.sentence_entities.items[entries]
    cover = np.zeros(len(snapshot.entity_ids), np.float32)
    unnamed = np.zeros_like(cover)
    np.maximum.at(cover, entities, coverage.share(coverage.with_context(sentences))[owner])
    held = coverage.unnamed_share(coverage.sentence_masks[sentences])
    np.maximum.at(unnamed, entities, held[owner])
    return cover, unnamed


def _by_remainders(evidence: Evidence, vectors: Vectors, order: Ints) -> Columns:
    """What the best 1 and 2 passages leave open; these themselves are judged by the others' rest."""
    masks = evidence.coverage.passages(evidence.rows)
    columns: Columns = {}
    for depth in (1, 2):
        values = _remainder(evidence, vectors, masks, order[:depth])
        for top in order[:depth]:
            others = [other for other in order[: depth + 1] if other != top]
            if others:
                values[:, top] = _remainder(evidence, vectors, masks, np.array(others))[:, top]
        for name, value in zip(("residual", "open", "like", "joint"), values, strict=True):
            columns[f"{name}_{depth}"] = value
    return columns


def _remainder(evidence: Evidence, vectors: Vectors, masks: Floats, used: Ints) -> Floats:
    """(4, n): likeness to the question's rest, share of it, likeness to the used, joint share."""
    question = evidence.analysis.vector
    basis, _ = np.linalg.qr(vectors[used].T)
    rest = unit(question - basis @ (basis.T @ question))
    held = np.bitwise_or.reduce(masks[used])
    return np.stack(
        [
            vectors @ rest,
            evidence.coverage.share(masks & ~held),
            (vectors @ vectors[used].T).max(axis=1),
            evidence.coverage.share(masks | held),
        ]
    )


def _by_partners(
    evidence: Evidence, snapshot: Snapshot, vectors: Vectors, scores: Floats, order: Ints
) -> Columns:
    """What a candidate and the best of `PARTNERS` cover together, linked or not."""
    incidence = Incidence(snapshot, evidence.rows)
    partners = order[:PARTNERS]
    local, entity = np.unique(incidence.entity, return_inverse=True)
    rare = snapshot.entity_idf[local] / np.log1p(max(snapshot.size, 1))
    rare[np.isin(local, [seed.row for seed in evidence.analysis.seeds])] = 0
    mentions = np.zeros((incidence.size, len(local)), np.float32)
    mentions[incidence.owner, entity] = 1
    about = np.zeros_like(mentions)
    about[incidence.owner, entity] = incidence.about
    onward = (about * rare) @ mentions[partners].T
    back = (mentions * rare) @ about[partners].T
    masks = evidence.coverage.passages(evidence.rows)
    alone = evidence.coverage.share(masks)
    joint = evidence.coverage.share(masks[:, None] | masks[partners])
    question = evidence.analysis.vector
    near = vectors @ question
    length = np.sqrt(np.maximum(2 + 2 * vectors @ vectors[partners].T, 1e-6))
    together = (near[:, None] + near[partners]) / length
    gap = scores[partners] - scores[order[0]]
    weight = 1 / (1 + np.arange(len(partners)))
    other = np.arange(incidence.size)[:, None] != partners
    linked = other & ((onward + back) > 0)
    gain = joint - np.maximum(alone[:, None], alone[partners])
    return {
        "pair_cover": (joint * linked).max(axis=1),
        "pair_gain": (gain * linked).max(axis=1),
        "pair_vector": np.where(linked, together, 0).max(axis=1),
        "pair_first": np.where(linked, gap, -10).max(axis=1),
        "pair_about": (onward * other * weight).max(axis=1),
        "pair_back": (back * other * weight).max(axis=1),
    }


def _support(vectors: Vectors, order: Ints) -> Floats:
    """(n,) mean likeness to the three of the best five that are most like the candidate."""
    likeness = vectors @ vectors[order[:5]].T
    itself = np.zeros_like(likeness, dtype=bool)
    itself[order[:5], np.arange(likeness.shape[1])] = True
    likeness[itself] = -1
    nearest = np.sort(likeness, axis=1)[:, ::-1][:, :3]
    return nearest.mean(axis=1)
