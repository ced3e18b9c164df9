"""The channels: passages by nearness of meaning and by words, each with its own scores."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.graph.snapshot import distinct, find_sorted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints
    from clew.ports import KeywordIndex, VectorIndex
    from clew.search.options import Options
    from clew.stores.store import Store
    from clew.types import Ids, PassageRecord, Scores, Vector


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
        """By vector and by keyword."""
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


# Values and rankings of a few rows of a snapshot: what they cost does not grow with the store.


PRIOR_DEPTH = 50
"""Best passages of each ranking that the prior counts."""
RANKED = 200
"""Passages of a ranking, at most."""


@dataclass(frozen=True, slots=True)
class RowValues:
    """A value of some rows; 0 of all others."""

    rows: Ints
    """(n,) sorted, each once."""
    values: Floats
    """(n,) float32."""

    @classmethod
    def total(cls, parts: Iterable[RowValues]) -> RowValues:
        """The sums."""
        parts = list(parts)
        rows = distinct(np.concatenate([part.rows for part in parts]))
        values = np.zeros(len(rows), np.float32)
        for part in parts:
            values[np.searchsorted(rows, part.rows)] += part.values
        return cls(rows, values)

    @classmethod
    def highest(cls, rows: Ints, values: Floats) -> RowValues:
        """Of rows in any order, the highest value of each, and at least 0."""
        once = distinct(rows)
        most = np.zeros(len(once), np.float32)
        np.maximum.at(most, np.searchsorted(once, rows), values.astype(np.float32))
        return cls(once, most)

    def __getitem__(self, rows: Ints) -> Floats:
        """(n,) the values of rows in any order."""
        places, known = find_sorted(self.rows, rows)
        found = np.zeros(len(rows), np.float32)
        found[known] = self.values[places[known]]
        return found

    def best(self, limit: int = RANKED) -> Ranked:
        """The rows with the highest values, of those above 0; ties go to the smaller row."""
        found = best(self.values, limit)
        return Ranked(self.rows[found.rows], found.scores)

    def among(self, allowed: NDArray[np.bool_] | None) -> RowValues:
        """Without the rows that are not allowed (C,)."""
        if allowed is None:
            return self
        kept = allowed[self.rows]
        return RowValues(self.rows[kept], self.values[kept])


@dataclass(frozen=True, slots=True)
class Ranked:
    """Passages by one signal, best first, each once."""

    rows: Ints
    scores: Floats

    def reciprocal(self, rows: Ints) -> Floats:
        """(n,) 1 / (1 + rank), rank from 1, of rows (sorted, each once); 0 of those not ranked."""
        found = np.zeros(len(rows), np.float32)
        places, known = find_sorted(rows, self.rows)
        found[places[known]] = 1 / (2 + np.flatnonzero(known))
        return found

    def fused(self) -> RowValues:
        """1 / (60 + rank): what reciprocal rank fusion sums."""
        return self._spread(1 / (RRF_K + 1 + np.arange(len(self.rows))))

    def prior(self) -> RowValues:
        """Scores of the best passages between 0 and 1; the last of a long list has 0."""
        scores = self.scores[:PRIOR_DEPTH]
        if not len(scores):
            return self._spread(scores)
        full = len(self.rows) >= PRIOR_DEPTH
        low = float(scores[-1]) if full else min(float(scores[-1]), 0.0)
        reach = float(scores[0]) - low
        return self._spread((scores - low) / reach if reach > 0 else np.ones(len(scores)))

    def _spread(self, values: NDArray[np.floating]) -> RowValues:
        rows = self.rows[: len(values)]
        order = np.argsort(rows)
        return RowValues(rows[order], values[order].astype(np.float32))


def best(scores: Floats, limit: int = RANKED) -> Ranked:
    """The best passages of those with a score above 0; ties go to the smaller row."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > limit:
        floor = np.partition(scores[rows], len(rows) - limit)[len(rows) - limit]
        rows = rows[scores[rows] >= floor]
    rows = rows[np.argsort(-scores[rows], kind="stable")][:limit]
    return Ranked(rows, scores[rows])


# The chunks that the filters of a question let through.


def allowed_chunks(store: Store, options: Options) -> Ids | None:
    """Chunks that pass every filter of the options; None where there is no filter."""
    found: list[Ids] = []
    if options.where:
        found.append(store.matching_chunks(options.where))
    if options.period is not None:
        found.append(store.chunks_within(options.period))
    if options.as_of is not None:
        found.append(store.chunks_as_of(options.as_of))
    return reduce(np.intersect1d, found) if found else None


# Passages of earlier versions that stood at the moment asked for.
#
# They are in no index. Few documents change, so that those of one moment are read and compared
# whole.


MOST = 20_000
"""Passages of earlier versions that a question reads, at most."""


class EarlierPassage(NamedTuple):
    """A passage of a version that was replaced."""

    record: PassageRecord
    counts: Counter[str]
    """How often it holds each term."""
    vector: Vector | None
    """None where another model made it than the store's."""

    @property
    def id(self) -> int:
        """No passage that the store holds has it."""
        return self.record.chunk.id


def read_earlier(store: Store, options: Options) -> dict[int, EarlierPassage]:
    """By id: the passages replaced since that stood at the moment asked for, within the filters."""
    found: dict[int, EarlierPassage] = {}
    if options.as_of is None:
        return found
    period = options.period
    for version in store.earlier_at(options.as_of, options.where):
        vectors = [None] * len(version.passages) if version.vectors is None else version.vectors
        for record, terms, vector in zip(version.passages, version.terms, vectors, strict=True):
            if len(found) == MOST:
                return found
            if period is None or any(period.overlaps(time) for time in record.times):
                passage = EarlierPassage(record, Counter(terms.split()), vector)
                found[passage.id] = passage
    return found
