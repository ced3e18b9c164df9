from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.search.analysis.period import AskedTime, read_time

NOW = datetime(2023, 8, 16, 10, tzinfo=UTC)


def asked(question: str) -> AskedTime:
    return read_time(question, NOW)


def days(found: AskedTime) -> tuple[date | None, date | None]:
    assert found.period is not None
    start, end = found.period.start, found.period.end
    return start.date() if start else None, end.date() if end else None


@pytest.mark.parametrize(
    ("question", "phrase", "first", "after"),
    [
        ("What happened in 2019?", "in 2019", date(2019, 1, 1), date(2020, 1, 1)),
        (
            "What happened between 2017 and 2022?",
            "between 2017 and 2022",
            date(2017, 1, 1),
            date(2023, 1, 1),
        ),
        ("From 2017 to 2022, who led?", "From 2017 to 2022", date(2017, 1, 1), date(2023, 1, 1)),
        ("Papers of 2017-2022", "2017-2022", date(2017, 1, 1), date(2023, 1, 1)),
        ("Papers 2017–2022", "2017–2022", date(2017, 1, 1), date(2023, 1, 1)),
        ("What changed since 2019?", "since 2019", date(2019, 1, 1), None),
        ("What changed from 2015 onwards?", "from 2015 onwards", date(2015, 1, 1), None),
        ("Who led until 2019?", "until 2019", None, date(2020, 1, 1)),
        ("Who led till 2019?", "till 2019", None, date(2020, 1, 1)),
        ("What was known up to 2019?", "up to 2019", None, date(2020, 1, 1)),
        ("Which had Ada read by June 2019?", "by June 2019", None, date(2019, 7, 1)),
        ("Where was he before 2019?", "before 2019", None, date(2019, 1, 1)),
        ("Where was he prior to May 2019?", "prior to May 2019", None, date(2019, 5, 1)),
        ("Where was he after 2019?", "after 2019", date(2020, 1, 1), None),
        ("Wars in the 2020s", "in the 2020s", date(2020, 1, 1), date(2030, 1, 1)),
        ("Art in the early 1990s", "in the early 1990s", date(1990, 1, 1), date(2000, 1, 1)),
        ("Art in the 19th century", "in the 19th century", date(1800, 1, 1), date(1900, 1, 1)),
        ("Sales in Q3 2021", "in Q3 2021", date(2021, 7, 1), date(2021, 10, 1)),
        ("What did Ada do in May?", "in May", date(2023, 5, 1), date(2023, 6, 1)),
        ("what did ada do in may?", "in may", date(2023, 5, 1), date(2023, 6, 1)),
        ("What did Ada do in August?", "in August", date(2023, 8, 1), date(2023, 9, 1)),
        ("What did Ada do in December?", "in December", date(2022, 12, 1), date(2023, 1, 1)),
        ("Where was Ada on 7 May?", "on 7 May", date(2023, 5, 7), date(2023, 5, 8)),
        ("Where was Ada on May 7, 2021?", "on May 7, 2021", date(2021, 5, 7), date(2021, 5, 8)),
        ("Where was she since January?", "since January", date(2023, 1, 1), None),
        (
            "What happened between May and July 2021?",
            "between May and July 2021",
            date(2021, 5, 1),
            date(2021, 8, 1),
        ),
        (
            "What happened between November 2021 and March?",
            "between November 2021 and March",
            date(2021, 11, 1),
            date(2022, 4, 1),
        ),
        ("From May to July?", "From May to July", date(2023, 5, 1), date(2023, 8, 1)),
        ("From October to May?", "From October to May", date(2022, 10, 1), date(2023, 6, 1)),
        ("What did I do last week?", "last week", date(2023, 8, 7), date(2023, 8, 14)),
        ("What is due this month?", "this month", date(2023, 8, 1), date(2023, 9, 1)),
        ("What did I eat yesterday?", "yesterday", date(2023, 8, 15), date(2023, 8, 16)),
        ("What changed since yesterday?", "since yesterday", date(2023, 8, 15), None),
        ("Where was he before last summer?", "before last summer", None, date(2022, 6, 1)),
        (
            "What did she read in the past three months?",
            "in the past three months",
            date(2023, 5, 17),
            date(2023, 8, 17),
        ),
        ("What are recent plans?", "recent", date(2023, 5, 19), date(2023, 8, 17)),
        (
            "What came after 2017 but before 2020?",
            "after 2017 but before 2020",
            date(2018, 1, 1),
            date(2020, 1, 1),
        ),
        (
            "Was it warmer in 2019 than in 2021?",
            "in 2019 than in 2021",
            date(2019, 1, 1),
            date(2022, 1, 1),
        ),
    ],
)
def test_period_that_a_question_restricts_to(
    question: str, phrase: str, first: date | None, after: date | None
) -> None:
    found = asked(question)
    assert days(found) == (first, after)
    assert found.phrase == phrase
    assert found.period is not None
    assert found.period.text == phrase
    assert found.explicit


