"""Candidates for an answer and their features, as a matrix for the learned ranker.

Every feature is relative (to the best passage, to the question's own weight) or a rank, so that one
ranker serves stores of any size. Of the question's words it tells which a passage holds, where, and
in which order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import ABOUT_WEIGHT, distinct, find_sorted, numbered, term_hashes
from clew.search.channels import RANKED, Ranked, RowValues, best
from clew.search.question import MAX_TERMS, MAX_WORDS
from clew.search.walk import (
    Bridges,
    Coverage,
    PageRankScores,
    find_bridges,
    find_few,
    find_onward,
    find_terms_in,
    personalized_pagerank,
    sentences_by_owner,
)
from clew.text import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.channels import Ranking
    from clew.search.question import Analysis
    from clew.search.walk import Masks
    from clew.types import Ids, Vectors

    Columns = dict[str, Floats]


WORD_FEATURES = (
    *("cover", "cover_sentence", "cover_unnamed", "cover_unnamed_sentence"),
    # words that tell more than others: rare ones, and those written as names and numbers are
    *("cover_rare", "cover_marked", "cover_numbers"),
    # the title and the headings
    *("context_cover", "context_asked"),
    # words that stand in a row in the question and in the passage
    *("phrase", "phrase_long"),
)
"""Names of the columns that `word_features` makes."""


def word_features(
    analysis: Analysis, snapshot: Snapshot, coverage: Coverage, rows: Ints
) -> Columns:
    """A column (n,) for each of `WORD_FEATURES`: shares of the question's idf, 0 to 1."""
    sentences, owner = sentences_by_owner(snapshot, rows)
    # Every passage has a row of sentences at least, the first: its context's.
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    held = coverage.sentences(sentences)
    masks, context = np.bitwise_or.reduceat(held, first), held[first]
    said = coverage.share(held | context[owner])
    unnamed = coverage.unnamed_share(held)
    columns = {
        "cover": coverage.share(masks),
        "cover_sentence": np.zeros(len(rows), np.float32),
        "cover_unnamed": coverage.unnamed_share(masks),
        "cover_unnamed_sentence": np.zeros(len(rows), np.float32),
        "cover_rare": coverage.weighed(masks, coverage.idf**2),
        "context_cover": coverage.share(context),
    }
    np.maximum.at(columns["cover_sentence"], owner, said)
    np.maximum.at(columns["cover_unnamed_sentence"], owner, unnamed)
    # Words that are written as names, identifiers and numbers are, the question's first aside.
    asked = analysis.text.split()[:MAX_WORDS]
    numbers = [word for word in asked if any(c.isdecimal() for c in word)]
    marked = [*numbers, *(word for word in asked[1:] if any(c.isupper() for c in word))]
    for name, words in (("marked", marked), ("numbers", numbers)):
        told = np.isin(analysis.term_rows, snapshot.term_rows([t for w in words for t in terms(w)]))
        columns[f"cover_{name}"] = coverage.weighed(masks, coverage.idf * told)
    return columns | _by_order(analysis, snapshot, sentences, owner, first)


def _by_order(
    analysis: Analysis, snapshot: Snapshot, sentences: Ints, owner: Ints, first: Ints
) -> Columns:
    """By the passages' own words, one after the other.

    `owner` says whose each row of `sentences` is, `first` where each passage's begin.
    """
    asked = term_hashes(terms(analysis.text)[:MAX_TERMS])
    known = distinct(asked)
    steps = np.searchsorted(known, asked)
    # Of each word of the sentences: the sentence's place, and its own among `known` (-1: none).
    entries, sentence = snapshot.sentence_terms.entries(sentences)
    places = np.full(len(entries), -1)
    at, which = find_few(known, snapshot.sentence_terms.items[entries])
    places[at] = which
    holder, size = owner[sentence], len(first)
    in_context = sentence == first[holder]
    of_context = holder[in_context]
    said = np.bincount(of_context, weights=places[in_context] >= 0, minlength=size)
    length = np.bincount(of_context, minlength=size)
    found, hit = snapshot.find_terms(known)
    idf = np.zeros(len(known), np.float32)  # 0 for a term that the store does not hold
    idf[hit] = snapshot.term_idf[found[hit]]
    return {
        "context_asked": (said / np.maximum(length, 1)).astype(np.float32),
        "phrase": _in_a_row(places, holder, steps, idf, 2, size),
        "phrase_long": _in_a_row(places, holder, steps, idf, 3, size),
    }


