"""Passages that say the same: the best is shown, the others are named beside it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from clew.search.answer.hits import build_hits
from clew.search.retrieval.channels import Ranking
from clew.shingles import hashes, says_as_much, shingles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.search.answer.result import RetrievalResult
    from clew.search.session import QuerySession
    from clew.types import Hit, StoredChunk

_AT_FIRST = 1.5
"""Passages that are read at first for each that is shown."""
_DEPTH = 3
"""Passages compared for each that is shown."""
_MOST = 200
"""Passages compared beyond these where too few of them differ."""
_SHARED_WORDS = 0.6
"""Share of a passage's words that another holds which is worth comparing with it."""
_SHARED = 4
"""Hashes, of eight, that two sketches share whose texts are worth comparing."""
_COMPARED = 5
"""Passages that one is compared with, at most; those that share most hashes."""


def distinct_hits(session: QuerySession, found: RetrievalResult) -> tuple[Hit, ...]:
    """The hits of what was found: at most `limit`, none of which says what a better one does.

    Half as many again are read as are shown; only where too few of them differ, more are looked at
    by their sketches.
    """
    limit = session.options.limit
    depth = ceil(limit * _AT_FIRST)
    hits = build_hits(session, replace(found, ranking=found.ranking.top(depth)))
    same = _same_hits(hits)
    if len(hits) - len(same) < limit and len(found.ranking.ids) > depth:
        return build_hits(session, collapse(session, found))
    others: dict[int, list[StoredChunk]] = defaultdict(list)
    for hit, better in same:
        others[better].append(hit.chunk)
    left_out = {hit.chunk.id for hit, _ in same}
    return tuple(
        replace(hit, also_in=tuple(others[hit.chunk.id])) if hit.chunk.id in others else hit
        for hit in hits
        if hit.chunk.id not in left_out
    )[:limit]


def _same_hits(hits: Sequence[Hit]) -> list[tuple[Hit, int]]:
    """(hit, chunk id of the best one that says the same), in order."""
    shingles_of = cache(shingles)
    shown: list[tuple[Hit, set[str]]] = []
    same: list[tuple[Hit, int]] = []
    for hit in hits:
        words = set(hit.chunk.text.split())
        # Few texts share most of their words, so that few are taken apart.
        alike = [
            better.chunk
            for better, held in shown
            if len(words & held) >= _SHARED_WORDS * len(words)
        ]
        text = hit.chunk.text
        for better in alike:
            if says_as_much(shingles_of(better.text), shingles_of(text)):
                same.append((hit, better.id))
                break
        else:
            shown.append((hit, words))
    return same


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
