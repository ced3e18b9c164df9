"""Passages that say the same: the best is shown, the others are named beside it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from clew.search.retrieval.channels import Ranking
from clew.shingles import hashes, says_as_much, shingles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.search.answer.result import RetrievalResult
    from clew.search.session import QuerySession
    from clew.types import StoredChunk

_DEPTH = 3
"""Passages compared for each that is shown."""
_MOST = 200
"""Passages compared beyond these where too few of them differ."""
_SHARED = 4
"""Hashes, of eight, that two sketches share whose texts are worth comparing."""
_COMPARED = 5
"""Passages that one is compared with, at most; those that share most hashes."""


def collapse(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    """At most `limit` passages, none of which says what a better one does."""
    limit, ranking = session.options.limit, found.ranking
    with session.timings.step("collapse"):
        same = _duplicates(session, ranking.ids[: limit * _DEPTH].tolist())
        if limit * _DEPTH - len(same) < limit:
            same = _duplicates(session, ranking.ids[: limit * _DEPTH + _MOST].tolist())
    others: dict[int, list[StoredChunk]] = defaultdict(list)
    for chunk, better in same:
        others[better].append(chunk)
    kept = ~np.isin(ranking.ids, [chunk.id for chunk, _ in same])
    return replace(
        found,
        ranking=Ranking(ranking.ids[kept], ranking.scores[kept]).top(limit),
        also_in={id_: tuple(chunks) for id_, chunks in others.items()},
    )


def _duplicates(session: QuerySession, ids: Sequence[int]) -> list[tuple[StoredChunk, int]]:
    """(passage, id of the best one that says the same), in order."""
    store = session.resources.store
    alike = _alike(ids, store.sketches(ids)) if len(ids) > 1 else {}
    involved = {id_ for id_, better in alike.items() for id_ in (id_, *better)}
    chunks = {chunk.id: chunk for chunk in store.chunks(sorted(involved))} if involved else {}
    shingles_of = cache(lambda id_: shingles(chunks[id_].text))

    def is_said(id_: int, shown: int) -> bool:
        if chunks[id_].text == chunks[shown].text:
            return True
        return says_as_much(shingles_of(shown), shingles_of(id_))

    found: dict[int, int] = {}
    for id_ in ids:
        better = dict.fromkeys(found.get(b, b) for b in alike.get(id_, ()) if b in chunks)
        if id_ in chunks and (same := next((b for b in better if is_said(id_, b)), None)):
            found[id_] = same
    return [(chunks[id_], better) for id_, better in found.items()]


def _alike(ids: Sequence[int], sketches: Mapping[int, str]) -> dict[int, list[int]]:
    """By id: passages before it whose sketches share hashes with its own, the most alike first."""
    holders: dict[str, list[int]] = defaultdict(list)
    found: dict[int, list[int]] = {}
    for id_ in ids:
        own = hashes(sketches.get(id_, ""))
        shared = Counter(other for value in own for other in holders[value]).most_common(_COMPARED)
        if better := [other for other, count in shared if count >= _SHARED]:
            found[id_] = better
        for value in own:
            holders[value].append(id_)
    return found
