"""The place of earlier passages among those that a strategy found, by meaning and by words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clew.search.retrieval.channels import DEPTH, Ranking, reciprocal_rank_fusion
from clew.search.retrieval.earlier import MOST

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from clew.graph.snapshot import Snapshot
    from clew.search.answer.result import RetrievalResult
    from clew.search.retrieval.earlier import EarlierPassage
    from clew.search.session import QuerySession
    from clew.types import Vector

ONE_CHANNEL = ("vector", "keyword")
"""The strategies that ask one channel alone, each by its name."""
_K1, _B = 1.2, 0.75
"""Constants of BM25 as SQLite has them."""
_LEAST_IDF = 1e-6


def with_earlier(session: QuerySession, found: RetrievalResult, strategy: str) -> RetrievalResult:
    """The passages found, each earlier one at the place that its channels give it among all.

    What the strategy knows beside the channels (the graph, a reranker) says nothing of them.
    """
    if not session.earlier:
        return found
    _note_limits(session)
    channels = [strategy] if strategy in ONE_CHANNEL else [*ONE_CHANNEL]
    own = {name: _rank(session, name) for name in channels}
    merged = [_merged(_held(session, name), own[name]) for name in channels]
    everything = reciprocal_rank_fusion(merged).ids.tolist()
    scores = {
        name: {**_held(session, name).by_id(), **found.scores.get(name, {}), **own[name].by_id()}
        for name in channels
    }
    ranking = _inserted(found.ranking, session.earlier, everything)
    return replace(found, ranking=ranking, scores={**found.scores, **scores})


def _note_limits(session: QuerySession) -> None:
    if len(session.earlier) == MOST:
        session.note(f"only {MOST} passages of earlier versions were read; narrow it by filters")
    if any(passage.vector is None for passage in session.earlier.values()):
        session.note("versions that another embedding model has seen were found by words alone")


def _held(session: QuerySession, channel: str) -> Ranking:
    """What the channel found among the texts that the store holds."""
    channels = session.channels
    return channels.by_vector() if channel == "vector" else channels.by_keyword()


def _merged(one: Ranking, other: Ranking) -> Ranking:
    ids, scores = np.concatenate([one.ids, other.ids]), np.concatenate([one.scores, other.scores])
    order = np.argsort(-scores, kind="stable")
    return Ranking(ids[order], scores[order])


def _inserted(
    ranking: Ranking, earlier: Mapping[int, EarlierPassage], everything: Sequence[int]
) -> Ranking:
    """Each earlier passage at its place in `everything`; it scores as what stood there."""
    ids, scores = ranking.ids.tolist(), ranking.scores.tolist()
    for place, id_ in enumerate(everything):
        if id_ in earlier:
            scores.insert(place, scores[min(place, len(scores) - 1)] if scores else 1.0)
            ids.insert(place, id_)
    return Ranking(np.array(ids, dtype=np.int64), np.array(scores, dtype=np.float32))


# --- the two channels


def _rank(session: QuerySession, channel: str) -> Ranking:
    passages = list(session.earlier.values())
    if channel == "vector":
        return _by_vector(passages, session.vector)
    return _by_keyword(passages, session.channels.terms, session.snapshot)


def _by_vector(passages: Sequence[EarlierPassage], question: Vector) -> Ranking:
    """Cosines, -1 to 1; none for a question whose meaning is not known (yet)."""
    if not question.any():
        return Ranking.empty()
    return _best({p.id: float(p.vector @ question) for p in passages if p.vector is not None})


def _by_keyword(
    passages: Sequence[EarlierPassage], terms: Sequence[str], snapshot: Snapshot
) -> Ranking:
    """BM25, above 0; words are as rare as they are in the store."""
    idf = {term: _idf(snapshot, term) for term in terms}
    usual = snapshot.words / max(snapshot.chunks, 1)
    scores = {p.id: _bm25(p.counts, idf, p.counts.total() / (usual or 1.0)) for p in passages}
    return _best({id_: score for id_, score in scores.items() if score > 0})


def _bm25(counts: Counter[str], idf: Mapping[str, float], length: float) -> float:
    norm = _K1 * (1 - _B + _B * length)
    return sum(
        weight * counts[term] * (_K1 + 1) / (counts[term] + norm) for term, weight in idf.items()
    )


def _idf(snapshot: Snapshot, term: str) -> float:
    rows = snapshot.term_rows([term])
    holding = int(snapshot.term_frequency[rows[0]]) if len(rows) else 0
    odds = (max(snapshot.store_size - holding, 0) + 0.5) / (holding + 0.5)
    return max(float(np.log(odds)), _LEAST_IDF)


def _best(scores: Mapping[int, float]) -> Ranking:
    best = sorted(scores, key=lambda id_: -scores[id_])[:DEPTH]
    found = np.array([scores[id_] for id_ in best], dtype=np.float32)
    return Ranking(np.array(best, dtype=np.int64), found)