def _in_a_row(
    places: Ints, owner: Ints, asked: Ints, idf: Floats, length: int, size: int
) -> Floats:
    """(size,) share of the question's runs of so many words that stand in a passage.

    A run weighs the idf of its words; where a word is not in the store, no passage holds the run,
    and it counts all the same. 0 where the question is shorter than a run.
    """
    shares = np.zeros(size, np.float32)
    runs = distinct(_runs(asked, length, len(idf)))
    if not len(runs) or len(places) < length:
        return shares
    found = _runs(places, length, len(idf))
    last = len(places) - length + 1
    whole = owner[:last] == owner[length - 1 :]
    for step in range(length):
        whole &= places[step : last + step] >= 0
    at, hit = find_sorted(runs, found)
    hit &= whole
    held = np.zeros((size, len(runs)), np.float32)
    held[owner[:last][hit], at[hit]] = 1
    weights = np.zeros(len(runs), np.float32)
    for _ in range(length):
        runs, place = np.divmod(runs, max(len(idf), 1))
        weights += idf[place]
    shares[:] = held @ weights / (weights.sum() or 1.0)
    return shares


def _runs(places: Ints, length: int, base: int) -> Ints:
    """Each run of so many places as one number."""
    last = max(len(places) - length + 1, 0)
    total = np.zeros(last, np.int64)
    for step in range(length):
        total = total * base + places[step : last + step]
    return total


# BM25 of the passages around a question, and of their windows.
#
# Up to `READ` the passages of all terms are scored, from the terms' postings. In a large store a
# common word has more passages than a question has time for: there the rare terms choose, with
# what
# retrieval found by all terms, and what was chosen is scored by all terms.


BM25_K1, BM25_B = 1.2, 0.75
"""Saturation and length normalisation, Robertson and Zaragoza 2009."""
READ = 20_000
"""Sentences of all terms together that are read, the rarest terms first."""
CHOSEN = 500
"""Best passages by these, where not all were read."""


def keyword_scores(
    analysis: Analysis, snapshot: Snapshot, found: Ints, allowed: NDArray[np.bool_] | None
) -> tuple[RowValues, RowValues]:
    """Scores of passages and of windows; `found` are rows that retrieval found, in any order."""
    sizes = snapshot.postings.sizes(analysis.term_rows)
    order = np.argsort(sizes, kind="stable")
    is_read = np.zeros(len(order), dtype=bool)
    is_read[order] = np.cumsum(sizes[order]) <= READ
    # The passages that hold a term that is read (sorted), and counts (t, n) of these terms.
    entries, term = snapshot.postings.entries(analysis.term_rows[is_read])
    rows, place = numbered(snapshot.sentence_chunk[snapshot.postings.items[entries]], snapshot.size)
    places = np.flatnonzero(is_read)[term] * len(rows) + place
    counts = _counts(places, snapshot.term_counts[entries], len(is_read), len(rows))
    if not is_read.all():
        words = _words(analysis, snapshot, rows, counts)
        chosen = np.concatenate([words.best(CHOSEN).rows, found])
        rows = _with_neighbours(snapshot, distinct(chosen))
        # (t, n) the same of all terms, from what the passages say.
        sentences, owner = sentences_by_owner(snapshot, rows)
        sentence, term = find_terms_in(snapshot, analysis.term_rows, sentences)
        counts = _counts(
            term * len(rows) + owner[sentence], None, len(analysis.term_rows), len(rows)
        )
    words = _words(analysis, snapshot, rows, counts)
    windows = words
    if snapshot.has_neighbours:
        near, total, lengths = _window_counts(snapshot, rows, counts)
        mean = snapshot.window_words / max(snapshot.chunks, 1)
        windows = RowValues(near, _bm25(total, lengths, mean, analysis.term_idf))
    return words.among(allowed), windows.among(allowed)


