"""A number is not a date: what of a text is a date, against labels and against generated text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.relations.phrases import find_dates
from clew.times import read_period
from clew.times.names import MONTHS, Days

LABELLED = Path(__file__).parent.parent / "corpora" / "dates.tsv"
HALF = 150


def found(text: str) -> set[Days]:
    """First day and the day after the last one of each date that stands for itself."""
    spans = [span for span in find_dates(text, 0, len(text)) if not span.nested]
    return set(map(days, (span.name for span in spans)))


def days(name: str) -> Days:
    period = read_period(name)
    assert period is not None, name
    assert period.start is not None
    assert period.end is not None
    return period.start.date(), period.end.date()


def meant(label: str) -> Days:
    """What a label of the file means: 2024-03-05, 2024-03, 2024, 1990s, 2021-Q3, 1969-summer."""
    year, _, rest = label.partition("-")
    if len(rest) == len("03"):
        if rest.isdecimal():
            return days(f"{MONTHS[int(rest) - 1]} {year}")
        return days(f"{rest} {year}")
    return days(f"{rest} {year}") if rest.isalpha() else days(label)


def labelled() -> Iterator[tuple[set[Days], str]]:
    for line in LABELLED.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            labels, _, text = line.partition("\t")
            yield (set() if labels == "-" else set(map(meant, labels.split()))), text


def precision_and_recall(half: list[tuple[set[Days], str]]) -> tuple[float, float]:
    right = wrong = missed = 0
    for expected, text in half:
        got = found(text)
        right += len(expected & got)
        wrong += len(got - expected)
        missed += len(expected - got)
    return right / (right + wrong), right / (right + missed)


@pytest.mark.parametrize("half", ["open", "held out"])
def test_dates_of_labelled_lines(half: str) -> None:
    lines = list(labelled())
    assert len(lines) == 2 * HALF
    precision, recall = precision_and_recall(lines[:HALF] if half == "open" else lines[HALF:])
    print(f"{half}: precision {precision:.1%}, recall {recall:.1%}")  # noqa: T201 - pytest -s
    assert precision >= 0.98
    assert recall >= 0.92


# --- numbers that are none ---------------------------------------------------------------

NUMBERS = st.integers(1000, 2099).map(str)
UNITS = st.sampled_from(
    "km kg m litres metres miles hours euros dollars kroner NOK EUR Euro kr % °C feet hectares"
    " kilometer Meter bytes".split()
)
# Nouns of no list: whatever ends as several things do is counted.
NOUNS = st.text("abdefgiklmnoprtu", min_size=4, max_size=9).map(lambda stem: f"{stem}ns")
LABELS = st.text("abdefgiklmnoprtu", min_size=4, max_size=9).map(lambda word: f"Q{word}o")
PLACES = st.sampled_from(
    [
        *("We saw {} there.", "{} were seen", "It costs about {}.", "up to {}", "more than {}"),
        *("- {}", "The hall (with {}) is new.", "It has {}, and more.", "with {} on top", "{}"),
        *("I paid {} in March", "at least {}", "sold for {}", "rose to {}", "a total of {}"),
        *("over {} in all", "| {} |", "Box of {}", "packed in {}", "away from {}", "after {}"),
        *("multiplied by {}", "between {} and more", "a bag of {}", "{}+ of them"),
    ]
)


@given(PLACES, NUMBERS, UNITS)
def test_what_is_measured_or_paid_is_no_year(place: str, number: str, unit: str) -> None:
    assert found(place.format(f"{number} {unit}")) == set()


@given(PLACES, NUMBERS, NOUNS)
def test_what_is_counted_is_no_year(place: str, number: str, noun: str) -> None:
    assert found(place.format(f"{number} {noun}")) == set()


@given(
    LABELS,
    NUMBERS,
    st.sampled_from(
        [
            *("{}: {}", "{} {}", "{} = {}", "**{}:** {}", "- {}: {} (new)", "see {} {}", "{} #{}"),
            *("{} no. {}", "The {} is {}.", "{}\t{}", "| {} | {} |", "a {} of {}", "{}: {}+"),
            *("({} {})", "{} Nr. {} today", "{}-{}"),
        ]
    ),
)
def test_the_value_of_a_label_is_no_year(label: str, number: str, place: str) -> None:
    assert found(place.format(label, number)) == set()


@pytest.mark.parametrize(
    "text",
    [
        *("Citations: 1900", "Cost 1900 kroner", "1987 pens", "1500+ packages", "port 2049"),
        *("bug 1993", "invoice no. 1845", "Kontonummer 1903", "RFC 1945, line 1820", "CVE-2019-1"),
        *("2560x1440", "0xA 1024", "version 2019.3.1", "$1990", "1,990", "1990.5", "# 2041"),
        *("After 1500 cycles the battery is worn.", "She sold the boat for 1900."),
    ],
)
def test_numbers_that_are_no_dates(text: str) -> None:
    assert found(text) == set()


# --- numbers that are --------------------------------------------------------------------

YEARS = st.integers(1700, 2099)


@given(
    YEARS,
    st.sampled_from(
        [
            *("in {}", "In {} prices rose.", "since {}", "until {}", "by {}", "before {}, he"),
            *("Lee ({})", "Year: {}", "Founded: {}", "born {}", "© {} Ann", "a {} survey"),
            *("the census of {}", "{} was dry", "Oslo University, {}.", "seit {}", "im Jahr {}"),
            *("en {}", "depuis {}", "desde {}", "i {}", "siden {}", "nel {}", "sinds {}"),
            *('year = "{}"', "Anfang {}", "late {}", "(since {})", "the {} games were held"),
        ]
    ),
)
def test_form_or_place_says_that_it_is_a_year(year: int, place: str) -> None:
    expected = (date(year, 1, 1), date(year + 1, 1, 1))
    # "the 1700 games" are counted.
    if not (year < 1800 and "games" in place):
        assert found(place.format(year)) == {expected}


@given(st.integers(1500, 2000), st.integers(1, 99), st.sampled_from(["–", "-", " to ", " bis "]))
def test_both_ends_of_a_range_are_years(year: int, length: int, join: str) -> None:
    text = f"Ann Lee worked there from {year}{join}{year + length}, at sea."
    assert found(text) == {days(str(year)), days(str(year + length))}
    assert found(f"pages from {year}{join}{year + length} km") == set()


FORMS = [
    "{d} {B} {y}",
    "{d} {b} {y}",
    "{B} {d}, {y}",
    "{d:02}-{b}-{y}",
    "{b}-{d:02}-{y}",
    "{y}-{m:02}-{d:02}",
    "{y}-{m:02}-{d:02}T10:30:00Z",
    "{y}/{m:02}/{d:02}",
    "{y}.{m:02}.{d:02}",
    "{d:02}.{m:02}.{y}",
    "{d}. {m}. {y}",
    "{d}. {de} {y}",
    "{d} {fr} {y}",
    "{d} de {es} de {y}",
    "{d}. {no} {y}",
    "{b} {d:2} 10:30:59 {y}",
    "{y}年{m}月{d}日",
]


@given(st.dates(date(1500, 1, 1), date(2099, 12, 31)), st.sampled_from(FORMS))
def test_a_full_date_is_its_day_in_every_form(day: date, form: str) -> None:
    written = write(form, day)
    expected = {(day, day + timedelta(days=1))}
    assert found(f"Seen: {written}") == expected
    assert found(f"It was {written}, they say.") == expected
    assert found(f"({written})") == expected


def write(form: str, day: date) -> str:
    languages = {
        "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre"
        " décembre",
        "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre"
        " diciembre",
        "no": "januar februar mars april mai juni juli august september oktober november desember",
    }
    names = {name: months.split()[day.month - 1] for name, months in languages.items()}
    month = MONTHS[day.month - 1]
    return form.format(d=day.day, m=day.month, y=day.year, B=month, b=month[:3], **names)


@pytest.mark.parametrize("text", ["03/04/2019", "seen 3-4-2019", "on 03/04/2019"])
def test_of_a_day_that_may_be_two_the_year_is_known(text: str) -> None:
    assert found(text) == {days("2019")}


@given(st.lists(st.sampled_from(["1990", ", ", "to ", "de ", "(", "and ", "a", "\n", "km "])))
def test_any_text_is_read(parts: list[str]) -> None:
    text = "".join(parts)
    for span in find_dates(text, 0, len(text)):
        assert 0 <= span.start < span.end <= len(text)
        assert read_period(span.name) is not None
