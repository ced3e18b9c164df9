"""The channels: passages by nearness of meaning and by words, each with its own scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np

from clew.ports import HybridIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from clew.ports import KeywordIndex, VectorIndex
    from clew.types import Ids, Scores, Vector

DEPTH = 200
"""Passages that a channel finds, at most, for those that fuse or rank what it found."""
RRF_K = 60
"""Constant of reciprocal rank fusion, Cormack et al. 2009."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunks, best first, each once."""

    ids: Ids
    scores: Scores

    @classmethod
    def empty(cls) -> Ranking:
        """No chunks."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.float32))

    @classmethod
    def in_order(cls, ids: Ids) -> Ranking:
        """Chunks in this order, each at its first place; scores are 1, ½, ⅓, …."""
        _, first = np.unique(ids, return_index=True)
        kept = ids[np.sort(first)]
        return cls(kept, (1 / (1 + np.arange(len(kept)))).astype(np.float32))

    def by_id(self) -> dict[int, float]:
        """Scores by chunk id."""
        return dict(zip(self.ids.tolist(), self.scores.tolist(), strict=True))

    def top(self, limit: int) -> Ranking:
        """The first ones."""
        return Ranking(self.ids[:limit], self.scores[:limit])

    def led_by(self, ids: Ids) -> Ranking:
        """These behind others, each of which once, that score as the best of these (1 for none)."""
        if not len(ids):
            return self
        behind = ~np.isin(self.ids, ids)
        best = np.full(len(ids), self.scores.max() if len(self.ids) else 1, np.float32)
        return Ranking(
            np.concatenate([ids, self.ids[behind]]), np.concatenate([best, self.scores[behind]])
        )

    def with_among(self, ids: Ids, place: int) -> Ranking:
        """These, where each of `ids` that is not among the first `place` follows right after them.

        It scores as the last of those does (1 for none).
        """
        head = self.top(place)
        new = ids[~np.isin(ids, head.ids)]
        behind = Ranking(self.ids[place:], self.scores[place:])
        behind = behind.led_by(new)
        floor = head.scores[-1] if len(head.ids) else np.float32(1)
        scores = np.concatenate([head.scores, np.minimum(behind.scores, floor)])
        scores[len(head.ids) : len(head.ids) + len(new)] = floor
        return Ranking(np.concatenate([head.ids, behind.ids]), scores)

    def then(self, other: Ranking) -> Ranking:
        """These, then the other's that are not among them; scores (above 0) go on downwards."""
        rest = other.ids[~np.isin(other.ids, self.ids)]
        floor = self.scores.min() if len(self.scores) else np.float32(1)
        below = (floor / (2 + np.arange(len(rest)))).astype(np.float32)
        return Ranking(np.concatenate([self.ids, rest]), np.concatenate([self.scores, below]))


@dataclass(slots=True)
class Channels:
    """One question's channels; each searches when it is first asked for, and once."""

    vector: Callable[[], Vector]
    """Embeds the question; asked only by those that need it."""
    terms: Sequence[str]
    vector_index: VectorIndex
    keyword_index: KeywordIndex
    allowed: Ids | None
    depth: int = DEPTH
    _found: dict[str, Ranking] = field(default_factory=dict)

    def by_vector(self) -> Ranking:
        """Scores are cosines, -1 to 1."""
        if "vector" not in self._found:
            found = self.vector_index.search_vector(self.vector(), self.depth, self.allowed)
            self._found["vector"] = Ranking(*found)
        return self._found["vector"]

    def by_keyword(self) -> Ranking:
        """Scores are BM25, above 0."""
        if "keyword" not in self._found:
            found = self.keyword_index.search_keywords(self.terms, self.depth, self.allowed)
            self._found["keyword"] = Ranking(*found)
        return self._found["keyword"]

    def both(self) -> tuple[Ranking, Ranking]:
        """By vector and by keyword; in one round trip where the index can."""
        index = self.vector_index
        if not self._found and self.terms and isinstance(index, HybridIndex):
            found = index.search_both(self.vector(), self.terms, self.depth, self.allowed)
            self._found = dict(zip(("vector", "keyword"), starmap(Ranking, found), strict=True))
        return self.by_vector(), self.by_keyword()

    def scores(self) -> dict[str, dict[int, float]]:
        """Score by chunk id by channel, for the channels that were asked."""
        return {name: found.by_id() for name, found in self._found.items()}


def reciprocal_rank_fusion(rankings: Sequence[Ranking]) -> Ranking:
    """Sum of 1 / (60 + rank) over the rankings, rank from 1; ties go to the smaller id.

    Does not depend on the order of the rankings.
    """
    ids = np.concatenate([ranking.ids for ranking in rankings])
    return _add(ids, np.concatenate([1 / (RRF_K + 1 + np.arange(len(r.ids))) for r in rankings]))


def in_turn(groups: Sequence[Ids]) -> Ids:
    """The first of each group, then the second of each, …; each once."""
    turns = [(place, number) for number, ids in enumerate(groups) for place in range(len(ids))]
    ids = [int(groups[number][place]) for place, number in sorted(turns)]
    return np.array(list(dict.fromkeys(ids)), dtype=np.int64)


def weighted_fusion(first: Ranking, second: Ranking, alpha: float) -> Ranking:
    """α · first + (1 − α) · second, the scores of each scaled to 0 to 1; ties go to the smaller id.

    A passage that one of them did not find counts 0 there.
    """
    parts = [alpha * _scaled(first.scores), (1 - alpha) * _scaled(second.scores)]
    return _add(np.concatenate([first.ids, second.ids]), np.concatenate(parts))


def _add(ids: Ids, votes: NDArray[np.floating]) -> Ranking:
    """Chunks in order of the sum of their votes."""
    distinct, inverse = np.unique(ids, return_inverse=True)
    # Summed from the smallest vote up, so that rounding does not depend on the order either.
    order = np.argsort(votes, kind="stable")
    total = np.bincount(inverse[order], weights=votes[order], minlength=len(distinct))
    best = np.lexsort((distinct, -total))
    return Ranking(distinct[best], total[best].astype(np.float32))


def _scaled(scores: Scores) -> Scores:
    """Between 0 and 1 by the highest and the lowest (or 0, where that is lower)."""
    low = min(float(scores.min(initial=0.0)), 0.0)
    reach = float(scores.max(initial=0.0)) - low
    return (scores - np.float32(low)) / np.float32(reach or 1.0)
