"""What every strategy keeps to: its budget, its limit, its filters."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.errors import InputError
from clew.search.strategies import AUTO, STRATEGIES
from clew.testing.fakes import HashEmbedder
from clew.types import Document, Piece

if TYPE_CHECKING:
    from clew.types import SearchResult

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


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("empty"), embedder=HashEmbedder()) as engine:
        yield engine


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
    result = engine.search(QUESTION, strategy=strategy, limit=limit, max_tokens=budget)
    check_shape(engine, result, limit, budget)


@pytest.mark.parametrize("strategy", EVERY)
def test_the_same_question_has_the_same_answer(engine: clew.Clew, strategy: str) -> None:
    first, again = (engine.search(QUESTION, strategy=strategy).to_dict() for _ in range(2))
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
    result = engine.search(question, strategy=strategy, limit=5)
    check_shape(engine, result, 5, 4000)
    without_words = strategy == "keyword" and "Ada" not in question
    assert bool(result.hits) == (bool(question) and not without_words)
    assert ("the question is empty" in result.notes) == (not question)


@pytest.mark.parametrize("strategy", EVERY)
def test_an_empty_store_answers_with_nothing_and_says_so(empty: clew.Clew, strategy: str) -> None:
    result = empty.search(QUESTION, strategy=strategy)
    assert (result.hits, result.context.text, result.context.citations) == ((), "", ())
    assert any("the store is empty" in note for note in result.notes)


def test_an_unknown_strategy_is_refused(engine: clew.Clew) -> None:
    with pytest.raises(InputError, match="unknown strategy 'magic'; expected one of vector, key"):
        engine.search(QUESTION, strategy="magic")


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
        QUESTION, strategy=strategy, limit=20, max_tokens=3000, **options, **arguments
    )
    assert result.hits
    assert all(meets(hit.chunk, hit.chunk.metadata["date"][:10]) for hit in result.hits)
    assert set(MARK.findall(said(result))) & forbidden(engine, name) == set()


def test_without_a_filter_whole_sections_reports_and_paths_are_there(engine: clew.Clew) -> None:
    texts = {s: engine.search(QUESTION, strategy=s, limit=2).context.text for s in STRATEGIES}
    assert len(set(MARK.findall(texts["vector"]))) > 2 * PIECES, "two sections whole"
    assert "Report: " in texts["global"]
    assert "Report: " in texts["drift"]
    assert "Path of " in texts["multi_hop"]
    assert "Around the question's entities" in texts["local"]
    assert "Outline of " in texts["hierarchical"]
    assert "Topics\n" in texts["topic"]


def test_with_a_filter_they_say_what_it_lets_through(engine: clew.Clew) -> None:
    arguments, _ = FILTERS["colour"]
    texts = {
        s: engine.search(QUESTION, strategy=s, limit=2, **arguments).context.text
        for s in STRATEGIES
    }
    assert "Report: " in texts["global"]
    assert "Path of " in texts["multi_hop"]
    assert " → " in texts["local"]
    assert "Outline of " in texts["hierarchical"]
    assert "Topics\n" in texts["topic"]


def test_a_filter_that_nothing_meets_finds_nothing(engine: clew.Clew) -> None:
    for strategy in EVERY:
        result = engine.search("Ada Morn in 1999", strategy=strategy, temporal=True)
        assert (result.hits, result.context.text) == ((), "")
        assert "no passage meets the filters" in result.notes
