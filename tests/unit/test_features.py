"""The signals and features by which passages are ranked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pytest

from clew.graph.snapshot import Snapshot
from clew.graph.snapshot_files import build
from clew.search import features as keyword_scores
from clew.search.channels import Ranked, RowValues
from clew.search.features import (
    FEATURES,
    SECOND_FEATURES,
    WORD_FEATURES,
    ChannelScores,
    Evidence,
    VectorReader,
    gather,
    pairwise_features,
    read_first_stage_features,
    word_features,
)
from clew.search.question import Analysis, analyse
from clew.search.walk import KEPT, MAX_SEED_SENTENCES, Coverage, find_bridges
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER, make_entry, make_vector
from clew.testing.fakes import HashEmbedder
from clew.text import terms
from clew.types import Vectors

if TYPE_CHECKING:
    from clew.graph.snapshot import Floats, Ints

# --- Candidates and features over a small store whose second hop shares no word with the
# question.


NAMES = ("Skerrow Clock", "Ada Morn", "Port Anselm", "Dunmere Clock", "Piet Oss", "River Ister")
TEXTS = (
    ("Skerrow Clock", "It was built by Ada Morn and strikes at noon."),
    ("Ada Morn", "She comes from Port Anselm, and never left."),
    ("Port Anselm", "The River Ister meets the sea here."),
    ("Dunmere Clock", "It was built long ago in the country by nobody."),
    *((f"Country {i}", f"The country where number {i} was built.") for i in range(80)),
)
CLOCK, MORN, ANSELM, DUNMERE = range(4)
QUESTION = "In which country was the Skerrow Clock built?"


@dataclass(frozen=True)
class SearchResources:
    """A store with what questions need of it."""

    store: SqliteStore
    snapshot: Snapshot
    vectors: Vectors
    embedder: HashEmbedder

    def analyse(self, question: str) -> Analysis:
        return analyse(question, self.embedder.embed_query(question), self.snapshot, self.store)

    def channels(self, question: str, allowed: Sequence[int] | None = None) -> ChannelScores:
        mask, ids = None, None
        if allowed is not None:
            mask = np.isin(np.arange(self.snapshot.size), allowed)
            ids = self.snapshot.chunk_ids[mask]
        scores = self.vectors @ self.embedder.embed_query(question)
        order = np.argsort(-scores, kind="stable")
        order = order if mask is None else order[mask[order]]
        found, words = self.store.search_keywords(terms(question), 200, ids)
        rows = self.snapshot.rows(found)
        return ChannelScores(
            vector=Ranked(order[:20], scores[order[:20]]),
            keyword=Ranked(rows[:20], words[:20]),
            allowed=mask,
        )

    def gather(self, question: str, allowed: Sequence[int] | None = None) -> Evidence:
        channels = self.channels(question, allowed)
        reader = VectorReader(lambda ids: self.vectors[self.snapshot.rows(ids)])
        return gather(self.analyse(question), self.snapshot, channels, reader)

    def pairwise_features(self, evidence: Evidence, first: Floats) -> Floats:
        return pairwise_features(evidence, self.snapshot, self.vectors[evidence.rows], first)


def _store(
    folder: Path, texts: Sequence[tuple[str, str]], names: Sequence[str] = ()
) -> SqliteStore:
    """Titles and texts; where there are names, each text is about its title."""
    store = SqliteStore(folder, embedder=EMBEDDER)
    with store.batch():
        for number, (title, text) in enumerate(texts):
            about = [(title, "name")] if title and names else []
            store.save(make_entry(f"{number:03}", text, title=title, names=names, about=about))
    return store


def _library(folder: Path, texts: Sequence[tuple[str, str]]) -> SearchResources:
    store = _store(folder, texts, NAMES)
    embedder = HashEmbedder()
    vectors = embedder.embed_documents([f"{title}\n{text}" for title, text in texts])
    return SearchResources(store, build(store), vectors, embedder)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchResources]:
    library = _library(tmp_path_factory.mktemp("features"), TEXTS)
    yield library
    library.store.close()


def _column(matrix: Floats, names: Sequence[str], name: str, rows: Ints) -> dict[int, float]:
    return dict(zip(rows.tolist(), matrix[:, list(names).index(name)].tolist(), strict=True))


def _first(evidence: Evidence, name: str) -> dict[int, float]:
    return _column(evidence.matrix, FEATURES, name, evidence.rows)


# --- the first ranking's features --------------------------------------------------------


def test_hops_that_share_no_word_with_the_question_are_candidates(library: SearchResources) -> None:
    found = library.channels(QUESTION)
    retrieved = {*found.vector.rows.tolist(), *found.keyword.rows.tolist()}
    assert not retrieved & {MORN, ANSELM}
    rows = library.gather(QUESTION).rows.tolist()
    assert {CLOCK, MORN, ANSELM} <= set(rows)
    assert rows == sorted(set(rows))


def test_features_tell_the_thread_from_the_rest(library: SearchResources) -> None:
    evidence = library.gather(QUESTION)
    assert _first(evidence, "seeds_about_share")[CLOCK] == 1
    assert _first(evidence, "seeds_share")[DUNMERE] == 0
    bridge, onward, walk = (_first(evidence, name) for name in ("bridge", "onward_about", "walk"))
    assert max(bridge, key=bridge.__getitem__) == MORN
    assert bridge[CLOCK] == 0, "the passage that says so is not led to by itself"
    assert onward[ANSELM] > 0 == onward[DUNMERE]
    assert walk[CLOCK] == 1 >= walk[MORN] > walk[DUNMERE]
    assert evidence.walk.tolist() == list(walk.values())


def test_filters_keep_passages_and_their_bridges_out(library: SearchResources) -> None:
    allowed = [MORN, ANSELM, DUNMERE, *range(4, 40)]
    evidence = library.gather(QUESTION, allowed)
    assert set(evidence.rows.tolist()) <= set(allowed)
    assert (
        max(_first(evidence, "bridge").values()) < _first(library.gather(QUESTION), "bridge")[MORN]
    )
    assert CLOCK not in library.snapshot.sentence_chunk[evidence.bridges.sentences]


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [("", "")],
        [("", "The Skerrow Clock.")],
        [("Skerrow Clock", "It was built by Ada Morn.")] * 3,
    ],
    ids=["empty store", "empty passage", "one passage", "duplicates"],
)
def test_odd_stores_have_features(tmp_path: Path, texts: list[tuple[str, str]]) -> None:
    library = _library(tmp_path, texts)
    for vectors in (library.vectors, np.zeros_like(library.vectors)):
        odd = SearchResources(library.store, library.snapshot, vectors, library.embedder)
        evidence = odd.gather(QUESTION)
        assert evidence.matrix.shape == (len(evidence.rows), len(FEATURES))
        assert evidence.matrix.dtype == np.float32
        related = odd.pairwise_features(evidence, np.zeros(len(evidence.rows), np.float32))
        assert related.shape == (len(evidence.rows), len(SECOND_FEATURES))
        assert np.isfinite(evidence.matrix).all()
        assert np.isfinite(related).all()
    library.store.close()


# --- the second ranking's features -------------------------------------------------------


def _second(
    library: SearchResources, evidence: Evidence, best: Sequence[int], name: str
) -> dict[int, float]:
    """A column, after a first ranking that puts `best` on top, in that order."""
    first = np.zeros(len(evidence.rows), np.float32)
    for points, row in enumerate(reversed(best)):
        first[evidence.rows == row] = points + 1
    return _column(library.pairwise_features(evidence, first), SECOND_FEATURES, name, evidence.rows)


def test_links_lead_on_from_the_best_passages(library: SearchResources) -> None:
    evidence = library.gather(QUESTION)
    other = int(evidence.rows[-1])
    for name in ("link_about", "link_cover", "link_place", "link_shared"):
        from_clock = _second(library, evidence, [CLOCK, DUNMERE, other], name)
        assert from_clock[MORN] > 0 == from_clock[ANSELM], name
        from_both = _second(library, evidence, [CLOCK, MORN, other], name)
        # Port Anselm's sentence on the second passage shares no word with the question.
        assert (from_both[ANSELM] > 0) == (name != "link_cover"), name
        assert from_both[DUNMERE] == 0, name


def test_pairs_are_linked_by_what_one_of_them_is_about(library: SearchResources) -> None:
    evidence = library.gather(QUESTION)
    cover = _second(library, evidence, [CLOCK, DUNMERE], "pair_cover")
    share = float(evidence.coverage.share(evidence.coverage.passages(np.array([CLOCK])))[0])
    assert cover[MORN] == pytest.approx(share), "Ada Morn adds no word of the question"
    assert cover[DUNMERE] == 0
    onward = _second(library, evidence, [CLOCK], "pair_about")
    back = _second(library, evidence, [CLOCK], "pair_back")
    assert onward[MORN] > 0 == onward[DUNMERE]
    assert back[CLOCK] > 0 == back[DUNMERE], "it mentions what another candidate is about"


def test_what_is_left_open_is_at_right_angles_to_the_best(library: SearchResources) -> None:
    evidence = library.gather(QUESTION)
    residual = _second(library, evidence, [CLOCK, DUNMERE], "residual_2")
    vectors = library.vectors[[CLOCK, DUNMERE]].astype(np.float64)
    question = evidence.analysis.vector.astype(np.float64)
    rest = question - vectors.T @ np.linalg.lstsq(vectors.T, question)[0]
    expected = library.vectors[evidence.rows] @ (rest / np.linalg.norm(rest))
    judged = ~np.isin(evidence.rows, [CLOCK, DUNMERE])
    found = np.array(list(residual.values()))
    np.testing.assert_allclose(found[judged], expected[judged], atol=1e-5)
    opened = _second(library, evidence, [CLOCK], "open_1")
    assert opened[DUNMERE] > 0, "it says where: in the country"
    assert opened[MORN] == 0


# --- What the question's words say of passages, against plain loops over their texts.


T = TypeVar("T")

WORDS = ("bell", "clock", "Arden", "Corfe", "42", "tower", "9.1", "river")


def random_texts(seed: int) -> list[tuple[str, str]]:
    random = np.random.default_rng(seed)

    def some(most: int) -> str:
        return " ".join(random.choice(WORDS, random.integers(1, most)).tolist())

    return [(some(4), f"{some(6)}. Then {some(9)}.") for _ in range(12)]


def look(
    folder: Path, texts: list[tuple[str, str]], question: str
) -> tuple[Snapshot, Analysis, dict[str, list[float]]]:
    with closing(_store(folder, texts)) as store:
        snapshot = build(store)
        analysis = analyse(question, np.ones(1, np.float32), snapshot, store)
    rows = np.arange(snapshot.size)
    columns = word_features(analysis, snapshot, Coverage(analysis, snapshot), rows)
    assert columns.keys() == set(WORD_FEATURES)
    return snapshot, analysis, {name: values.tolist() for name, values in columns.items()}


def share(held: Container[T], weights: Mapping[T, float]) -> float:
    total = sum(weights.values())
    return sum(weight for one, weight in weights.items() if one in held) / total if total else 0.0


@pytest.mark.parametrize("seed", range(8))
def test_words_agree_with_plain_loops(tmp_path: Path, seed: int) -> None:
    texts = random_texts(seed)
    question = "Which " + " ".join(np.random.default_rng(seed + 99).choice([*WORDS, "lost"], 5))

    snapshot, analysis, found = look(tmp_path, texts, question)

    asked = terms(question)
    known = set(analysis.terms) & {t for title, text in texts for t in terms(f"{title} {text}")}
    idf = {t: float(snapshot.term_idf[snapshot.term_rows([t])[0]]) for t in known}
    for row, (title, text) in enumerate(texts):
        said = [t for line in (title, *text.split(". ")) for t in terms(line)]
        squares = {t: weight**2 for t, weight in idf.items()}
        assert found["cover_rare"][row] == pytest.approx(share(set(said), squares), abs=1e-5)
        assert found["context_cover"][row] == pytest.approx(share(set(terms(title)), idf), abs=1e-5)
        matching = [t in asked for t in terms(title)]
        assert found["context_asked"][row] == pytest.approx(np.mean(matching), abs=1e-5)
        for name, length in (("phrase", 2), ("phrase_long", 3)):
            runs = {
                tuple(asked[i : i + length]): sum(idf.get(t, 0) for t in asked[i : i + length])
                for i in range(len(asked) - length + 1)
            }
            held = {tuple(said[i : i + length]) for i in range(len(said) - length + 1)}
            assert found[name][row] == pytest.approx(share(held, runs), abs=1e-5), name


def test_names_and_numbers_count_by_themselves(tmp_path: Path) -> None:
    texts = [("", "The bell of Arden."), ("", "A bell of 42 pounds."), ("", "A bell.")]

    _, _, found = look(tmp_path, texts, "Which bell of 42 pounds hangs in Arden?")

    assert found["cover_numbers"] == [0, 1, 0]
    assert found["cover_marked"][2] == 0 < found["cover_marked"][0] < 1


# --- Passages by themselves: BM25, windows and rankings against plain Python.


DOCUMENTS = (
    ("Clock", ("The clock of Skerrow.", "It strikes at noon, the clock.", "Nobody hears it.")),
    ("Bell", ("A bell is no clock.",)),
    ("Noon", ("Noon is when the clock strikes.", "Skerrow sleeps.")),
)
PASSAGES = [
    (number, title, text) for number, (title, texts) in enumerate(DOCUMENTS) for text in texts
]
SIGNALS_QUESTION = "When does the clock of Skerrow strike?"


def _bm25(texts: list[list[str]], question: list[str], passages: list[list[str]]) -> list[float]:
    """Straight from the formula; document frequency counts passages."""
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        counts, norm = Counter(text), 1.2 * (0.25 + 0.75 * len(text) / mean)
        scores.append(
            sum(
                math.log1p(len(passages) / sum(term in p for p in passages))
                * counts[term]
                * 2.2
                / (counts[term] + norm)
                for term in question
                if counts[term]
            )
        )
    return scores


@pytest.mark.parametrize("most", [keyword_scores.READ, 2])
def test_keyword_scores_are_bm25_of_passages_and_of_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """What common words leave out is scored by all words, too."""
    monkeypatch.setattr(keyword_scores, "READ", most)
    passages = [terms(f"{title} {text}") for _, title, text in PASSAGES]
    windows = [
        [
            term
            for other in (i - 1, i, i + 1)
            if 0 <= other < len(PASSAGES) and PASSAGES[other][0] == PASSAGES[i][0]
            for term in passages[other]
        ]
        for i in range(len(PASSAGES))
    ]
    vectors, asked = np.array([make_vector(text) for *_, text in PASSAGES]), make_vector("asked")
    with closing(SqliteStore(tmp_path, embedder=EMBEDDER)) as store:
        for title, texts in DOCUMENTS:
            store.save(make_entry(title, *texts, title=title))
        snapshot = build(store)
        analysis = analyse(SIGNALS_QUESTION, asked, snapshot, store)
    rows = np.arange(snapshot.size)
    channels = ChannelScores(Ranked(rows, vectors @ asked), Ranked(rows[:0], asked[:0]), None)
    reader = VectorReader(lambda ids: vectors[snapshot.rows(ids)])
    found = read_first_stage_features(analysis, snapshot, channels, reader)
    question = list(dict.fromkeys(terms(SIGNALS_QUESTION)))
    for words, scores in (
        (passages, found.keyword_scores),
        (windows, found.window_keyword_scores),
    ):
        assert scores[rows] == pytest.approx(_bm25(words, question, passages), rel=1e-5)


# --- Bridges over sentences whose best is known by hand.


BRIDGE_NAMES = ("Skerrow Clock", "Ada Morn", "Piet Oss", "Port Anselm", "Dunmere")
BRIDGE_TEXTS = (
    ("Skerrow Clock", "It was built by Ada Morn. Piet Oss has a photograph of it."),
    ("Ada Morn", "She comes from Port Anselm. Her clock strikes at noon."),
    ("Dunmere", "Nobody from Dunmere built a thing."),
)


def _bridges(
    folder: Path,
    texts: Sequence[tuple[str, str]],
    names: Sequence[str],
    question: str,
    prior: Sequence[float],
) -> list[str]:
    """Names of the bridges, in a store of these passages."""
    with closing(_store(folder, texts, names)) as store:
        snapshot = build(store)
        analysis = analyse(question, np.zeros(8, np.float32), snapshot, store)
        values = RowValues(np.arange(len(prior)), np.array(prior, np.float32))
        bridges = find_bridges(analysis, snapshot, Coverage(analysis, snapshot), values)
        found = store.entities(snapshot.entity_ids[bridges.entities].tolist())
        return [entity.name for entity in found]


@pytest.mark.parametrize(("prior", "bridges"), [([0, 0, 0], []), ([0, 1, 0], ["Port Anselm"])])
def test_passages_with_a_prior_are_read_without_a_seed(
    tmp_path: Path, prior: list[float], bridges: list[str]
) -> None:
    found = _bridges(tmp_path, BRIDGE_TEXTS, BRIDGE_NAMES, "Who comes at noon?", prior)
    assert found == bridges


MANY_NAMES = [f"Name{chr(97 + i)}" for i in range(KEPT + 5)]


@pytest.mark.parametrize(
    ("text", "names", "kept"),
    [
        ("Ada Morn built it. " * (MAX_SEED_SENTENCES + 1) + "Ada Morn met Oss.", ["Oss"], 0),
        (f"Ada Morn met {' and '.join(MANY_NAMES)}.", MANY_NAMES, KEPT),
    ],
    ids=["a seed of too many sentences", "more bridges than can be followed"],
)
def test_what_is_followed_from_a_seed_is_bounded(
    tmp_path: Path, text: str, names: list[str], kept: int
) -> None:
    question = "Whom did Ada Morn meet?"
    assert len(_bridges(tmp_path, [("", text)], ["Ada Morn", *names], question, [0])) == kept
