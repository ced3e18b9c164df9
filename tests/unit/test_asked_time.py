"""What a question says about time, in a store whose texts have dates."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.search.analysis.period import read_asked_time
from clew.testing.fakes import HashEmbedder
from tests.unit.asked import add, day, new_session

DATES = {
    "Home 2019": "2019-02-01",
    "Home 2021": "2021-03-05",
    "Home 2024": "2024-06-01",
    "Budget 2020": "2020-04-01",
    "Budget 2022": "2022-04-01",
    "Budget 2024": "2024-04-01",
    "Recall": "2021-09-14",
    "Pumps early": "2021-01-10",
    "Pumps late": "2023-02-10",
    "Picnic": "2022-06-07",
    "Rain": "2022-05-02",
}
TEXTS = {
    "Home 2019": "Nora Feld lives in Vell since 2019.",
    "Home 2021": "Nora Feld moved to Ostby in 2021. The house stands at the quay.",
    "Home 2024": "Nora Feld moved to Lisse in 2024.",
    "Budget 2020": "The budget of the harbour was 300 crowns.",
    "Budget 2022": "The budget of the harbour was 400 crowns.",
    "Budget 2024": "The budget of the harbour was 500 crowns.",
    "Recall": "The recall of the Kern pumps was announced on 14 September 2021.",
    "Pumps early": "The works sold forty Kern pumps at the fair.",
    "Pumps late": "The works sold nine Kern pumps at the fair.",
    "Picnic": "The choir of Vell had its picnic at the mill.",
    "Rain": "The choir of Vell sang in the rain.",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    # By a real model: what comes before what else answers depends on meaning, too.
    with clew.open(tmp_path_factory.mktemp("store")) as engine:
        add(engine, TEXTS, DATES)
        yield engine


def found(engine: clew.Clew, question: str, strategy: str = "auto") -> list[str]:
    result = engine.search(question, strategy=strategy)
    assert strategy != "auto" or result.strategy == "temporal", (result.strategy, result.reason)
    return [hit.chunk.title for hit in result.hits]


def test_what_answers_goes_before_what_is_merely_of_the_period(engine: clew.Clew) -> None:
    titles = found(engine, "Who announced the recall of the Kern pumps in 2022?")
    assert titles[0] == "Recall"
    result = engine.search("Who announced the recall of the Kern pumps in 2022?")
    assert "what answers is not of the period 'in 2022'" in result.notes


@pytest.mark.parametrize(
    ("year", "home"), [("2020", "Home 2019"), ("2022", "Home 2021"), ("2023", "Home 2021")]
)
def test_what_held_in_the_period_counts_whenever_it_was_said(
    engine: clew.Clew, year: str, home: str
) -> None:
    assert found(engine, f"Where did Nora Feld live in {year}?")[0] == home


@pytest.mark.parametrize(
    "question",
    [
        "Where does Nora Feld live now?",
        "Where does Nora Feld currently live?",
        "Where does Nora Feld still live?",
    ],
)
def test_now_is_the_newest_that_the_texts_say(engine: clew.Clew, question: str) -> None:
    assert found(engine, question)[0] == "Home 2024"


def test_the_latest_is_the_newest_of_the_store(engine: clew.Clew) -> None:
    assert found(engine, "What is the latest budget of the harbour?")[0] == "Budget 2024"


@pytest.mark.parametrize("looked_up", ["latest budget", "newest budget of the harbour"])
def test_the_newest_is_looked_up_by_time(engine: clew.Clew, looked_up: str) -> None:
    assert found(engine, looked_up)[0] == "Budget 2024"


@pytest.mark.parametrize(
    "question",
    ["latest meeting of the board", "What did the most recent meeting of the board decide?"],
)
def test_of_things_alike_the_latest_is_the_newest(tmp_path: Path, question: str) -> None:
    said = {
        "2023-03-14": "Marta Kowal proposed to close the depot, and the board decided to do so. The"
        " board will have a meeting on the pumps. The meeting of the board was long.",
        "2024-02-20": "The board heard of the recall of the pump, of the merger, and decided none.",
        "2022-11-08": "The board decided to buy chairs at this meeting of the board.",
    }
    titles = {day_: f"Meeting of the board, {day_}" for day_ in said}
    with clew.open(tmp_path) as engine:
        add(engine, {titles[d]: text for d, text in said.items()}, {titles[d]: d for d in said})
        engine.add("The pump was sold.", title="Note", metadata={"date": "2024-03-01"})
        assert found(engine, question)[0] == titles["2024-02-20"]


def test_words_that_only_look_like_a_time_are_looked_up(engine: clew.Clew) -> None:
    assert engine.search("current account").strategy == "hybrid"


def test_a_month_without_a_year_is_the_archives(engine: clew.Clew) -> None:
    session = new_session(engine, "What did the choir of Vell do in June?", now=day("2042-12-01"))
    period = read_asked_time(session).period
    assert period is not None
    assert period.start is not None
    assert period.start.date() == date(2024, 6, 1)
    session = new_session(engine, "What did the choir do in July?", now=day("2042-12-01"))
    period = read_asked_time(session).period
    assert period is not None
    assert period.start == day("2023-07-01"), "July 2024 is yet to come"


def test_one_late_text_moves_no_month_to_another_year(tmp_path: Path) -> None:
    texts = {
        "spring": "The choir of Vell sang at the mill.",
        "autumn": "The choir of Vell sang at the fair.",
        "late": "The choir of Vell will sing in March 2025.",
        "hall": "The hall was built in May 1990.",
    }
    dates = {"spring": "2021-03-05", "autumn": "2021-09-02", "late": "2024-12-20"}
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(engine, texts, dates)
        for now in ("2024-12-30", "2026-11-01"):
            for month, first in (
                ("March", "2021-03-01"),
                ("September", "2021-09-01"),
                ("December", "2024-12-01"),
                ("July", "2024-07-01"),  # nothing is of any July: the latest
                ("May", "2024-05-01"),  # one of 1990 is too long ago
            ):
                question = f"Where did the choir of Vell sing in {month}?"
                period = read_asked_time(new_session(engine, question, now=day(now))).period
                assert period is not None
                assert period.start == day(first), (now, month)


def test_of_two_periods_that_are_compared_each_has_its_turn(engine: clew.Clew) -> None:
    for question in (
        "How did the budget of the harbour differ between 2020 and 2024?",
        "Compare the budget of the harbour in 2020 with 2024",
        "budget of the harbour, 2020 versus 2024",
    ):
        assert found(engine, question)[:2] == ["Budget 2020", "Budget 2024"], question
    result = engine.search("Compare the budget of the harbour in 2020 with 2024", limit=2)
    assert result.temporal is not None
    assert [label for label, _ in result.temporal.timeline] == ["2020", "2024"]


def test_a_filter_on_a_date_that_is_none_says_so(engine: clew.Clew) -> None:
    for where in ("date>=not-a-date", "created_at<2024-13"):
        with pytest.raises(InputError, match="in a filter is no date; expected one such as 2019"):
            engine.search("Kern pumps", where=[where])
    assert engine.search("Kern pumps", where=["date>=2099"]).hits == ()
