"""Candidates for an answer, and what speaks for each, as a matrix for the learned ranker.

Every feature is relative (to the best passage, to the question's own weight) or a rank, so that one
ranker serves stores of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import find_sorted
from clew.query.bridge import Bridges, Coverage, find_bridges, find_onward
from clew.query.signals import Channels, Ranked, Signals, VectorReader, best, read_signals, unit
from clew.query.walks import Walks, take_walks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.query.analyse import Analysis
    from clew.query.signals import VectorsOf

    Columns = dict[str, Floats]

__all__ = ["FEATURES", "Channels", "Evidence", "gather"]

FROM_WALK, FROM_CHANNEL, FROM_HYBRID, FROM_FUSED = 60, 20, 30, 20
"""Best passages of each ranking that become candidates."""
FOLLOWED, FROM_ONWARD = 15, 40
"""Passages whose entities are followed, and passages about such entities that are candidates."""

FEATURES = (
    # how well the passage answers by itself
    *("vector", "vector_share", "vector_rank", "window_vector", "window_vector_share"),
    *("window_vector_rank", "keyword_share", "keyword_rank", "window_keyword_share"),
    *("window_keyword_rank", "prior", "hybrid_rank", "fused_rank"),
    # where walks lead
    *("walk", "walk_rank", "walk_seeds", "walk_seeds_rank", "walk_bridges", "walk_bridges_rank"),
    *("walk_asked", "walk_asked_rank", "walk_far", "walk_far_rank"),
    # the question's entities
    *("seeds_share", "seeds_about_share", "seeds_best", "seeds_place"),
    # the entities that sentences tie to them
    *("bridge", "bridge_about", "bridge_idf", "bridge_about_idf", "bridge_place"),
    *("onward_about_idf", "onward_place"),
    # the question's words
    *("cover", "cover_open", "cover_sentence", "cover_unnamed", "cover_unnamed_sentence"),
    # what the best passage leaves open
    *("residual", "like_best"),
    # the question itself
    "question_named",
)
"""Names of the columns of `Evidence.matrix`."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What ranking and explaining share."""

    analysis: Analysis
    coverage: Coverage
    bridges: Bridges
    rows: Ints
    """(n,) candidates, as sorted rows of the snapshot."""
    walk: Floats
    """(n,) 0 to 1: the main walk's value over its highest."""
    matrix: Floats
    """(n, len(FEATURES)) float32."""


class Incidence:
    """Candidates and the entities that they mention, an entry a pair."""

    def __init__(self, snapshot: Snapshot, rows: Ints) -> None:
        self.size = len(rows)
        entries, self.owner = snapshot.passage_entities.entries(rows)
        self.entity: Ints = snapshot.passage_entities.items[entries]
        self.passage: Ints = rows[self.owner]
        self.about = snapshot.passage_about[entries]

    def total(self, values: Floats) -> Floats:
        """(n,) sum over each candidate's entries."""
        return np.bincount(self.owner, weights=values, minlength=self.size).astype(np.float32)

    def place(self, values: Floats) -> Floats:
        """(entries,) 1 / rank of each candidate, by its value (n,), among those of one entity."""
        order = np.lexsort((-values[self.owner], self.entity))
        entity = self.entity[order]
        starts = np.flatnonzero(np.diff(entity, prepend=-1))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        places = np.empty(len(order), np.float32)
        places[order] = 1 / (1 + rank)
        return places

    def highest(self, values: Floats) -> Floats:
        """(n,) highest over each candidate's entries, at least 0."""
        highest = np.zeros(self.size, np.float32)
        np.maximum.at(highest, self.owner, values.astype(np.float32))
        return highest


