"""Strategies of search: what each finds, and what all keep to."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew import Clew
from clew.errors import InputError
from clew.graph.paths import all_paths
from clew.indexing.inputs import document_from_text
from clew.models.onnx import OnnxEmbedder
from clew.search.answer.blocks import RetrievalResult
from clew.search.answer.quoted import quoted_answer
from clew.search.around import TOGETHER, paths_between, read_paths
from clew.search.channels import Ranking
from clew.search.hierarchy import rank_parents
from clew.search.periods import rank_weighted
from clew.search.pipeline import AUTO, STRATEGIES
from clew.search.session import QuerySession
from clew.settings import EmbedSettings
from clew.testing.fakes import HashEmbedder
from clew.types import Document, NamedStrategy, Piece, SearchResult
from tests.unit.asked import add, day, engine_of, new_session

# --- What each strategy is for, on a corpus on which plain vector search fails.


CORPORA = sorted((Path(__file__).parent.parent / "corpora").glob("*.jsonl"))


def read_corpus(file: Path) -> tuple[list[dict[str, Any]], list[Document]]:
    records = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    questions = [record for record in records if "question" in record]
    return questions, [_document(record) for record in records if "question" not in record]


def _document(record: dict[str, Any]) -> Document:
    created = record.get("created_at")
    return document_from_text(
        record["text"],
        source=record["title"],
        title=record["title"],
        media_type=record.get("media_type", "text/plain"),
        metadata=record.get("metadata"),
        created_at=datetime.fromisoformat(created).replace(tzinfo=UTC) if created else None,
    )


ASKED = [(file, question) for file in CORPORA for question in read_corpus(file)[0]]
FOUND = [(file, asked) for file, asked in ASKED if "gold" in asked or "in_context" in asked]


def name(value: Path | dict[str, Any]) -> str:
    return value.stem if isinstance(value, Path) else str(value["question"])


Stores = Callable[[Path], clew.Clew]
"""The store of a corpus, made when it is first asked for."""


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    folder = tmp_path_factory.mktemp("corpora")
    embedder = OnnxEmbedder(EmbedSettings(cache=folder / "model"))
    with ExitStack() as opened:

        @cache
        def of(file: Path) -> clew.Clew:
            questions, documents = read_corpus(file)
            given = questions[0].get("settings", {})
            settings = clew.load_settings(store=folder / file.stem, **given)
            engine = opened.enter_context(clew.open(settings=settings, embedder=embedder))
            engine.add_documents(documents)
            return engine

        yield of


def missing(question: dict[str, Any], result: SearchResult) -> tuple[list[str], list[str]]:
    """The gold that is not among the hits, and the words that are not in the context."""
    found = {hit.chunk.title for hit in result.hits}
    lost = [title for title in question.get("gold", []) if title not in found]
    unsaid = [words for words in question.get("in_context", []) if words not in result.context.text]
    return lost, unsaid


def test_every_strategy_has_a_corpus() -> None:
    shown = {q["strategy"] for file in CORPORA for q in read_corpus(file)[0]}
    assert shown == {*STRATEGIES, AUTO}


@pytest.mark.parametrize(("file", "question"), ASKED, ids=name)
def test_the_strategy_finds_the_gold(file: Path, question: dict[str, Any], stores: Stores) -> None:
    result = stores(file).search(
        question["question"],
        strategy=question["strategy"],
        limit=question.get("limit"),
        **question.get("options", {}),
    )
    assert missing(question, result) == ([], [])
    assert result.strategy == question.get("expect", question["strategy"])


@pytest.mark.parametrize(("file", "question"), FOUND, ids=name)
def test_plain_search_does_not(file: Path, question: dict[str, Any], stores: Stores) -> None:
    result = stores(file).search(
        question["question"],
        strategy=question.get("not_by", "vector"),
        limit=question.get("limit"),
        max_tokens=question.get("options", {}).get("max_tokens"),
    )
    lost, unsaid = missing(question, result)
    assert bool(lost) == bool(question.get("gold"))
    assert bool(unsaid) == bool(question.get("in_context"))


# --- What every strategy keeps to: its budget, its limit, its filters.


EVERY = [*STRATEGIES, AUTO]
HIERARCHY = "name -works_for-> organisation"
QUESTION = "How is Ada Morn connected to the Northgate Group and the clock of Vell in 2020?"
FIRST = datetime(2018, 1, 1, tzinfo=UTC)
DAYS_APART = 30
LOGS = 16
PIECES = 4
TEXTS = (
    "{mark} works for the Northgate Group. {mark} wound the clock of {place} with Ada Morn.",
    "Ada Morn met {mark} at the tower of {place}. {mark} was taught by Ada Morn.",
    "{mark} is part of the Northgate Group. Piet Oss sold {mark} to Ada Morn in {place}.",
    "The clock of Vell stopped when {mark} came. {mark} mended it with Piet Oss in {place}.",
)
"""Each passage has a name of its own, by which it can be told wherever a part of it turns up.