def _counts(places: Ints, weights: Floats | None, terms: int, passages: int) -> Floats:
    counted = np.bincount(places, weights=weights, minlength=terms * passages)
    counts: Floats = counted.astype(np.float32).reshape(terms, passages)
    return counts


def _words(analysis: Analysis, snapshot: Snapshot, rows: Ints, counts: Floats) -> RowValues:
    mean = snapshot.words / max(snapshot.chunks, 1)
    return RowValues(rows, _bm25(counts, snapshot.chunk_terms[rows], mean, analysis.term_idf))


def _with_neighbours(snapshot: Snapshot, rows: Ints) -> Ints:
    around = [snapshot.neighbours(rows, step) for step in (-1, 1)]
    return distinct(np.concatenate([rows, *around]))


def _window_counts(snapshot: Snapshot, rows: Ints, counts: Floats) -> tuple[Ints, Floats, Floats]:
    """Rows beside some (sorted) or among them; the windows' counts (t, n), and lengths (n,)."""
    near = _with_neighbours(snapshot, rows)
    # The last column is of passages without a term.
    counts = np.append(counts, np.zeros((len(counts), 1), np.float32), axis=1)
    total, lengths = np.zeros((len(counts), len(near)), np.float32), np.zeros(len(near), np.float32)
    for step in (0, -1, 1):
        there = snapshot.neighbours(near, step)
        own = np.full(len(near), step == 0) | (there != near)
        places, held = find_sorted(rows, there)
        total += counts[:, np.where(held & own, places, len(rows))]
        lengths += snapshot.chunk_terms[there] * own
    return near, total, lengths


def _bm25(counts: Floats, lengths: Floats, mean: float, idf: Floats) -> Floats:
    norm = BM25_K1 * (1 - BM25_B + BM25_B * lengths / (mean or 1.0))
    scores: Floats = (idf @ (counts * (BM25_K1 + 1) / (counts + norm))).astype(np.float32)
    return scores


# Scores of different kinds on one scale, so that they can be added or compared.


_LEAST = 1e-6
"""Probabilities nearer to 0 or 1 than this are taken for this far: float32 knows no better."""