def gather(
    analysis: Analysis, snapshot: Snapshot, channels: Channels, vectors_of: VectorsOf
) -> Evidence:
    """Candidates from the channels and from walks, and the features of each.

    `vectors_of` is asked twice at most, for some hundreds of rows.
    """
    reader = VectorReader(vectors_of)
    signals = read_signals(analysis, snapshot, channels, reader)
    coverage = Coverage(analysis, snapshot)
    bridges = find_bridges(analysis, snapshot, coverage, signals.prior, channels.allowed)
    walks = take_walks(analysis, bridges, snapshot, signals.prior, channels.allowed)
    followed = best(walks.everything, FOLLOWED)
    onward = find_onward(
        analysis, snapshot, coverage, walks.passages[followed.rows], np.sqrt(followed.scores)
    )
    rows = _candidates(signals, walks)
    rows = np.union1d(rows, _about(onward, snapshot, channels.allowed))
    incidence = Incidence(snapshot, rows)
    by_itself = _by_itself(analysis, snapshot, signals, rows, reader)
    by_words = _by_words(coverage, signals, rows)
    place = incidence.place(by_itself["vector"] + by_words["cover"])
    columns = (
        by_itself
        | by_words
        | _by_walks(walks, snapshot, rows)
        | _by_seeds(analysis, snapshot, incidence, place)
        | _by_bridges("bridge", bridges, snapshot, incidence, place)
        | _by_bridges("onward", onward, snapshot, incidence, place)
        | _by_remainder(analysis, signals, rows, reader)
        | {"question_named": np.full(len(rows), coverage.named_share, np.float32)}
    )
    matrix = np.stack([columns[name] for name in FEATURES], axis=1).astype(np.float32)
    return Evidence(analysis, coverage, bridges, rows, columns["walk"], matrix)


def _candidates(signals: Signals, walks: Walks) -> Ints:
    walked = best(walks.everything, FROM_WALK).rows
    channels = (signals.vector, signals.keyword, signals.window_vector, signals.window_keyword)
    found = [
        walks.passages[walked],
        *(ranking.rows[:FROM_CHANNEL] for ranking in channels),
        best(signals.hybrid, FROM_HYBRID).rows,
        best(signals.fused, FROM_FUSED).rows,
    ]
    return np.unique(np.concatenate(found))


def _about(onward: Bridges, snapshot: Snapshot, allowed: NDArray[np.bool_] | None) -> Ints:
    """Passages about the best of the entities."""
    entries, owner = snapshot.entity_passages.entries(onward.entities)
    about = snapshot.entity_about[entries]
    passages = snapshot.entity_passages.items[entries[about]]
    if allowed is not None:
        passages = passages[allowed[passages]]
    return passages[:FROM_ONWARD]


def _by_itself(
    analysis: Analysis, snapshot: Snapshot, signals: Signals, rows: Ints, reader: VectorReader
) -> Columns:
    windows = reader.windows(snapshot, rows) @ analysis.vector
    vectors = reader.read(rows) @ analysis.vector
    values = {
        "window_vector": (windows, signals.window_vector),
        "vector": (vectors, signals.vector),
        "keyword": (signals.keyword_scores[rows], signals.keyword),
        "window_keyword": (signals.window_keyword_scores[rows], signals.window_keyword),
    }
    columns: Columns = {"prior": signals.prior[rows]}
    for name, (value, ranking) in values.items():
        columns[name] = value
        columns[f"{name}_share"] = value / (_first(ranking) or 1.0)
        columns[f"{name}_rank"] = ranking.reciprocal(snapshot.size)[rows]
    for name, fusion in (("hybrid", signals.hybrid), ("fused", signals.fused)):
        columns[f"{name}_rank"] = best(fusion).reciprocal(snapshot.size)[rows]
    return columns


def _first(ranking: Ranked) -> float:
    return float(ranking.scores[0]) if len(ranking.scores) else 0.0