So have each document's title, and a place that two documents share: that makes it a topic.
"""


def mark(log: int, piece: int) -> str:
    """A name that no other is like, so that none is taken for a misspelling of another."""
    digest = hashlib.blake2b(f"{log} {piece}".encode(), digest_size=5).hexdigest()
    return "Q" + digest.translate(str.maketrans("0123456789abcdef", "bdfgklmnprstvaei"))


TITLE, SHARED = -1, -2
MARK = re.compile(r"\bQ[a-z]{10}\b")


def log(number: int) -> Document:
    """Four passages of one section: two colours, four days, one log in four of another author."""
    text, pieces = "", []
    for place in range(PIECES):
        said = FIRST + timedelta(days=DAYS_APART * (PIECES * number + place))
        words = TEXTS[(number + place) % len(TEXTS)].format(
            mark=mark(number, place), place=mark(number % (LOGS // 2), SHARED)
        )
        colour = "red" if (number + place) % 2 else "blue"
        pieces.append(
            Piece(
                start=len(text),
                end=len(text) + len(words),
                key=str(place),
                metadata={"colour": colour, "date": said.isoformat()},
            )
        )
        text += f"{words}\n"
    author = "Brida Kall" if number % 4 == 0 else "Ilse Marn"
    return Document(
        source=f"log-{number}",
        title=f"Log of {mark(number, TITLE)}",
        text=text,
        pieces=tuple(pieces),
        metadata={"author": author},
    )


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    given = clew.load_settings(
        store=tmp_path_factory.mktemp("store"),
        split={"chunk_tokens": 32, "overlap": 0.0, "section_tokens": 400},
        search={"cache": 0},
    )
    with clew.open(settings=given, embedder=HashEmbedder()) as engine:
        engine.add_documents(log(number) for number in range(LOGS))
        assert engine.maintenance.stats()["chunks"] == LOGS * PIECES
        assert engine.graph.communities(), "reports are among what may say too much"
        assert engine.graph.topics(), "and so are topics"
        yield engine


empty = engine_of({})


def said(result: SearchResult) -> str:
    """All words of a result but those of the question."""
    shape = result.to_dict()
    return str({name: shape[name] for name in ("results", "context", "temporal_info", "notes")})


# --- limits


def check_shape(engine: clew.Clew, result: SearchResult, limit: int, budget: int) -> None:
    ids = [hit.chunk.id for hit in result.hits]
    scores = [hit.score for hit in result.hits]
    assert len(ids) == len(set(ids)) <= limit
    assert scores == sorted(scores, reverse=True)
    assert all(hit.scores for hit in result.hits)
    context = result.context
    assert engine.state.embedder.count_tokens(context.text) <= context.tokens <= budget
    numbers = {int(number) for number in re.findall(r"^\[(\d+)\] ", context.text, re.MULTILINE)}
    assert numbers == {citation.number for citation in context.citations}
    assert numbers == set(range(1, len(numbers) + 1))


@pytest.mark.parametrize("strategy", EVERY)
@settings(max_examples=12)
@given(budget=st.integers(1, 2000), limit=st.integers(1, 40))
def test_the_context_keeps_its_budget_and_the_hits_their_limit(
    engine: clew.Clew, strategy: str, budget: int, limit: int
) -> None:
    result = engine.search(
        QUESTION, strategy=NamedStrategy(strategy), limit=limit, max_tokens=budget
    )
    check_shape(engine, result, limit, budget)


@pytest.mark.parametrize("strategy", EVERY)
def test_the_same_question_has_the_same_answer(engine: clew.Clew, strategy: str) -> None:
    first, again = (
        engine.search(QUESTION, strategy=NamedStrategy(strategy)).to_dict() for _ in range(2)
    )
    assert first.pop("timings_ms").keys() >= {"expand", "assemble"}
    again.pop("timings_ms")
    assert first == again


@pytest.mark.parametrize("strategy", EVERY)
@pytest.mark.parametrize(
    "question",
    ["", "what is the of", "the clock of Vell and Ada Morn, " * 1000],
    ids=["empty", "stop words", "32000 characters"],
)
def test_odd_questions_are_answered_with_care(
    engine: clew.Clew, strategy: str, question: str
) -> None:
    result = engine.search(question, strategy=NamedStrategy(strategy), limit=5)
    check_shape(engine, result, 5, 4000)
    without_words = strategy == "keyword" and "Ada" not in question
    assert bool(result.hits) == (bool(question) and not without_words)
    assert ("the question is empty" in result.notes) == (not question)


@pytest.mark.parametrize("strategy", EVERY)
def test_an_empty_store_answers_with_nothing_and_says_so(empty: clew.Clew, strategy: str) -> None:
    result = empty.search(QUESTION, strategy=NamedStrategy(strategy))
    assert (result.hits, result.context.text, result.context.citations) == ((), "", ())
    assert any("the store is empty" in note for note in result.notes)


# --- filters

FILTERS: dict[str, tuple[dict[str, Any], Any]] = {
    "colour": ({"where": ["colour=red"]}, lambda chunk, day: chunk.metadata["colour"] == "red"),
    "author": (
        {"where": ["author=Brida Kall"]},
        lambda chunk, day: chunk.metadata["author"] == "Brida Kall",
    ),
    "since": ({"since": "2021-02-11"}, lambda chunk, day: day >= "2021-02-11"),
    "until": ({"until": "2019-06"}, lambda chunk, day: day < "2019-07-01"),
    "both": (
        {"since": "2019", "until": "2020", "where": ["colour=blue"]},
        lambda chunk, day: "2019" <= day < "2021" and chunk.metadata["colour"] == "blue",
    ),
    "as_of": ({"as_of": "2019-10-10"}, lambda chunk, day: day < "2019-10-11"),
    "named period": ({"temporal": True}, lambda chunk, day: day[:4] == "2020"),
}
"""Arguments by name, and whether a chunk (of this day) meets them."""


def forbidden(engine: clew.Clew, name: str) -> set[str]:
    """The names that only passages have which the filter forbids."""
    _, meets = FILTERS[name]
    every, seen = set(), set()
    for document in engine.documents.list():
        for chunk in engine.documents.chunks(document.source):
            names = {*MARK.findall(chunk.text), *MARK.findall(document.title)}
            every |= names
            if meets(chunk, chunk.metadata["date"][:10]):
                seen |= names
    assert every - seen
    assert seen
    return every - seen


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        *((strategy, {}) for strategy in EVERY),
        ("hierarchical", {"layer": "document"}),
        ("hierarchical", {"hierarchy": HIERARCHY, "layer": "organisation"}),
        ("multi_hop", {"max_hops": 3}),
    ],
    ids=str,
)
def test_nothing_that_a_filter_forbids_turns_up_anywhere(
    engine: clew.Clew, strategy: str, options: dict[str, Any], name: str
) -> None:
    arguments, meets = FILTERS[name]
    result = engine.search(
        QUESTION,
        strategy=NamedStrategy(strategy),
        limit=20,
        max_tokens=3000,
        **options,
        **arguments,
    )
    assert result.hits
    assert all(meets(hit.chunk, hit.chunk.metadata["date"][:10]) for hit in result.hits)
    assert set(MARK.findall(said(result))) & forbidden(engine, name) == set()


SHOWN = {
    "global": "Report: ",
    "drift": "Report: ",
    "multi_hop": "Path of ",
    "local": "Around the question's entities",
    "hierarchical": "Outline of ",
    "topic": "Topics\n",
}
"""What a strategy makes, by how it begins."""


@pytest.mark.parametrize("filters", [{}, FILTERS["colour"][0]], ids=["all", "red"])
def test_what_a_strategy_makes_is_there_with_a_filter_and_without(
    engine: clew.Clew, filters: dict[str, Any]
) -> None:
    texts = {
        s: engine.search(QUESTION, strategy=NamedStrategy(s), limit=2, **filters) for s in SHOWN
    }
    assert [s for s, begins in SHOWN.items() if begins not in texts[s].context.text] == []
    sections = engine.search(QUESTION, strategy="vector", limit=2, **filters).context.text
    assert (len(set(MARK.findall(sections))) > 2 * PIECES) == (not filters), "two sections whole"


def test_a_filter_that_nothing_meets_finds_nothing(engine: clew.Clew) -> None:
    for strategy in EVERY:
        result = engine.search("Ada Morn in 1999", strategy=NamedStrategy(strategy), temporal=True)
        assert (result.hits, result.context.text) == ((), "")
        assert "no passage meets the filters" in result.notes


# --- An option has its effect, or is refused by name with what it is for.


VALUES: dict[str, Any] = {
    "max_hops": 3,
    "fusion": "weighted",
    "alpha": 0.4,
    "weights": (1.0, 0.0, 0.0),
    "layer": "document",
    "hierarchy": "person -lives_in-> place",
    "level": 0,
}


options_engine = engine_of(
    {"Mill": "The mill at Harrow Ford was built by Jonas Reed of Veldt County."}
)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("option", VALUES)
def test_an_option_is_taken_by_its_strategies_alone(
    options_engine: Clew, option: str, strategy: str
) -> None:
    given = {option: VALUES[option]} | ({"fusion": "weighted"} if option == "alpha" else {})
    if option in STRATEGIES[strategy].options:
        options_engine.search("Who built the mill?", strategy=NamedStrategy(strategy), **given)
        return
    with pytest.raises(InputError) as refused:
        options_engine.search("Who built the mill?", strategy=NamedStrategy(strategy), **given)
    assert option in str(refused.value) or "fusion" in str(refused.value)
    assert strategy in str(refused.value)


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"strategy": "magic"}, "unknown strategy 'magic'; expected one of vector, keyword, hybr"),
        ({"fusion": "foo"}, "unknown fusion 'foo'; expected rrf or weighted"),
        ({"alpha": 0.4}, "alpha has no effect on the fusion rrf; it is for weigh"),
        ({"rag_type": "grpah", "strategy": None}, "'grpah'; expected one of traditional, contextu"),
    ],
)
def test_what_is_unknown_is_refused_with_what_there_is(
    options_engine: Clew, given: dict[str, Any], refusal: str
) -> None:
    with pytest.raises(InputError, match=refusal):
        options_engine.search("Who built the mill?", **{"strategy": "hybrid", **given})


def test_the_router_says_what_had_no_effect(options_engine: Clew) -> None:
    found = options_engine.search(
        "Who built the mill at Harrow Ford?", strategy="auto", layer="document"
    )
    assert found.strategy != "hierarchical"
    assert any("layer has no effect on the strategy" in note for note in found.notes)


# --- What the best passage leaves open, and another says of a name in both, stands before it.


TRIP = {
    "trip": "The hotel in Tallinn was booked by Kersti Tamm, who works for the agency Baltiq.",
    "agency": "Baltiq is a travel agency in Riga. Its invoices go to Juris Ozols.",
}
MINUTES = {
    "minutes": "Present: Olga, Ben, Farid.\n\nThe migration of billing is given to Farid Noury.",
    "team": "Farid Noury is in the office on Mondays. Olga Petrenko works from Kyiv.",
}
CODE = {
    "checkout": "The checkout service stores carts in CartVault. It is deployed twice a week.",
    "storage": "CartVault is a layer over PostgreSQL 15. Backups run every night at 02:30.",
}
OTHERS = {
    "recipe": "Boil the lentils for twenty minutes, then add cumin and a little vinegar.",
    "bike": "The chain of the red bike was changed in May. New tyres are in the cellar.",
}
# (texts, question, both titles: the one that leads there and the one that answers, the answer)
PAIRS = [
    (TRIP, "Who gets the invoice for the hotel in Tallinn?", ["trip", "agency"], "Juris Ozols"),
    (MINUTES, "On which days is the one in the office who was given the migration of billing?",
     ["minutes", "team"], "Mondays"),
    (CODE, "When do the backups run of what the checkout service stores carts in?",
     ["checkout", "storage"], "02:30"),
]  # fmt: skip


@pytest.mark.parametrize("others", [{}, OTHERS], ids=["two passages", "more"])
@pytest.mark.parametrize(("texts", "question", "titles", "said"), PAIRS)
def test_what_answers_comes_first_with_the_thread_to_it(
    tmp_path: Path,
    texts: dict[str, str],
    others: dict[str, str],
    question: str,
    titles: list[str],
    said: str,
) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(engine, texts | others)
        result = engine.search(question)

    best, second = result.hits[:2]
    assert [second.chunk.title, best.chunk.title] == titles
    assert [step.document for step in best.path] == titles
    assert {hit.chunk.title for hit in result.hits} <= set(texts | others)
    assert best.score >= second.score
    assert (best.confidence or 0) >= (second.confidence or 1) / 2
    statements = quoted_answer(result, lambda _: None, 0.0, []).statements
    assert any(said in statement.text for statement in statements)


@pytest.mark.parametrize(
    ("texts", "question", "title"),
    [
        (TRIP, "Who booked the hotel in Tallinn?", "trip"),
        (TRIP, "Which agency does Kersti Tamm work for?", "trip"),
        (CODE, "How often is the checkout service deployed?", "checkout"),
        (CODE, "Which backups run every night?", "storage"),
    ],
)
def test_what_answers_by_itself_stays_first(
    tmp_path: Path, texts: dict[str, str], question: str, title: str
) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(engine, texts)
        assert engine.search(question).hits[0].chunk.title == title


# --- parents


CHILDREN = (3, 1, 4, 2)
"""Children of each of the parents."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuerySession]:
    folder: Path = tmp_path_factory.mktemp("store")
    with clew.open(folder, embedder=HashEmbedder()) as engine:
        for number, children in enumerate(CHILDREN):
            text = "abcdefgh"[: 2 * children]
            pieces = [Piece(start=2 * n, end=2 * n + 2, key=str(n)) for n in range(children)]
            engine.add_documents([Document(source=str(number), text=text, pieces=tuple(pieces))])
        yield new_session(engine, "which?")


