from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.indexing.relations.phrases import find_relative_dates
from clew.times import read_period
from clew.types import Chunk, Document, Mention, Metadata

WRITTEN = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def dates(
    text: str,
    created_at: datetime | None = None,
    metadata: Metadata | None = None,
    updated_at: datetime | None = None,
    media_type: str = "text/plain",
) -> list[Mention]:
    chunk = Chunk(ordinal=0, section=0, start=0, end=len(text), text=text, metadata=metadata or {})
    document = Document(
        source="a",
        text=text,
        created_at=created_at,
        updated_at=updated_at,
        media_type=media_type,
    )
    (found,) = PatternExtractor().extract(document, [chunk]).chunks
    return [mention for mention in found.mentions if mention.entity_type == "date"]


@pytest.mark.parametrize(
    ("text", "words", "names"),
    [
        ("We met yesterday.", "yesterday", ["7 May 2023", "2023"]),
        ("Yesterday we met.", "Yesterday", ["7 May 2023", "2023"]),
        ("We met last Friday.", "last Friday", ["5 May 2023", "2023"]),
        ("We meet next week.", "next week", ["week of 15 May 2023", "2023"]),
        ("We met last weekend.", "last weekend", ["weekend of 6 May 2023", "2023"]),
        ("We met last month.", "last month", ["April 2023", "2023"]),
        ("We met last year.", "last year", ["2022"]),
        ("We met last quarter.", "last quarter", ["Q1 2023", "2023"]),
        ("We meet this summer.", "this summer", ["summer 2023", "2023"]),
        ("We met ten years ago.", "ten years ago", ["2013"]),
        ("We met two weeks ago.", "two weeks ago", ["week of 24 April 2023", "2023"]),
    ],
)
def test_relative_date_has_the_name_of_the_full_one(
    text: str, words: str, names: list[str]
) -> None:
    found = dates(text, WRITTEN)
    assert [mention.name for mention in found] == names
    assert {text[mention.start : mention.end] for mention in found} == {words}
    assert all(read_period(mention.name) for mention in found)


def test_name_is_that_of_the_date_written_out() -> None:
    (said, *_), (full, *_) = dates("We met yesterday.", WRITTEN), dates("We met on 7 May 2023.")
    assert said.name == full.name


@pytest.mark.parametrize("text", ["We met recently.", "It rained for the past ten days."])
def test_what_is_no_unit_of_the_calendar_has_no_name(text: str) -> None:
    assert dates(text, WRITTEN) == []


def test_document_without_a_date_says_no_relative_dates() -> None:
    assert dates("We met yesterday.") == []
    assert dates("We met yesterday.", updated_at=WRITTEN) == []


def test_piece_goes_by_its_own_date() -> None:
    found = dates("We met yesterday.", WRITTEN, {"created_at": "2024-03-01T08:00:00+00:00"})
    assert [mention.name for mention in found] == ["29 February 2024", "2024"]


def test_day_is_that_of_utc() -> None:
    early = datetime(2023, 5, 8, 1, tzinfo=timezone(timedelta(hours=9)))
    assert dates("We met today.", early)[0].name == "7 May 2023"
    assert dates("We met today.", datetime(2023, 5, 8))[0].name == "8 May 2023"


def test_year_of_a_full_date_is_not_told_twice() -> None:
    found = dates("We met yesterday and on 7 May 2023.", WRITTEN)
    assert [(mention.name, mention.count) for mention in found] == [("7 May 2023", 2), ("2023", 2)]


def test_code_has_no_relative_dates() -> None:
    assert dates("x = last week", WRITTEN, media_type="text/x-python") == []


def test_only_the_range_given_is_read() -> None:
    text = "yesterday, today"
    assert [span.name for span in find_relative_dates(text, 11, len(text), WRITTEN)] == [
        "8 May 2023",
        "2023",
    ]


def test_years_that_have_no_name_are_left_out() -> None:
    assert list(find_relative_dates("today", 0, 5, datetime(900, 1, 1, tzinfo=UTC))) == []