def min_max(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """(n,) 0 for the least, 1 for the greatest, in proportion between; 1 where all are equal."""
    values = scores.astype(np.float64)
    if not len(values):
        return values
    low, reach = values.min(), np.ptp(values)
    return (values - low) / reach if reach > 0 else np.ones(len(values))


def standard_units(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """(n,) standard deviations above the mean; 0 where all are equal."""
    values = scores.astype(np.float64)
    if not len(values):
        return values
    deviation = values.std()
    centred = values - values.mean()
    return centred / deviation if np.ptp(values) > 0 else np.zeros(len(values))


def log_odds(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """(n,) the logistic function undone: among many poor ones, one good would outweigh all else."""
    probability = np.clip(probabilities.astype(np.float64), _LEAST, 1 - _LEAST)
    return np.log(probability / (1 - probability))


def lead(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n,) how far each is ahead of the best of the others; below 0 where it is behind."""
    if len(values) < 2:
        return values
    second, first = np.partition(values, -2)[-2:]
    return values - np.where(values == first, second, first)


# Candidates for an answer and their features, as a matrix for the learned ranker.
#
# Every feature is relative (to the best passage, to the question's own weight) or a rank, so that
# one
# ranker serves stores of any size.


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
    masks: Masks
    """(n,) the terms of the question that each candidate holds."""
    incidence: Incidence


class Incidence:
    """Candidates and the entities that they mention, an entry a pair."""

    def __init__(self, snapshot: Snapshot, rows: Ints) -> None:
        self.rows, self.size = rows, len(rows)
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
        starts = np.flatnonzero(np.diff(self.entity[order], prepend=-1))
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
    analysis: Analysis, snapshot: Snapshot, channels: ChannelScores, reader: VectorReader
) -> Evidence:
    """Candidates from the channels and from walks, and the features of each.

    The reader has to look twice at most, for some hundreds of passages.
    """
    signals = read_first_stage_features(analysis, snapshot, channels, reader)
    coverage = Coverage(analysis, snapshot)
    bridges = find_bridges(analysis, snapshot, coverage, signals.prior, channels.allowed)
    walks = personalized_pagerank(analysis, bridges, snapshot, signals.prior, channels.allowed)
    onward = look_onward(analysis, snapshot, coverage, walks)
    # Passages about the best of the entities, and of several about one the best by themselves.
    entries, owner = snapshot.entity_passages.entries(onward.entities)
    about = snapshot.entity_about[entries]
    passages = snapshot.entity_passages.items[entries[about]]
    values = RowValues.highest(
        passages, onward.scores[owner[about]] * (1 + signals.prior[passages])
    )
    rankings = (signals.vector, signals.keyword, signals.window_vector, signals.window_keyword)
    found = [
        values.among(channels.allowed).best(FROM_ONWARD).rows,
        walks.passages[best(walks.everything, FROM_WALK).rows],
        *(ranking.rows[:FROM_CHANNEL] for ranking in rankings),
        signals.hybrid.best(FROM_HYBRID).rows,
        signals.fused.best(FROM_FUSED).rows,
    ]
    rows = distinct(np.concatenate(found))
    columns = _by_itself(analysis, snapshot, signals, rows, reader)
    columns |= word_features(analysis, snapshot, coverage, rows)
    incidence = Incidence(snapshot, rows)
    columns |= _by_graph(analysis, snapshot, (bridges, onward, walks), incidence, columns)
    # What is the same for all candidates. What is asked of the names are the other words. Those
    # that the store does not hold weigh as what is held once does: `question_asked` is the share of
    # what it does hold.
    asked = (1 - coverage.named_share) * float(analysis.term_idf.sum())
    unheard = analysis.unknown * float(np.log1p(snapshot.store_size))
    same = {
        "question_named": coverage.named_share,
        "question_known": 1 - analysis.unknown / max(1, analysis.words),
        "question_terms": analysis.words,
        "question_asked": asked / (asked + unheard or 1.0),
    }
    columns |= {name: np.full(len(rows), value, np.float32) for name, value in same.items()}
    matrix = np.stack([columns[name] for name in FEATURES], axis=1).astype(np.float32)
    return Evidence(
        analysis,
        coverage,
        bridges,
        rows,
        columns["walk"],
        matrix,
        coverage.passages(rows),
        incidence,
    )


def look_onward(
    analysis: Analysis, snapshot: Snapshot, coverage: Coverage, walks: PageRankScores
) -> Bridges:
    """The entities of the passages that the walk visits most: where a third hop would lead."""
    followed = best(walks.everything, FOLLOWED)
    passages, values = walks.passages[followed.rows], np.sqrt(followed.scores)
    return find_onward(analysis, snapshot, coverage, passages, values)


def _by_itself(
    analysis: Analysis,
    snapshot: Snapshot,
    signals: FirstStageFeatures,
    rows: Ints,
    reader: VectorReader,
) -> Columns:
    windows = reader.windows(snapshot, rows) @ analysis.vector
    vectors = reader(snapshot.chunk_ids[rows]) @ analysis.vector
    values = {
        "window_vector": (windows, signals.window_vector),
        "vector": (vectors, signals.vector),
        "keyword": (signals.keyword_scores[rows], signals.keyword),
        "window_keyword": (signals.window_keyword_scores[rows], signals.window_keyword),
    }
    columns: Columns = {"prior": signals.prior[rows]}
    for name, (value, ranking) in values.items():
        columns[name] = value
        columns[f"{name}_share"] = value / (
            (float(ranking.scores[0]) if len(ranking.scores) else 0.0) or 1.0
        )
        columns[f"{name}_rank"] = ranking.reciprocal(rows)
        columns[f"{name}_lead"] = lead(columns[f"{name}_share"])
    for name, fusion in (("hybrid", signals.hybrid), ("fused", signals.fused)):
        columns[f"{name}_rank"] = fusion.best().reciprocal(rows)
    return columns


def _by_graph(
    analysis: Analysis,
    snapshot: Snapshot,
    led: tuple[Bridges, Bridges, PageRankScores],
    incidence: Incidence,
    text: Columns,
) -> Columns:
    """By the seeds, and by what bridges, further entities and walks lead to."""
    bridges, onward, walks = led
    rows = incidence.rows
    place = incidence.place(text["vector"] + text["cover"])
    # Shares of what all seeds would weigh if every one of them were trusted.
    weight = np.zeros(len(snapshot.entity_ids), np.float32)
    weight[[seed.row for seed in analysis.seeds]] = [seed.weight for seed in analysis.seeds]
    shares = weight[incidence.entity] / (sum(seed.idf for seed in analysis.seeds) or 1.0)
    # The best bridge that leads from another passage to the candidate.
    rarity = snapshot.entity_rarity[incidence.entity]
    scores = _led_to(bridges, snapshot, incidence)
    further = _led_to(onward, snapshot, incidence) * rarity
    columns = {
        "seeds_share": incidence.total(shares),
        "seeds_about_share": incidence.total(shares * incidence.about),
        "seeds_best": incidence.highest(shares),
        "seeds_place": incidence.highest(shares * place),
        "bridge": incidence.highest(scores),
        "bridge_rare": incidence.highest(scores * rarity),
        "bridge_place": incidence.highest(scores * rarity * place),
        "onward_about": incidence.highest(further * incidence.about),
        "onward_place": incidence.highest(further * place),
    }
    places, visited = find_sorted(walks.passages, rows)
    for name, values in (
        ("walk", walks.everything),
        ("walk_seeds", walks.seeds),
        ("walk_bridges", walks.bridges),
        ("walk_asked", walks.asked),
        ("walk_far", walks.far),
    ):
        columns[name] = np.zeros(len(rows), np.float32)
        columns[name][visited] = values[places[visited]]
        columns[f"{name}_rank"] = RowValues(walks.passages, values).best().reciprocal(rows)
    return columns


def _led_to(bridges: Bridges, snapshot: Snapshot, incidence: Incidence) -> Floats:
    """(entries,) score of the bridge; 0 in the passage whose sentence is the bridge."""
    score = np.zeros(len(incidence.entity), np.float32)
    order = np.argsort(bridges.entities)
    places, led = find_sorted(bridges.entities[order], incidence.entity)
    bridge = order[places[led]]
    home = snapshot.sentence_chunk[bridges.sentences[bridge]]
    score[led] = bridges.scores[bridge] * (home != incidence.passage[led])
    return score


# Features of pairs: a candidate next to the best candidates of the first ranking.
#
# The first ranking compares every passage with the question alone. The second hop of a chain
# shows
# only beside the first: it shares an entity that the first passage mentions where that covers the
# question, and it answers what the first passage leaves open.


PARTNERS = 20
"""Best passages that a candidate may be paired with."""
LINKED = 3
"""Best passages that links lead from; each of these is linked to the others."""

SECOND_FEATURES = (
    *("first", "first_rank", "first_gap"),
    # entities that tie the candidate to one of the best passages
    *("link_about", "link_cover", "link_place", "link_shared"),
    # the best linked partner for a pair that answers together
    *("pair_cover", "pair_gain", "pair_vector", "pair_first", "pair_about", "pair_back"),
    # what the best passage, and the best two, leave open
    *("residual_1", "open_1", "like_1", "residual_2", "open_2", "like_2"),
    "support",
)
"""Names of the columns that `pairwise_features` adds."""


def pairwise_features(
    evidence: Evidence, snapshot: Snapshot, vectors: Vectors, first_scores: Floats
) -> Floats:
    """(n, len(SECOND_FEATURES)) float32, in the order of `evidence.rows`.

    Args:
        evidence: The candidates.
        snapshot: The graph that they were gathered from.
        vectors: (n, dim) their embeddings.
        first_scores: (n,) of the first ranking; higher is better, any scale.
    """
    if not len(evidence.rows):
        return np.zeros((0, len(SECOND_FEATURES)), np.float32)
    order = np.argsort(-first_scores, kind="stable")
    remainders = _by_remainders(evidence, vectors, order)
    ties = _tie(evidence, snapshot, order[:PARTNERS])
    likeness = cosines(vectors, vectors[order[:PARTNERS]])
    rank = np.empty(len(order), np.float32)
    rank[order] = np.arange(len(order))
    # (n,) mean likeness to the three of the best five that are most like the candidate.
    nearest = np.sort(np.where(ties.other[:, :5], likeness[:, :5], -1), axis=1)[:, ::-1][:, :3]
    support: Floats = nearest.mean(axis=1).astype(np.float32)
    # The strongest tie of each kind to one of the best passages. Which of several passages about an
    # entity is meant: the one that says more of what the best passage leaves open.
    about, held = (ties.rare * ties.incidence.about)[:, None], ties.held[:, :LINKED]
    place = ties.incidence.place(remainders["residual_1"] + remainders["open_1"])[:, None]
    links = {
        "link_about": ties.highest(about * held),
        "link_cover": ties.highest(about * ties.covered[:, :LINKED]),
        "link_place": ties.highest(about * held * place),
        "link_shared": ties.total(ties.rare[:, None] * held),
    }
    columns = {
        "first": first_scores,
        "first_rank": rank,
        "first_gap": first_scores[order[0]] - first_scores,
        "support": support,
        **remainders,
        **{name: strengths.max(axis=1) for name, strengths in links.items()},
        **_by_pairs(evidence, vectors, ties, likeness, first_scores),
    }
    return np.stack([columns[name] for name in SECOND_FEATURES], axis=1).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Ties:
    """What candidates and the best passages (the partners) have in common, seeds aside."""

    partners: Ints
    """(p,) candidates, best first."""
    other: NDArray[np.bool_]
    """(n, p) whether partner and candidate are two."""
    incidence: Incidence
    rare: Floats
    """(entries,) idf of the entity, 0 to 1; 0 for seeds."""
    held: Floats
    """(entries, p) whether the partner mentions the entity."""
    covered: Floats
    """(entries, p) how much of the question the partner's best sentence with the entity covers."""
    own: Floats
    """(entries, p) whether the partner is about the entity."""

    def highest(self, values: Floats) -> Floats:
        """(n, k) highest of the entries' values (entries, k) for the first k partners, at least 0.

        0 for a passage with itself.
        """
        return np.maximum(self._by_candidate(np.maximum, values), 0)

    def total(self, values: Floats) -> Floats:
        """(n, k) their sum; 0 for a passage with itself."""
        return self._by_candidate(np.add, values)

    def _by_candidate(self, operation: np.ufunc, values: Floats) -> Floats:
        owner = self.incidence.owner
        reduced = np.zeros((self.incidence.size, values.shape[1]), np.float32)
        if len(owner):
            starts = np.flatnonzero(np.diff(owner, prepend=-1))
            reduced[owner[starts]] = operation.reduceat(values, starts, axis=0)
        return reduced * self.other[:, : values.shape[1]]


def _tie(evidence: Evidence, snapshot: Snapshot, partners: Ints) -> _Ties:
    incidence = evidence.incidence
    local, entity = numbered(incidence.entity, len(snapshot.entity_ids))
    rare = snapshot.entity_rarity[local]
    rare[np.isin(local, [seed.row for seed in evidence.analysis.seeds])] = 0
    covered = np.zeros((len(local), len(partners)), np.float32)
    coverage, passages = evidence.coverage, evidence.rows[partners]
    sentences, partner = sentences_by_owner(snapshot, passages)
    shares = coverage.share(coverage.with_context(sentences))
    entries, sentence = snapshot.sentence_entities.entries(sentences)
    place = np.searchsorted(local, snapshot.sentence_entities.items[entries])
    np.maximum.at(covered, (place, partner[sentence]), shares[sentence])
    held, own = np.zeros_like(covered), np.zeros_like(covered)
    column = np.full(incidence.size, -1)
    column[partners] = np.arange(len(partners))
    among = column[incidence.owner] >= 0
    held[entity[among], column[incidence.owner[among]]] = 1
    own[entity[among], column[incidence.owner[among]]] = incidence.about[among]
    return _Ties(
        partners=partners,
        other=np.arange(incidence.size)[:, None] != partners,
        incidence=incidence,
        rare=rare[entity],
        held=held[entity],
        covered=covered[entity],
        own=own[entity],
    )


def _by_pairs(
    evidence: Evidence,
    vectors: Vectors,
    ties: _Ties,
    likeness: Floats,
    scores: Floats,
) -> Columns:
    """What a candidate answers together with a linked partner: one is about what the other says."""
    about = ties.incidence.about[:, None]
    onward = ties.total(ties.rare[:, None] * about * ties.held)
    back = ties.total(ties.rare[:, None] * ties.own)
    linked = onward + back > 0
    partners, masks = ties.partners, evidence.masks
    alone = evidence.coverage.share(masks)
    joint = evidence.coverage.share(masks[:, None] | masks[partners])
    gain = joint - np.maximum(alone[:, None], alone[partners])
    near = vectors @ evidence.analysis.vector
    # The cosine of the question and the sum of both vectors, |a + b|² = 2 + 2ab.
    together = (near[:, None] + near[partners]) / np.sqrt(np.maximum(2 + 2 * likeness, 1e-6))
    behind = scores[partners] - scores[partners[0]]
    early = 1 / (1 + np.arange(len(partners)))
    return {
        "pair_cover": (joint * linked).max(axis=1),
        "pair_gain": (gain * linked).max(axis=1),
        "pair_vector": np.where(linked, together, 0).max(axis=1),
        "pair_first": np.where(linked, behind, behind.min() - 1).max(axis=1),
        "pair_about": (onward * early).max(axis=1),
        "pair_back": (back * early).max(axis=1),
    }


def _by_remainders(evidence: Evidence, vectors: Vectors, order: Ints) -> Columns:
    """What the best 1 and 2 passages leave open; these are judged by what the others leave."""
    columns: Columns = {}
    everyone = np.arange(len(order))
    for depth in (1, 2):
        values = remainder(evidence, vectors, order[:depth], everyone)
        for top in order[:depth]:
            others = order[: depth + 1][order[: depth + 1] != top]
            if len(others):
                values[:, [top]] = remainder(evidence, vectors, others, np.array([top]))
        for name, value in zip(("residual", "open", "like"), values, strict=True):
            columns[f"{name}_{depth}"] = value
    return columns


def remainder(evidence: Evidence, vectors: Vectors, used: Ints, judged: Ints) -> Floats:
    """(3, judged): likeness to the question's rest, share of its words' rest, likeness to the used.

    What the used passages' vectors leave of the question is its part at right angles to them.
    """
    question = evidence.analysis.vector
    basis, _ = np.linalg.qr(vectors[used].T)
    rest = unit((question - basis @ (basis.T @ question)).astype(np.float32))
    held = np.bitwise_or.reduce(evidence.masks[used])
    return np.stack(
        [
            vectors[judged] @ rest,
            evidence.coverage.share(evidence.masks[judged] & ~held),
            cosines(vectors[judged], vectors[used]).max(axis=1),
        ]
    )


# How well each passage answers by itself: by its vector and its words, alone and in its window.
#
# A passage's window is the passage with its neighbours in the document. A turn of a conversation
# often says little without the turns around it; a document of one passage is its own window.


WINDOWED = 80
"""Best passages of each channel whose windows, and those of their neighbours, are compared."""


@dataclass(frozen=True, slots=True)
class ChannelScores:
    """What retrieval found, as rows of the snapshot."""

    vector: Ranked
    """By cosine, -1 to 1."""
    keyword: Ranked
    """By BM25, above 0."""
    allowed: NDArray[np.bool_] | None
    """(C,) passages that the filters let through; None for all."""

    @classmethod
    def of(cls, found: Iterable[Ranking], snapshot: Snapshot, allowed: Ids | None) -> ChannelScores:
        """What the two channels found of the chunks that a snapshot knows.

        Another process may be ahead of it. `allowed` are sorted ids.
        """
        vector, keyword = (
            Ranked(snapshot.rows(r.ids[known]), r.scores[known])
            for r, known in ((r, snapshot.known(r.ids)) for r in found)
        )
        passing = None if allowed is None else np.isin(snapshot.chunk_ids, allowed)
        return cls(vector, keyword, passing)


class VectorReader:
    """Embeddings of passages by their ids, each asked for once."""

    def __init__(self, vectors_of: Callable[[Ids], Vectors]) -> None:
        self._vectors_of = vectors_of
        self._ids: Ids = np.zeros(0, np.int64)
        self._vectors: Vectors | None = None

    def __call__(self, ids: Ids) -> Vectors:
        """(n, dim) the embeddings."""
        places, known = find_sorted(self._ids, ids)
        if self._vectors is None or not known.all():
            new = distinct(ids[~known])
            held = [self._vectors_of(new)]
            if self._vectors is not None:
                new = np.concatenate([self._ids, new])
                held.insert(0, self._vectors)
            order = np.argsort(new)
            self._ids, self._vectors = new[order], np.concatenate(held)[order]
            places = np.searchsorted(self._ids, ids)
        return self._vectors[places]

    def windows(self, snapshot: Snapshot, rows: Ints) -> Vectors:
        """(n, dim) normalised means of the passages' and their neighbours' embeddings."""
        if not snapshot.has_neighbours:
            return self(snapshot.chunk_ids[rows])
        before, after = snapshot.neighbours(rows, -1), snapshot.neighbours(rows, 1)
        later, earlier = np.flatnonzero(before != rows), np.flatnonzero(after != rows)
        every = np.concatenate([rows, before[later], after[earlier]])
        own, previous, following = np.split(
            self(snapshot.chunk_ids[every]), [len(rows), len(rows) + len(later)]
        )
        own[later] += previous
        own[earlier] += following
        return unit(own)


def unit(vectors: Vectors) -> Vectors:
    """The vectors at length 1; zero vectors stay as they are."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32)


def cosines(vectors: Vectors, others: Vectors) -> Floats:
    """(n, m) products of unit vectors (n, dim) and (m, dim), few of them.

    One after the other: for a product of matrices BLAS wakes threads that go on spinning for far
    longer than so small a product takes.
    """
    found: Floats = np.stack([vectors @ other for other in others], axis=1)
    return found


@dataclass(frozen=True, slots=True)
class FirstStageFeatures:
    """The four rankings of passages by themselves, and what they say together."""

    vector: Ranked
    keyword: Ranked
    window_vector: Ranked
    window_keyword: Ranked
    keyword_scores: RowValues
    """BM25."""
    window_keyword_scores: RowValues
    """BM25 of the windows."""
    prior: RowValues
    """0 to 1, the mean of the four."""
    hybrid: RowValues
    """Reciprocal rank fusion of the two channels as they were retrieved."""
    fused: RowValues
    """The same of all four rankings."""


def read_first_stage_features(
    analysis: Analysis, snapshot: Snapshot, channels: ChannelScores, reader: VectorReader
) -> FirstStageFeatures:
    """Compare the question with passages and windows, those aside that filters forbid."""
    retrieved = np.concatenate([channels.vector.rows, channels.keyword.rows])
    words, window_words = keyword_scores(analysis, snapshot, retrieved, channels.allowed)
    keyword, window_keyword = words.best(), window_words.best()
    near = [r.rows[:WINDOWED] for r in (channels.vector, keyword, window_keyword)]
    window_vector = _rank_windows(analysis, snapshot, channels, np.concatenate(near), reader)
    rankings = (channels.vector, keyword, window_vector, window_keyword)
    prior = RowValues.total(ranking.prior() for ranking in rankings)
    return FirstStageFeatures(
        *rankings,
        keyword_scores=words,
        window_keyword_scores=window_words,
        prior=RowValues(prior.rows, prior.values * np.float32(1 / len(rankings))),
        hybrid=RowValues.total((channels.vector.fused(), channels.keyword.fused())),
        fused=RowValues.total(ranking.fused() for ranking in rankings),
    )


def _rank_windows(
    analysis: Analysis,
    snapshot: Snapshot,
    channels: ChannelScores,
    near: Ints,
    reader: VectorReader,
) -> Ranked:
    """The passages retrieved and their neighbours, by the similarity of their windows."""
    rows = distinct(np.concatenate([snapshot.neighbours(near, s) for s in (-1, 0, 1)]))
    if channels.allowed is not None:
        rows = rows[channels.allowed[rows]]
    if not len(rows):
        return Ranked(rows, np.zeros(0, np.float32))
    scores = reader.windows(snapshot, rows) @ analysis.vector
    order = np.argsort(-scores, kind="stable")[:RANKED]
    return Ranked(rows[order], scores[order])
