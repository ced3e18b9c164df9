"""The second hop: a passage that says what the best one leaves open, by a name that both hold.

"Who gets the invoice for the hotel in Tallinn?": one note says which agency booked the hotel, and
another where the agency's invoices go. The ranker puts the one first that holds more of the
question. The answer stands in the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.search.ranking.features import FEATURES
from clew.search.ranking.pairwise_features import remainder
from clew.search.retrieval.term_matches import sentences_by_owner
from clew.text import terms

if TYPE_CHECKING:
    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.ranking.features import Evidence
    from clew.types import Vectors

LOOKED_AT = 5
"""Best passages, of which the first may have a second hop among the others."""
FEW = 5
"""Passages that mention the name, at most: what many mention leads anywhere."""
COVERED = 0.5
"""Share of the question that the first passage's sentence with the name covers, at least."""
OPEN_WORDS, OPEN_MEANING = 0.1, 0.2
"""What the second says of the rest, at least: share of the words, or cosine."""
FEWER_NAMES, FEWER_WORDS = 0.2, 0.1
"""By how much the second holds less of the question's names, or of its words if it has no names."""
LED_TO, LIKELY = 2, 0.5
"""Other passages that the first one's names lead to, at most; else the second's confidence."""
_ASKED = re.compile(r"\b(?:which|what|how many|how much) (\w+)(?: (\w+))?", re.IGNORECASE)
HELD = 0.85
"""Share of such second passages that answer where the first does: fewer than the 46 of 49 in four
data sets, since the ranker had learned from these; see docs/quality.md."""


@dataclass(frozen=True, slots=True)
class SecondHop:
    """Two passages that answer together; all are rows of the snapshot."""

    first: int
    second: int
    entity: int
    """What both mention."""
    sentence: int
    """Of the first, with the entity."""


def find_second_hop(
    evidence: Evidence, snapshot: Snapshot, vectors: Vectors, order: Ints, confidences: Floats
) -> SecondHop | None:
    """The second hop of the best passage, if one of the next ones is it.

    `order` (n,) are places of the candidates, best first; `vectors` (n, dim) their embeddings.
    Where it is not the next one, or the best passage's names lead to several others, the ranker
    itself must hold it for likely.
    """
    best, others = order[0], order[1:LOOKED_AT]
    first = int(evidence.rows[best])
    if _holds_the_asked(evidence, snapshot, first):
        return None
    fitting = others[_says_the_rest(evidence, vectors, best, others)]
    ties = _ties(evidence, snapshot, first) if len(fitting) else {}
    led_to = {p for entity in ties for p in snapshot.entity_passages.row(entity).tolist()} - {first}
    for place in fitting.tolist():
        second = int(evidence.rows[place])
        shared = [e for e in snapshot.passage_entities.row(second).tolist() if e in ties]
        alone = place == order[1] and len(led_to) <= LED_TO
        if shared and (alone or confidences[place] >= LIKELY):
            entity = max(shared, key=lambda e: ties[e])
            return SecondHop(first, second, entity, ties[entity][1])
    return None


def _holds_the_asked(evidence: Evidence, snapshot: Snapshot, passage: int) -> bool:
    """Whether a passage holds what is asked by name ("which team"): it answers by itself then."""
    asked = _ASKED.search(evidence.analysis.text)
    words = terms(" ".join(asked.groups(""))) if asked and terms(asked[1]) else []
    rows = snapshot.term_rows(words)
    if not words or len(rows) < len(set(words)):
        return False
    return all(passage in snapshot.sentence_chunk[snapshot.postings.row(row)] for row in rows)


def _says_the_rest(evidence: Evidence, vectors: Vectors, best: int, others: Ints) -> Ints:
    """(n,) whether each of the others holds less of the question, and some of what is open."""
    masks = evidence.coverage.passages(evidence.rows)
    near, words, _ = remainder(evidence, vectors, masks, np.array([best]), others)
    names = evidence.matrix[:, FEATURES.index("cover_marked")]
    held, less = (names, FEWER_NAMES) if names[best] else (_cover(evidence), FEWER_WORDS)
    fewer = held[others] < held[best] - less
    return np.flatnonzero(fewer & ((words >= OPEN_WORDS) | (near >= OPEN_MEANING)))


def _cover(evidence: Evidence) -> Floats:
    column: Floats = evidence.matrix[:, FEATURES.index("cover")]
    return column


def _ties(evidence: Evidence, snapshot: Snapshot, passage: int) -> dict[int, tuple[float, int]]:
    """What a passage's sentences tie to the question: their coverage and row, by entity.

    Seeds aside, since they lead to the passage, and what many passages mention.
    """
    coverage = evidence.coverage
    sentences, _ = sentences_by_owner(snapshot, np.array([passage]))
    shares = coverage.share(coverage.with_context(sentences))
    seeds = {seed.row for seed in evidence.analysis.seeds}
    ties: dict[int, tuple[float, int]] = {}
    for share, sentence in zip(shares.tolist(), sentences.tolist(), strict=True):
        for entity in snapshot.sentence_entities.row(sentence).tolist():
            rare = 1 < snapshot.entity_frequency[entity] <= FEW
            if share >= COVERED and rare and entity not in seeds:
                ties[entity] = max(ties.get(entity, (0.0, -1)), (share, sentence))
    return ties