def _by_walks(walks: Walks, snapshot: Snapshot, rows: Ints) -> Columns:
    places, visited = find_sorted(walks.passages, rows)
    columns: Columns = {}
    for name, values in (
        ("walk", walks.everything),
        ("walk_seeds", walks.seeds),
        ("walk_bridges", walks.bridges),
        ("walk_asked", walks.asked),
        ("walk_far", walks.far),
    ):
        ranks = best(values).reciprocal(len(values))
        for column, of_passage in ((name, values), (f"{name}_rank", ranks)):
            columns[column] = np.zeros(len(rows), np.float32)
            columns[column][visited] = of_passage[places[visited]]
    return columns


def _by_seeds(
    analysis: Analysis, snapshot: Snapshot, incidence: Incidence, place: Floats
) -> Columns:
    weight = _spread(((s.row, s.weight) for s in analysis.seeds), len(snapshot.entity_ids))
    weights = weight[incidence.entity]
    total = sum(seed.idf for seed in analysis.seeds) or 1.0
    mentioned, about = incidence.total(weights), incidence.total(weights * incidence.about)
    return {
        "seeds_share": mentioned / total,
        "seeds_about_share": about / total,
        "seeds_best": incidence.highest(weights) / total,
        "seeds_place": incidence.highest(weights * place) / total,
    }


def _by_bridges(
    name: str, bridges: Bridges, snapshot: Snapshot, incidence: Incidence, place: Floats
) -> Columns:
    """A bridge counts everywhere but in the passage whose sentence is the bridge."""
    size = len(snapshot.entity_ids)
    pairs = zip(bridges.entities.tolist(), bridges.scores.tolist(), strict=True)
    score = _spread(pairs, size)[incidence.entity]
    home = np.full(size, -1, dtype=np.int64)
    home[bridges.entities] = snapshot.sentence_chunk[bridges.sentences]
    away = home[incidence.entity] != incidence.passage
    rare = snapshot.entity_idf[incidence.entity] / np.log1p(max(snapshot.size, 1))
    return {
        name: incidence.highest(score * away),
        f"{name}_idf": incidence.highest(score * away * rare),
        f"{name}_about": incidence.highest(score * incidence.about),
        f"{name}_about_idf": incidence.highest(score * incidence.about * rare),
        f"{name}_place": incidence.highest(score * away * rare * place),
    }


def _spread(pairs: Iterable[tuple[int, float]], size: int) -> Floats:
    values = np.zeros(size, np.float32)
    for row, value in pairs:
        values[row] = value
    return values


def _by_words(coverage: Coverage, signals: Signals, rows: Ints) -> Columns:
    masks = coverage.passages(rows)
    first = np.argmax(signals.hybrid[rows]) if len(rows) else 0
    held = masks[first] if len(rows) else np.uint64(0)
    sentences, owner = coverage.sentences_by_owner(rows)
    with_context = coverage.share(coverage.with_context(sentences))
    unnamed = coverage.unnamed_share(coverage.sentence_masks[sentences])
    return {
        "cover": coverage.share(masks),
        "cover_open": coverage.share(masks & ~held),
        "cover_sentence": _highest(with_context, owner, len(rows)),
        "cover_unnamed": coverage.unnamed_share(masks),
        "cover_unnamed_sentence": _highest(unnamed, owner, len(rows)),
    }


def _highest(values: Floats, owner: Ints, size: int) -> Floats:
    highest = np.zeros(size, np.float32)
    np.maximum.at(highest, owner, values)
    return highest


def _by_remainder(
    analysis: Analysis, signals: Signals, rows: Ints, reader: VectorReader
) -> Columns:
    """Similarity to what the best passage leaves open of the question, and to that passage."""
    if not len(rows):
        return {"residual": np.zeros(0, np.float32), "like_best": np.zeros(0, np.float32)}
    vectors = reader.read(rows)
    first = vectors[np.argmax(signals.hybrid[rows])]
    remainder = unit(analysis.vector - (analysis.vector @ first) * first)
    return {"residual": vectors @ remainder, "like_best": vectors @ first}
