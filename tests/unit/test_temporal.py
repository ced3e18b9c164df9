"""Time in retrieval: what a period does, and the order in which it is told."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import clew
from clew.search.strategies.periods import LIKELY, UNDATED, closeness, moment_of
from clew.testing.fakes import HashEmbedder
from clew.types import Period
from tests.unit.asked import add, day, new_session

if TYPE_CHECKING:
    from clew.types import SearchResult

DATES = {
    "a": "2017-03-04",
    "b": "2019-02-01",
    "c": "2019-02-20",
    "d": "2019-12-31",
    "e": "2020-01-03",
    "f": "2021-07-09",
}
TEXTS = {
    **{title: f"Ada Morn mended the clock of Vell, entry {title}." for title in DATES},
    "b": "The pendulum was sent to Lisse.",
    "none": "Ada Morn mended the clock of Vell, some day.",
}
IN_2019 = {"b", "c", "d"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        add(engine, TEXTS, DATES)
        yield engine


def found(result: SearchResult) -> list[str]:
    return [hit.chunk.title for hit in result.hits]


# --- what a period does


def test_the_period_that_a_question_names_goes_first_and_the_others_follow(
    engine: clew.Clew,
) -> None:
    result = engine.search("What did Ada Morn mend in 2019?", strategy="temporal")
    assert set(found(result)[:2]) == {"c", "d"}, "what does not answer stays behind"
    assert set(found(result)) == set(TEXTS)
    info = result.temporal
    assert info is not None
    assert (info.applied, info.phrase) == ("preferred", "in 2019")
    assert (info.since, info.until) == (day("2019-01-01"), day("2020-01-01"))
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert {h.chunk.title for h in result.hits if h.scores["temporal"] == 1} == IN_2019


def test_where_nothing_is_likely_to_answer_the_period_goes_first(tmp_path: Path) -> None:
    texts = {
        "loom": "The wide loom of Lisse improves the narrow one.",
        "shuttle": "A lighter shuttle of ash wood was tried in Vell.",
        "lamp": "Threads are counted by a lamp and a mirror.",
    }
    dates = {"loom": "2019-05-01", "shuttle": "2021-03-01", "lamp": "2023-02-01"}
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(engine, texts, dates)
        result = engine.search("What improvements were made after 2020?")
    assert result.confidence is not None
    assert result.confidence < LIKELY
    assert set(found(result)[:2]) == {"shuttle", "lamp"}


@pytest.mark.parametrize("question", ["notes from 1 May 2019", "What did I note on 1 May 2019?"])
def test_a_question_that_says_hardly_more_than_when_is_answered_by_the_period(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    # As if the best of all were likely to answer.
    monkeypatch.setattr(sys.modules[moment_of.__module__], "LIKELY", 0)
    texts = {
        "day": "Rain all morning. The pump leaks again.",
        "book": "I note every note in the note book: what did I note, and when did I note it.",
    }
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(engine, texts, {"day": "2019-05-01", "book": "2021-03-01"})
        result = engine.search(question, strategy="temporal")
    assert found(result)[0] == "day"
    assert not any("not of the period" in note for note in result.notes)


@pytest.mark.parametrize("strategy", ["temporal", "vector", "keyword", "graph", "weighted"])
def test_it_is_a_filter_of_any_strategy_where_that_is_asked_for(
    engine: clew.Clew, strategy: str
) -> None:
    question = "What did Ada Morn mend in 2019, the clock or the pendulum?"
    result = engine.search(question, strategy=strategy, temporal=True)
    assert set(found(result)) == IN_2019
    assert result.temporal is not None
    assert result.temporal.applied == "filtered"


def test_it_is_nothing_where_that_is_asked_for(engine: clew.Clew) -> None:
    result = engine.search("What did Ada Morn mend in 2019?", strategy="temporal", temporal=False)
    assert found(result)[0] != "b"
    assert result.temporal is not None
    assert (result.temporal.applied, result.temporal.since) == ("ordered", None)


def test_times_given_by_hand_are_filters_and_go_before_the_question(engine: clew.Clew) -> None:
    result = engine.search(
        "What did Ada Morn mend in 2019?", strategy="temporal", since="2020", until="2021-07"
    )
    assert set(found(result)) == {"e", "f"}
    assert result.temporal is not None
    assert result.temporal.applied == "filtered"
    assert result.temporal.phrase == ""


def test_a_period_of_which_there_is_nothing_is_named_and_ignored(engine: clew.Clew) -> None:
    result = engine.search("What did Ada Morn mend in 1950?", strategy="temporal")
    assert set(found(result)) == set(TEXTS)
    assert "no passage is of the period 'in 1950'; it was ignored" in result.notes


def test_unless_nothing_else_was_asked_for(engine: clew.Clew) -> None:
    result = engine.search("What did Ada Morn mend in 1950?", temporal=True)
    assert (found(result), result.notes) == ([], ("no passage meets the filters",))


def test_a_question_without_a_period_has_none_to_keep_to(engine: clew.Clew) -> None:
    result = engine.search("What did Ada Morn mend?", strategy="graph", temporal=True)
    assert found(result)
    assert "the question names no period to keep to" in result.notes
    assert result.temporal is None


# --- order and groups


def groups(result: SearchResult) -> list[tuple[str, int]]:
    """Headings of the context with the passages under each."""
    parts = re.split(r"^## (.*)$", result.context.text, flags=re.MULTILINE)[1:]
    return [
        (label, text.count("\n[") + text.startswith("["))
        for label, text in zip(parts[::2], parts[1::2], strict=True)
    ]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2017", "2021", [("2017", 1), ("2019", 3), ("2020", 1), ("2021", 1)]),
        (
            "2019",
            "2020",
            [("February 2019", 2), ("December 2019", 1), ("January 2020", 1)],
        ),
        ("2019-02", "2019-02", [("1 February 2019", 1), ("20 February 2019", 1)]),
    ],
    ids=["years", "months", "days"],
)
def test_passages_stand_in_order_of_time_by_year_month_or_day(
    engine: clew.Clew, since: str, until: str, expected: list[tuple[str, int]]
) -> None:
    result = engine.search("clock of Vell", strategy="temporal", since=since, until=until)
    assert groups(result) == expected
    assert result.temporal is not None
    assert [(label, len(ids)) for label, ids in result.temporal.timeline] == expected
    by_id = {hit.chunk.public_id: hit.chunk.title for hit in result.hits}
    told = [by_id[id_] for _, ids in result.temporal.timeline for id_ in ids]
    assert told == sorted(told), "titles are in order of their dates"


def test_what_has_no_date_comes_last(engine: clew.Clew) -> None:
    result = engine.search("history of the clock of Vell", strategy="temporal")
    assert groups(result)[-1] == (UNDATED, 1)
    assert result.temporal is not None
    assert result.temporal.evolution
    assert result.temporal.timeline[-1][0] == UNDATED


def test_the_most_relevant_are_chosen_and_then_told_in_order(engine: clew.Clew) -> None:
    question = "Which entry of Ada Morn, f or a, is on the clock of Vell?"
    result = engine.search(question, strategy="temporal", limit=2, max_tokens=25)
    assert result.context.left_out == 1
    assert result.hits[0].chunk.text in result.context.text


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((), None),
        ((Period(start=None, end=day("2019-01-01")),), "2019-01-01"),
        ((Period(start=day("2020-01-01"), end=None), Period(start=day("1900-01-01"), end=None)),
         "2020-01-01"),
        ((Period(start=None, end=None), Period(start=day("1900-01-01"), end=None)), "1900-01-01"),
    ],
)  # fmt: skip
def test_a_passage_stands_where_it_was_said_or_else_where_it_speaks_of(
    times: tuple[Period, ...], expected: str | None
) -> None:
    assert moment_of(times) == (None if expected is None else day(expected))


# --- closeness


def test_closeness_halves_with_each_year_from_the_period(engine: clew.Clew) -> None:
    asked = new_session(engine, "Ada Morn", since=day("2018-03-04"), until=day("2019-02-10"))
    ids = {c.title: c.id for name in TEXTS for c in engine.documents.chunks(name)}
    near = dict(zip(ids, closeness(asked, np.array(list(ids.values()))).tolist(), strict=True))
    assert near["b"] == 1, "inside"
    assert near["none"] == 0, "no time, no closeness"
    assert near["a"] == pytest.approx(0.5, abs=0.01), "a year before"
    assert near["d"] == pytest.approx(0.5 ** (324 / 365), abs=0.01)
    assert near["f"] < near["e"] < near["d"] < near["c"] < 1


def test_without_a_period_closeness_is_to_the_newest_date(engine: clew.Clew) -> None:
    asked = new_session(engine, "Ada Morn", now=day("2042-07-09"))
    ids = [engine.documents.chunks(name)[0].id for name in ("f", "e", "a")]
    near = closeness(asked, np.array(ids)).tolist()
    assert near == sorted(near, reverse=True)
    assert near[0] == 1
    assert near[1] == pytest.approx(0.5 ** (553 / 365), abs=0.01)


def test_what_happened_on_a_day_is_what_is_of_the_day(tmp_path: Path) -> None:
    texts = {
        "Plan": "The mill is planned for 2024.",
        "Minutes": "The mill arrived on 9 April 2024. The board was glad.",
        "Chat": "We needed the crane of the fire brigade.",
    }
    dates = {"Plan": "2023-11-06", "Minutes": "2024-04-15", "Chat": "2024-04-09"}
    with clew.open(tmp_path) as engine:
        add(engine, texts, dates)
        result = engine.search("What happened on 9 April 2024?")
        answer = engine.ask("What happened on 9 April 2024?")
        asked = engine.search("What happened to the bees on 9 April 2024?")
    assert {hit.chunk.title for hit in result.hits[:2]} == {"Minutes", "Chat"}
    assert result.answered
    assert answer.statements[0].text == "The mill arrived on 9 April 2024."
    assert (asked.confidence or 0) < (result.confidence or 0) / 2, "nothing is said of bees"