@pytest.mark.parametrize(
    ("question", "year"),
    [
        ("What caused the 2008 financial crisis?", 2008),
        ("Who led during the 2008 financial crisis?", 2008),
        ("Who directed his 1994 film?", 1994),
        ("Which film won the Oscar 1994?", 1994),
        ("Who won the war of 1812?", 1812),
        ("Who was Ada Lee (1815)?", 1815),
        ("Was Ada (1990) older than Bob (1991)?", 1990),
    ],
)
def test_year_that_may_be_part_of_a_name(question: str, year: int) -> None:
    found = asked(question)
    assert days(found) == (date(year, 1, 1), date(year + 1, 1, 1))
    assert not found.explicit


@pytest.mark.parametrize("question", ["Was there no 1998 report?", "What did Nora do in 1998?"])
def test_words_that_number_nothing_leave_years_alone(question: str) -> None:
    assert asked(question).period is not None


def test_years_in_brackets_describe_a_name() -> None:
    found = asked("Who was the father of Ada Lee (1815–1852)?")
    assert days(found) == (date(1815, 1, 1), date(1853, 1, 1))
    assert not found.explicit


@pytest.mark.parametrize(
    "question",
    [
        "Who flew Apollo 11?",
        'Who directed "2001: A Space Odyssey" in "May"?',
        "Who directed 2001: A Space Odyssey?",
        "Who wrote '1984'?",
        "Who wrote “1984”?",
        "Who wrote *1984* and _Summer 1914_?",
        "Which of the 50 people came?",
        "Which town has 1500 inhabitants?",
        "Kontonummer 1903",
        "What was paid by invoice no. 1845?",
        "What does trunk@1565 change?",
        "Which bug 1993 was that?",
        "Is port 2049 open?",
        "See RFC 1945, line 1820.",
        "Rechnung Nr. 1845",
        "facture numéro 1845",
        "order number: 1903",
        "Who has the id 1999?",
        "What may Ada do?",
        "Who took a photo by June?",
        "Who marched?",
        "Where was he on 31 June?",
        "",
    ],
)
def test_question_without_a_period(question: str) -> None:
    found = asked(question)
    assert (found.period, found.phrase, found.explicit) == (None, "", False)


@pytest.mark.parametrize(
    "question",
    [
        "How did Python evolve?",
        "How has her job changed since 2019?",
        "How did the idea of a computer develop?",
        "What is the history of Rome?",
        "What did she think of it over time?",
        "Give me a timeline of the project.",
        "How did prices change over the years?",
    ],
)
def test_questions_of_how_things_came_to_be(question: str) -> None:
    assert asked(question).evolution


@pytest.mark.parametrize(
    "question",
    [
        "What did Ada eat when she was in Rome?",
        "Who painted the picture?",
        "What does he change?",
        "How do I change my password?",
        "how does one change the active window",
    ],
)
def test_questions_that_do_not_ask_how_it_came_to_be(question: str) -> None:
    assert not asked(question).evolution


@pytest.mark.parametrize(
    "question",
    [
        "What is the latest news?",
        "Which opened more recently, A or B?",
        "What is her most recent book?",
    ],
)
def test_questions_for_what_is_new_name_no_period(question: str) -> None:
    assert asked(question).period is None


def test_quoted_words_ask_nothing() -> None:
    found = asked('Who said "When did the history of the latest war begin"?')
    assert found == AskedTime(period=None, phrase="", evolution=False, explicit=False)


def test_today_is_that_of_the_asker() -> None:
    there = datetime(2023, 8, 16, 2, tzinfo=UTC).astimezone(ZoneInfo("America/New_York"))
    found = read_time("What did I do yesterday?", there)
    assert found.period is not None
    assert found.period.start == datetime(2023, 8, 14, 4, tzinfo=UTC)


WORDS = st.sampled_from(
    "in since until before after from to between and the 2019 2021 May last week 7 June '1984' or -"
    " recently yesterday 31 on by 1990s".split()
)


@given(st.lists(WORDS, max_size=12), st.datetimes(datetime(1500, 1, 1), timezones=st.just(UTC)))
def test_any_question_is_read(words: list[str], now: datetime) -> None:
    question = " ".join(words)
    found = read_time(question, now)
    assert found.phrase in question
    assert found.period is not None or not (found.phrase or found.explicit)
