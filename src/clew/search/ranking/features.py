"""Candidates for an answer and their features, as a matrix for the learned ranker.

Every feature is relative (to the best passage, to the question's own weight) or a rank, so that one
ranker serves stores of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import ABOUT_WEIGHT, distinct, find_sorted
from clew.search.ranking.first_stage_features import (
    ChannelScores,
    FirstStageFeatures,
    VectorReader,
    read_first_stage_features,
)
from clew.search.ranking.normalise import lead
from clew.search.ranking.word_features import WORD_FEATURES, word_features
from clew.search.retrieval.bridge import Bridges, Coverage, find_bridges, find_onward
from clew.search.retrieval.personalized_pagerank import PageRankScores, personalized_pagerank
from clew.search.retrieval.row_values import Ranked, RowValues, best

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.analysis.analyse import Analysis
    from clew.search.ranking.first_stage_features import VectorsOf

    Columns = dict[str, Floats]


FROM_WALK, FROM_CHANNEL, FROM_HYBRID, FROM_FUSED = 60, 20, 30, 20
"""Best passages of each ranking that become candidates."""
FOLLOWED, FROM_ONWARD = 15, 40
"""Passages whose entities are followed, and passages about such entities that are candidates."""

FEATURES = (
    # how well the passage answers by itself
    *("vector", "vector_share", "vector_rank", "window_vector", "window_vector_share"),
    *("window_vector_rank", "keyword_share", "keyword_rank", "window_keyword_share"),
    *("window_keyword_rank", "prior", "hybrid_rank", "fused_rank"),
    *("vector_lead", "keyword_lead", "window_vector_lead", "window_keyword_lead"),
    # where walks lead
    *("walk", "walk_rank", "walk_seeds", "walk_seeds_rank", "walk_bridges", "walk_bridges_rank"),
    *("walk_asked", "walk_asked_rank", "walk_far", "walk_far_rank"),
    # the question's entities
    *("seeds_share", "seeds_about_share", "seeds_best", "seeds_place"),
    # the entities that sentences tie to them
    *("bridge", "bridge_rare", "bridge_place", "onward_about", "onward_place"),
    *WORD_FEATURES,
    # the question itself
    *("question_named", "question_known", "question_terms", "question_asked"),
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
        self.about = snapshot.passage_strengths[entries] >= ABOUT_WEIGHT

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
    analysis: Analysis, snapshot: Snapshot, channels: ChannelScores, vectors_of: VectorsOf
) -> Evidence:
    """Candidates from the channels and from walks, and the features of each.

    `vectors_of` is asked twice at most, for some hundreds of rows.
    """
    reader = VectorReader(vectors_of)
    signals = read_first_stage_features(analysis, snapshot, channels, reader)
    coverage = Coverage(analysis, snapshot)
    bridges = find_bridges(analysis, snapshot, coverage, signals.prior, channels.allowed)
    walks = personalized_pagerank(analysis, bridges, snapshot, signals.prior, channels.allowed)
    onward = look_onward(analysis, snapshot, coverage, walks)
    rows = _candidates(signals, walks, _about(onward, snapshot, signals.prior, channels.allowed))
    incidence = Incidence(snapshot, rows)
    by_itself = _by_itself(analysis, snapshot, signals, rows, reader)
    by_words = word_features(analysis, snapshot, coverage, rows)
    place = incidence.place(by_itself["vector"] + by_words["cover"])
    columns = (
        by_itself
        | by_words
        | _by_walks(walks, snapshot, rows)
        | _by_seeds(analysis, snapshot, incidence, place)
        | _by_bridges(bridges, snapshot, incidence, place)
        | _by_onward(onward, snapshot, incidence, place)
        | _by_question(analysis, snapshot, coverage, len(rows))
    )
    matrix = np.stack([columns[name] for name in FEATURES], axis=1).astype(np.float32)
    return Evidence(analysis, coverage, bridges, rows, columns["walk"], matrix)


def look_onward(
    analysis: Analysis, snapshot: Snapshot, coverage: Coverage, walks: PageRankScores
) -> Bridges:
    """The entities of the passages that the walk visits most: where a third hop would lead."""
    followed = best(walks.everything, FOLLOWED)
    passages, values = walks.passages[followed.rows], np.sqrt(followed.scores)
    return find_onward(analysis, snapshot, coverage, passages, values)


def _about(
    onward: Bridges, snapshot: Snapshot, prior: RowValues, allowed: NDArray[np.bool_] | None
) -> Ints:
    """Passages about the best of the entities, and of several about one the best by themselves."""
    entries, owner = snapshot.entity_passages.entries(onward.entities)
    about = snapshot.entity_about[entries]
    passages = snapshot.entity_passages.items[entries[about]]
    values = RowValues.highest(passages, onward.scores[owner[about]] * (1 + prior[passages]))
    return values.among(allowed).best(FROM_ONWARD).rows


def _candidates(signals: FirstStageFeatures, walks: PageRankScores, onward: Ints) -> Ints:
    channels = (signals.vector, signals.keyword, signals.window_vector, signals.window_keyword)
    found = [
        onward,
        walks.passages[best(walks.everything, FROM_WALK).rows],
        *(ranking.rows[:FROM_CHANNEL] for ranking in channels),
        signals.hybrid.best(FROM_HYBRID).rows,
        signals.fused.best(FROM_FUSED).rows,
    ]
    return distinct(np.concatenate(found))


def _by_question(analysis: Analysis, snapshot: Snapshot, coverage: Coverage, size: int) -> Columns:
    """What is the same for all candidates.

    What is asked of the names are the other words. Those that the store does not hold weigh as
    what is held once does: `question_asked` is the share of what it does hold.
    """
    asked = (1 - coverage.named_share) * float(analysis.term_idf.sum())
    unheard = analysis.unknown * float(np.log1p(snapshot.store_size))
    values = {
        "question_named": coverage.named_share,
        "question_known": 1 - analysis.unknown / max(1, analysis.words),
        "question_terms": analysis.words,
        "question_asked": asked / (asked + unheard or 1.0),
    }
    return {name: np.full(size, value, np.float32) for name, value in values.items()}


def _by_itself(
    analysis: Analysis,
    snapshot: Snapshot,
    signals: FirstStageFeatures,
    rows: Ints,
    reader: VectorReader,
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
        columns[f"{name}_rank"] = ranking.reciprocal()[rows]
        columns[f"{name}_lead"] = lead(columns[f"{name}_share"])
    for name, fusion in (("hybrid", signals.hybrid), ("fused", signals.fused)):
        columns[f"{name}_rank"] = fusion.best().reciprocal()[rows]
    return columns


def _first(ranking: Ranked) -> float:
    return float(ranking.scores[0]) if len(ranking.scores) else 0.0


def _by_walks(walks: PageRankScores, snapshot: Snapshot, rows: Ints) -> Columns:
    places, visited = find_sorted(walks.passages, rows)
    columns: Columns = {}
    for name, values in (
        ("walk", walks.everything),
        ("walk_seeds", walks.seeds),
        ("walk_bridges", walks.bridges),
        ("walk_asked", walks.asked),
        ("walk_far", walks.far),
    ):
        ranks = best(values).reciprocal()
        for column, of_passage in ((name, values), (f"{name}_rank", ranks)):
            columns[column] = np.zeros(len(rows), np.float32)
            columns[column][visited] = of_passage[places[visited]]
    return columns


def _by_seeds(
    analysis: Analysis, snapshot: Snapshot, incidence: Incidence, place: Floats
) -> Columns:
    """Shares of what all seeds would weigh if every one of them were trusted."""
    weight = np.zeros(len(snapshot.entity_ids), np.float32)
    weight[[seed.row for seed in analysis.seeds]] = [seed.weight for seed in analysis.seeds]
    shares = weight[incidence.entity] / (sum(seed.idf for seed in analysis.seeds) or 1.0)
    return {
        "seeds_share": incidence.total(shares),
        "seeds_about_share": incidence.total(shares * incidence.about),
        "seeds_best": incidence.highest(shares),
        "seeds_place": incidence.highest(shares * place),
    }


def _by_bridges(
    bridges: Bridges, snapshot: Snapshot, incidence: Incidence, place: Floats
) -> Columns:
    """The best bridge that leads from another passage to the candidate."""
    scores = _led_to(bridges, snapshot, incidence)
    rare = scores * snapshot.entity_rarity[incidence.entity]
    return {
        "bridge": incidence.highest(scores),
        "bridge_rare": incidence.highest(rare),
        "bridge_place": incidence.highest(rare * place),
    }


def _by_onward(onward: Bridges, snapshot: Snapshot, incidence: Incidence, place: Floats) -> Columns:
    rare = _led_to(onward, snapshot, incidence) * snapshot.entity_rarity[incidence.entity]
    return {
        "onward_about": incidence.highest(rare * incidence.about),
        "onward_place": incidence.highest(rare * place),
    }


def _led_to(bridges: Bridges, snapshot: Snapshot, incidence: Incidence) -> Floats:
    """(entries,) score of the bridge; 0 in the passage whose sentence is the bridge."""
    score = np.zeros(len(incidence.entity), np.float32)
    order = np.argsort(bridges.entities)
    places, led = find_sorted(bridges.entities[order], incidence.entity)
    bridge = order[places[led]]
    home = snapshot.sentence_chunk[bridges.sentences[bridge]]
    score[led] = bridges.scores[bridge] * (home != incidence.passage[led])
    return score
