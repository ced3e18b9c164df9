"""Passages that say the same: the best is shown, the others are named beside it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clew.search.retrieval.channels import Ranking
from clew.shingles import hashes, says_as_much

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.search.answer.result import RetrievalResult
    from clew.search.session import QuerySession
    from clew.types import StoredChunk

_DEPTH = 5
"""Passages compared for each that is shown, at most."""
_MOST = 100
"""Passages compared beyond those that are shown, at most."""
_SHARED = 2
"""Hashes of two sketches that make their texts worth comparing."""
_COMPARED = 3
"""Better passages that one is compared with, at most."""


def collapse(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    """At most `limit` passages, none of which says what a better one does."""
    limit, ranking = session.options.limit, found.ranking
    ids = ranking.ids[: min(limit * _DEPTH, limit + _MOST)].tolist()
    with session.timings.step("collapse"):
        same = _duplicates(session, ids)
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
    found: dict[int, int] = {}
    for id_, better in alike.items():
        shown = [b for b in better if b not in found and b in chunks and id_ in chunks]
        same = (b for b in shown if says_as_much(chunks[b].text, chunks[id_].text))
        if (first := next(same, None)) is not None:
            found[id_] = first
    return [(chunks[id_], better) for id_, better in found.items()]


def _alike(ids: Sequence[int], sketches: Mapping[int, str]) -> dict[int, list[int]]:
    """By id: the first passages before it whose sketches share hashes with its own."""
    place = {id_: i for i, id_ in enumerate(ids)}
    holders: dict[str, list[int]] = defaultdict(list)
    found: dict[int, list[int]] = {}
    for id_ in ids:
        own = hashes(sketches.get(id_, ""))
        shared = Counter(other for value in own for other in holders[value])
        if better := [other for other, count in shared.items() if count >= _SHARED]:
            found[id_] = sorted(better, key=place.__getitem__)[:_COMPARED]
        for value in own:
            holders[value].append(id_)
    return found