def parents(
    asked: QuerySession, scores: dict[tuple[int, int], float]
) -> tuple[RetrievalResult, list[int]]:
    """What is found where (parent, child) have these cosines, and the parents in order."""
    ids = {
        (int(chunk.source), chunk.ordinal): chunk.id
        for number in range(len(CHILDREN))
        for document in asked.resources.store.documents()
        if document.source == str(number)
        for chunk in asked.resources.store.document_chunks(document.id)
    }
    assert len(ids) == sum(CHILDREN)
    best = sorted(scores, key=lambda child: -scores[child])
    found = rank_parents(
        asked,
        Ranking(
            np.array([ids[child] for child in best], np.int64),
            np.array([scores[child] for child in best], np.float32),
        ),
    )
    where = {id_: parent for (parent, _), id_ in ids.items()}
    return found, [where[id_] for id_ in found.ranking.ids.tolist()]


children = [(parent, child) for parent, many in enumerate(CHILDREN) for child in range(many)]


@given(st.dictionaries(st.sampled_from(children), st.floats(-1, 1, width=32), min_size=1))
def test_each_parent_stands_once_at_its_best_child_with_all_that_matched(
    asked: QuerySession, scores: dict[tuple[int, int], float]
) -> None:
    found, order = parents(asked, scores)
    assert sorted(order) == sorted({parent for parent, _ in scores})
    assert (np.diff(found.ranking.scores) <= 0).all()
    assert sum(len(matched) for matched in found.matched.values()) == len(scores)
    for id_, matched in found.matched.items():
        assert matched[0] == id_, "the best child first"
    low, high = min(scores.values()), max(scores.values())
    for parent, score in zip(order, found.ranking.scores.tolist(), strict=True):
        own = sorted((s for (p, _), s in scores.items() if p == parent), reverse=True)
        scaled = [(s - low) / (high - low) if high > low else 1.0 for s in own]
        expected = sum(value * 0.5**place for place, value in enumerate(scaled))
        assert score == pytest.approx(expected, rel=1e-3, abs=1e-6)


