"""When a document was written: what it states of itself, entry by entry where they have dates."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from io import BytesIO
from pathlib import Path

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.reading.reader import document_from_text, read_file
from clew.indexing.splitting.outline import dated_sections
from clew.indexing.splitting.split import split
from clew.settings import ReadSettings, SplitSettings
from clew.testing.fakes import HashEmbedder
from clew.times.names import MONTHS
from clew.types import Document

CORPORA = Path(__file__).parent.parent / "corpora"
MORE = "Further terms follow here in many words. " * 60


def read(text: str) -> Document:
    media_type = "text/markdown" if text.startswith(("#", "---")) else "text/plain"
    return document_from_text(text.replace("{more}", MORE), media_type=media_type)


def texts() -> Iterator[tuple[str, str]]:
    """Each text of the file with the date that it states of itself."""
    held = (CORPORA / "document_dates.txt").read_text("utf-8")
    for part in held.split("\n=== ")[1:]:
        stated, _, text = part.partition("\n")
        yield text, "" if stated == "-" else stated


@pytest.mark.parametrize(("text", "stated"), list(texts()))
def test_a_text_is_dated_by_what_it_states_of_itself(text: str, stated: str) -> None:
    document = read(text)
    assert (document.date.iso if document.date else "") == stated


DAYS = st.dates(date(1950, 1, 1), date(2099, 12, 31))
STATEMENTS = [
    "Invoice 1187\n\nDate: {}\n\n{}",
    "INVOICE\n\nInvoice no. 44, date: {}\nDue date: 4 April 2060\n\n{}",
    "Letter\n\nLund, {}\n\nDear Ann,\n\n{}",
    "{}\n\nDear Ann,\n\n{}",
    "Lease\n\nThe house was built in 1953. {more}\n\n{1}\n\nDrawn up on {0} in Lund.\n",
    "Certificate\n\nBorn on 3 May 1990.\n\nIssued in Lund on {}\n\n{}",
    "# Minutes of the meeting of {}\n\n{}",
    "# Report\n\nPublished: {}\n\n{}",
]
OTHERS = [
    "Ann was born on {}.",
    "The deadline is {}.",
    "Payment is due by {}.",
    "Founded: {}",
    "Date of birth: {}",
    "Valid until {}",
    "We meet on {}.",
]


@given(DAYS, DAYS, st.sampled_from(STATEMENTS), st.sampled_from(OTHERS))
def test_no_date_of_something_else_takes_its_place(
    day: date, other: date, statement: str, sentence: str
) -> None:
    text = statement.replace("{more}", MORE).format(written(day), sentence.format(written(other)))
    found = document_from_text(text, media_type="text/markdown").date
    assert found is not None
    assert found.iso == day.isoformat()


@given(DAYS, st.sampled_from(OTHERS), st.sampled_from(["# {}\n\nText.\n", "Notes\n\n{}\n"]))
def test_a_birthday_or_a_deadline_dates_nothing(day: date, sentence: str, text: str) -> None:
    if "We meet" not in sentence or "#" not in text:
        found = document_from_text(text.format(sentence.format(written(day))))
        assert found.date is None


def written(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def word_file(path: Path, *paragraphs: str, created: datetime) -> None:
    file = docx.Document()
    file.core_properties.author = "Ann Lee"
    file.core_properties.created = created
    for paragraph in paragraphs:
        file.add_paragraph(paragraph)
    held = BytesIO()
    file.save(held)
    path.write_bytes(held.getvalue())


def test_the_properties_of_a_file_come_last(tmp_path: Path) -> None:
    template = datetime(2013, 12, 23, 23, 15)
    for name, first, expected in (
        ("letter.docx", "Lund, 8 January 2026", ("2026-01-08", "text")),
        ("2024-03-05 notes.docx", "Some notes.", ("2024-03-05", "path")),
        ("plain.docx", "Some notes.", ("2013-12-23T23:15:00+00:00", "properties")),
    ):
        path = tmp_path / name
        word_file(path, first, "Dear Ann, thank you.", created=template)
        (document,) = read_file(path, ReadSettings()).documents
        assert document.date is not None
        assert (document.date.iso, document.date_source) == expected


# --- entries -----------------------------------------------------------------------------

ENTRIES = [
    "## 1.{n}.0 - {iso}\n\n{words}\n",
    "## {long}\n\n{words}\n",
    "1.{n}.0 ({iso})\n------------------\n\n{words}\n",
    "{iso}  Ann Lee\n\n\t* {words}\n",
    "Changes in 1.{n} ({long})\n\n- {words}\n",
    "clew (1.{n}) unstable; urgency=low\n\n  * {words}\n\n -- Ann <a@b.c>  {mail}\n",
    "## 1.{n}.0\n\n*Release date: {iso}*\n\n{words}\n",
]


@given(
    st.lists(DAYS, min_size=2, max_size=5, unique=True),
    st.sampled_from(ENTRIES),
    st.sampled_from(["", "Change log\n==========\n\n"]),
)
def test_entries_are_dated_by_themselves_and_the_whole_by_none(
    days: list[date], entry: str, title: str
) -> None:
    days.sort(reverse=True)
    text = title + "\n".join(
        entry.format(
            n=9 - at,
            iso=day.isoformat(),
            long=written(day),
            mail=f"{day:%a}, {day.day:02} {MONTHS[day.month - 1][:3]} {day.year} 13:16:05 +0200",
            words=f"Word{at} was mended by Ann and Bob in all its parts.",
        )
        for at, day in enumerate(days)
    )
    media_type = "text/markdown" if entry.startswith("#") else "text/plain"
    document = document_from_text(text, media_type=media_type)
    assert document.date is None
    chunks = split(document, SplitSettings(), HashEmbedder()).chunks
    for at, day in enumerate(days):
        (own,) = [chunk for chunk in chunks if f"Word{at} " in chunk.text]
        assert own.metadata == {"date": day.isoformat()}


def test_what_is_stated_above_the_entries_dates_the_whole() -> None:
    text = "# Changes\n\nLast updated: 2024-04-01\n\n## 1 - 2024-03-05\n\nA.\n\n## 0 - 2023-11-02\n"
    document = document_from_text(text, media_type="text/markdown")
    assert document.date is not None
    assert document.date.iso == "2024-04-01"
    assert len(dated_sections(document)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-05 10:00 start\n2024-03-05 10:01 stop\n2024-03-06 10:00 start\n",  # a log
        "# Minutes of 5 March 2024\n\nText.\n\n## Next meeting: 2 April\n\nAt ten.\n",
        "# Ann\n\n## Born 3 May 1990\n\nA.\n\n## Died 4 May 2020\n\nB.\n",
        "Text without dates.\n",
    ],
)
def test_texts_without_dated_entries(text: str) -> None:
    assert dated_sections(read(text)) == []


def test_a_passage_of_several_entries_has_the_date_that_they_share() -> None:
    text = "".join(f"# Day {n}, {n} March 2024\n\nRain.\n\n" for n in (4, 5, 6))
    document = document_from_text(text, media_type="text/markdown")
    settings = SplitSettings(strategy="fixed")
    (chunk,) = split(document, settings, HashEmbedder()).chunks
    assert chunk.metadata == {"date": "2024-03"}


def test_a_day_starts_where_its_entry_does() -> None:
    first = date(2024, 3, 4)
    text = "# Journal\n\n" + "".join(
        f"## {written(first + timedelta(days=n))}\n\nRain on day {n}.\n\n" for n in range(3)
    )
    sections = dated_sections(document_from_text(text, media_type="text/markdown"))
    assert [section.date.start for section in sections if section.date] == [
        datetime(2024, 3, 4 + n, tzinfo=UTC) for n in range(3)
    ]
