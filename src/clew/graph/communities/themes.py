"""Themes: Leiden's communities of topics that share stretches of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.communities.leiden import WeightedGraph, in_order, leiden, sums
from clew.graph.communities.report_plans import best_of_groups
from clew.graph.snapshot_columns import Adjacency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Ints, Snapshot

    Values = NDArray[np.float64]

_STRETCH = 10
"""Passages of a document that count as one when it is asked which topics go together."""
_PER_STRETCH = 20
"""Topics of a stretch that are connected to each other."""


def find_themes(on: Adjacency, snapshot: Snapshot) -> tuple[Ints, Values]:
    """(T,) the theme of each topic, from 0 on, and how central it is there.

    `on` gives the passages by topic.

    Topics are connected by the stretches that they share, over the root of the product of those
    that each has (Salton's cosine).
    """
    topics = len(on.starts) - 1
    topic = np.repeat(np.arange(topics), np.diff(on.starts))
    stretch = _stretches(snapshot)[on.items]
    codes, counts = np.unique(stretch * max(topics, 1) + topic, return_counts=True)
    where, which = np.divmod(codes, max(topics, 1))
    spread = np.bincount(which, minlength=topics)
    kept = best_of_groups(
        where, counts.astype(np.float64), int(where.max(initial=-1)) + 1, _PER_STRETCH
    )
    first, second = _pairs(kept)
    heads, tails = which[first], which[second]
    weights = 1 / np.sqrt(spread[heads] * spread[tails])
    graph = WeightedGraph.from_pairs(heads, tails, weights, topics)
    themes = in_order(_join_others(leiden(graph), where, which, kept))
    inside = themes[graph.heads()] == themes[graph.rows.items]
    return themes, sums(graph.heads()[inside], graph.weights[inside], topics)


def _join_others(themes: Ints, where: Ints, which: Ints, kept: Adjacency) -> Ints:
    """Topics alone in their theme join the one that most of their stretches are on.

    `where` and `which` pair stretches with topics; `kept` has the pairs that count, by stretch.
    """
    alone = np.bincount(themes)[themes] == 1
    left = np.flatnonzero(alone[which])
    entries, owner = kept.entries(where[left])
    theme = themes[which[kept.items[entries]]]
    count = int(themes.max(initial=0)) + 1
    joins = ~alone[which[kept.items[entries]]]
    codes, shared = np.unique((which[left[owner]] * count + theme)[joins], return_counts=True)
    order = np.argsort(shared, kind="stable")
    topic, best = np.divmod(codes[order], count)
    joined = themes.copy()
    joined[topic] = best  # the last of each topic, which it shares most with, stays
    return joined


def _stretches(snapshot: Snapshot) -> Ints:
    """(C,) a number for the stretch of its document that each passage stands in."""
    documents = snapshot.columns.documents
    begins = np.append(True, documents[1:] != documents[:-1])[: len(documents)]
    ordinal = np.arange(len(documents)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    return np.cumsum(ordinal % _STRETCH == 0) - 1


def _pairs(rows: Adjacency) -> tuple[Ints, Ints]:
    """All ordered pairs of different items of one row."""
    counts = np.diff(rows.starts)
    owner = np.repeat(np.arange(len(counts)), counts)
    entries, place = rows.entries(owner)
    first, second = rows.items[place], rows.items[entries]
    apart = first != second
    return first[apart], second[apart]
