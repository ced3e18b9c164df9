"""Dates in texts, and the dates of documents."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import accumulate
from pathlib import Path
from typing import Any

import docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.indexing.inputs import (
    document_from_text,
    first_line_title,
    read_file,
    title_from_path,
)
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.indexing.outline import dated_sections
from clew.indexing.reading.html import page_title
from clew.indexing.relations.phrases import find_dates, find_relative_dates
from clew.indexing.split import split
from clew.settings import SplitSettings
from clew.testing.fakes import HashEmbedder
from clew.times import find_date, opening_date, path_date, read_period
from clew.times.names import MONTHS, Days
from clew.types import Chunk, Document, Mention, Metadata, PartialDate
from tests.unit.files import SETTINGS, read_one

# --- What documents of real kinds say of themselves: title, date, what says it, authors.


def iso(date: PartialDate | None) -> str:
    return date.iso if date else ""


def dated(document: Document) -> tuple[str, str]:
    return (iso(document.date), document.date_source)


STANDARD = """PEP: 8
Title: Style Guide for Code
Author: Guido van Rossum <guido@example.org>,
        Barry Warsaw <barry@example.org>
Status: Active
Created: 05-Jul-2001
Post-History: 05-Jul-2001, 01-Aug-2013


Introduction
============

Text: of the standard.
"""


def test_the_header_of_a_standard_becomes_title_date_and_fields(tmp_path: Path) -> None:
    document = read_one(tmp_path / "pep-0008.rst", STANDARD)
    assert (document.title, document.text) == ("Style Guide for Code", STANDARD)
    assert dated(document) == ("2001-07-05", "metadata")
    fields = {name: document.metadata.get(name) for name in ("author", "status", "text")}
    authors = ["Guido van Rossum", "Barry Warsaw"]
    assert fields == {"author": authors, "status": "Active", "text": None}


def test_fields_of_a_field_list_go_on_and_a_dialogue_has_none(tmp_path: Path) -> None:
    text = "Title\n=====\n\n:Author: Ann\n:Empty:\n:Abstract: One\n   two.\n:Date: 2020\n\nText.\n"
    assert read_one(tmp_path / "a.rst", text).metadata["abstract"] == "One two."
    talk = read_one(tmp_path / "talk.txt", "Ann: Hello, Bob.\nBob: Hello, Ann.\n\nThey left.\n")
    assert (talk.title, talk.metadata) == ("talk", {})


HEADED = "# Notes of 2 March 2018\n\nText.\n"
AMBIGUOUS = "---\ndate: 03/04/2019\n---\n"
CHARTER = "Charter\n\nRatified on 3 May 2011.\n\nText.\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", "Title: On Rivers\nDate: May 2020\n\nText.\n", ("2020-05", "metadata")),
        ("a.rst", "Title\n=====\n\n:Empty:\n:Date: 2020\n\nText.\n", ("2020", "metadata")),
        ("a.md", "# March 2, 2019 Meeting\n\nAttendees: Ann\n", ("2019-03-02", "title")),
        ("a.md", "# Weekly\n\n**Date:** 2 March 2019\n**Who:** Ann\n\nText.\n",
         ("2019-03-02", "metadata")),
        # Trust goes from metadata to title to path to the first lines.
        ("2017-01-01.md", f"---\ndate: 2019-05-06\n---\n{HEADED}", ("2019-05-06", "metadata")),
        ("2017-01-01.md", f"---\ntitle: Notes\n---\n{HEADED}", ("2018-03-02", "title")),
        ("2017-01-01.md", "# Notes\n\nText.\n", ("2017-01-01", "path")),
        ("2012-01-02.txt", CHARTER, ("2012-01-02", "path")),
        ("charter.txt", CHARTER, ("2011-05-03", "text")),
        ("charter.py", CHARTER, ("", "")),
        # The time of a file is no date of its document.
        ("plain.md", "# Notes\n\nText.\n", ("", "")),
        # An ambiguous date counts where the document resolves it.
        ("a.md", f"{AMBIGUOUS}Text.", ("", "")),
        ("a.md", f"{AMBIGUOUS}Sent 25/04/2019.", ("2019-04-03", "metadata")),
        ("a.md", f"{AMBIGUOUS}Sent 04/25/2019.", ("2019-03-04", "metadata")),
        ("a.md", f"{AMBIGUOUS}Sent 25/04/2019 and 04/25/2019.", ("", "")),
    ],
)  # fmt: skip
def test_what_dates_a_file(tmp_path: Path, name: str, text: str, expected: tuple[str, str]) -> None:
    assert dated(read_one(tmp_path / name, text)) == expected


@pytest.mark.parametrize(
    ("path", "date"),
    [
        ("2019-03-02.md", "2019-03-02"),
        ("2019-03/march-2.md", "2019-03-02"),
        ("2019/march/notes.md", "2019-03"),
        ("2019/03/02.md", "2019-03-02"),
        ("posts/2019/03/02/hello.md", "2019-03-02"),
        ("2019-03/02-standup.md", "2019-03-02"),
        ("20190302_notes.txt", "2019-03-02"),
        ("IMG_20190302_101112.jpg", "2019-03-02"),
        ("meeting March 2 2019.docx", "2019-03-02"),
        ("minutes/2019-03.md", "2019-03"),
        ("2019/report.md", "2019"),
        ("2019-03-02/readme.md", "2019-03-02"),
        ("rfc2119.txt", ""),
        ("rfc-2026.txt", ""),
        ("1984.txt", ""),
        ("foo-2019.3.1.tar", ""),
        ("2019-02-31.md", ""),
        ("03-04-2019.md", ""),
        ("2019/a/b/c/d.md", ""),
        ("", ""),
    ],
)
def test_the_path_says_the_date(path: str, date: str) -> None:
    assert iso(path_date(path)) == date


@pytest.mark.parametrize(
    ("title", "date"),
    [
        ("Minutes 2-Mar-2019", "2019-03-02"),
        ("Report, March 2019", "2019-03"),
        ("Meeting 2019/03/02", "2019-03-02"),
        ("The May 2019 issue: 5 May 2019", "2019-05-05"),
        ("25/04/2019 notes", "2019-04-25"),
        ("03/04/2019 notes", ""),
        ("From 2 March 2019 to 5 March 2019", ""),
        ("2008 Summer Olympics", ""),
        ("2001: A Space Odyssey", ""),
    ],
)
def test_a_title_states_a_date(title: str, date: str) -> None:
    assert iso(find_date(title)) == date


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("MIT License\n\nCopyright (c) 2020 Ann\n", "MIT License"),
        ("                    Apache License\n          Version 2.0\n\nTERMS\n", "Apache License"),
        (
            "Network Working Group          S. Bradner\nRequest for Comments: 1    Harvard\n\n\n"
            "        Key words for Requirement Levels\n\nStatus\n",
            "Key words for Requirement Levels",
        ),
        ("On Rivers\n---------\n\nText.\n", "On Rivers"),
        ("A sentence that ends here.\n\nMore.\n", ""),
        ("Two lines of\nprose begin it\n\nMore.\n", ""),
        ("Only one line", ""),
        ("Dear Ann,\n\nText.\n", ""),
        ("- item\n\nText.\n", ""),
        ("", ""),
    ],
)
def test_a_first_line_may_be_the_title(text: str, title: str) -> None:
    assert first_line_title(text) == title


@pytest.mark.parametrize(
    ("title", "headings", "expected"),
    [
        ("Installing — Clew 1.0 documentation", ["Installing"], "Installing"),
        ("Clew handbook", ["Installing"], "Installing"),
        ("Installing | Clew", ["Clew"], "Installing"),
        ("Installing Clew on Linux", ["Installing"], "Installing Clew on Linux"),
        ("Clew handbook", ["One", "Two"], "Clew handbook"),
        ("", ["Installing"], "Installing"),
        ("Only", [], "Only"),
        ("", [], ""),
    ],
)
def test_a_page_is_not_called_by_its_sites_name(
    title: str, headings: list[str], expected: str
) -> None:
    assert page_title(title, headings) == expected


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/src/openssl/LICENSE", "LICENSE (openssl)"),
        ("/src/openssl/my_notes.txt", "my notes"),
        ("README", "README"),
    ],
)
def test_files_of_one_name_are_told_apart_by_their_folders(path: str, title: str) -> None:
    assert title_from_path(path) == title


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("Text.", {"title": "Notes of 2 March 2019"}, ("2019-03-02", "title")),
        ("Text.", {"source": "journal/2019-03-02"}, ("2019-03-02", "path")),
        ("Text.", {}, ("", "")),
        (CHARTER, {}, ("2011-05-03", "text")),
    ],
)
def test_a_text_in_hand_is_dated_by_its_title_and_its_name(
    text: str, given: dict[str, str], expected: tuple[str, str]
) -> None:
    assert dated(document_from_text(text, **given)) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Charter\n\n   Version 2.1 ratified on May 3rd, 2011.\n\nNotes.\n", "2011-05-03"),
        ("Proceedings\n\n        4-6 March 1997\n\nOslo\n", "1997-03"),
        ("Report\n\n(March 2003)\n\nText.\n", "2003-03"),
        ("Guide\n\n*Last updated: 2021-07-08*\n\nText.\n", "2021-07-08"),
        ("Guide\nRevised 02/03/2004\n\nText.\n", "2004"),  # nobody knows which is the month
        ("Guide\nRevised 23/03/2004\n\nText.\n", "2004-03-23"),
        ("Guide\n\nPublished: 5 May 2010 | Updated: 6 June 2012\n\nText.\n", "2010-05-05"),
        ("Guide\n\nUpdated: 6 June 2012 | Published: 5 May 2010\n\nText.\n", "2010-05-05"),
        ("Minutes\n\nMeeting started by ann at 2020-02-03 19:00:00 UTC.\n\nText.\n", "2020-02-03"),
        ("Notes\n\nTuesday, 4 May 2021\n\nText.\n", "2021-05-04"),
        ("# Notes\nPublished 4 May 2021. " + "The rest of the line. " * 5, "2021-05-04"),
        ("Notiz\n\n4. März 2021\n\nText.\n", "2021-03-04"),
        ("# Protokoll\n\nDatum: 20. November 2023\n\nText.\n", "2023-11-20"),
        ("# Bericht\nStand: Juli 2020\n\nText.\n", "2020-07"),
        ("# Le cidre\n\nRédigé le 14 juillet 2020\n\nTexte.\n", "2020-07-14"),
        ("# Carta\n\nFecha: 3 de marzo de 2018\n\nTexto.\n", "2018-03-03"),
        ("Minutes of the meeting held on 14 March 2024\n\nOn 3 May 2020 we began.\n", "2024-03-14"),
        ("MINUTES of the Vell Rowing Club, 14 March 2024\nPresent: Ann\n", "2024-03-14"),
        ("Protokoll der Sitzung vom 14. März 2024\n\nAnwesend: Uwe\n", "2024-03-14"),
        ("Minutes of 14 March 2024, read on 2 April 2024\n\nPresent: Ann\n", ""),
        ("The minutes of 14 March 2024 were lost in the fire, as far as we know.\n", ""),
        # what a text is about, what came before or after it, quantities, entries of a list
        ("Guide\n\nVersion 2.0 of Python was released on October 16, 2000. This is new.\n", ""),
        ("Guide\n\nSuperseded by Version 1.1 ratified on June 21st, 2003.\n", ""),
        ("Guide\n\nA long sentence about the language, in which a new version was\nreleased on 3"
         " May 2001 and\nReleased on 4 May 2002, that is later\n", ""),
        ("Guide\n\nData 2020 are shown in the table.\n", ""),
        ("History\n\n3 May 2001\n\nBegun.\n\n4 May 2001\n\nDone.\n", ""),
        ("Guide\n\n2000\n\nText.\n", ""),
        ("Copyright 2001 by Ann.\n\nIn May 2020 we met.\n", ""),
        ("Guide\n\n" + "A line of text.\n\n" * 20 + "May 2020\n", ""),
    ],
)  # fmt: skip
def test_the_first_lines_may_state_the_date_of_the_text(text: str, date: str) -> None:
    assert iso(opening_date(text)) == date


# --- When a document was written: what it states of itself, entry by entry where they have
# dates.


CORPORA = Path(__file__).parent.parent / "corpora"
MORE = "Further terms follow here in many words. " * 60


def document_read(text: str) -> Document:
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
    assert iso(document_read(text).date) == stated


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
    assert iso(document_from_text(text, media_type="text/markdown").date) == day.isoformat()


@given(DAYS, st.sampled_from(OTHERS), st.sampled_from(["# {}\n\nText.\n", "Notes\n\n{}\n"]))
def test_a_birthday_or_a_deadline_dates_nothing(day: date, sentence: str, text: str) -> None:
    if "We meet" not in sentence or "#" not in text:
        found = document_from_text(text.format(sentence.format(written(day))))
        assert found.date is None


def written(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


@pytest.mark.parametrize(
    ("name", "first", "expected"),
    [
        ("letter.docx", "Lund, 8 January 2026", ("2026-01-08", "text")),
        ("2024-03-05 notes.docx", "Some notes.", ("2024-03-05", "path")),
        ("plain.docx", "Some notes.", ("2013-12-23T23:15:00+00:00", "properties")),
    ],
)
def test_the_properties_of_a_file_come_last(
    tmp_path: Path, name: str, first: str, expected: tuple[str, str]
) -> None:
    file = docx.Document()
    file.core_properties.author = "Ann Lee"
    file.core_properties.created = datetime(2013, 12, 23, 23, 15)
    for paragraph in (first, "Dear Ann, thank you."):
        file.add_paragraph(paragraph)
    file.save(str(tmp_path / name))
    (document,) = read_file(tmp_path / name, SETTINGS).documents
    assert dated(document) == expected


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
    own = [chunk.metadata for chunk in chunks if "Word" in chunk.text]
    assert own == [{"date": day.isoformat()} for day in days]


@given(
    st.dates(date(1950, 1, 1), date(2098, 12, 31)),
    st.lists(st.integers(1, 80), min_size=1, max_size=4),
    st.sampled_from(
        [
            "**{day} {short}** {words}\n\n",
            "- {day} {long} – {words}\n",
            "{day} {short}: {words}\n",
            "## {long} {day}\n\n{words}\n\n",
            "* Sat {day} {long}. {words}\n",
        ]
    ),
    st.sampled_from(
        [("# Bee log {}\n\n", "a.md"), ("", "bees {}.md"), ("# Log\n\n## {}\n\n", "a.md")]
    ),
)
def test_entries_without_a_year_have_that_of_what_stands_above(
    first: date, gaps: list[int], entry: str, named: tuple[str, str]
) -> None:
    """Whoever goes on behind December is in the next year."""
    title, source = (part.format(first.year) for part in named)
    days = [*accumulate(gaps, lambda day, gap: day + timedelta(gap), initial=first)]
    text = title + "".join(
        entry.format(
            day=day.day,
            long=(name := MONTHS[day.month - 1]),
            short=name[:3],
            words=f"Word{at} fell.",
        )
        for at, day in enumerate(days)
    )
    document = document_from_text(text, source=source, media_type="text/markdown")
    chunks = split(document, SplitSettings(), HashEmbedder()).chunks
    dates = [chunk.metadata.get("date") for chunk in chunks if "Word" in chunk.text]
    assert dates == [day.isoformat() for day in days]


def test_what_is_stated_above_the_entries_dates_the_whole() -> None:
    text = "# Changes\n\nLast updated: 2024-04-01\n\n## 1 - 2024-03-05\n\nA.\n\n## 0 - 2023-11-02\n"
    document = document_from_text(text, media_type="text/markdown")
    assert dated(document)[0] == "2024-04-01"
    assert len(dated_sections(document)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-05 10:00 start\n2024-03-05 10:01 stop\n2024-03-06 10:00 start\n",  # a log
        "# Minutes of 5 March 2024\n\nText.\n\n## Next meeting: 2 April\n\nAt ten.\n",
        "# Ann\n\n## Born 3 May 1990\n\nA.\n\n## Died 4 May 2020\n\nB.\n",
        "Text without dates.\n",
        "4 Oct: the hive was fed.\n5 Oct: rain.\n",  # nobody says of which year
        "# Report of 2026\n\nWe met until\n4 October. Then again until\n9 October. It rained.\n",
    ],
)
def test_texts_without_dated_entries(text: str) -> None:
    assert dated_sections(document_read(text)) == []


def test_a_day_starts_where_its_entry_does_and_a_passage_has_what_its_entries_share() -> None:
    text = "".join(f"# Day {n}, {n} March 2024\n\nRain.\n\n" for n in (4, 5, 6))
    document = document_from_text(text, media_type="text/markdown")
    starts = [section.date.start for section in dated_sections(document) if section.date]
    assert starts == [datetime(2024, 3, n, tzinfo=UTC) for n in (4, 5, 6)]
    (chunk,) = split(document, SplitSettings(strategy="fixed"), HashEmbedder()).chunks
    assert chunk.metadata == {"date": "2024-03"}


# --- A number is not a date: what of a text is a date, against labels and against generated
# text.


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
        month = MONTHS[int(rest) - 1] if rest.isdecimal() else rest
        return days(f"{month} {year}")
    return days(f"{rest} {year}") if rest.isalpha() else days(label)


def labelled() -> Iterator[tuple[set[Days], str]]:
    for line in (CORPORA / "dates.tsv").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            labels, _, text = line.partition("\t")
            yield (set() if labels == "-" else set(map(meant, labels.split()))), text


@pytest.mark.parametrize("half", ["open", "held out"])
def test_dates_of_labelled_lines(half: str) -> None:
    lines = list(labelled())
    assert len(lines) == 2 * HALF
    some = lines[:HALF] if half == "open" else lines[HALF:]
    stated = {(line, one) for line, (dates, _) in enumerate(some) for one in dates}
    read = {(line, one) for line, (_, text) in enumerate(some) for one in found(text)}
    assert len(read & stated) / len(read) >= 0.98, "precision"
    assert len(read & stated) / len(stated) >= 0.92, "recall"


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


@settings(max_examples=200)
@given(PLACES, NUMBERS, UNITS | NOUNS)
def test_what_is_measured_paid_or_counted_is_no_year(place: str, number: str, of: str) -> None:
    assert found(place.format(f"{number} {of}")) == set()


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
    for place in ("Seen: {}", "It was {}, they say.", "({})"):
        assert found(place.format(written)) == {(day, day + timedelta(days=1))}


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


# --- relative dates


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


EARLY = datetime(2023, 5, 8, 1, tzinfo=timezone(timedelta(hours=9)))


@pytest.mark.parametrize(
    ("text", "given", "names"),
    [
        # What is no unit of the calendar has no name.
        ("We met recently.", {"created_at": WRITTEN}, []),
        ("It rained for the past ten days.", {"created_at": WRITTEN}, []),
        # Without a date of its own a document, and code, says no relative dates.
        ("We met yesterday.", {}, []),
        ("We met yesterday.", {"updated_at": WRITTEN}, []),
        ("x = last week", {"created_at": WRITTEN, "media_type": "text/x-python"}, []),
        # A piece goes by its own date, and the day is that of UTC.
        (
            "We met yesterday.",
            {"created_at": WRITTEN, "metadata": {"created_at": "2024-03-01T08:00:00+00:00"}},
            ["29 February 2024", "2024"],
        ),
        ("We met today.", {"created_at": EARLY}, ["7 May 2023", "2023"]),
        ("We met today.", {"created_at": datetime(2023, 5, 8)}, ["8 May 2023", "2023"]),
        # The year of a full date is not told twice.
        (
            "We met yesterday and on 7 May 2023.",
            {"created_at": WRITTEN},
            ["7 May 2023", "2023"],
        ),
        # A day without a year is the nearest; further ones of the sentence are nearest to that.
        ("It closes on 3 Dec at six.", {"created_at": WRITTEN}, ["3 December 2022"]),
        (
            "Due on 20 Aug, 1 November and 15 January.",
            {"created_at": WRITTEN},
            ["20 August 2023", "1 November 2023", "15 January 2024"],
        ),
        ("Until 2029. We meet on 2 June.", {"created_at": WRITTEN}, ["2029", "2 June 2023"]),
        # What is told of a past year, of a year of two digits or of no day at all is none of these.
        ("It opened in 1911. It shut on 2 June.", {"created_at": WRITTEN}, ["1911"]),
        ("Built 2 June 84, by 12 may be.", {"created_at": WRITTEN}, []),
        ("We meet on 2 June.", {}, []),
    ],
)
def test_a_relative_date_goes_by_when_the_text_was_written(
    text: str, given: dict[str, Any], names: list[str]
) -> None:
    assert [mention.name for mention in dates(text, **given)] == names


@pytest.mark.parametrize(
    ("text", "start", "written", "names"),
    [
        # Only the range given is read, and years that have no name are left out.
        ("yesterday, today", 11, WRITTEN, ["8 May 2023", "2023"]),
        ("today", 0, datetime(900, 1, 1, tzinfo=UTC), []),
    ],
)
def test_a_range_of_a_text_is_read(
    text: str, start: int, written: datetime, names: list[str]
) -> None:
    assert [s.name for s in find_relative_dates(text, start, len(text), written)] == names
