"""The best chunks by their words: tantivy chooses candidates, whose terms are then compared.

Scores are those of FTS5, computed from the store's terms. What tantivy says of a chunk is at least
that, so that the search ends with the first candidate that could not be among the best any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from clew.stores.keywords import bm25
from clew.stores.vectors.remote import among

if TYPE_CHECKING:
    from clew.stores.keywords.bm25 import Floats, Phrase
    from clew.stores.keywords.tantivy_folder import TermFolder
    from clew.types import Ids, Scores

_ROUNDING = 1.01
"""By how much a score of tantivy may be too low, beside what chunks deleted since make of it."""
_FIRST = 2, 100
"""So many times the chunks wanted, and so many more, are asked for at first."""
_BLOCK = 100
_CHEAPER, _MOST = 50, 1_000
"""The store's own table is faster where more candidates than that many times fewer than the chunks
are asked for, and never below so many."""


class TermSource(Protocol):
    """The store, as far as it is needed."""

    def reading(self) -> AbstractContextManager[None]:
        """See `ports.VectorSource`."""
        ...

    def generation(self) -> int:
        """See `ports.VectorSource`."""
        ...

    def chunk_ids(self) -> Ids:
        """See `ports.VectorSource`."""
        ...

    def chunk_ids_after(self, after: int) -> Ids:
        """Ids of the chunks above an id, sorted."""
        ...

    def chunk_count(self) -> int:
        """How many chunks there are."""
        ...

    def chunk_terms(self, chunk_ids: Ids) -> Iterator[tuple[int, str]]:
        """(id, terms) of those of the chunks that there are."""
        ...


@dataclass(frozen=True)
class IndexState:
    """The index at one generation of the store; replaced whole, so that searches need no lock."""

    generation: int
    path: Path
    """The file that says what is in the folder."""
    folder: TermFolder
    ids: Ids
    """(n,) chunks of the folder that the store has, sorted."""
    gone: Ids
    """Chunks of the folder that the store has no more."""
    tail: dict[int, list[str]]
    """Words of the chunks that are not in the folder."""
    words: int
    """Of all chunks that the store has."""

    def weights(self, phrases: Sequence[Phrase]) -> Floats:
        """(p,) the weight of each phrase in the store."""
        tail = self.tail.values()
        held = [
            self.folder.holders(phrase, self.gone) + sum(bm25.count(phrase, w) > 0 for w in tail)
            for phrase in phrases
        ]
        return bm25.weights(held, len(self.ids) + len(tail))

    @property
    def usual(self) -> float:
        """Mean length of the chunks, in words; there is at least one."""
        return self.words / (len(self.ids) + len(self.tail))


class _Question(NamedTuple):
    phrases: list[Phrase]
    weights: Floats
    limit: int


class _Block(NamedTuple):
    ids: Ids
    ceiling: float
    """No chunk that comes later has a higher score."""


def nearest(
    state: IndexState,
    source: TermSource,
    terms: Sequence[str],
    limit: int,
    allowed: Ids | None,
) -> tuple[Ids, Scores] | None:
    """See `ports.KeywordIndex`; None where too many candidates would have to be compared."""
    phrases = [tuple(bm25.tokens(term)) for term in dict.fromkeys(terms)]
    phrases = [phrase for phrase in phrases if phrase]
    found, scores = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float64)
    if not phrases or limit <= 0 or not state.words:
        return found, scores.astype(np.float32)
    few = allowed is not None and len(allowed) <= _most(state) // 10
    if not few and _wanted(state, limit, allowed) > _most(state):
        return None
    question = _Question(phrases, state.weights(phrases), limit)
    tail = np.array(sorted(state.tail), dtype=np.int64)
    new = tail if allowed is None else np.intersect1d(tail, allowed)
    texts = [(i, state.tail[i]) for i in new.tolist()]
    for block in _candidates(state, question, allowed):
        texts += [(i, bm25.tokens(held)) for i, held in source.chunk_terms(block.ids)]
        ids = np.array([i for i, _ in texts], dtype=np.int64)
        more = bm25.scores(phrases, question.weights, [words for _, words in texts], state.usual)
        found, scores = np.concatenate([found, ids]), np.concatenate([scores, more])
        best = np.lexsort((found, -scores))[:limit]
        found, scores, texts = found[best], scores[best], []
        if len(found) == limit and scores[-1] > block.ceiling:
            break
        if block.ceiling == np.inf:
            return None
    held_any = scores > 0
    return found[held_any], scores[held_any].astype(np.float32)


def _candidates(state: IndexState, question: _Question, allowed: Ids | None) -> Iterator[_Block]:
    """Blocks of chunks of the folder, best first; the last one has a ceiling of 0 where all came.

    Its ceiling is infinite where there are too many.
    """
    if allowed is not None and len(allowed) <= _most(state) // 10:
        yield _Block(allowed[among(state.ids, allowed)], 0.0)
        return
    wanted, seen = _wanted(state, question.limit, allowed), 0
    higher = _ROUNDING + state.folder.dead
    while wanted <= _most(state):
        ids, scores = state.folder.best(question.phrases, question.weights, wanted)
        whole = len(ids) < wanted
        eligible = among(state.ids, ids)
        eligible[:seen] = False
        if allowed is not None:
            eligible &= np.isin(ids, allowed)
        new = np.flatnonzero(eligible)
        for start in range(0, len(new), _BLOCK):
            part = new[start : start + _BLOCK]
            last = whole and start + _BLOCK >= len(new)
            yield _Block(ids[part], 0.0 if last else float(scores[part[-1]]) * higher)
        if whole:
            return
        seen, wanted = wanted, 4 * wanted
    yield _Block(state.ids[:0], np.inf)


def _most(state: IndexState) -> int:
    """Candidates beyond which the store's own table is faster."""
    return max(_MOST, len(state.ids) // _CHEAPER)


def _wanted(state: IndexState, limit: int, allowed: Ids | None) -> int:
    """Candidates that are asked for at first."""
    all_ids = len(state.ids)
    share = 1.0 if allowed is None else min(1.0, len(allowed) / max(all_ids, 1))
    return int((_FIRST[0] * limit + _FIRST[1]) / share)