# --- hops


CHAIN = {
    "one": "Marta Quill taught at Larkmoor.",
    "two": "Larkmoor was paid for by Sefton Hale.",
    "three": "Sefton Hale owned Verity.",
    "four": "Verity was led by Osric Dane.",
    "apart": "Nobody knows where eels go in winter.",
}
DATES = {"one": "2024-05-01", "two": "2023-05-02", "four": "2020-05-01"}
HOPS_QUESTION = "What of Marta Quill and the eels?"


hops_engine = engine_of(CHAIN, DATES)


def inverse_hops(engine: clew.Clew, max_hops: int) -> dict[str, float]:
    asked = new_session(engine, HOPS_QUESTION, max_hops=max_hops, weights=(0, 1, 0))
    found = rank_weighted(asked)
    values = found.scores["hops"]
    np.testing.assert_allclose(
        found.ranking.scores, [values[id_] for id_ in found.ranking.ids.tolist()]
    )
    return {title: values[id_] for title, id_ in _by_title(engine).items()}


def _by_title(engine: clew.Clew) -> dict[str, int]:
    return {title: engine.documents.chunks(title)[0].id for title in CHAIN}


@pytest.mark.parametrize("max_hops", [1, 2, 3, 4])
def test_a_passage_counts_one_over_the_hops_to_it(hops_engine: clew.Clew, max_hops: int) -> None:
    chain = dict(zip(("one", "two", "three", "four"), (1, 1 / 2, 1 / 3, 1 / 4), strict=True))
    expected = {title: value if value >= 1 / max_hops else 0 for title, value in chain.items()}
    assert inverse_hops(hops_engine, max_hops) == pytest.approx({**expected, "apart": 0})


@given(weights=st.tuples(*[st.floats(0, 1)] * 3))
def test_the_score_is_the_weighted_sum_of_meaning_hops_and_time(
    hops_engine: clew.Clew, weights: tuple[float, float, float]
) -> None:
    asked = new_session(hops_engine, HOPS_QUESTION, max_hops=3, weights=weights)
    found = rank_weighted(asked)
    ids = found.ranking.ids.tolist()
    assert sorted(ids) == sorted(_by_title(hops_engine).values())
    cosines = np.clip(hops_engine.state.vectors.vectors(ids) @ asked.vector, 0, 1)
    parts = [cosines, *([found.scores[n][id_] for id_ in ids] for n in ("hops", "temporal"))]
    expected = sum(weight * np.array(part) for weight, part in zip(weights, parts, strict=True))
    np.testing.assert_allclose(found.ranking.scores, expected, atol=1e-6)
    assert (np.diff(found.ranking.scores) <= 0).all()


def test_hops_stop_where_they_lead_everywhere(
    hops_engine: clew.Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.search.periods.MAX_FRONTIER", 0)
    asked = new_session(hops_engine, HOPS_QUESTION, max_hops=4, weights=(0, 1, 0))
    assert set(rank_weighted(asked).scores["hops"].values()) == {0.0, 1.0}
    assert asked.notes == ["hops stopped after 1: 1 passages were reached"]


# --- ways


WAYS_TEXTS = {
    "Larkmoor days": "Marta Quill was taught by Sefton Hale.",
    "Verity": "Sefton Hale and Osric Dane printed hymns at night.",
    "Short": "Marta Quill once met Brida Kall. Brida Kall married Osric Dane.",
    "Far": "Piet Oss never left Lisse.",
}
WAYS_DATES = {"Larkmoor days": "2019-01-01", "Verity": "2020-01-01", "Short": "2022-01-01"}
WAYS_QUESTION = "How is Marta Quill connected to Osric Dane?"


ways_engine = engine_of(WAYS_TEXTS, WAYS_DATES)


def test_paths_come_with_the_sentence_of_each_tie_and_its_source(ways_engine: clew.Clew) -> None:
    asked = new_session(ways_engine, WAYS_QUESTION, max_hops=3)
    texts = {block.forms[0].text: block for block in paths_between(asked)[0]}
    way = (
        "Marta Quill — taught_by → Sefton Hale: “Marta Quill was taught by Sefton Hale.”\n"
        "Sefton Hale — co_occurs_with → Osric Dane:"
        " “Sefton Hale and Osric Dane printed hymns at night.”"
    )
    block = texts[way]
    assert block.heading == "Path of 2 hops"
    assert [c.title for c in block.forms[0].citations] == ["Larkmoor days", "Verity"]


def test_too_few_names_and_no_path_are_said(ways_engine: clew.Clew) -> None:
    alone = new_session(ways_engine, "Who is Piet Oss?")
    assert paths_between(alone)[0] == []
    assert alone.notes == ["the question names fewer than two entities of the graph: no paths"]
    apart = new_session(ways_engine, "How is Piet Oss connected to Marta Quill?", max_hops=2)
    assert paths_between(apart)[0] == []
    assert apart.notes == ["no path of at most 2 hops ties them"]


def test_a_path_does_not_lead_through_what_a_filter_forbids(ways_engine: clew.Clew) -> None:
    every, _ = paths_between(new_session(ways_engine, WAYS_QUESTION, max_hops=2))
    early, _ = paths_between(
        new_session(ways_engine, WAYS_QUESTION, max_hops=2, until=day("2021-01-01"))
    )
    assert {"Short"} in [{c.title for c in block.forms[0].citations} for block in every]
    assert [[c.title for c in block.forms[0].citations] for block in early] == [
        ["Larkmoor days", "Verity"]
    ]
    none = new_session(ways_engine, WAYS_QUESTION, max_hops=2, since=day("2023-01-01"))
    assert paths_between(none)[0] == []


def test_a_relation_that_did_not_hold_is_read_as_the_sentence_that_names_both(
    ways_engine: clew.Clew,
) -> None:
    graph = ways_engine.state.entity_graph
    ends = [ways_engine.entities.get(name).id for name in ("Marta Quill", "Sefton Hale")]
    rows = [graph.entity_ids.tolist().index(id_) for id_ in ends]
    paths = all_paths(graph, rows[0], rows[1], max_hops=1).paths
    now = read_paths(ways_engine.store, graph, paths)
    before = read_paths(ways_engine.store, graph, paths, as_of=day("2001-01-01"))
    assert [tie.relation for way in now for tie in way] == ["taught_by"]
    assert [tie.relation for way in before for tie in way] == [TOGETHER]
    assert before[0][0].evidence == now[0][0].evidence
